"""One session: open the target, call it, close it; the stamps of all of it in one record.

This is the path that is timed. Read with ``clients/raw.py``, which holds the timed region of one
exchange. Whatever ends a session early becomes one SessionError that names phase and cause.
"""

from __future__ import annotations

import gc
import os
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench import marks
from bench.arms import make_peer
from bench.clients.base import Context, Peer
from bench.clock import IDLE, Watch, cpu_ns, now_ns
from bench.errors import ClockError, PeerClosed, SessionError, TimedOut
from bench.exchange import DECODED_NS, START_NS, WIDTH, Kind
from bench.notices import HARMLESS, POLLUTION, Notices
from bench.phases import Phase
from bench.probes import marks as mark_probe
from bench.probes.schedstat import Scheduled, read_group
from bench.progress import Progress
from bench.protocol.mcp import NegotiationError
from bench.protocol.revisions import UNKNOWN_REVISION, Era, era
from bench.spec import MCP_TRANSPORTS, SessionSpec
from bench.transports.diagnosis import describe_exit


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
        context = Context(spec, watch, record.notices, progress, Path(folder))
        peer = make_peer(context, _environment(spec, mark_file), trace_fd)
        watch.start()
        try:
            with _named_failures(peer, record, progress):
                _run(context, peer, record)
            if spec.probe_version:
                _probe_version(context)
        finally:
            watch.stop()
            peer.destroy()
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


def _run(context: Context, peer: Peer, record: Record) -> None:
    spec = context.spec
    with _pinned(spec.server_cpus, spec.client_cpus):
        timeline = peer.open()
    record.start_ns = timeline.start_ns
    record.setup = list(timeline.phases().items())
    context.watch.started_ns = IDLE
    after_setup = read_group(peer.group())
    _call(spec, peer, record, context.progress)
    _account(record, after_setup, read_group(peer.group()))
    context.progress.step(Phase.CLOSE)
    ending = peer.close()
    if ending.end_ns > ending.start_ns:
        record.close = [(Phase.CLOSE, ending.end_ns - ending.start_ns)]
    record.facts.update(peer.facts, escalation=ending.escalation)
    if ending.escalation != ending.expected:
        record.notices.add(f"closed_by_{ending.escalation}")
    elif ending.exit_code and ending.expected == "stdin":
        record.notices.add("exit_code", how=describe_exit(ending.exit_code))
    context.progress.step("done")


def _probe_version(context: Context) -> None:
    """Ask for a revision that never was, in a session of its own; note a server that agrees."""
    spec = replace(context.spec, revision=UNKNOWN_REVISION)
    handshake = era(context.spec.revision) is Era.HANDSHAKE
    if spec.client != "raw" or spec.transport not in MCP_TRANSPORTS or not handshake:
        return
    folder = context.folder / "version"
    folder.mkdir()
    apart = replace(context, spec=spec, notices=Notices(), folder=folder)
    peer = make_peer(apart, _environment(spec, None), None)
    try:
        peer.open()
    except NegotiationError as error:
        if error.answered == UNKNOWN_REVISION:
            context.notices.add("echoes_unknown_version", asked=UNKNOWN_REVISION)
    except _ENDINGS:
        pass  # it refuses in another way, which is its right
    finally:
        peer.destroy()
        context.progress.step("done")


def _call(spec: SessionSpec, peer: Peer, record: Record, progress: Progress) -> None:
    """Make all exchanges of the session, with the collector of garbage at rest."""
    rows, exchange = record.rows, peer.exchange
    progress.step("first_call")
    gc.collect()
    gc.freeze()
    gc.disable()
    wall_ns, used_ns = now_ns(), cpu_ns()
    for done, kind in enumerate(kinds(spec), start=1):
        if spec.pause_s and done > 1:
            paused_ns = now_ns()
            peer.pause(spec.pause_s)
            wall_ns += now_ns() - paused_ns
        rows.extend(exchange(kind).row())
        progress.exchanges(done)
    record.facts["exchanges"] = len(rows) // WIDTH
    record.facts["calls_wall_ns"] = now_ns() - wall_ns
    record.facts["client_cpu_ns"] = cpu_ns() - used_ns
    gc.enable()


def _environment(spec: SessionSpec, mark_file: Path | None) -> dict[str, str]:
    env = dict(os.environ if spec.env is None else spec.env)
    env.pop(marks.ENVIRONMENT_VARIABLE, None)
    if mark_file is not None:
        env[marks.ENVIRONMENT_VARIABLE] = str(mark_file)
    return env


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
    if record.rows:
        first_ns, last_ns = record.rows[START_NS], record.rows[DECODED_NS - WIDTH]
        seen = mark_probe.requests_between(taken, first_ns, last_ns)
        record.facts["requests_seen_in_calls"] = seen
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
def _named_failures(peer: Peer, record: Record, progress: Progress) -> Iterator[None]:
    """Turn whatever ends a session into one SessionError with the phase it happened in."""
    try:
        yield
    except _ENDINGS as error:
        failure = peer.explain(error, *progress.read())
        text = _with_findings(failure.text, record)
        raise SessionError(failure.phase, failure.cause, text) from None


_ENDINGS = (SessionError, PeerClosed, TimedOut, NegotiationError, ValueError, ClockError)


def _with_findings(text: str, record: Record) -> str:
    """Add what was noticed before a session failed: the reason is often among it."""
    findings = (
        notice.text
        for notice in record.notices
        if notice.code not in HARMLESS and str(notice.facts.get("text", notice.text)) not in text
    )
    return "; ".join((text, *findings))


def _refuse_pollution(record: Record) -> None:
    for notice in record.notices:
        if notice.code in POLLUTION:
            raise SessionError("calls", "protocol_error", f"{notice.text} (--strict)")


__all__ = ["Record", "kinds", "run"]
