"""Who is charged for which millisecond: a result as estimates per phase. Draws nothing.

Means add up, medians do not: every table or bar whose parts are summed uses means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench import stats
from bench.phases import Phase
from bench.remembered import once_each
from bench.results import CellResult, Nanoseconds, Result
from bench.stats import Estimate

BELOW_MCP = ("inproc", "pipe")
"""Transports that carry no message of a protocol: the floor under all others."""
_START = (Phase.SPAWN, Phase.BOOT)


@dataclass(frozen=True)
class Breakdown:
    """Mean phases in nanoseconds, in causal order, and the mean total that they sum to."""

    parts: Mapping[Phase, Estimate]
    total: Estimate


@dataclass(frozen=True)
class Calls:
    """The calls of a cell, in nanoseconds.

    ``breakdown`` covers the calls that have all phases of the cell. ``handler`` and ``boundary``
    are measured where the server writes marks; otherwise the handler lies in ``bracket`` and the
    boundary is what remains of the mean. Either may be negative where the noise is larger.
    """

    breakdown: Breakdown
    median: Estimate | None
    p90: Estimate | None
    p99: Estimate | None
    handler: Estimate | None
    boundary: Estimate | None
    bracket: Bracket | None


@dataclass(frozen=True)
class Bracket:
    """The handler seen from outside.

    ``low`` is call − dispatch probe, ``high`` is call − protocol probe.
    """

    low: Estimate
    high: Estimate


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: a cell's median total and what it adds to the rung before."""

    cell: CellResult
    label: str
    total: Estimate
    increment: Estimate | None


@dataclass(frozen=True)
class MarkingCost:
    """What writing marks adds to a call: the same cell with and without, paired by round."""

    cell: str
    unmarked: Estimate
    cost: Estimate


@dataclass(frozen=True)
class ChangeCost:
    """What one change adds to a call: a cell against the one without its last setting, by round."""

    cell: str
    change: str
    without: Estimate
    cost: Estimate


@once_each
def setup_groups(result: Result) -> list[CellResult]:
    """Return one cell per server as it is opened, holding the sessions of all its cells.

    Cells that differ only in what they call later have the same setup: more sessions tell more.
    """
    groups: dict[tuple[object, ...], list[CellResult]] = {}
    for cell in result.cells:
        key = (cell.reach, cell.fields.get("command"))
        groups.setdefault(key, []).append(cell)
    return [
        _merged(cells)
        for cells in groups.values()
        if any(s.setup for c in cells for s in c.sessions)
    ]


@once_each
def setup(cell: CellResult) -> Breakdown | None:
    """Return the mean phases of setup, or None without a finished session.

    Sessions that went through other phases than most (a first read that could not be seen) are
    left out, so that the parts sum to the total; ``n_sessions`` says how many are in.
    """
    if not cell.sessions:
        return None
    ways = Counter(tuple(session.setup) for session in cell.sessions)
    phases = ways.most_common(1)[0][0]
    kept = [session for session in cell.sessions if tuple(session.setup) == phases]
    parts = {
        phase: stats.mean([_one(session.setup[phase]) for session in kept]) for phase in phases
    }
    return Breakdown(parts, stats.mean([_one(session.setup_ns) for session in kept]))


def without_start(cell: CellResult) -> CellResult:
    """Return a cell whose setup begins when its server has booted.

    A library over stdio starts the server out of sight: its setup is left out whole.
    """
    hidden = cell.transport == "stdio" and cell.client != "raw"
    sessions = [
        replace(
            session,
            setup={
                phase: ns
                for phase, ns in session.setup.items()
                if phase not in _START and not hidden
            },
        )
        for session in cell.sessions
    ]
    return replace(cell, sessions=sessions)


@once_each
def first_call(cell: CellResult) -> Estimate | None:
    """Return the mean of the sessions' first calls, or None where none succeeded."""
    return _once([s.first_call_ns for s in cell.sessions])


@once_each
def close(cell: CellResult) -> Estimate | None:
    """Return the mean of closing."""
    return _once([s.close_ns for s in cell.sessions])


@once_each
def call_phases(cell: CellResult) -> Breakdown | None:
    """Return the mean phases of the calls that have all phases of the cell, or None."""
    kept = cell.with_all_phases()
    if not kept:
        return None
    parts = {
        phase: stats.mean([session.calls[phase][rows] for session, rows in kept])
        for phase in cell.call_phases
    }
    return Breakdown(parts, stats.mean([session.total_ns[rows] for session, rows in kept]))


@once_each
def calls(cell: CellResult) -> Calls | None:
    """Return the calls of a cell with their percentiles, or None where none succeeded."""
    phases = call_phases(cell)
    if phases is None:
        return None
    totals = cell.totals()
    return Calls(
        breakdown=phases,
        median=stats.quantile(totals, 0.5),
        p90=stats.quantile(totals, 0.9),
        p99=stats.quantile(totals, 0.99),
        handler=phases.parts.get(Phase.HANDLER),
        boundary=_boundary(cell) if cell.marked else None,
        bracket=_bracket(cell),
    )


