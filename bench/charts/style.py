"""The one style: a colour per phase, sizes, units of an axis, and the caption under a chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench.phases import Phase
from bench.render import units
from bench.results import Result
from bench.stats import Estimate

WIDTH_IN = 7.2
ROW_IN = 0.34
FONT = 8.5
MOST_LETTERS = 64
_AT_AN_END = MOST_LETTERS // 2 - 1
INK = "#222222"
MUTED = "#666666"
GRID = "#dddddd"

# Okabe & Ito (2008), safe for colour-blind readers, with neighbours in a stack apart in lightness
# so that they stay apart in grey print.
COLOURS: dict[Phase, str] = {
    Phase.SPAWN: "#333333",
    Phase.BOOT: "#9ecae9",
    Phase.RESOLVE: "#8c6d31",
    Phase.CONNECT: "#cc79a7",
    Phase.TLS: "#7a4fa3",
    Phase.DISCOVER: "#b0b0b0",
    Phase.INITIALIZE: "#0072b2",
    Phase.INITIALIZED: "#f0e442",
    Phase.TOOLS_LIST: "#d55e00",
    Phase.REOPEN: "#B2182B",
    Phase.ENCODE: "#333333",
    Phase.REQUEST: "#9ecae9",
    Phase.DISPATCH: "#0072b2",
    Phase.HANDLER: "#f0a830",
    Phase.REPLY: "#00795a",
    Phase.RESPONSE: "#8fd6bd",
    Phase.DECODE: "#777777",
    Phase.SERVER: "#cc79a7",
    Phase.CLOSE: "#bbbbbb",
}
LINES = ("#0072b2", "#d55e00", "#00795a", "#cc79a7", "#c58a00", "#333333", "#56b4e9", "#7a4fa3")
DASHES = ("-", "--", ":", "-.")

_SETTINGS: dict[Any, Any] = {
    "font.size": FONT,
    "font.family": "DejaVu Sans",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": FONT + 1.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": FONT - 0.5,
    # A name is a name, also one with dollar signs in it.
    "text.parse_math": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "mcp-latency",
    "pdf.fonttype": 42,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the project's style inside; matplotlib's own settings are as before outside."""
    with mpl.rc_context(_SETTINGS):
        yield


def axis_for(ax: Axes | None, height_in: float, width_in: float = WIDTH_IN) -> Axes:
    """Return the axis to draw on: the one given, or that of a new figure without a window."""
    if ax is not None:
        return ax
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


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
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=MUTED)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(visible=False)
    return ax


def with_interval(estimate: Estimate) -> str:
    """Return an estimate with its interval, in the unit that suits it."""
    name, unit_ns = units.choose(estimate.value)
    text = f"{units.number(estimate.value / unit_ns)} {name}"
    if estimate.low is None or estimate.high is None:
        return text
    low, high = units.number(estimate.low / unit_ns), units.number(estimate.high / unit_ns)
    return f"{text} [{low} – {high}]"


def stack(ax: Axes, row: int, parts: Mapping[Phase, Estimate], size_ns: float = 1.0) -> None:
    """Draw the parts of one total end to end in a row, in units of ``size_ns``."""
    start = 0.0
    for phase, estimate in parts.items():
        length = estimate.value / size_ns
        ax.barh(row, length, left=start, height=0.62, color=COLOURS[phase], label=phase.value)
        start += length


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Give a row chart its labels, the first row on top."""
    ax.set_yticks(range(len(names)), [short(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)


def time_axis(ax: Axes, text: str, high_ns: float, low_ns: float | None = None) -> None:
    """Make x an axis of time in one unit for data in ns; logarithmic where ``low_ns`` is given."""
    high_ns = max(high_ns, 1.0)
    middle_ns = high_ns
    if low_ns is not None:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(10, subs=(1.0,), numticks=12))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xlim(low_ns, high_ns * 1.1)
        # On a log axis the unit of its middle keeps both ends readable.
        middle_ns = (low_ns * high_ns) ** 0.5
    else:
        ax.set_xlim(0, high_ns * 1.02)
    name, unit_ns = units.choose(middle_ns)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ns, _: f"{ns / unit_ns:g}"))
    ax.set_xlabel(f"{text} ({name}{', log axis' if low_ns is not None else ''})")


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
            color=INK,
            fontsize=FONT - 0.5,
            annotation_clip=False,
        )
    ax.annotate(
        heading,
        (1.0, 1.0),
        xycoords="axes fraction",
        xytext=(6, 4),
        textcoords="offset points",
        color=MUTED,
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


def caption(result: Result) -> str:
    """Return where a chart's figures come from, in one or two lines."""
    env, run = result.environment, result.run
    made = [
        str(run["created"])[:10] if "created" in run else None,
        f"suite {run['suite']}" if "suite" in run else None,
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
