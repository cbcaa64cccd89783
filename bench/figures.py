"""The figures of a cell under their names: told with an interval, or untold with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bench import stats
from bench.results import CellResult, Result
from bench.stats import Estimate
from bench.subjects import BOUNDARY, CALL, CLOSE, FIRST_CALL, HANDLER, SETUP, measured

LISTED: Final = (
    (SETUP, "mean"),
    (FIRST_CALL, "mean"),
    *((CALL, figure) for figure in stats.FIGURES),
    (BOUNDARY, "mean"),
    (HANDLER, "mean"),
    (CLOSE, "mean"),
)
"""Subject and figure of what is listed of every cell."""


@dataclass(frozen=True)
class Figure:
    """One figure of one cell, in ns. ``reason`` says why where there is no ``estimate``.

    ``estimated`` ones come from probes, where the server wrote no marks.
    """

    cell: str
    subject: str
    name: str
    estimate: Estimate | None
    reason: str
    n_sessions: int
    n_samples: int
    estimated: bool = False

    @property
    def label(self) -> str:
        """The figure in one phrase."""
        return f"{self.cell} {self.subject}.{self.name}"


def figure(cell: CellResult, subject: str, name: str) -> Figure:
    """Return a figure of a cell. Raises KeyError where there is no such subject or figure."""
    q = stats.FIGURES[name]
    found = measured(cell, subject) if cell.n_calls else None
    if found is None:
        return Figure(cell.name, subject, name, None, _why_absent(cell, subject), 0, 0)
    sample = found.sample
    estimate = sample.estimate(q, signed=found.signed)
    reason = "" if estimate is not None else _why_untold(q, name, sample.n_samples)
    counts = (sample.n_sessions, sample.n_samples)
    return Figure(cell.name, subject, name, estimate, reason, *counts, found.estimated)


def figures(result: Result) -> list[Figure]:
    """Return what is listed of every cell, what cannot be told included."""
    return [figure(cell, *wanted) for cell in result.cells for wanted in LISTED]


def _why_absent(cell: CellResult, subject: str) -> str:
    if not cell.sessions:
        return "no session was finished"
    return f"no {subject} in this cell" if cell.n_calls else "no call succeeded"


def _why_untold(q: float | None, name: str, n_samples: int) -> str:
    return f"{name} needs {stats.needed(q or 0.5)} samples, there are {n_samples}"
