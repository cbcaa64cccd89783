"""Walks a plan: one fresh worker process per slot; a worker that dies or hangs costs one session.

The rule of this room: it starts, watches and reaps processes, and knows nothing of what they
measure. The runner drains the server's stderr (which is the worker's), so that no server ever
blocks on it and no thread of the worker is disturbed by it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from bench.errors import MeasurementError
from bench.journal import SessionEntry
from bench.notices import CUT, plain
from bench.plan import Slot
from bench.progress import Progress
from bench.redact import redact, redact_tree
from bench.spec import SessionSpec

if TYPE_CHECKING:
    import psutil

STDERR_TAIL_BYTES = 64 * 1024
STDERR_SHOWN_CHARACTERS = 600
STALL_GRACE_S = 15.0
"""On top of two time limits: after that without a step or a call the worker itself has hung."""
STOP_GRACE_S = 8.0
"""For a worker to end its server (TERM, KILL) when it is told to stop."""
_POLL_S = 0.25
_PR_SET_CHILD_SUBREAPER = 36
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

OnProgress = Callable[[Slot, str, int], None]


@dataclass(frozen=True)
class Job:
    """A slot with its orders, and the texts that must not be shown."""

    slot: Slot
    spec: SessionSpec
    secrets: tuple[str, ...] = ()


class Interrupted(Exception):
    """The user wants the run to stop; what is finished is kept."""


class Runner:
    """Runs jobs one after the other. ``trace_fd`` receives the wire of every session."""

    def __init__(self, on_progress: OnProgress, trace_fd: int | None = None) -> None:
        self._on_progress = on_progress
        self._trace_fd = trace_fd

    def run(self, jobs: Iterable[Job]) -> Iterator[SessionEntry]:
        """Yield one entry per job, finished or failed. Raises Interrupted on INT, TERM or HUP.

        The next job is asked for when the entry before it has been taken: whoever makes the jobs
        can decide by what came of them. :class:`Interrupted` is raised there as well.
        Nothing that a session started outlives it, however it ends.
        """
        _adopt_orphans()
        with _stop_signals(), tempfile.TemporaryDirectory(prefix="mcp-latency-") as folder:
            progress_file = Path(folder) / "progress"
            for job in jobs:
                progress_file.unlink(missing_ok=True)
                progress = Progress(progress_file)
                try:
                    yield self._session(job, progress, progress_file)
                finally:
                    progress.close()

    def overheads(self) -> dict[str, int]:
        """Let a worker measure what the harness costs.

        Raises MeasurementError if it cannot, and Interrupted like :meth:`run`.
        """
        with _stop_signals(), tempfile.TemporaryDirectory(prefix="mcp-latency-") as folder:
            worker = _Worker("", Path(folder) / "progress", None)
            with _reaped(worker):
                deadline = time.monotonic() + 60.0
                while not worker.pump(_POLL_S):
                    if time.monotonic() > deadline:
                        raise MeasurementError("the overheads could not be measured within 60 s")
        header, _ = worker.message()
        return dict(header["overheads"])

    def _session(self, job: Job, progress: Progress, progress_file: Path) -> SessionEntry:
        trace = None if self._trace_fd is None else _Trace(self._trace_fd, job.secrets)
        try:
            worker = _Worker(job.spec.to_json(), progress_file, trace)
            with _reaped(worker):
                stalled = self._watch(worker, job, progress)
        finally:
            survivors = kill_descendants()
        try:
            header, rows = worker.message()
        except ValueError:
            header, rows = {"failure": _death(worker, progress, stalled)}, array("q")
        if "failure" in header:
            stderr = _end_of_stderr(worker.stderr_tail, job.secrets)
            header["failure"]["text"] += f"; stderr ended with: {stderr}" if stderr else ""
        elif survivors:
            facts = {"count": survivors}
            header["notices"].append({"code": "survivors", "facts": facts, "count": 1})
        return SessionEntry(job.slot, redact_tree(header, _also_cut(job.secrets)), rows)

    def _watch(self, worker: _Worker, job: Job, progress: Progress) -> bool:
        """Drain the worker until it ends; return True if it had to be ended for its silence."""
        spec = job.spec
        limit_s = 2 * spec.timeout_s + STALL_GRACE_S + 3 * spec.close_grace_s + spec.pause_s
        last, changed = progress.read(), time.monotonic()
        while not worker.pump(_POLL_S):
            state = progress.read()
            self._on_progress(job.slot, *state)
            if state != last:
                last, changed = state, time.monotonic()
            elif time.monotonic() - changed > limit_s:
                return True
        return False


class _Trace:
    """Writes the wire of one session on, line by line and without secrets."""

    def __init__(self, fd: int, secrets: Sequence[str]) -> None:
        self._fd = fd
        # Inside a JSON text a value may stand escaped.
        self._secrets = (*secrets, *(json.dumps(secret)[1:-1] for secret in secrets))
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the wire. Raises MeasurementError where they cannot be kept."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            text = redact(line.decode("utf-8", "surrogateescape"), self._secrets)
            try:
                os.write(self._fd, text.encode("utf-8", "surrogateescape") + b"\n")
            except OSError as error:
                raise MeasurementError(
                    f"the trace cannot be written: {error.strerror}; "
                    "run without it or let it go elsewhere"
                ) from None


class _Worker:
    """One child, its pipes, and what came out of them."""

    def __init__(self, spec: str, progress_file: Path, trace: _Trace | None) -> None:
        read_fd, write_fd = os.pipe()
        fds, trace_read_fd = [write_fd], -1
        if trace is not None:
            trace_read_fd, trace_fd = os.pipe()
            fds.append(trace_fd)
        self._trace, self._trace_fd = trace, trace_read_fd
        self.stderr_tail = bytearray()
        self._out = bytearray()
        try:
            self._popen = subprocess.Popen(
                # -P: the current folder may hold a package called bench.
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "bench.worker",
                    str(write_fd),
                    str(progress_file),
                    str(os.getpid()),
                    *map(str, fds[1:]),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=fds,
                start_new_session=True,
            )
        finally:
            for fd in fds:
                os.close(fd)
        assert self._popen.stdin is not None
        assert self._popen.stderr is not None
        self._result_fd = read_fd
        self._own_fds = {read_fd} if trace is None else {read_fd, trace_read_fd}
        self._open_fds = {*self._own_fds, self._popen.stderr.fileno()}
        with contextlib.suppress(BrokenPipeError):
            self._popen.stdin.write(spec.encode())
        with contextlib.suppress(BrokenPipeError):
            self._popen.stdin.close()

    def pump(self, wait_s: float) -> bool:
        """Read what is there; True when the worker has ended and said all it had to say."""
        if not self._open_fds:
            # All is said: only the end of the process is awaited, which select would not see.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(wait_s)
            return self._popen.returncode is not None
        readable, _, _ = select.select(list(self._open_fds), [], [], wait_s)
        for fd in readable:
            chunk = os.read(fd, 1 << 16)
            if not chunk:
                self._open_fds.discard(fd)
            elif fd == self._result_fd:
                self._out += chunk
            elif fd == self._trace_fd and self._trace is not None:
                self._trace.feed(chunk)
            else:
                self.stderr_tail += chunk
                del self.stderr_tail[:-STDERR_TAIL_BYTES]
        return not self._own_fds & self._open_fds and self._popen.poll() is not None

    def message(self) -> tuple[dict[str, Any], array[int]]:
        """Return what the worker sent. Raises ValueError if it is not whole."""
        line, newline, body = bytes(self._out).partition(b"\n")
        if not newline:
            raise ValueError("no header")
        header = json.loads(line)
        rows: array[int] = array("q")
        rows.frombytes(body)
        if len(rows) != header.pop("rows"):
            raise ValueError("rows are missing")
        return header, rows

    def stop(self) -> None:
        """End the worker: it is asked first, so that it can end its server."""
        for number, grace_s in ((signal.SIGTERM, STOP_GRACE_S), (signal.SIGKILL, STOP_GRACE_S)):
            if self._popen.poll() is not None:
                break
            self._popen.send_signal(number)
            deadline = time.monotonic() + grace_s
            while self._popen.poll() is None and time.monotonic() < deadline:
                if self._open_fds:
                    self.pump(0.02)
                else:
                    time.sleep(0.02)

    def close(self) -> None:
        """Give the descriptors back, after a last look at stderr."""
        assert self._popen.stderr is not None
        os.set_blocking(self._popen.stderr.fileno(), False)
        with contextlib.suppress(OSError):
            while chunk := os.read(self._popen.stderr.fileno(), 1 << 16):
                self.stderr_tail += chunk
        del self.stderr_tail[:-STDERR_TAIL_BYTES]
        self._popen.stderr.close()
        for fd in self._own_fds:
            os.close(fd)

    @property
    def exit_code(self) -> int | None:
        return self._popen.returncode


@contextlib.contextmanager
def _reaped(worker: _Worker) -> Iterator[None]:
    try:
        yield
    finally:
        worker.stop()
        worker.close()


def kill_descendants() -> int:
    """Kill whatever a session left running, wherever it hid; return how many there were.

    Orphans of a worker become ours (Linux child subreaper), so leaving the server's process
    group does not save them.
    """
    import psutil

    alive = 0
    deadline = time.monotonic() + STOP_GRACE_S
    # Once more after each round: one of them may have forked while it was being looked for.
    while orphans := _descendants():
        for process in orphans:
            with contextlib.suppress(psutil.NoSuchProcess):
                alive += process.status() != psutil.STATUS_ZOMBIE
                process.kill()
        psutil.wait_procs(orphans, timeout=STOP_GRACE_S)
        if time.monotonic() > deadline:
            break
    return alive


def _descendants() -> list[psutil.Process]:
    """Return what descends from us, but for what was there before the run.

    None of it is to be spared: workers run one at a time, and this one is reaped.
    """
    import psutil

    found = psutil.Process().children(recursive=True)
    return [process for process in found if process.pid not in _spared]


_spared: set[int] = set()


def _adopt_orphans() -> None:
    """Become the one to whom orphans fall; children that were there before are not touched."""
    import psutil

    _spared.clear()
    _spared.update(process.pid for process in psutil.Process().children(recursive=True))
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def ignore_stop_signals() -> None:
    """Let nothing but KILL end this process from here on."""
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _stop_signals() -> Iterator[None]:
    """Turn INT, TERM and HUP into Interrupted; a second one while stopping is ignored."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        ignore_stop_signals()
        raise Interrupted

    before = {number: signal.signal(number, stop) for number in _STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, handler)


def _death(worker: _Worker, progress: Progress, stalled: bool) -> dict[str, str]:
    phase, done = progress.read()
    where = f"in {phase}" if phase != "calls" else f"after {done} exchanges"
    if stalled:
        return {"phase": phase, "cause": "worker_stalled", "text": f"the worker hung {where}"}
    from bench.transports.diagnosis import describe_exit

    how = describe_exit(worker.exit_code or 0)
    text = f"the worker process ended {where}: {how}"
    return {"phase": phase, "cause": "worker_died", "text": text}


def _end_of_stderr(tail: bytearray, secrets: Sequence[str]) -> str:
    # Hidden before it is cut: half a secret would not be known as one.
    text = redact(tail.decode("utf-8", "backslashreplace"), secrets).strip()
    return "\n".join(plain(line) for line in text[-STDERR_SHOWN_CHARACTERS:].splitlines())


def _also_cut(secrets: Sequence[str]) -> tuple[str, ...]:
    """Return the secrets, and what a quoted and shortened text may end with of them."""
    cut = (secret[:size] + CUT for secret in secrets for size in range(4, len(secret)))
    return (*secrets, *cut)
