"""An HDR histogram log: the calls of each session as one interval, tagged with their cell.

Values and the column of maxima are in ns, to three digits. Sessions ran one after another, and a
result keeps how long each took but not when it began: an interval begins when those before it add
up to its start.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import datetime

from bench.errors import BenchError
from bench.exports.contents import Contents
from bench.results import CellResult, Result, Session

DIGITS = 3
_NOT_IN_TAGS = re.compile(r"[,\s]+")


def export(contents: Contents) -> str:
    """Return the log. Raises BenchError where the package that writes it is missing."""
    try:
        from hdrh.log import HistogramLogWriter
    except ImportError:
        raise BenchError(
            "--export hdr: needs the package hdrhistogram; pip install 'mcp-latency[hdr]'"
        ) from None
    out = io.StringIO()
    writer = HistogramLogWriter(out)
    writer.output_comment("[mcp-latency: totals of calls; values and Interval_Max in ns]")
    writer.output_log_format_version()
    start_s = min(map(_created_s, contents.results.values()))
    # The package's own way to write this line does not work on any Python 3.
    writer.output_comment(f"[StartTime: {start_s:.3f} (seconds since epoch), start of the run]")
    writer.output_legend()
    for name, result in contents.results.items():
        prefix = f"{name}:" if len(contents.results) > 1 else ""
        for begin_s, end_s, cell, session in _intervals(result):
            if len(session.gap_ns):
                out.write(f"Tag={_NOT_IN_TAGS.sub('_', prefix + cell.name)},")
                histogram = _histogram(session, begin_s, end_s)
                writer.output_interval_histogram(histogram, max_value_unit_ratio=1.0)
    return out.getvalue()


def _histogram(session: Session, begin_s: float, end_s: float) -> object:
    from hdrh.histogram import HdrHistogram

    values = session.total_ns
    histogram = HdrHistogram(1, max(2, int(values.max())), DIGITS)
    for value in values.tolist():
        histogram.record_value(value)
    histogram.set_start_time_stamp(begin_s * 1e3)
    histogram.set_end_time_stamp(end_s * 1e3)
    return histogram


def _intervals(result: Result) -> Iterator[tuple[float, float, CellResult, Session]]:
    """Yield sessions in the order in which they ran, each with its begin and end since 1970."""
    begin_s = _created_s(result)
    ran = [(session, cell) for cell in result.cells for session in cell.sessions]
    for session, cell in sorted(ran, key=lambda pair: pair[0].position):
        # The first gap begins with the session, so it holds setup.
        open_ns = int(session.gap_ns.sum() + session.total_ns.sum()) or session.setup_ns
        end_s = begin_s + (open_ns + (session.close_ns or 0)) / 1e9
        yield begin_s, end_s, cell, session
        begin_s = end_s


def _created_s(result: Result) -> float:
    try:
        return datetime.fromisoformat(str(result.run.get("created"))).timestamp()
    except ValueError:
        return 0.0
