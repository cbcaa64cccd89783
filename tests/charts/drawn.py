"""What the tests of charts share: every chart, results of many cells, and what a figure shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from bench import charts
from bench.charts.parts import figure_of
from bench.charts.style import style
from bench.phases import Phase
from bench.results import CellResult, Result
from bench.stats import Estimate
from tests.make_results import STDIO_SETUP, make_cell, make_result, make_session

Chart = Callable[[Result], Axes | Figure]
HTTP_SETUP = {**STDIO_SETUP, Phase.CONNECT: 90_000, Phase.TLS: 700_000}


@dataclass(frozen=True)
class Ratio:
    """A row of a comparison."""

    label: str
    ratio: Estimate | None
    verdict: str


VERDICTS = (
    Ratio("stdio/sdk/noop", Estimate(0.91, 0.88, 0.94, 10, 2000), "faster"),
    Ratio("stdio/minimal/noop", Estimate(1.004, 0.99, 1.018, 10, 2000), "no difference shown"),
    Ratio("http/sdk/search_tickets", Estimate(1.12, 1.06, 1.19, 10, 2000), "slower"),
    Ratio("http/minimal/noop", Estimate(1.03, 0.93, 1.14, 10, 2000), "no difference shown"),
    Ratio("stdio/sdk/echo", None, "not comparable"),
    Ratio("one/session/noop", Estimate(1.05, None, None, 1, 200), "not comparable"),
)


def ratios(result: Result) -> list[Ratio]:
    """Return a verdict under the name of each cell that has calls."""
    named = zip([cell.name for cell in result.cells if cell.n_calls], VERDICTS * 9, strict=False)
    return [Ratio(name, row.ratio, row.verdict) for name, row in named]


CHARTS: dict[str, Chart] = {
    "waterfall": charts.waterfall,
    "waterfall-log": lambda result: charts.waterfall(result, log=True),
    "call-breakdown": charts.call_breakdown,
    "call-share": lambda result: charts.call_breakdown(result, share=True),
    "ladder": charts.ladder,
    "ecdf": charts.ecdf,
    "percentiles": charts.percentiles,
    "timeline": charts.timeline,
    "timeline-absolute": lambda result: charts.timeline(result, relative=False),
    "timeline-calls": lambda result: charts.timeline(result, calls_only=True),
    "sequence": charts.sequence,
    "side-by-side": charts.side_by_side,
    "amortisation": charts.amortisation,
    "small-multiples": charts.small_multiples,
    "small-ecdfs": lambda result: charts.small_multiples(result, kind="ecdf"),
    "compare": lambda result: charts.compare(ratios(result)),
}


def cells(count: int, spread: float = 1.2, handler: str = "search_tickets") -> Result:
    """Return a result of so many servers with long names, each slower than the one before."""
    return make_result(
        *[
            make_cell(
                f"a-server-with-a-name-{index}",
                handler,
                [
                    make_session(
                        r, seed=index, scale=spread**index, marked=index % 3 != 0,
                        position=r * count + index,
                    )
                    for r in (1, 2)
                ],
                marks=index % 3 != 0,
            )
            for index in range(count)
        ]
    )  # fmt: skip


def crossed(servers: int = 2) -> Result:
    """Return a result of two handlers over stdio, http and sse, and a pipe beside them."""
    made: list[CellResult] = [make_cell("floor", "echo", marks=False, transport="pipe")]
    for place, transport in enumerate(("stdio", "http", "sse")):
        for server in range(servers):
            for handler, scale in (("noop", 1.0), ("search_tickets", 8.0)):
                sessions = [
                    make_session(
                        r, seed=len(made), scale=scale * 1.4**place, setup=HTTP_SETUP,
                        position=r * 40 + len(made),
                    )
                    for r in (1, 2, 3)
                ]  # fmt: skip
                made.append(make_cell(f"server-{server}", handler, sessions, transport=transport))
    return make_result(*made)


def bars(ax: Axes) -> list[Rectangle]:
    """Return the bars of an axis in the order in which they were drawn."""
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def words(chart: Axes | Figure) -> list[str]:
    """Return every text in a figure."""
    return [text.get_text() for text in _texts(figure_of(chart))]


def extents(chart: Axes | Figure) -> tuple[Figure, list[tuple[str, Bbox]]]:
    """Return each text that is drawn in a figure, with the box that it takes in pixels."""
    figure = figure_of(chart)
    with style():
        figure.canvas.draw()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    shown = [text for text in _texts(figure) if text.get_visible() and text.get_text().strip()]
    return figure, [(text.get_text(), text.get_window_extent(renderer)) for text in shown]


def overlaps(found: Sequence[tuple[str, Bbox]]) -> Iterator[tuple[str, str]]:
    """Yield each two texts that lie on one another."""
    for index, (text, box) in enumerate(found):
        for other, against in found[index + 1 :]:
            across = min(box.x1, against.x1) - max(box.x0, against.x0)
            down = min(box.y1, against.y1) - max(box.y0, against.y0)
            if across > 1 and down > 1:
                yield text, other


def _texts(figure: Figure) -> Iterator[Text]:
    yield from figure.texts
    for legend in figure.legends:
        yield from _legend_texts(legend)
    for ax in figure.axes:
        yield from ax.texts
        yield from (ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label)
        yield from _tick_labels(ax)
        if (own := ax.get_legend()) is not None:
            yield from _legend_texts(own)


def _legend_texts(legend: Legend) -> Iterator[Text]:
    yield from legend.get_texts()
    if legend.get_title().get_text() not in ("", "None"):
        yield legend.get_title()


def _tick_labels(ax: Axes) -> Iterator[Text]:
    # matplotlib makes labels for ticks beyond the ends of an axis and does not draw them.
    for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim()))):
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if low <= tick.get_loc() <= high and tick.label1.get_visible():
                yield tick.label1
