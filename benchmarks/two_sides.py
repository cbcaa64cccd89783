"""What the proofs of comparison share: two commands in one run, and the comparison of the two."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.comparison import Comparison, Row, Verdict, compare_within
from bench.measure import Options, measure
from bench.plan import INTERLEAVED
from bench.suite import Suite, make_cell
from bench.target import Target
from common import python

NAMES = ("A", "B")
DELAYED = str(Path(__file__).parent.parent / "tests" / "truth" / "delayed_server.py")


def delayed(*words: str) -> tuple[str, ...]:
    """Return the command of the server with delays set by hand."""
    return python(DELAYED, *words)


def compared(
    commands: Sequence[tuple[str, ...]],
    tool: str,
    sessions: int,
    calls: int,
    seed: int,
    order: str = INTERLEAVED,
) -> tuple[Comparison, float]:
    """Measure two commands in one run; return their comparison and its seconds."""
    cells = [
        make_cell(Target(name, argv, "a server of this proof"), tool)
        for name, argv in zip(NAMES, commands, strict=True)
    ]
    suite = Suite("proof", tuple(cells), sessions=sessions, calls=calls, warmups=10, order=order)
    start_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result, _ = measure(
            suite,
            Options(seed, "benchmarks"),
            Path(folder) / "proof.json.gz",
            lambda *_: None,
            lambda *_: None,
        )
    for cell, failure in result.failures:
        sys.exit(f"FAIL  {cell}: {failure.phase}: {failure.text}")
    (found,) = compare_within(result, "server")
    return found, time.monotonic() - start_s


def row(comparison: Comparison, subject: str, figure: str = "mean") -> Row:
    """Return one row of a comparison."""
    return next(r for r in comparison.rows if (r.subject, r.figure) == (subject, figure))


def alarms(comparison: Comparison) -> list[Row]:
    """Return the rows that say anything but that no difference is shown."""
    return [r for r in comparison.rows if r.verdict is not Verdict.NO_DIFFERENCE]


def said(found: Row) -> str:
    """Return a row in words: verdict and ratio."""
    ratio = found.contrast.ratio if found.contrast is not None else None
    if ratio is None or ratio.low is None or ratio.high is None:
        return f"{found.subject}.{found.figure} {found.verdict}"
    interval = f"{ratio.value:.3f} [{ratio.low:.3f} – {ratio.high:.3f}]"
    return f"{found.subject}.{found.figure} {found.verdict} {interval}"


def facts(found: Row) -> dict[str, object]:
    """Return a row as data."""
    ratio = found.ratio
    values = (None, None, None) if ratio is None else (ratio.value, ratio.low, ratio.high)
    named = dict(zip(("ratio", "low", "high"), values, strict=True))
    return {"row": f"{found.subject}.{found.figure}", "verdict": str(found.verdict), **named}
