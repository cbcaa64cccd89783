"""Charts as files: each with its caption, as large as its cells need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import breakdown
from bench.charts import style
from bench.charts.amortisation import amortisation
from bench.charts.calls import call_breakdown
from bench.charts.distribution import ecdf
from bench.charts.ladder import ladder
from bench.charts.setup import waterfall
from bench.charts.side_by_side import side_by_side
from bench.results import Result
from bench.spec import LISTENING

DOTS_PER_INCH = 200


def save_all(
    result: Result, folder: Path, *, format_: str = "svg", log: bool = False
) -> list[Path]:
    """Write every chart that the result has something for; return the files.

    ``format_`` is svg, png or pdf. Raises OSError where a file cannot be written.
    """
    files = []
    for name, draw in drawings(result, log=log).items():
        path = folder / f"{name}.{format_}"
        save(draw(), result, path)
        files.append(path)
    return files


def drawings(result: Result, *, log: bool = False) -> dict[str, Callable[[], Axes]]:
    """Return every chart that the result has something for, by name, not drawn yet."""
    charts: dict[str, Callable[[], Axes]] = {
        "setup": lambda: waterfall(result, log=log),
        "calls": lambda: call_breakdown(result),
        "calls-share": lambda: call_breakdown(result, share=True),
        "ecdf": lambda: ecdf(result),
    }
    if len(breakdown.ladder(result)) > 1:
        charts["ladder"] = lambda: ladder(result)
    if any(cell.transport in LISTENING for cell in result.cells):
        charts["setup-after-boot"] = lambda: waterfall(result, after_boot=True)
        charts["side-by-side"] = lambda: side_by_side(result)
        charts["cost-of-calls"] = lambda: amortisation(result)
    return charts


def save(ax: Axes, result: Result, path: Path) -> None:
    """Write the figure of an axis with the provenance of its result under it."""
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    with style.style():
        figure.supxlabel(style.caption(result), fontsize=style.FONT - 2, color=style.MUTED)
        # No date inside the file: the same result gives the same picture.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(path.suffix[1:])
        figure.savefig(path, dpi=DOTS_PER_INCH, metadata=metadata)
