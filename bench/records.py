"""What workers sent, turned into a result: rows of stamps become columns of phases. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.exchange import (
    ACCEPTED_NS,
    ANSWERING_NS,
    COLUMNS,
    DECODED_NS,
    ENCODE_NS,
    KIND,
    MARKS,
    OUTCOME,
    RECEIVED_NS,
    SENT_NS,
    SERVER_REQUESTS,
    START_NS,
    WIDTH,
    Kind,
    Outcome,
)
from bench.journal import SessionEntry
from bench.notices import Notice
from bench.phases import IN_SERVER, Phase
from bench.results import ABSENT, CellResult, Failure, Nanoseconds, Result, Session

RAW = "raw"
"""The client that stamps its own encoding and decoding."""
_REFUSED = (Outcome.TOOL_ERROR, Outcome.RPC_ERROR)


def result_of(description: Mapping[str, Any], entries: Sequence[SessionEntry]) -> Result:
    """Return the result of a run from its description and what its workers sent."""
    cells = []
    for index, fields in enumerate(description["cells"]):
        own = [entry for entry in entries if entry.slot.cell == index]
        cells.append(
            CellResult(
                name=fields["name"],
                fields={key: value for key, value in fields.items() if key != "name"},
                sessions=[
                    session_of(e, str(fields["client"])) for e in own if "failure" not in e.header
                ],
                failures=[
                    Failure(round=e.slot.round, **e.header["failure"])
                    for e in own
                    if "failure" in e.header
                ],
            )
        )
    return Result(cells, {**description["run"], **_course(entries)}, description["environment"])


def _course(entries: Sequence[SessionEntry]) -> dict[str, Any]:
    """Return what a run turned out to be: the cells in the order executed, rounds begun."""
    return {
        "order": [entry.slot.cell for entry in entries],
        "sessions": max((entry.slot.round for entry in entries), default=0),
    }


def session_of(entry: SessionEntry, client: str = RAW) -> Session:
    """Return one finished session as columns of integer nanoseconds."""
    header = entry.header
    table = as_table(entry.rows)
    made = table[table[:, KIND] == Kind.CALL]
    good = made[made[:, OUTCOME] == Outcome.OK]
    return Session(
        round=entry.slot.round,
        position=entry.slot.position,
        setup={Phase(name): ns for name, ns in header["setup"]},
        first_call_ns=_first_call(table),
        close_ns=sum(ns for _, ns in header["close"]) or None,
        calls=phase_columns(good, client),
        gap_ns=_gaps(good, header["start_ns"]),
        accepted_ns=_accepted(good),
        answering_ns=_answering(good),
        protocol_probe_ns=_probe(table, Kind.PROTOCOL_PROBE, (Outcome.OK, *_REFUSED)),
        dispatch_probe_ns=_probe(table, Kind.DISPATCH_PROBE, _REFUSED),
        outcomes=_outcomes(made),
        facts={**header["facts"], **_traffic(made), **_asked(good)},
        notices=[Notice(**notice).text for notice in header["notices"]],
    )


def as_table(rows: array[int]) -> NDArray[np.int64]:
    """Return flat rows as an (n, WIDTH) table."""
    return (
        np.frombuffer(rows, dtype=np.int64).reshape(-1, WIDTH)
        if rows
        else np.empty((0, WIDTH), dtype=np.int64)
    )


def phase_columns(calls: NDArray[np.int64], client: str = RAW) -> dict[Phase, Nanoseconds]:
    """Return the phases that rows of calls have; absent is what was never stamped apart.

    A client library under test encodes and decodes out of sight.
    """
    columns = {
        Phase.REOPEN: calls[:, ENCODE_NS] - calls[:, START_NS],
        Phase.ENCODE: calls[:, SENT_NS] - calls[:, ENCODE_NS],
        Phase.SERVER: calls[:, RECEIVED_NS] - calls[:, SENT_NS],
        Phase.DECODE: calls[:, DECODED_NS] - calls[:, RECEIVED_NS],
    }
    if client != RAW:
        del columns[Phase.ENCODE], columns[Phase.DECODE]
    if not columns[Phase.REOPEN].any():
        del columns[Phase.REOPEN]
    marked = calls[:, MARKS.start] > 0
    if marked.any():
        inside = np.diff(calls[:, MARKS.start - 1 : MARKS.stop + 1], axis=1)
        inside[~marked] = ABSENT
        columns |= {phase: inside[:, place] for place, phase in enumerate(IN_SERVER)}
    return {phase: columns[phase] for phase in Phase if phase in columns}


def _first_call(table: NDArray[np.int64]) -> int | None:
    calls = table[np.isin(table[:, KIND], (Kind.CALL, Kind.WARMUP))]
    if not len(calls) or calls[0, OUTCOME] != Outcome.OK:
        return None
    return int(calls[0, DECODED_NS] - calls[0, START_NS])


def _gaps(calls: NDArray[np.int64], start_ns: int) -> Nanoseconds:
    ends = np.concatenate(([start_ns], calls[:-1, DECODED_NS])) if len(calls) else calls[:, 0]
    return np.asarray(calls[:, START_NS] - ends, dtype=np.int64)


def _accepted(calls: NDArray[np.int64]) -> Nanoseconds:
    if not calls[:, ACCEPTED_NS].all():
        return np.empty(0, np.int64)
    return np.asarray(calls[:, ACCEPTED_NS] - calls[:, SENT_NS], dtype=np.int64)


def _answering(calls: NDArray[np.int64]) -> Nanoseconds:
    if not calls[:, SERVER_REQUESTS].any():
        return np.empty(0, np.int64)
    return np.asarray(calls[:, ANSWERING_NS], dtype=np.int64)


def _asked(calls: NDArray[np.int64]) -> dict[str, int]:
    """Return how often the server asked the client something within its successful calls."""
    requests = int(calls[:, SERVER_REQUESTS].sum())
    return {"server_requests": requests} if requests else {}


def _probe(table: NDArray[np.int64], kind: Kind, outcomes: Sequence[Outcome]) -> Nanoseconds:
    rows = table[(table[:, KIND] == kind) & np.isin(table[:, OUTCOME], list(outcomes))]
    return np.asarray(rows[:, DECODED_NS] - rows[:, START_NS], dtype=np.int64)


def _outcomes(made: NDArray[np.int64]) -> dict[str, int]:
    counts = {outcome: int((made[:, OUTCOME] == outcome).sum()) for outcome in Outcome}
    return {
        outcome.label: count for outcome, count in counts.items() if count or outcome is Outcome.OK
    }


def _traffic(made: NDArray[np.int64]) -> dict[str, int | float]:
    """Return the bytes of one call, and what came between requests and answers."""
    if not len(made):
        return {}
    column = {name: made[:, COLUMNS.index(name)] for name in COLUMNS[:6]}
    return {
        "request_bytes_per_call": float(column["request_bytes"].mean()),
        "response_bytes_per_call": float(column["response_bytes"].mean()),
        "other_messages": int(column["other_messages"].sum()),
        "other_bytes": int(column["other_bytes"].sum()),
    }
