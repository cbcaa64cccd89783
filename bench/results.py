"""What a run gave: sessions of cells as columns of integer nanoseconds. Values only, no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.errors import SelectionError
from bench.phases import CALL, CALL_UNMARKED, IN_SERVER, WHOLE, Phase

Nanoseconds = NDArray[np.int64]
ABSENT = -1
"""In a phase column: this call has no such phase (its marks are not complete)."""


@dataclass(frozen=True)
class Session:
    """One finished session.

    ``setup`` and ``close_ns`` hold phases that happen once. ``calls`` has one entry per phase,
    each an int64 array with one value per successful call, in order; ``server`` is always there,
    ``encode`` and ``decode`` unless a client library does both out of sight, ``reopen`` where each
    call opens something anew, the five phases that ``server`` is made of only where the server
    wrote marks (:data:`ABSENT` in calls without a complete set). ``gap_ns[i]`` lies between the
    end of call ``i - 1`` (the start of the session for the first) and the start of call ``i``.
    ``accepted_ns[i]`` is how long the transport took to confirm call ``i`` apart from its answer;
    empty where it does not. ``answering_ns[i]`` is the part of call ``i`` in which the client
    answered requests of the server; empty where no call of the session had any.
    """

    round: int
    position: int
    setup: Mapping[Phase, int]
    first_call_ns: int | None
    close_ns: int | None
    calls: Mapping[Phase, Nanoseconds]
    gap_ns: Nanoseconds
    protocol_probe_ns: Nanoseconds
    dispatch_probe_ns: Nanoseconds
    outcomes: Mapping[str, int]
    facts: Mapping[str, int | float | str] = field(default_factory=dict)
    notices: Sequence[str] = ()
    accepted_ns: Nanoseconds = field(default_factory=lambda: np.empty(0, np.int64))
    answering_ns: Nanoseconds = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def setup_ns(self) -> int:
        """The whole of setup."""
        return sum(self.setup.values())

    @property
    def total_ns(self) -> Nanoseconds:
        """The total of each successful call: exactly the sum of its phases."""
        present = [self.calls[phase] for phase in WHOLE if phase in self.calls]
        return np.asarray(sum(present), dtype=np.int64)

    @property
    def marked(self) -> bool:
        """Whether at least one call has a complete set of marks."""
        return Phase.HANDLER in self.calls and bool((self.calls[Phase.HANDLER] >= 0).any())

    def complete(self) -> NDArray[np.bool_]:
        """Return which calls have all seven phases."""
        if Phase.HANDLER not in self.calls:
            return np.zeros(len(self.gap_ns), dtype=bool)
        return np.asarray(self.calls[Phase.HANDLER] >= 0)

    def check(self) -> None:
        """Raise ValueError unless every call's phases sum exactly to its total (law 1)."""
        if not self.marked:
            return
        rows = self.complete()
        inside = sum(self.calls[phase][rows] for phase in IN_SERVER)
        if not np.array_equal(inside, self.calls[Phase.SERVER][rows]):
            raise ValueError("the phases of a call do not sum to its total")


@dataclass(frozen=True)
class Failure:
    """A session that ended early; its samples are not in any figure."""

    round: int
    phase: str
    cause: str
    text: str


@dataclass(frozen=True)
class CellResult:
    """All sessions of one cell. ``fields`` are those of the cell, flat."""

    name: str
    fields: Mapping[str, int | str | None]
    sessions: Sequence[Session]
    failures: Sequence[Failure] = ()

    @property
    def server(self) -> str:
        """The name of the target."""
        return str(self.fields["server"])

    @property
    def handler(self) -> str:
        """What the tool does."""
        return str(self.fields["handler"])

    @property
    def transport(self) -> str:
        """How bytes move."""
        return str(self.fields["transport"])

    @property
    def client(self) -> str:
        """Who calls."""
        return str(self.fields.get("client", "raw"))

    @property
    def reach(self) -> str:
        """The name of the cell without its handler: how the target is reached."""
        transport, server, _, *rest = self.name.split("/")
        return "/".join([transport, server, *(word for word in rest if word != "no-marks")])

    @property
    def marked(self) -> bool:
        """Whether the server of this cell wrote marks."""
        return any(session.marked for session in self.sessions)

    @property
    def call_phases(self) -> tuple[Phase, ...]:
        """The phases its calls can be split into."""
        found = {phase for session in self.sessions for phase in session.calls}
        phases = (Phase.REOPEN, *(CALL if self.marked else CALL_UNMARKED))
        return tuple(phase for phase in phases if phase in found)

    @property
    def setup_phases(self) -> tuple[Phase, ...]:
        """The phases of setup that exist here, in order."""
        found = {phase: None for session in self.sessions for phase in session.setup}
        return tuple(phase for phase in Phase if phase in found)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many calls ended in each way, over all finished sessions."""
        counts: dict[str, int] = {}
        for session in self.sessions:
            for outcome, count in session.outcomes.items():
                counts[outcome] = counts.get(outcome, 0) + count
        return counts

    @property
    def n_calls(self) -> int:
        """Successful calls over all finished sessions."""
        return sum(len(session.gap_ns) for session in self.sessions)

    def totals(self) -> list[Nanoseconds]:
        """Return the totals of the calls, one array per session (empty ones left out)."""
        return [session.total_ns for session in self.sessions if len(session.gap_ns)]

    def answering(self) -> list[Nanoseconds]:
        """Return how long the client answered the server within each call, one array per session.

        A session whose server asked nothing has spent nothing: zeros, so that means are of all.
        """
        return [
            session.answering_ns if len(session.answering_ns) else np.zeros_like(session.gap_ns)
            for session in self.sessions
            if len(session.gap_ns)
        ]

    def with_all_phases(self) -> list[tuple[Session, NDArray[np.bool_]]]:
        """Return the sessions with calls that have all phases of the cell, and those calls."""
        marked = self.marked
        pairs = [
            (session, session.complete() if marked else np.ones(len(session.gap_ns), dtype=bool))
            for session in self.sessions
        ]
        return [(session, rows) for session, rows in pairs if rows.any()]

    def phase(self, phase: Phase) -> list[Nanoseconds]:
        """Return one phase of the calls, one array per session, calls without it left out."""
        columns = [session.calls[phase] for session in self.sessions if phase in session.calls]
        present = [column[column >= 0] for column in columns]
        return [column for column in present if len(column)]


@dataclass(frozen=True)
class Result:
    """One run. ``run`` says how it was made, ``environment`` where, ``source`` in which file."""

    cells: Sequence[CellResult]
    run: Mapping[str, Any]
    environment: Mapping[str, int | float | str]
    source: str | None = field(default=None, compare=False)

    def cell(self, name: str) -> CellResult:
        """Return the cell of this name. Raises SelectionError naming those there are."""
        for cell in self.cells:
            if cell.name == name:
                return cell
        there = ", ".join(cell.name for cell in self.cells)
        raise SelectionError(f"no cell {name!r}; there are: {there}")

    @property
    def failures(self) -> list[tuple[str, Failure]]:
        """Every session that ended early, with the name of its cell."""
        return [(cell.name, failure) for cell in self.cells for failure in cell.failures]


def expect_result(given: object) -> None:
    """Raise SelectionError where something else than a result is given, like a path."""
    if not isinstance(given, Result):
        raise SelectionError(
            f"{given!r} is a {type(given).__name__}; expected a run, as bench.load(path) returns"
        )