@once_each
def ladder(result: Result) -> list[Rung]:
    """Return the rungs of a result: layer upon layer under one handler, the lowest total first.

    Function call and pipe where there are such, then each server over one transport (stdio, if it
    was measured) as the thin client sees it, then the official SDK's client on its own server. The
    handler is ``noop``, or the first there is. Cells without marks are preferred: the ladder wants
    no instrument.
    """
    chosen = _rungs(result)
    rungs: list[Rung] = []
    for cell in chosen:
        total = stats.quantile(cell.totals(), 0.5)
        if total is None:
            continue
        increment = _increment(rungs[-1].cell, cell) if rungs else None
        rungs.append(Rung(cell, cell.reach, total, increment))
    return rungs


def marking_costs(result: Result) -> list[MarkingCost]:
    """Return the cost of marking for each cell that was also run without marks."""
    costs = []
    for cell in result.cells:
        twin = next((c for c in result.cells if c is not cell and _twins(cell, c)), None)
        if twin is None or not cell.marked:
            continue
        marked = {s.round: s.total_ns for s in cell.sessions if len(s.gap_ns)}
        plain = {s.round: s.total_ns for s in twin.sessions if len(s.gap_ns)}
        rounds = sorted(marked.keys() & plain.keys())
        if rounds:
            cost = stats.difference_of_means(
                [_median(marked[r]) for r in rounds], [_median(plain[r]) for r in rounds]
            )
            unmarked = stats.mean([_median(plain[r]) for r in rounds])
            costs.append(MarkingCost(cell.name, unmarked, cost))
    return costs


def change_costs(result: Result) -> list[ChangeCost]:
    """Return what each setting adds, for each cell whose twin without it was measured too.

    A setting is the last word of a cell's name: the client, what is opened anew, the socket, …
    """
    plain = {(cell.reach, cell.handler): cell for cell in result.cells if cell.totals()}
    costs = []
    for cell in plain.values():
        rest, _, change = cell.reach.rpartition("/")
        twin = plain.get((rest, cell.handler))
        if twin is None or not change:
            continue
        cost, total = _increment(twin, cell), stats.quantile(twin.totals(), 0.5)
        if cost is not None and total is not None:
            costs.append(ChangeCost(cell.name, change, total, cost))
    return costs


def _merged(cells: Sequence[CellResult]) -> CellResult:
    first = cells[0]
    return CellResult(
        first.reach, first.fields, [session for cell in cells for session in cell.sessions]
    )


def _one(value: int) -> Nanoseconds:
    return np.array([value], dtype=np.int64)


def _median(column: Nanoseconds) -> Nanoseconds:
    """Return the session's median call: the cost of a mark must not drown in one stray call."""
    return np.array([np.median(column)], dtype=np.int64)


def _once(values: Sequence[int | None]) -> Estimate | None:
    present = [_one(value) for value in values if value is not None]
    return stats.mean(present) if present else None


def _boundary(cell: CellResult) -> Estimate:
    """Return total − handler, per call (law 2): signed, never clamped."""
    return stats.mean(
        [
            session.total_ns[rows] - session.calls[Phase.HANDLER][rows]
            for session, rows in cell.with_all_phases()
        ],
        signed=True,
    )


def _bracket(cell: CellResult) -> Bracket | None:
    sessions = [
        s
        for s in cell.sessions
        if len(s.gap_ns) and len(s.protocol_probe_ns) and len(s.dispatch_probe_ns)
    ]
    if not sessions:
        return None
    call = [_median(s.total_ns) for s in sessions]
    return Bracket(
        low=stats.difference_of_means(call, [_median(s.dispatch_probe_ns) for s in sessions]),
        high=stats.difference_of_means(call, [_median(s.protocol_probe_ns) for s in sessions]),
    )


def _increment(lower: CellResult, upper: CellResult) -> Estimate | None:
    low = {s.round: s for s in lower.sessions if len(s.gap_ns)}
    high = {s.round: s for s in upper.sessions if len(s.gap_ns)}
    rounds = sorted(low.keys() & high.keys())
    if not rounds:
        return None
    return stats.difference_of_means(
        [_median(high[r].total_ns) for r in rounds], [_median(low[r].total_ns) for r in rounds]
    )


def _rungs(result: Result) -> list[CellResult]:
    """Return one cell per layer over one transport: stdio where there is stdio."""
    usable = [cell for cell in result.cells if cell.totals()]
    mcp = [cell for cell in usable if cell.transport not in BELOW_MCP]
    handlers = [cell.handler for cell in mcp]
    handler = "noop" if "noop" in handlers else next(iter(handlers), None)
    transports = [cell.transport for cell in mcp]
    transport = "stdio" if "stdio" in transports else next(iter(transports), None)
    layers: dict[str, CellResult] = {}
    for cell in [c for c in mcp if (c.handler, c.transport) == (handler, transport)]:
        plain = cell.reach.count("/") == 1
        if (plain or cell.reach.endswith("/sdk/sdk-client")) and not (
            cell.reach in layers and cell.marked
        ):
            layers[cell.reach] = cell
    below = {
        cell.transport: cell
        for cell in usable
        if cell.transport in BELOW_MCP and cell.handler in (handler, "echo")
    }
    rungs = [*below.values(), *layers.values()]
    return sorted(rungs, key=lambda c: float(np.median(np.concatenate(c.totals()))))


def _twins(cell: CellResult, other: CellResult) -> bool:
    if other.marked or cell.fields.get("marks") == other.fields.get("marks"):
        return False
    rest = {key: value for key, value in cell.fields.items() if key != "marks"}
    return rest == {key: value for key, value in other.fields.items() if key != "marks"}
