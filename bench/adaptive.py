"""How long a run goes on: until its intervals are narrow enough, or until its time is spent.

Pure: what was measured so far and how much time it took are arguments. ``measure.py`` asks between
rounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bench.errors import SuiteError
from bench.results import CellResult
from bench.stats import FIGURES, Estimate
from bench.subjects import CALL, NAMES, measured

LEAST_SESSIONS: Final = 5
"""Fewer say too little about how sessions differ to end a run by it."""
DEFAULT_FIGURE: Final = f"{CALL}.p50"
MOST_SESSIONS: Final = 500
"""Of a run without a budget: what is not narrow by then will hardly be."""
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Ending(StrEnum):
    """Why a run ended."""

    PLANNED = "planned"
    PRECISE = "precise"
    BUDGET = "budget"
    LIMIT = "limit"
    UNMEASURED = "unmeasured"
    INTERRUPTED = "interrupted"
    KILLED = "killed"


@dataclass(frozen=True)
class Goal:
    """What a run goes on for.

    ``precision`` is the largest half interval over its value, in every cell, for ``figure`` of
    ``subject``; None asks for none. ``budget_s`` is counted from the first session; None is no
    limit. ``least_sessions`` of each cell are made before an interval can end the run.
    """

    precision: float | None = None
    subject: str = CALL
    figure: str = "p50"
    budget_s: float | None = None
    least_sessions: int = LEAST_SESSIONS

    @property
    def of(self) -> str:
        """The figure in one word."""
        return f"{self.subject}.{self.figure}"


@dataclass(frozen=True)
class Width:
    """How well a figure of a cell is known; ``estimate`` is None where it cannot be told yet."""

    cell: str
    estimate: Estimate | None

    @property
    def share(self) -> float:
        """Half the interval over the value; infinite where there is no interval."""
        half = None if self.estimate is None else self.estimate.relative_half_width
        return float("inf") if half is None else half


def widths(cells: Iterable[CellResult], goal: Goal) -> list[Width]:
    """Return how well each cell's figure is known. Cells without the subject are left out."""
    found = []
    for cell in cells:
        subject = measured(cell, goal.subject)
        if subject is not None:
            estimate = subject.sample.estimate(FIGURES[goal.figure], signed=subject.signed)
            found.append(Width(cell.name, estimate))
    return found


def too_wide(known: Iterable[Width], precision: float) -> list[Width]:
    """Return what is not known as well as asked, the widest first."""
    return sorted(
        (width for width in known if not width.share <= precision),
        key=lambda width: width.share,
        reverse=True,
    )


def is_look(rounds: int) -> bool:
    """Whether to look at the intervals after so many rounds: each, later each twentieth part.

    Looking costs time, and each look is one more chance to find an interval narrow by luck.
    """
    return rounds % max(1, rounds // 20) == 0


def another_fits(rounds: int, spent_s: float, budget_s: float) -> bool:
    """Whether one more round, of the mean length so far, would end within the budget."""
    return not rounds or spent_s + spent_s / rounds <= budget_s


def ending(goal: Goal, rounds: int, spent_s: float, known: Sequence[Width] | None) -> Ending | None:
    """Return why a run is to end after so many rounds, or None to go on.

    ``known`` is None where nobody has looked. The first round is always made; the budget holds
    also before the least sessions are reached.
    """
    if known is not None and rounds >= goal.least_sessions:
        if not known:
            return Ending.UNMEASURED
        if goal.precision is not None and not too_wide(known, goal.precision):
            return Ending.PRECISE
    if goal.budget_s is not None:
        return None if another_fits(rounds, spent_s, goal.budget_s) else Ending.BUDGET
    return Ending.LIMIT if rounds >= max(MOST_SESSIONS, goal.least_sessions) else None


def parse_precision(text: str) -> float:
    """Return the share that a percentage stands for. Raises SuiteError."""
    found = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?) ?%", text.strip())
    if found is None or not 0 < float(found[1]) < 100:
        raise SuiteError(
            f"--precision: {text!r} is no precision; expected a percentage above 0%, like 2%"
        )
    return float(found[1]) / 100


def parse_figure(text: str, option: str) -> tuple[str, str]:
    """Return subject and figure of a text like ``call.p99``. Raises SuiteError."""
    subject, _, figure = text.partition(".")
    if subject not in NAMES or figure not in FIGURES:
        raise SuiteError(
            f"{option}: {text!r} is no figure; expected WHAT.FIGURE with WHAT one of: "
            f"{', '.join(NAMES)}; and FIGURE one of: {', '.join(FIGURES)}"
        )
    return subject, figure


def parse_duration(text: str) -> float:
    """Return the seconds of a text like ``30s``, ``10m`` or ``1h``. Raises SuiteError."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?) ?([smh])", text.strip())
    if found is None or not float(found[1]):
        raise SuiteError(f"--budget: {text!r} is no time; expected one like 30s, 10m or 1h")
    return float(found[1]) * _SECONDS[found[2]]
