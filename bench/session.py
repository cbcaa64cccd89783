"""One session: open the target, call it, close it; the stamps of all of it in one record.

This is the path that is timed. Read with ``clients/raw.py``, which holds the timed region of one
exchange. Whatever ends a session early becomes one SessionError that names phase and cause.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import tempfile
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench import marks
from bench.clients.echo import EchoPeer
from bench.clients.mcp import McpPeer
from bench.clock import Watch, cpu_ns, now_ns
from bench.errors import ClockError, PeerClosed, SessionError, TimedOut
from bench.exchange import Exchange, Kind, Outcome
from bench.notices import HARMLESS, POLLUTION, Notices, plain, printable
from bench.phases import Phase, Timeline
from bench.probes import marks as mark_probe
from bench.probes.schedstat import Scheduled, read_group
from bench.progress import Progress
from bench.protocol.jsonrpc import request
from bench.protocol.mcp import NegotiationError
from bench.protocol.revisions import REVISIONS, Era
from bench.spec import SessionSpec
from bench.trace import TracedStdioTransport
from bench.transports.process import EXIT_NOTICE_S
from bench.transports.stdio import StdioTransport

_PINGS = 8
"""To a server that has gone silent, in case its answers lag: a lag of four or five was seen."""


class Peer(Protocol):
    """What a session does with its target, whatever it speaks."""

    facts: dict[str, int | str]

    def open(self) -> Timeline:
        """Start and set up; return the phases of setup."""

    def exchange(self, kind: Kind) -> Exchange:
        """Make one call or probe."""


@dataclass
class Record:
    """What one session gives: phases that happen once, rows of exchanges, facts and findings."""

    start_ns: int = 0
    setup: list[tuple[str, int]] = field(default_factory=list)
    close: list[tuple[str, int]] = field(default_factory=list)
    facts: dict[str, int | str] = field(default_factory=dict)
    notices: Notices = field(default_factory=Notices)
    rows: array[int] = field(default_factory=lambda: array("q"))


def run(spec: SessionSpec, progress: Progress, trace_fd: int | None = None) -> Record:
    """Run one session to its end.

    Raises :class:`~bench.errors.SessionError` where it ends early; no process of the server is
    left behind on any path.
    """
    with tempfile.TemporaryDirectory(prefix="mcp-latency-") as folder:
        record = Record()
        watch = Watch(spec.timeout_s)
        mark_file = _create_mark_file(spec, Path(folder))
        transport = _transport(spec, mark_file, trace_fd)
        watch.start()
        try:
            with _named_failures(spec, transport, record, progress):
                _run(spec, transport, watch, record, progress)
        finally:
            watch.stop()
            transport.destroy()
        if mark_file is not None:
            _join_marks(record, mark_file)
        if spec.strict:
            _refuse_pollution(record)
        return record


def kinds(spec: SessionSpec) -> list[Kind]:
    """Return the order of exchanges: warm-up calls, then calls with pairs of probes between."""
    order = [Kind.WARMUP] * spec.warmups
    stride = spec.calls // spec.probes if spec.probes else spec.calls + 1
    probes_left = spec.probes
    for index in range(1, spec.calls + 1):
        order.append(Kind.CALL)
        if index % stride == 0 and probes_left:
            order += [Kind.PROTOCOL_PROBE, Kind.DISPATCH_PROBE]
            probes_left -= 1
    return order


def _run(
    spec: SessionSpec,
    transport: StdioTransport,
    watch: Watch,
    record: Record,
    progress: Progress,
) -> None:
    peer = _peer(spec, transport, watch, record.notices, progress)
    with _pinned(spec.server_cpus, spec.client_cpus):
        timeline = peer.open()
    record.start_ns = timeline.start_ns
    record.setup = list(timeline.phases().items())
    group = transport.process.pid if transport.process is not None else 0
    after_setup = read_group(group)
    _call(spec, peer, record, progress)
    _account(record, after_setup, read_group(group))
    progress.step(Phase.CLOSE)
    ending = transport.close()
    record.close = [(Phase.CLOSE, ending.end_ns - ending.start_ns)]
    record.facts.update(peer.facts, escalation=ending.escalation)
    if isinstance(peer, McpPeer):
        peer.client.receive_late(ending.late)
        record.facts.update(
            messages_sent=peer.client.messages_sent,
            messages_received=peer.client.messages_received,
            bytes_sent=peer.client.bytes_sent,
            bytes_received=peer.client.bytes_received,
        )
    if ending.escalation != "stdin":
        record.notices.add(f"closed_by_{ending.escalation}")
    elif ending.exit_code:
        record.notices.add("exit_code", how=describe_exit(ending.exit_code))
    progress.step("done")


def _call(spec: SessionSpec, peer: Peer, record: Record, progress: Progress) -> None:
    """Make all exchanges of the session, with the collector of garbage at rest."""
    rows, exchange = record.rows, peer.exchange
    progress.step("first_call")
    gc.collect()
    gc.freeze()
    gc.disable()
    wall_ns, used_ns = now_ns(), cpu_ns()
    for done, kind in enumerate(kinds(spec), start=1):
        rows.extend(exchange(kind).row())
        progress.exchanges(done)
    record.facts["calls_wall_ns"] = now_ns() - wall_ns
    record.facts["client_cpu_ns"] = cpu_ns() - used_ns
    gc.enable()


def _transport(spec: SessionSpec, mark_file: Path | None, trace_fd: int | None) -> StdioTransport:
    env = dict(os.environ if spec.env is None else spec.env)
    env.pop(marks.ENVIRONMENT_VARIABLE, None)
    if mark_file is not None:
        env[marks.ENVIRONMENT_VARIABLE] = str(mark_file)
    make = StdioTransport if trace_fd is None else TracedStdioTransport.to(trace_fd)
    return make(
        spec.argv,
        env,
        spec.cwd,
        limit_bytes=spec.limit_bytes,
        close_grace_s=spec.close_grace_s,
    )


def _peer(
    spec: SessionSpec,
    transport: StdioTransport,
    watch: Watch,
    notices: Notices,
    progress: Progress,
) -> Peer:
    if spec.transport == "pipe":
        return EchoPeer(spec, transport, watch, notices, progress)
    return McpPeer(spec, transport, watch, notices, progress)


def _create_mark_file(spec: SessionSpec, folder: Path) -> Path | None:
    if not spec.marks:
        return None
    path = folder / "marks"
    marks.create(path, mark_probe.capacity(spec.warmups + spec.calls + 2 * spec.probes))
    return path


def _join_marks(record: Record, mark_file: Path) -> None:
    taken = marks.read(mark_file)
    if not taken:
        record.facts["marked_calls"] = 0
        return
    complete, calls = mark_probe.assign(record.rows, taken)
    record.facts["marked_calls"] = complete
    if complete < calls:
        record.notices.add("marks_incomplete", count=calls - complete, of=calls)


def _account(record: Record, before: Scheduled | None, after: Scheduled | None) -> None:
    if before is None or after is None:
        return
    during = after - before
    record.facts.update(
        server_setup_cpu_ns=before.cpu_ns,
        server_setup_wait_ns=before.wait_ns,
        server_calls_cpu_ns=max(during.cpu_ns, 0),
        server_calls_wait_ns=max(during.wait_ns, 0),
    )


@contextmanager
def _pinned(server_cpus: tuple[int, ...], client_cpus: tuple[int, ...]) -> Iterator[None]:
    """Let what is spawned inside inherit the server's CPUs; ours are the client's afterwards."""
    if server_cpus:
        os.sched_setaffinity(0, server_cpus)
    yield
    if client_cpus:
        os.sched_setaffinity(0, client_cpus)


@contextmanager
def _named_failures(
    spec: SessionSpec, transport: StdioTransport, record: Record, progress: Progress
) -> Iterator[None]:
    """Turn whatever ends a session into one SessionError with the phase it happened in."""
    try:
        yield
    except _ENDINGS as error:
        failure = _failure(error, spec, transport, progress)
        text = _with_findings(failure.text, record)
        raise SessionError(failure.phase, failure.cause, text) from None


_ENDINGS = (SessionError, PeerClosed, TimedOut, NegotiationError, ValueError, ClockError)


def _failure(
    error: Exception, spec: SessionSpec, transport: StdioTransport, progress: Progress
) -> SessionError:
    phase, done = progress.read()
    match error:
        case SessionError():
            return error
        case PeerClosed():
            return _peer_closed(transport, phase, done)
        case TimedOut():
            return SessionError(phase, "timeout", _silence(spec, transport, phase))
        case _:
            return SessionError(phase, "protocol_error", plain(str(error)))


def _with_findings(text: str, record: Record) -> str:
    """Add what was noticed before a session failed: the reason is often among it."""
    findings = (notice.text for notice in record.notices if notice.code not in HARMLESS)
    return "; ".join((text, *findings))


def _peer_closed(transport: StdioTransport, phase: str, done: int) -> SessionError:
    assert transport.process is not None
    code = transport.process.wait_exit(EXIT_NOTICE_S)
    where = f"after {done} exchanges" if phase == "calls" else f"before {phase} was done"
    if code is None:
        return SessionError(
            phase, "stdout_closed", f"the server closed its stdout {where} but is still running"
        )
    return SessionError(phase, "server_exited", f"the server ended {where}: {describe_exit(code)}")


def _silence(spec: SessionSpec, transport: StdioTransport, phase: str) -> str:
    """Say what a time-out looks like from outside, after one look at what was held back."""
    if phase == Phase.BOOT:
        text = f"the server did not read its stdin within {spec.timeout_s:g} s (--timeout)"
        printed = next((line for line, _ in transport.ready if isinstance(line, bytes)), b"")
        return f"{text}; its stdout began with {printable(printed)}" if printed else text
    text = f"no answer within {spec.timeout_s:g} s (--timeout)"
    pending = transport.framing.pending
    if pending:
        return f"{text}; {len(pending)} bytes without a line end wait: {printable(pending)}"
    if spec.transport == "stdio" and _answers_after_more_input(spec, transport):
        text += (
            "; output appeared only after more input or at its end: "
            "the server does not flush its stdout"
        )
    return text


def _answers_after_more_input(spec: SessionSpec, transport: StdioTransport) -> bool:
    process = transport.process
    assert process is not None
    pings = _PINGS if REVISIONS[spec.revision].era is Era.HANDSHAKE else 0
    for number in range(pings):
        # A writable pipe takes a short message whole, so this cannot block.
        if select.select([], [process.stdin_fd], [], 0)[1]:
            with suppress(PeerClosed):
                transport.send(request(f"ping-{number}", "ping"))
    process.close_stdin()
    deadline = time.monotonic() + EXIT_NOTICE_S
    try:
        while (rest := deadline - time.monotonic()) > 0:
            transport.read_if_ready(rest)
            if any(isinstance(line, bytes) and b'"jsonrpc"' in line for line, _ in transport.ready):
                return True
    except PeerClosed:
        pass
    return False


def _refuse_pollution(record: Record) -> None:
    for notice in record.notices:
        if notice.code in POLLUTION:
            raise SessionError("calls", "protocol_error", f"{notice.text} (--strict)")


def describe_exit(code: int) -> str:
    """Return an exit code for people: a negative one is a signal."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


__all__ = ["Outcome", "Peer", "Record", "describe_exit", "kinds", "run"]
