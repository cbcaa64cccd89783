"""A session as a message diagram: who says what to whom, and how long each phase takes.

The messages are those that the transport and the revision prescribe; the times are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from bench import accounts
from bench.charts import alt, parts
from bench.charts.asked import of_a_result
from bench.charts.style import COLOURS, FONT, WIDTH_IN, palette, style
from bench.phases import Phase
from bench.render import units
from bench.results import CellResult, Result
from bench.spec import LISTENING, MCP_TRANSPORTS
from bench.stats import Estimate

STEP_IN = 0.34
_PHASE_X, _TIME_X, _CLIENT_X, _SERVER_X = 0.14, 0.40, 0.50, 0.94
_BOX = 0.016


@dataclass(frozen=True)
class Step:
    """One phase of a diagram: the messages in it (→ to the server, ← back), and where the work is.

    ``at`` is ``client`` or ``server`` for work without a message, "" for what is on the wire.
    """

    phase: Phase
    time: Estimate | None
    messages: tuple[str, ...] = ()
    at: str = ""


@of_a_result
def sequence(result: Result, ax: Axes | None = None, *, cell: str | None = None) -> Axes:
    """Draw the messages of a session of one cell, downwards, with the mean time of each phase.

    Not to scale: every phase has the same height. ``cell`` is a name; without it the first cell
    that speaks MCP. Raises SelectionError for a name that does not exist.
    """
    chosen = _chosen(result) if cell is None else result.cell(cell)
    with style():
        if chosen is None or not chosen.totals():
            ax = parts.axis_for(ax, 2.2)
            return parts.empty(ax, "A session, message by message", "no call succeeded")
        title = f"A session, message by message: {chosen.name}"
        setup, call, close = _setup_steps(chosen), _call_steps(chosen), _close_steps(chosen)
        groups = [("setup, once", setup), ("each call", call), ("close", close)]
        groups = [(name, steps) for name, steps in groups if steps]
        height = sum(len(steps) + 0.9 for _, steps in groups) + 1.0
        ax = parts.axis_for(ax, 0.75 + STEP_IN * height, WIDTH_IN)
        _lanes(ax, height)
        y = 1.0
        for name, steps in groups:
            y = _group(ax, name, steps, y)
        ax.set_title(title)
        n_calls, n_sessions = chosen.n_calls, len(chosen.sessions)
        ax.set_xlabel(
            f"not to scale; mean times of {n_sessions} sessions and {n_calls:,} calls",
            color=palette().muted,
        )
        words = [_in_words(step) for _, steps in groups for step in steps]
        alt.describe(ax, title, "Messages between client and server with mean times", words)
    return ax


def steps(cell: CellResult) -> list[Step]:
    """Return the steps of a session of a cell with calls: setup, one call, closing."""
    return [*_setup_steps(cell), *_call_steps(cell), *_close_steps(cell)]


def _chosen(result: Result) -> CellResult | None:
    usable = [cell for cell in result.cells if cell.totals()]
    speaking = [cell for cell in usable if cell.transport in MCP_TRANSPORTS]
    marked = [cell for cell in speaking if cell.marked]
    return next(iter([*marked, *speaking, *usable]), None)


def _setup_steps(cell: CellResult) -> list[Step]:
    bill = accounts.setup(cell)
    if bill is None:
        return []
    over_http = cell.transport in LISTENING
    messages: dict[Phase, tuple[str, ...]] = {
        Phase.SPAWN: ("→ start of the process",),
        Phase.CONNECT: ("→ connect", "← accepted"),
        Phase.TLS: ("→ TLS hello", "← TLS finished"),
        Phase.DISCOVER: (
            ("→ GET event stream", "← endpoint")
            if cell.transport == "sse"
            else ("→ server/discover", "← result")
        ),
        Phase.INITIALIZE: ("→ initialize", "← result"),
        Phase.INITIALIZED: (
            ("→ notifications/initialized", "← 202")
            if over_http
            else ("→ notifications/initialized",)
        ),
        Phase.TOOLS_LIST: ("→ tools/list", "← result"),
    }
    at = {Phase.BOOT: "server", Phase.RESOLVE: "client"}
    return [
        Step(phase, time, messages.get(phase, ()), at.get(phase, ""))
        for phase, time in bill.parts.items()
    ]


def _call_steps(cell: CellResult) -> list[Step]:
    bill = accounts.call_phases(cell)
    if bill is None:
        return []
    name = "tools/call" if cell.transport in MCP_TRANSPORTS else "request"
    messages = {
        Phase.REQUEST: (f"→ {name}",),
        Phase.RESPONSE: ("← result",),
        Phase.SERVER: (f"→ {name}", "← result"),
        Phase.REOPEN: ("→ open anew",),
    }
    at = {
        Phase.ENCODE: "client",
        Phase.DECODE: "client",
        Phase.DISPATCH: "server",
        Phase.HANDLER: "server",
        Phase.REPLY: "server",
    }
    return [
        Step(phase, time, messages.get(phase, ()), at.get(phase, ""))
        for phase, time in bill.parts.items()
    ]


def _close_steps(cell: CellResult) -> list[Step]:
    time = accounts.close(cell)
    if time is None:
        return []
    how = {"stdio": "→ end of stdin", "http": "→ DELETE"}.get(cell.transport, "→ close")
    return [Step(Phase.CLOSE, time, (how,))]


def _lanes(ax: Axes, height: float) -> None:
    ax.set_xlim(0, 1)
    ax.set_ylim(height, 0)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    for x, name in ((_CLIENT_X, "client"), (_SERVER_X, "server")):
        ax.plot([x, x], [0.75, height], color=palette().muted, linewidth=0.8)
        ax.text(x, 0.55, name, ha="center", va="bottom", fontweight="bold")
    ax.text(_PHASE_X, 0.55, "phase", ha="left", va="bottom", color=palette().muted)
    ax.text(_TIME_X, 0.55, "mean", ha="right", va="bottom", color=palette().muted)


def _group(ax: Axes, name: str, steps: Sequence[Step], y: float) -> float:
    """Draw the steps of a part of the session from ``y`` down; return where it ends."""
    ax.plot([0, 1], [y, y], color=palette().grid, linewidth=0.8)
    ax.text(0.0, y + 0.5, name, va="center", fontweight="bold", fontsize=FONT - 0.5)
    y += 0.1
    for step in steps:
        colour = COLOURS[step.phase]
        ax.add_patch(Rectangle((_PHASE_X - 0.03, y), _BOX, 0.94, color=colour, linewidth=0))
        ax.text(_PHASE_X, y + 0.5, step.phase.value, va="center")
        text = "–" if step.time is None else units.duration(step.time.value)
        ax.text(_TIME_X, y + 0.5, text, va="center", ha="right")
        if step.at:
            x = (_CLIENT_X if step.at == "client" else _SERVER_X) - _BOX / 2
            ax.add_patch(
                Rectangle((x, y + 0.05), _BOX, 0.9, facecolor=colour, linewidth=0, zorder=3)
            )
        for number, message in enumerate(step.messages):
            at = y + (number + 0.62) / max(len(step.messages), 1.25)
            _arrow(ax, message, at, colour)
        y += 1.0
    return y + 0.8


def _arrow(ax: Axes, message: str, y: float, colour: str) -> None:
    direction, _, text = message.partition(" ")
    ends = (_CLIENT_X, _SERVER_X) if direction == "→" else (_SERVER_X, _CLIENT_X)
    ax.annotate(
        "",
        (ends[1], y),
        xytext=(ends[0], y),
        arrowprops={
            "arrowstyle": "-|>",
            "color": palette().ink,
            "linewidth": 0.9,
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 8,
        },
    )
    ax.text(
        (_CLIENT_X + _SERVER_X) / 2,
        y,
        text,
        ha="center",
        va="center",
        fontsize=FONT - 1,
        bbox={"facecolor": palette().ground, "edgecolor": "none", "pad": 1.2},
    )


def _in_words(step: Step) -> str:
    time = "" if step.time is None else f" {units.duration(step.time.value)}"
    said = f" ({', '.join(step.messages)})" if step.messages else f" (in the {step.at})"
    return f"{step.phase}{time}{said if step.messages or step.at else ''}"
