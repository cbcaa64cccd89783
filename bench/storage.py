"""Results on disk: a pyperf ``BenchmarkSuite`` (JSON, format 1.0), to and from numpy.

pyperf's own classes check value by value and take half a minute for what takes a second here, so
it is the peer in the tests instead: its commands must read every file.

One benchmark per cell and phase or total, called ``CELL:PHASE``; one pyperf run per session, in
seconds. Integer nanoseconds survive: ``round(value * 1e9)`` is exact up to 10^13 ns. pyperf wants
values above 0, so a phase of 0 ns (a coarse clock) is stored as :data:`ZERO_S`, which reads back
as 0. The signed boundary is derived on reading, never stored.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench import journal
from bench.atomic import write_in_one_step
from bench.errors import ResultFileError
from bench.phases import IN_SERVER, WHOLE, Phase
from bench.records import result_of
from bench.results import ABSENT, CellResult, Failure, Nanoseconds, Result, Session

FORMAT = 1
PYPERF_VERSION = "1.0"
COMPRESSION = 3
ZERO_S = 1e-12
LONGEST_S = 1e6
"""No session lasts so long; more would not survive as integer nanoseconds."""
_GZIP = zlib.MAX_WBITS | 16
"""Tells zlib that a gzip header and checksum surround the data; quicker than gzip's own loop."""

BESIDE_SERVER = tuple(phase for phase in WHOLE if phase is not Phase.SERVER)

_ACCEPTED, _ANSWERING = "accepted", "answering"
_CALL, _GAP, _SETUP, _FIRST_CALL = "call", "gap", "setup", "first_call"
_PROBES = {"protocol_probe": "protocol_probe_ns", "dispatch_probe": "dispatch_probe_ns"}
_CELLS, _FAILURES, _RUN, _FORMAT = "mcp_cells", "mcp_failures", "mcp_run", "mcp_format"


class _RunJson(msgspec.Struct):
    values: list[float] = []
    metadata: dict[str, Any] = {}


class _BenchmarkJson(msgspec.Struct):
    runs: list[_RunJson]
    metadata: dict[str, Any] = {}


class _SuiteJson(msgspec.Struct):
    benchmarks: list[msgspec.Raw]
    metadata: dict[str, Any] = {}
    version: str = ""


def load(path: str | os.PathLike[str]) -> Result:
    """Return the result in a file, or in the journal that an interrupted run left.

    Raises ResultFileError saying what is wrong with the file.
    """
    file = Path(path)
    return replace(_loaded(file), source=str(file))


def _loaded(file: Path) -> Result:
    if file.suffix == journal.SUFFIX:
        description, entries = journal.read(file)
        with _damage_named(file):
            return result_of(description, entries)
    with _no_json_named(file):
        suite = msgspec.json.decode(_read(file), type=_SuiteJson)
    if suite.metadata.get(_FORMAT) != FORMAT:
        raise ResultFileError(
            f"{file}: not a result of mcp-latency (no {_FORMAT} = {FORMAT} in its metadata); "
            "python -m pyperf show reads files of other programs"
        )
    with _damage_named(file):
        return _result(suite)


@contextlib.contextmanager
def _no_json_named(file: Path) -> Iterator[None]:
    try:
        yield
    except msgspec.DecodeError as error:
        raise ResultFileError(f"{file}: not a result file: {error}") from None


