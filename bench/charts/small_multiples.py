"""A grid of small charts: a row per transport, a column per handler, one scale per column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bench import accounts
from bench.charts import alt, parts
from bench.charts.asked import of_a_result, one_of
from bench.charts.distribution import ends, thinned
from bench.charts.style import COLOURS, FONT, WIDTH_IN, palette, style
from bench.phases import Phase
from bench.render import units
from bench.results import CellResult, Result

TITLE = "Calls by transport and handler"
Kind = Literal["bars", "ecdf"]
Panels = Sequence[tuple[Axes, Mapping[str, CellResult | None]]]
_BAR_IN, _LEGEND_IN = 0.21, 0.19
_CURVES_IN = 1.5


@dataclass(frozen=True)
class Grid:
    """Cells by transport, handler and way (how the server is reached, without the transport)."""

    transports: list[str]
    handlers: list[str]
    cells: Mapping[tuple[str, str, str], CellResult]

    @property
    def crossed(self) -> bool:
        """Whether two handlers or more were each measured over two transports or more."""
        over = [{t for t, h, _ in self.cells if h == handler} for handler in self.handlers]
        return len(over) > 1 and all(len(transports) > 1 for transports in over)

    def ways(self, transport: str) -> list[str]:
        """Return the ways of a transport, in the order of the result."""
        return list(dict.fromkeys(way for one, _, way in self.cells if one == transport))

    def panel(self, transport: str, handler: str) -> dict[str, CellResult | None]:
        """Return the cell of each way of a transport; None where the handler was not measured."""
        return {way: self.cells.get((transport, handler, way)) for way in self.ways(transport)}


@of_a_result
def small_multiples(result: Result, figure: Figure | None = None, *, kind: Kind = "bars") -> Figure:
    """Draw mean phases as stacked bars, or distributions with ``kind="ecdf"``; return the figure.

    It draws on ``figure`` if that is given, and makes one as large as its panels need otherwise.
    The panels are ``figure.axes``, row by row; those of a column share the axis of time. A handler
    that one transport alone has, like the echo of ``pipe``, has no column.
    """
    one_of("kind", kind, get_args(Kind))
    grid = grid_of(result)
    with style():
        heights = [_height_in(grid, transport, kind) for transport in grid.transports] or [1.5]
        columns = max(len(grid.handlers), 1)
        if figure is None:
            figure = parts.new_figure(sum(heights) + 1.9, WIDTH_IN * max(columns, 2) / 1.5)
        axes = figure.subplots(
            len(heights), columns, sharex="col", squeeze=False,
            gridspec_kw={"height_ratios": heights},
        )  # fmt: skip
        for ax in axes.flat:
            parts.styled(ax)
        if not grid.cells:
            parts.empty(axes[0][0], TITLE, "no call succeeded")
            return figure
        for column, handler in enumerate(grid.handlers):
            panels = [
                (axes[row][column], grid.panel(transport, handler))
                for row, transport in enumerate(grid.transports)
            ]
            (_bars if kind == "bars" else _curves)(panels)
            axes[0][column].set_title(handler)
        for row, transport in enumerate(grid.transports):
            _name_row(list(axes[row]), transport, grid.ways(transport), kind)
        phases = _phases(grid) if kind == "bars" else []
        _head(figure, phases)
        words = [f"{cell.name} {_in_words(cell)}" for cell in grid.cells.values()]
        how = "A grid of stacked bars" if kind == "bars" else "A grid of distributions"
        alt.describe(axes[0][0], TITLE, f"{how}, a row per transport, a column per handler", words)
    return figure


def grid_of(result: Result) -> Grid:
    """Return the cells with calls by transport, handler and way; twins without marks left out."""
    cells: dict[tuple[str, str, str], CellResult] = {}
    for cell in result.cells:
        key = (cell.transport, cell.handler, cell.reach.partition("/")[2])
        if cell.totals() and (key not in cells or cell.marked):
            cells[key] = cell
    having = {handler: {t for t, h, _ in cells if h == handler} for _, handler, _ in cells}
    shared = [handler for handler, transports in having.items() if len(transports) > 1]
    handlers = shared or list(having)
    kept = {key: cell for key, cell in cells.items() if key[1] in handlers}
    return Grid(list(dict.fromkeys(key[0] for key in kept)), handlers, kept)


def _height_in(grid: Grid, transport: str, kind: Kind) -> float:
    ways = len(grid.ways(transport))
    if kind == "ecdf":
        return max(_CURVES_IN, ways * _LEGEND_IN)
    return max(ways, 2) * _BAR_IN + 0.15


def _bars(panels: Panels) -> None:
    """Draw one column of stacked bars with their totals, on one linear axis."""
    totals = []
    for ax, cells in panels:
        for row, cell in enumerate(cells.values()):
            bill = None if cell is None else accounts.call_phases(cell)
            text, at = ("not measured", 0.0)
            if bill is not None:
                parts.stack(ax, row, bill.parts)
                parts.interval(ax, row, bill.total)
                totals.append(bill.total)
                text, at = units.duration(bill.total.value), parts.longest([bill.total])
            ax.annotate(
                text, (at, row), xytext=(4, 0), textcoords="offset points", va="center",
                fontsize=FONT - 1, color=palette().ink if bill else palette().muted,
            )  # fmt: skip
        parts.name_rows(ax, list(cells))
    # Room for the figures behind the longest bar.
    parts.time_axis(panels[-1][0], "mean time of a call", parts.longest(totals) * 1.25)


def _curves(panels: Panels) -> None:
    """Draw one column of distributions, on one logarithmic axis."""
    curves = {
        (row, way): np.sort(np.concatenate(cell.totals()))
        for row, (_, cells) in enumerate(panels)
        for way, cell in cells.items()
        if cell is not None
    }
    low_ns, high_ns = ends([("", values) for values in curves.values()])
    low_ns, high_ns = low_ns * 0.9, max(high_ns, low_ns * 1.2)
    for row, (ax, cells) in enumerate(panels):
        for place, way in enumerate(cells):
            if (row, way) in curves:
                x, y = thinned(np.maximum(curves[row, way], 1), low_ns, high_ns, log=True)
                ax.step(x, y, where="post", **palette().line(place))
        ax.set_ylim(0, 1.05)
    parts.time_axis(panels[-1][0], "time of a call", high_ns, low_ns)


def _name_row(axes: Sequence[Axes], transport: str, ways: Sequence[str], kind: Kind) -> None:
    axes[0].set_ylabel(transport, fontweight="bold")
    for ax in axes[1:]:
        ax.tick_params(axis="y", labelleft=False)
    if kind == "ecdf":
        axes[-1].legend(
            handles=[axes[-1].plot([], [], **palette().line(i))[0] for i in range(len(ways))],
            labels=list(ways),
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            handlelength=2.2,
        )


def _head(figure: Figure, phases: Sequence[Phase]) -> None:
    figure.suptitle(TITLE, fontweight="bold")
    if phases:
        figure.legend(
            handles=[Patch(facecolor=COLOURS[phase], label=phase.value) for phase in phases],
            loc="outside right upper",
            handlelength=1.0,
        )


def _phases(grid: Grid) -> list[Phase]:
    there = {phase for cell in grid.cells.values() for phase in cell.call_phases}
    return [phase for phase in Phase if phase in there]


def _in_words(cell: CellResult) -> str:
    bill = accounts.call_phases(cell)
    return "" if bill is None else f"{parts.with_interval(bill.total)}, {parts.mostly(bill)}"
