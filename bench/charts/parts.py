"""What charts are put together from: figures, rows, stacks, axes of time, legends, captions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench.accounts import Breakdown
from bench.charts import alt
from bench.charts.style import COLOURS, FONT, WIDTH_IN, palette
from bench.phases import Phase
from bench.render import units
from bench.results import Result
from bench.stats import Estimate

ROW_IN = 0.34
MOST_LETTERS = 64
_AT_AN_END = MOST_LETTERS // 2 - 1
_FEW_DECADES = 10**2.5
"""Below this ratio of its ends a logarithmic axis needs more ticks than powers of ten."""
LONG_NAME = 44
"""Above this many letters two columns of a legend would not fit."""


def axis_for(ax: Axes | None, height_in: float, width_in: float = WIDTH_IN) -> Axes:
    """Return the axis to draw on: the one given, or that of a new figure without a window.

    A figure that is given and has no layout of its own gets one that leaves room for what stands
    beside and below the axis: names, notes, legends.
    """
    if ax is None:
        ax = new_figure(height_in, width_in).add_subplot()
    elif (figure := figure_of(ax)).get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    return styled(ax)


def new_figure(height_in: float, width_in: float = WIDTH_IN) -> Figure:
    """Return an empty figure that belongs to no window."""
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def figure_of(chart: Axes | Figure) -> Figure:
    """Return the figure of what a chart gave back."""
    figure = chart if isinstance(chart, Figure) else chart.get_figure()
    assert isinstance(figure, Figure)
    return figure


def styled(ax: Axes) -> Axes:
    """Return an axis whose ticks keep the style, also those that are made when it is drawn."""
    ink, grid = palette().ink, palette().grid
    for axis in ("x", "y"):
        ax.tick_params(axis=axis, which="both", colors=ink, labelsize=FONT, grid_color=grid)
    return ax


def rows_figure(ax: Axes | None, names: Sequence[str]) -> Axes:
    """Return the axis of a chart with one row per name, as high and wide as the names need."""
    longest = max((len(short(name)) for name in names), default=0)
    width_in = WIDTH_IN + max(longest - 26, 0) * 0.065
    return axis_for(ax, 1.45 + ROW_IN * max(len(names), 2), width_in)


def short(name: str) -> str:
    """Return a name that leaves room for the chart: of a very long one, both ends."""
    return name if len(name) <= MOST_LETTERS else f"{name[:_AT_AN_END]}…{name[-_AT_AN_END:]}"


def empty(ax: Axes, title: str, text: str) -> Axes:
    """Make a labelled chart without data say why it has none."""
    ax.set_title(title)
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=palette().muted)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(visible=False)
    alt.describe(ax, title, text)
    return ax


def nothing(result: Result, text: str) -> str:
    """Return why a chart is empty: ``text``, unless nothing at all succeeded."""
    return text if any(cell.n_calls for cell in result.cells) else "no call succeeded"


def with_interval(estimate: Estimate) -> str:
    """Return an estimate with its interval, in the unit that suits it."""
    name, unit_ns = units.choose(estimate.value)
    text = f"{units.number(estimate.value / unit_ns)} {name}"
    if estimate.low is None or estimate.high is None:
        return text
    low, high = units.number(estimate.low / unit_ns), units.number(estimate.high / unit_ns)
    return f"{text} [{low} – {high}]"


def mostly(bill: Breakdown) -> str:
    """Return which phase has the largest part of a total, and how large it is."""
    phase, part = max(bill.parts.items(), key=lambda item: item[1].value)
    share = part.value / bill.total.value if bill.total.value else 0.0
    return f"mostly {phase} ({share:.0%})"


def stack(ax: Axes, row: int, parts: Mapping[Phase, Estimate], size_ns: float = 1.0) -> None:
    """Draw the parts of one total end to end in a row, in units of ``size_ns``."""
    start = 0.0
    for phase, estimate in parts.items():
        length = estimate.value / size_ns
        ax.barh(row, length, left=start, height=0.62, color=COLOURS[phase], label=phase.value)
        start += length


def interval(ax: Axes, row: int, estimate: Estimate, size_ns: float = 1.0) -> None:
    """Draw the interval of the total that a row of bars ends at, where there is one."""
    if estimate.low is not None and estimate.high is not None:
        ends = [estimate.low / size_ns, estimate.high / size_ns]
        # A rim in the colour of the ground: ink alone drowns in some phases on one of the grounds.
        rim = [withStroke(linewidth=2.6, foreground=palette().ground)]
        ax.plot(
            ends, [row, row], color=palette().ink, linewidth=1, marker="|", markersize=5,
            path_effects=rim,
        )  # fmt: skip


def longest(estimates: Iterable[Estimate]) -> float:
    """Return the largest value or end of an interval, in the unit of the estimates."""
    ends = (value for one in estimates for value in (one.value, one.high) if value is not None)
    return max(ends, default=0.0)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Give a row chart its labels, the first row on top."""
    ax.set_yticks(range(len(names)), [short(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)


def time_axis(
    ax: Axes, text: str, high_ns: float, low_ns: float | None = None, *, axis: str = "x"
) -> None:
    """Make x (or y) an axis of time in one unit for data in ns; log where ``low_ns`` is given."""
    high_ns = max(high_ns, 1.0)
    middle_ns = high_ns
    along = ax.xaxis if axis == "x" else ax.yaxis
    limits = ax.set_xlim if axis == "x" else ax.set_ylim
    if low_ns is not None:
        (ax.set_xscale if axis == "x" else ax.set_yscale)("log")
        few = high_ns / low_ns < _FEW_DECADES
        along.set_major_locator(
            LogLocator(10, subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=12)
        )
        along.set_minor_formatter(NullFormatter())
        limits(low_ns, high_ns * 1.1)
        # On a log axis the unit of its middle keeps both ends readable.
        middle_ns = (low_ns * high_ns) ** 0.5
    else:
        limits(0, high_ns * 1.02)
    label = ax.set_xlabel if axis == "x" else ax.set_ylabel
    if axis == "y" and low_ns is not None:
        # Upright there is room for each tick's own unit, over however many decades.
        along.set_major_formatter(FuncFormatter(lambda ns, _: _tick(ns)))
        label(f"{text} (log axis)")
        return
    name, unit_ns = units.choose(middle_ns)
    along.set_major_formatter(FuncFormatter(lambda ns, _: f"{ns / unit_ns:g}"))
    label(f"{text} ({name}{', log axis' if low_ns is not None else ''})")


def _tick(ns: float) -> str:
    name, unit_ns = units.choose(ns * 1.0001)
    return f"{ns / unit_ns:g} {name}"


def note_rows(ax: Axes, notes: Sequence[str], heading: str) -> None:
    """Write a column of figures right of the axis, where no bar is and the layout keeps room."""
    for row, note in enumerate(notes):
        ax.annotate(
            note,
            (1.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=palette().ink,
            fontsize=FONT - 0.5,
            annotation_clip=False,
        )
    ax.annotate(
        heading,
        (1.0, 1.0),
        xycoords="axes fraction",
        xytext=(6, 4),
        textcoords="offset points",
        color=palette().muted,
        fontsize=FONT - 1,
        annotation_clip=False,
    )


def legend_lines(phases: Sequence[Phase]) -> int:
    """Return how many lines the colours of the phases take."""
    return -(-len(phases) // _legend_columns(phases))


def _legend_columns(phases: Sequence[Phase]) -> int:
    return max(len(phases), 1) if len(phases) <= 5 else 4


def title_and_legend(
    ax: Axes, title: str, phases: Sequence[Phase], lines: int | None = None
) -> None:
    """Put the colours of the phases between the axis and its title, where they cover no data.

    ``lines`` is the room to leave for them, where the titles of two axes are to be level.
    """
    columns = _legend_columns(phases)
    lines = lines or legend_lines(phases)
    ax.legend(
        handles=[Patch(facecolor=COLOURS[phase], label=phase.value) for phase in phases],
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
        ncols=columns,
        handlelength=1.0,
        columnspacing=1.0,
        labelspacing=0.3,
    )
    ax.set_title(title, pad=8 + 13 * lines)


def legend_below(ax: Axes, names: Sequence[str], counts: Sequence[int]) -> None:
    """Put a legend of lines under the label of the axis, in two columns where names are short.

    ``counts`` are the calls of each name; where they are the same its title says so once. The
    distance is in font sizes, whatever the height of the axis.
    """
    handles, _ = ax.get_legend_handles_labels()
    alike = len(set(counts)) == 1
    pairs = zip(names, counts, strict=True)
    ax.legend(
        handles,
        [short(n) if alike else f"{short(n)}  (n = {count:,})" for n, count in pairs],
        title=f"n = {counts[0]:,} calls{' each' if len(names) > 1 else ''}" if alike else None,
        title_fontsize=FONT - 0.5,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        borderaxespad=4.5,
        ncols=legend_columns(names),
        handlelength=2.6,
    )


def legend_height(names: Sequence[str]) -> float:
    """Return how many inches the legend under an axis takes."""
    return 0.2 + 0.2 * -(-len(names) // legend_columns(names))


def legend_columns(names: Sequence[str]) -> int:
    """Return how many columns of names fit side by side."""
    return 2 if max(map(len, names), default=0) <= LONG_NAME and len(names) > 1 else 1


def caption(result: Result) -> str:
    """Return where a chart's figures come from, in one or two lines."""
    env, run = result.environment, result.run
    made = [
        str(run["created"])[:10] if "created" in run else None,
        f"suite {run['suite']}" if "suite" in run else None,
        f"proof {run['proof']}" if "proof" in run else None,
        run.get("amount"),
        f"{run['sessions']} sessions × {run['calls']} calls per cell"
        if "sessions" in run and "calls" in run
        else None,
        f"host {env['hostname']}" if "hostname" in env else None,
    ]
    versions = [
        f"{label} {str(env[key]).split(' ')[0]}"
        for label, key in (
            ("mcp-latency", "harness_version"),
            ("Python", "python_version"),
            ("mcp", "mcp_version"),
        )
        if key in env
    ]
    return " · ".join([part for part in made if part] + versions)