@contextlib.contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ResultFileError(f"{file}: damaged or edited: {error}") from None


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result: beside the target first, then in its place in one step.

    Raises ResultFileError where that fails; an older file of that name is then untouched.
    """
    target = Path(path)
    if not any(cell.sessions for cell in result.cells):
        raise ResultFileError(f"{target}: nothing to write: no session was finished")
    benchmarks = [
        {"metadata": _flat(cell) | {"name": f"{cell.name}:{part}"}, "runs": runs}
        for cell in result.cells
        for part, runs in _runs(cell).items()
    ]
    suite = {"version": PYPERF_VERSION, "metadata": _common(result), "benchmarks": benchmarks}
    data = msgspec.json.encode(suite)
    if target.suffix == ".gz":
        data = gzip.compress(data, COMPRESSION, mtime=0)
    try:
        write_in_one_step(target, data)
    except OSError as error:
        raise ResultFileError(f"{target}: cannot be written: {error.strerror}") from None


def _common(result: Result) -> dict[str, Any]:
    """Return the metadata that every run of the file carries; it is stored once."""
    cells = [{"name": cell.name, **cell.fields} for cell in result.cells]
    failures = [{"cell": name, **asdict(failure)} for name, failure in result.failures]
    return {
        **result.environment,
        _FORMAT: FORMAT,
        _CELLS: json.dumps(cells),
        _FAILURES: json.dumps(failures),
        _RUN: json.dumps(result.run),
    }


def _flat(cell: CellResult) -> dict[str, Any]:
    return {key: value for key, value in cell.fields.items() if value not in (None, "")}


def _runs(cell: CellResult) -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for session in cell.sessions:
        place: dict[str, Any] = {"round": session.round, "position": session.position}
        for part, values in _columns(session):
            if not len(values):
                continue
            metadata = place | _session_metadata(session) if part == _SETUP else place
            runs[part].append({"metadata": metadata, "values": _seconds(values)})
    return runs


def _session_metadata(session: Session) -> dict[str, Any]:
    counts = {f"calls_{name}": count for name, count in session.outcomes.items()}
    facts = {f"fact_{name}": value for name, value in session.facts.items() if value != ""}
    metadata: dict[str, Any] = {**counts, **facts}
    if session.marked and not session.complete().all():
        metadata["unmarked_calls"] = " ".join(map(str, np.flatnonzero(~session.complete())))
    if session.notices:
        metadata["notices"] = json.dumps(list(session.notices))
    return metadata


def _columns(session: Session) -> Iterable[tuple[str, Sequence[int] | Nanoseconds]]:
    yield _CALL, session.total_ns
    outside = BESIDE_SERVER if session.marked else WHOLE
    for phase in outside:
        if phase in session.calls:
            yield phase, session.calls[phase]
    if session.marked:
        complete = session.complete()
        for phase in IN_SERVER:
            yield phase, session.calls[phase][complete]
    yield _GAP, session.gap_ns
    yield _ACCEPTED, session.accepted_ns
    yield _ANSWERING, session.answering_ns
    for part, name in _PROBES.items():
        yield part, getattr(session, name)
    yield _SETUP, [session.setup_ns]
    for phase, ns in session.setup.items():
        yield phase, [ns]
    if session.first_call_ns is not None:
        yield _FIRST_CALL, [session.first_call_ns]
    if session.close_ns is not None:
        yield Phase.CLOSE, [session.close_ns]


def _seconds(values: Sequence[int] | Nanoseconds) -> list[float]:
    seconds = np.asarray(values, dtype=np.int64) / 1e9
    return list(np.where(seconds == 0, ZERO_S, seconds).tolist())


def _read(file: Path) -> bytes:
    try:
        data = file.read_bytes()
        return zlib.decompress(data, _GZIP) if data[:2] == b"\x1f\x8b" else data
    except FileNotFoundError:
        raise ResultFileError(f"{file}: no such file") from None
    except zlib.error:
        raise ResultFileError(f"{file}: the file is cut short or damaged (gzip)") from None
    except OSError as error:
        raise ResultFileError(f"{file}: cannot be read: {error.strerror}") from None


class _Parts(dict[str, Nanoseconds]):
    """The columns of one session by part, with the metadata of its setup run."""

    metadata: Mapping[str, Any] = {}


def _result(suite: _SuiteJson) -> Result:
    fields = {cell.pop("name"): cell for cell in msgspec.json.decode(suite.metadata[_CELLS])}
    parts: dict[str, dict[tuple[int, int], _Parts]] = {name: {} for name in fields}
    # One at a time: as Python floats, all values of a large file take more room than their columns.
    for text in suite.benchmarks:
        benchmark = msgspec.json.decode(text, type=_BenchmarkJson)
        common = {**suite.metadata, **benchmark.metadata}
        for run in benchmark.runs:
            metadata = {**common, **run.metadata} if run.metadata else common
            if metadata.get("unit", "second") != "second":
                name, unit = metadata.get("name"), metadata["unit"]
                raise ValueError(f"unit of {name} is {unit!r}, not 'second'")
            cell, _, part = str(metadata["name"]).rpartition(":")
            key = (int(metadata["position"]), int(metadata["round"]))
            session = parts[cell].setdefault(key, _Parts())
            session[part] = _nanoseconds(run.values)
            if part == _SETUP:
                session.metadata = metadata
    failures = defaultdict(list)
    for failure in msgspec.json.decode(suite.metadata[_FAILURES]):
        failures[failure.pop("cell")].append(Failure(**failure))
    cells = [
        CellResult(
            name,
            cell_fields,
            [_session(key, parts[name][key]) for key in sorted(parts[name])],
            failures[name],
        )
        for name, cell_fields in fields.items()
    ]
    return Result(
        cells, dict(msgspec.json.decode(suite.metadata[_RUN])), _environment(suite.metadata)
    )


def _environment(metadata: Mapping[str, Any]) -> dict[str, int | float | str]:
    ours = {_CELLS, _FAILURES, _RUN, _FORMAT}
    return {key: value for key, value in metadata.items() if key not in ours}


def _nanoseconds(values: list[float]) -> Nanoseconds:
    seconds = np.array(values, dtype=np.float64)
    if not (seconds >= 0).all() or (seconds > LONGEST_S).any():
        raise ValueError(f"a value is negative, not a number, or above {LONGEST_S:.0f} s")
    return np.rint(seconds * 1e9).astype(np.int64)


def _session(key: tuple[int, int], parts: _Parts) -> Session:
    metadata = parts.metadata
    total = parts.get(_CALL, np.empty(0, np.int64))
    calls: dict[Phase, Nanoseconds] = {
        phase: parts[phase] for phase in BESIDE_SERVER if phase in parts
    }
    calls[Phase.SERVER] = np.asarray(total - sum(calls.values()), dtype=np.int64)
    complete = np.ones(len(total), dtype=bool)
    if absent := metadata.get("unmarked_calls"):
        complete[[int(index) for index in str(absent).split()]] = False
    if Phase.HANDLER in parts:
        for phase in IN_SERVER:
            column = np.full(len(total), ABSENT, dtype=np.int64)
            column[complete] = parts[phase]
            calls[phase] = column
    session = Session(
        position=key[0],
        round=key[1],
        setup={phase: int(parts[phase][0]) for phase in _setup_phases(parts)},
        first_call_ns=_single(parts, _FIRST_CALL),
        close_ns=_single(parts, Phase.CLOSE),
        calls={phase: calls[phase] for phase in Phase if phase in calls},
        gap_ns=parts.get(_GAP, np.empty(0, np.int64)),
        accepted_ns=parts.get(_ACCEPTED, np.empty(0, np.int64)),
        answering_ns=parts.get(_ANSWERING, np.empty(0, np.int64)),
        protocol_probe_ns=parts.get("protocol_probe", np.empty(0, np.int64)),
        dispatch_probe_ns=parts.get("dispatch_probe", np.empty(0, np.int64)),
        outcomes=_prefixed(metadata, "calls_"),
        facts=_prefixed(metadata, "fact_"),
        notices=msgspec.json.decode(metadata.get("notices", "[]")),
    )
    if Phase.SERVER in parts and not np.array_equal(parts[Phase.SERVER], calls[Phase.SERVER]):
        raise ValueError("the phases of a call do not sum to its total")
    if _SETUP in parts and session.setup_ns != int(parts[_SETUP][0]):
        raise ValueError("the phases of setup do not sum to its total")
    session.check()
    return session


def _setup_phases(parts: _Parts) -> list[Phase]:
    from bench.phases import SETUP

    return [phase for phase in SETUP if phase in parts]


def _single(parts: _Parts, name: str) -> int | None:
    return int(parts[name][0]) if name in parts else None


def _prefixed(metadata: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {
        key.removeprefix(prefix): value for key, value in metadata.items() if key.startswith(prefix)
    }


def default_path(suite: str, now: datetime | None = None) -> Path:
    """Return where a run is kept unless told otherwise: the current folder, dated."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    return Path(f"mcp-latency-{suite}-{stamp}.json.gz")


__all__ = ["default_path", "load", "save"]
