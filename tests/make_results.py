"""Synthetic results for tests: known columns, no process, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bench.phases import CALL, CALL_UNMARKED, IN_SERVER, SETUP, Phase
from bench.results import ABSENT, CellResult, Failure, Nanoseconds, Result, Session

STDIO_SETUP = {
    Phase.SPAWN: 500_000,
    Phase.BOOT: 40_000_000,
    Phase.INITIALIZE: 700_000,
    Phase.INITIALIZED: 60_000,
    Phase.TOOLS_LIST: 300_000,
}


def make_session(
    round_: int,
    *,
    calls: int = 20,
    scale: float = 1.0,
    marked: bool = True,
    position: int | None = None,
    setup: Mapping[Phase, int] = STDIO_SETUP,
    absent: Sequence[int] = (),
    seed: int = 0,
) -> Session:
    """Return a session whose phases are drawn around fixed means, times ``scale``."""
    random = np.random.default_rng((seed, round_))

    def draw(mean_ns: float) -> Nanoseconds:
        values = random.lognormal(np.log(mean_ns * scale), 0.1, calls)
        return np.asarray(values, dtype=np.int64)

    columns = {phase: draw(mean) for phase, mean in zip(CALL, MEANS_NS, strict=True)}
    columns[Phase.SERVER] = np.asarray(sum(columns[phase] for phase in IN_SERVER), dtype=np.int64)
    for phase in IN_SERVER:
        columns[phase][list(absent)] = ABSENT
    kept = {*CALL, *CALL_UNMARKED} if marked else set(CALL_UNMARKED)
    return Session(
        round=round_,
        position=round_ if position is None else position,
        setup={phase: setup[phase] for phase in SETUP if phase in setup},
        first_call_ns=900_000,
        close_ns=8_000_000,
        calls={phase: columns[phase] for phase in Phase if phase in columns and phase in kept},
        gap_ns=draw(5_000),
        protocol_probe_ns=draw(60_000),
        dispatch_probe_ns=draw(80_000),
        outcomes={"ok": calls},
        facts={"escalation": "stdin", "pages": 1, "messages_sent": calls + 3},
    )


def session_of(
    totals_ns: Nanoseconds,
    round_: int = 1,
    *,
    handler_ns: int | None = None,
    facts: Mapping[str, int | float | str] | None = None,
) -> Session:
    """Return a session whose calls take these totals: all of it server, or some of it handler."""
    ones = np.ones(len(totals_ns), dtype=np.int64)
    calls = {Phase.ENCODE: ones, Phase.SERVER: totals_ns - 2, Phase.DECODE: ones}
    if handler_ns is not None:
        calls |= dict.fromkeys((Phase.REQUEST, Phase.DISPATCH, Phase.REPLY), ones)
        calls |= {
            Phase.HANDLER: handler_ns * ones,
            Phase.RESPONSE: totals_ns - 2 - 3 - handler_ns,
        }
    return Session(
        round=round_,
        position=round_,
        setup=STDIO_SETUP,
        first_call_ns=None,
        close_ns=None,
        calls=calls,
        gap_ns=ones,
        protocol_probe_ns=np.empty(0, np.int64),
        dispatch_probe_ns=np.empty(0, np.int64),
        outcomes={"ok": len(totals_ns)},
        facts=facts or {},
    )


MEANS_NS = (1_000, 20_000, 15_000, 2_000, 8_000, 30_000, 9_000)


def make_cell(
    server: str = "minimal",
    handler: str = "noop",
    sessions: Sequence[Session] | None = None,
    *,
    marks: bool = True,
    failures: Sequence[Failure] = (),
    transport: str = "stdio",
) -> CellResult:
    """Return a cell; three marked sessions unless told otherwise."""
    if sessions is None:
        sessions = [make_session(round_, marked=marks) for round_ in (1, 2, 3)]
    suffix = "" if marks or transport == "pipe" else "/no-marks"
    fields: dict[str, int | str | None] = {
        "transport": transport,
        "server": server,
        "command": f"serve {server}",
        "revision": None if transport == "pipe" else "2025-11-25",
        "client": "raw",
        "handler": handler,
        "arguments": "{}",
        "payload_bytes": None,
        "marks": "on" if marks else "off",
    }
    return CellResult(f"{transport}/{server}/{handler}{suffix}", fields, sessions, failures)


def make_result(*cells: CellResult) -> Result:
    """Return a result with these cells."""
    run = {
        "suite": "synthetic", "command": "mcp-latency run synthetic", "seed": 1, "sessions": 3,
        "calls": 20, "warmups": 2, "created": "2026-12-01T00:00:00+00:00", "order": [0],
    }  # fmt: skip
    environment: dict[str, int | float | str] = {
        "hostname": "host", "python_version": "3.11.7 (64-bit)", "platform": "Linux",
        "harness_version": "0.1.0", "mcp_version": "2.3.0", "overhead_clock_read_ns": 80,
    }  # fmt: skip
    return Result(cells or (make_cell(),), run, environment)
