"""How a run went, where that is not a matter of course: its order, and how far its goal was met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.adaptive import Ending, Goal, Width, parse_figure, too_wide, widths
from bench.plan import BLOCKED
from bench.render.units import counted, duration, share
from bench.results import Result

_UNSAID = "the run was cut short"
_NOUNS: Final = {"sessions": "session", "calls": "call", "warmups": "warm-up"}
_WHY: dict[str, str] = {
    Ending.BUDGET: "another round would probably not have ended within the budget",
    Ending.LIMIT: "that is the upper limit without a budget",
    Ending.UNMEASURED: "no cell has this figure",
}


def course(result: Result) -> list[str]:
    """Return a line for each thing that a reader of the figures has to know of their making."""
    lines = []
    if result.run.get("order_of_sessions") == BLOCKED:
        lines.append(
            "note: all sessions of one cell ran before those of the next (--order blocked): drift "
            "of the machine during the run looks like a difference between them"
        )
    goal = goal_of(result)
    if goal is None:
        return lines
    if goal.precision is None:
        return [*lines, f"budget {_budget(goal)}: {_amount(result)}{_why(result)}"]
    known = widths(result.cells, goal)
    wide = too_wide(known, goal.precision)
    reached = (
        f"{goal.of} is within ±{share(goal.precision)} in {len(known) - len(wide)} of "
        f"{counted(len(result.cells), 'cell')}"
    )
    budget = "" if goal.budget_s is None else f", budget {_budget(goal)}"
    lines.append(
        f"precision ±{share(goal.precision)}{budget}: {reached} after "
        f"{_amount(result)}{_why(result)}"
    )
    return [*lines, *_imprecise(result, goal, known)]


def imprecise(result: Result) -> list[str]:
    """Return a line for each cell that is not known as well as the run was to make it."""
    goal = goal_of(result)
    if goal is None or goal.precision is None:
        return []
    return _imprecise(result, goal, widths(result.cells, goal))


def _imprecise(result: Result, goal: Goal, known: Sequence[Width]) -> list[str]:
    assert goal.precision is not None
    named = {width.cell for width in known}
    return [
        *(
            f"not precise: {width.cell}: {goal.of} {_known(width)}"
            for width in too_wide(known, goal.precision)
        ),
        *(
            f"not precise: {cell.name}: has no {goal.subject}"
            for cell in result.cells
            if cell.name not in named
        ),
    ]


def goal_of(result: Result) -> Goal | None:
    """Return what a run went on for; None where its sessions were planned."""
    if "precision_of" not in result.run:
        return None
    subject, figure = parse_figure(str(result.run["precision_of"]), "precision_of")
    precision, budget_s = result.run.get("precision"), result.run.get("budget_s")
    return Goal(precision, subject, figure, budget_s)


def goal_in_words(goal: Goal) -> str:
    """Return how long a run goes on, in a few words."""
    until = []
    if goal.precision is not None:
        until.append(f"until {goal.of} is within ±{share(goal.precision)}")
    if goal.budget_s is not None:
        until.append(f"as long as a round fits into {_budget(goal)}")
    return f"at least {goal.least_sessions} sessions, {', '.join(until)}"


def amount_of(result: Result, key: str) -> str:
    """Return the sessions, calls or warm-ups of a run, counted; ? where it does not say."""
    amount, noun = result.run.get(key), _NOUNS[key]
    return counted(amount, noun) if isinstance(amount, int) else f"? {noun}s"


def _known(width: Width) -> str:
    if width.estimate is None:
        return "cannot be told from so few samples"
    value = duration(width.estimate.value)
    return value if width.share == float("inf") else f"{value} ±{share(width.share)}"


def _why(result: Result) -> str:
    ended = result.run.get("ended")
    return "" if ended == Ending.PRECISE else f"; {_WHY.get(str(ended), _UNSAID)}"


def _amount(result: Result) -> str:
    return f"{amount_of(result, 'sessions')} of each cell"


def _budget(goal: Goal) -> str:
    """Return the budget as it is given on the command line."""
    seconds = goal.budget_s or 0.0
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"
