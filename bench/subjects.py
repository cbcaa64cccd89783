"""What of a cell can be compared, gated and exported: its samples under a name, by session.

A subject is ``setup``, ``first_call``, ``close``, ``call``, ``boundary``, ``handler`` or a phase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bench.phases import Phase
from bench.results import CellResult, Session
from bench.stats import Sample, Samples

SETUP, FIRST_CALL, CLOSE = "setup", "first_call", "close"
CALL, BOUNDARY, HANDLER = "call", "boundary", "handler"
SUBJECTS = (SETUP, FIRST_CALL, CLOSE, CALL, BOUNDARY, HANDLER)
NAMES = tuple(dict.fromkeys((*SUBJECTS, *(phase.value for phase in Phase))))
"""Every subject there can be."""


@dataclass(frozen=True)
class Measured:
    """One subject of one cell: a group of samples in ns per session, and the round of each.

    ``estimated`` says that a group is one difference of medians, where the server wrote no marks.
    ``signed`` ones may be below 0: these, and every boundary (law 2).
    """

    rounds: tuple[int, ...]
    groups: Sequence[Samples]
    estimated: bool = False
    signed: bool = False

    @cached_property
    def sample(self) -> Sample:
        """The groups, prepared for statistics."""
        return Sample(self.groups)

    def within(self, rounds: Sequence[int]) -> Sample:
        """Return the groups of these rounds, in their order."""
        if tuple(rounds) == self.rounds:
            return self.sample
        place = dict(zip(self.rounds, self.groups, strict=True))
        return Sample([place[round_] for round_ in rounds])


def measured(cell: CellResult, subject: str) -> Measured | None:
    """Return the samples of a subject, or None where the cell has none. Raises KeyError."""
    if subject not in NAMES:
        raise KeyError(subject)
    estimated = subject in (BOUNDARY, HANDLER) and not cell.marked
    take = _BY_DIFFERENCE[subject] if estimated else _TAKERS.get(subject, _of_phase(subject))
    rounds, groups = [], []
    for session in cell.sessions:
        group = take(session)
        if len(group):
            rounds.append(session.round)
            groups.append(group)
    signed = estimated or subject == BOUNDARY
    return Measured(tuple(rounds), groups, estimated, signed) if groups else None


def _once(value: float | None) -> Samples:
    return np.empty(0) if value is None else np.array([value], dtype=np.float64)


def _setup(session: Session) -> Samples:
    return _once(session.setup_ns if session.setup else None)


def _boundary(session: Session) -> Samples:
    rows = session.complete()
    if not rows.any():
        return np.empty(0)
    return session.total_ns[rows] - session.calls[Phase.HANDLER][rows]


def _of_phase(name: str) -> Callable[[Session], Samples]:
    def take(session: Session) -> Samples:
        if name in session.setup:
            return _once(session.setup[Phase(name)])
        column = session.calls.get(Phase(name))
        return np.empty(0) if column is None else column[column >= 0]

    return take


def _boundary_by_difference(session: Session) -> Samples:
    """Return what a call of no tool takes: all but the handler (law 2, by difference)."""
    probes = session.dispatch_probe_ns
    return _once(float(np.median(probes)) if len(probes) and len(session.gap_ns) else None)


def _handler_by_difference(session: Session) -> Samples:
    boundary = _boundary_by_difference(session)
    if not len(boundary):
        return boundary
    return _once(float(np.median(session.total_ns)) - float(boundary[0]))


_TAKERS: dict[str, Callable[[Session], Samples]] = {
    SETUP: _setup,
    FIRST_CALL: lambda session: _once(session.first_call_ns),
    CLOSE: lambda session: _once(session.close_ns),
    CALL: lambda session: session.total_ns if len(session.gap_ns) else np.empty(0),
    BOUNDARY: _boundary,
}
_BY_DIFFERENCE = {BOUNDARY: _boundary_by_difference, HANDLER: _handler_by_difference}
