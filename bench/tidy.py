"""A result as records: flat dicts with the unit in each name, and columns of every single call.

A record holds scalars alone; all records of a list have the same keys, and None stands for what
does not exist. An estimate is three of them: ``p50_ns``, ``p50_low_ns``, ``p50_high_ns``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import accounts, stats
from bench.accounts import Breakdown
from bench.phases import IN_SERVER, Phase
from bench.results import CellResult, Result, Session
from bench.stats import Estimate

Record = dict[str, Any]


@dataclass(frozen=True)
class _Row:
    """One session with calls, and where it stands."""

    cell: str
    index: int
    session: Session


def cell_records(result: Result) -> list[Record]:
    """Return one record per cell: its fields, counts, setup, and the calls with percentiles."""
    return with_all_keys(_cell_record(result, cell) for cell in result.cells)


def setup_records(result: Result) -> list[Record]:
    """Return one record per cell and phase of setup; the means of a cell add up to its setup."""
    return _phase_records(result, accounts.setup)


def call_records(result: Result) -> list[Record]:
    """Return one record per cell and phase of a call; the means of a cell add up to its call."""
    return _phase_records(result, accounts.call_phases)


def samples(result: Result) -> dict[str, NDArray[Any]]:
    """Return columns with one row per successful call, in the order in which they were made.

    ``cell`` (names), ``round``, ``position`` (place of the session in the run) and ``call`` (index
    in its session) say which call it is. A phase column is float64 and NaN where the call has no
    such phase; the others are int64. The phases of a row sum exactly to its ``total_ns``.
    """
    rows = [
        _Row(cell.name, index, session)
        for index, cell in enumerate(result.cells)
        for session in cell.sessions
        if len(session.gap_ns)
    ]
    rows.sort(key=lambda row: row.session.position)
    sizes = [len(row.session.gap_ns) for row in rows]

    def repeated(values: Sequence[object], dtype: type) -> NDArray[Any]:
        return np.repeat(np.array(values, dtype=dtype), sizes)

    def joined(columns: Iterable[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([np.empty(0, np.int64), *columns])

    present = {phase for row in rows for phase in row.session.calls}
    return {
        "cell": repeated([row.cell for row in rows], object),
        "round": repeated([row.session.round for row in rows], np.int64),
        "position": repeated([row.session.position for row in rows], np.int64),
        "call": joined(np.arange(size) for size in sizes),
        "gap_ns": joined(row.session.gap_ns for row in rows),
        **{
            f"{phase}_ns": joined(_phase_column(row.session, phase) for row in rows)
            for phase in Phase
            if phase in present
        },
        "total_ns": joined(row.session.total_ns for row in rows),
    }


def flat(name: str, value: object) -> Record:
    """Return a value under its name, an estimate with its two ends beside it."""
    if not isinstance(value, Estimate):
        return {name: value}
    stem, unit = (name.removesuffix("_ns"), "_ns") if name.endswith("_ns") else (name, "")
    return {name: value.value, f"{stem}_low{unit}": value.low, f"{stem}_high{unit}": value.high}


def with_all_keys(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Return records that all have the keys of all, in the order in which they are first met."""
    found = list(records)
    keys: dict[str, None] = {}
    for record in found:
        keys |= dict.fromkeys(record)
    return [{key: record.get(key) for key in keys} for record in found]


def _identity(result: Result, cell: CellResult) -> Record:
    fields = dict.fromkeys(field for one in result.cells for field in one.fields)
    return {"cell": cell.name, **{field: cell.fields.get(field) for field in fields}}


def _estimate(name: str, estimate: Estimate | None) -> Record:
    stem = name.removesuffix("_ns")
    absent: Record = {name: None, f"{stem}_low_ns": None, f"{stem}_high_ns": None}
    return absent if estimate is None else flat(name, estimate)


def _cell_record(result: Result, cell: CellResult) -> Record:
    setup, calls, totals = accounts.setup(cell), accounts.calls(cell), cell.totals()
    return {
        **_identity(result, cell),
        "n_sessions": len(cell.sessions),
        "n_failed_sessions": len(cell.failures),
        "n_calls": cell.n_calls,
        "n_failed_calls": sum(cell.outcomes.values()) - cell.outcomes.get("ok", 0),
        **_estimate("setup_ns", setup.total if setup and setup.parts else None),
        **_estimate("first_call_ns", accounts.first_call(cell)),
        **_estimate("close_ns", accounts.close(cell)),
        **_estimate("mean_ns", stats.mean(totals) if totals else None),
        **_estimate("p50_ns", calls.median if calls else None),
        **_estimate("p90_ns", calls.p90 if calls else None),
        **_estimate("p99_ns", calls.p99 if calls else None),
        **_estimate("handler_ns", calls.handler if calls else None),
        **_estimate("boundary_ns", calls.boundary if calls else None),
    }


def _phase_records(
    result: Result, breakdown_of: Callable[[CellResult], Breakdown | None]
) -> list[Record]:
    return [
        {
            **_identity(result, cell),
            "phase": phase.value,
            **flat("mean_ns", part),
            "share": part.value / bill.total.value if bill.total.value else None,
            "n_sessions": part.n_sessions,
            "n_samples": part.n_samples,
        }
        for cell in result.cells
        if (bill := breakdown_of(cell)) is not None
        for phase, part in bill.parts.items()
    ]


def _phase_column(session: Session, phase: Phase) -> NDArray[np.float64]:
    """Return a phase of all calls; ``server`` only of those that are not split any further."""
    if phase not in session.calls:
        return np.full(len(session.gap_ns), np.nan)
    column = session.calls[phase].astype(np.float64)
    if phase is Phase.SERVER:
        column[session.complete()] = np.nan
    elif phase in IN_SERVER:
        column[~session.complete()] = np.nan
    return column
