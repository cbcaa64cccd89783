"""Charts as files: each with its caption, as large as its cells need."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import accounts
from bench.charts import alt, parts
from bench.charts.amortisation import amortisation
from bench.charts.calls import call_breakdown
from bench.charts.compare import compare
from bench.charts.distribution import ecdf
from bench.charts.ladder import ladder
from bench.charts.percentiles import percentiles
from bench.charts.sequence import sequence
from bench.charts.setup import waterfall
from bench.charts.side_by_side import side_by_side
from bench.charts.small_multiples import grid_of, small_multiples
from bench.charts.style import FONT, palette, style
from bench.charts.timeline import timeline
from bench.comparison import compare_two_targets
from bench.errors import SelectionError
from bench.results import Result, expect_result
from bench.spec import LISTENING, MCP_TRANSPORTS

DOTS_PER_INCH = 200
FORMATS = ("svg", "png", "pdf")


def save_all(
    result: Result, folder: str | os.PathLike[str], *, format_: str = "svg", log: bool = False
) -> list[Path]:
    """Write every chart that the result has something for; return the files.

    ``folder`` is made if it is not there. ``format_`` is svg, png or pdf. Raises OSError where a
    file cannot be written.
    """
    expect_result(result)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, draw in drawings(result, log=log).items():
        path = folder / f"{name}.{format_}"
        save(draw(), result, path)
        files.append(path)
    return files


def drawings(result: Result, *, log: bool = False) -> dict[str, Callable[[], Axes | Figure]]:
    """Return every chart that the result has something for, by name, not drawn yet."""
    charts: dict[str, Callable[[], Axes | Figure]] = {
        "setup": lambda: waterfall(result, log=log),
        "calls": lambda: call_breakdown(result),
        "calls-share": lambda: call_breakdown(result, share=True),
        "ecdf": lambda: ecdf(result),
        "percentiles": lambda: percentiles(result),
        "timeline": lambda: timeline(result),
    }
    if (found := compare_two_targets(result)) is not None:
        charts["compare"] = lambda: compare(found)
    if any(cell.transport in MCP_TRANSPORTS and cell.n_calls for cell in result.cells):
        charts["sequence"] = lambda: sequence(result)
    if grid_of(result).crossed:
        charts["small-multiples"] = lambda: small_multiples(result)
    if len(accounts.ladder(result)) > 1:
        charts["ladder"] = lambda: ladder(result)
    if any(cell.transport in LISTENING for cell in result.cells):
        charts["setup-after-boot"] = lambda: waterfall(result, after_boot=True)
        charts["side-by-side"] = lambda: side_by_side(result)
        charts["cost-of-calls"] = lambda: amortisation(result)
    return charts


def save(ax: Axes | Figure, result: Result, path: str | os.PathLike[str]) -> None:
    """Write the figure of a chart with the provenance of its result under it, and its words.

    The words are title and description of an SVG, fields of a PNG, the subject of a PDF. The same
    result gives the same bytes. Raises SelectionError for another suffix than .svg, .png or .pdf,
    OSError where the file cannot be written.
    """
    path = Path(path)
    suffix = path.suffix[1:].lower()
    if suffix not in FORMATS:
        raise SelectionError(
            f"{path}: no format {suffix!r}; expected a name that ends in "
            f"{', '.join(f'.{one}' for one in FORMATS)}"
        )
    expect_result(result)
    path.write_bytes(picture(ax, result, suffix))


def picture(
    ax: Axes | Figure, result: Result, format_: str, *, dots_per_inch: int = DOTS_PER_INCH
) -> bytes:
    """Return what :func:`save` writes: the chart as svg, png or pdf."""
    figure = parts.figure_of(ax)
    title, text = alt.title_and_text(ax)
    metadata = {
        "svg": {"Date": None, "Title": title, "Description": text},
        "png": {"Title": title, "Description": text},
        "pdf": {"CreationDate": None, "Title": title, "Subject": text},
    }[format_]
    file = io.BytesIO()
    with style():
        muted = palette().muted
        figure.supxlabel(parts.caption(result), fontsize=FONT - 2, color=muted)
        figure.savefig(file, format=format_, dpi=dots_per_inch, metadata=metadata)
    return _described(file.getvalue(), text) if format_ == "svg" else file.getvalue()


def _described(svg: bytes, text: str) -> bytes:
    """Put the words where screen readers look; matplotlib writes them as metadata alone."""
    words = f"</title>\n <desc>{escape(text)}</desc>".encode()
    return svg.replace(b"</title>", words, 1).replace(b"<svg ", b'<svg role="img" ', 1)
