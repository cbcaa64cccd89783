"""The life of a server process: start it in a session of its own, end it with all its children.

The rule of this room: every process started here is gone, reaped and with its whole group, on
every path. Nothing here knows a protocol.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.clock import now_ns
from bench.errors import SessionError

DESTROY_GRACE_S = 0.5
"""The same when the run is being interrupted."""
EXIT_NOTICE_S = 0.5
"""How long to wait for the exit code of a server whose stdout has ended."""
_GROUP_POLL_S = 0.001


class ServerProcess:
    """One spawned server: stdin and stdout are pipes of ours, stderr is inherited.

    One that ``listens`` has no stdin, and its stdout goes where its stderr goes.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None,
        cwd: str | None,
        *,
        listens: bool = False,
    ) -> None:
        self.start_ns = now_ns()
        self._popen = _spawn(argv, env, cwd, listens=listens)
        self.spawned_ns = now_ns()
        self.pid = self._popen.pid
        self.listens = listens
        self.stdin_fd = self._popen.stdin.fileno() if self._popen.stdin is not None else -1
        self.stdout_fd = self._popen.stdout.fileno() if self._popen.stdout is not None else -1
        self._exited = _exit_waiter(self.pid)
        self._ended = False

    def wait_exit(self, limit_s: float) -> int | None:
        """Return the exit code (negative: signal), or None if it still runs after ``limit_s``."""
        try:
            return self._popen.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None

    def close_stdin(self) -> None:
        """Tell the server that nothing more will come."""
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()

    def end(self, grace_s: float, drain: Callable[[], bool]) -> tuple[str, int]:
        """Close stdin, then TERM, then KILL the group; return the means needed and the time.

        One that listens has no stdin to close and is told by TERM at once.
        ``drain`` is called when stdout has something to read, so that a server that is writing
        can end; it returns False at the end of the stream.
        """
        self.close_stdin()
        means = "stdin"
        end_ns = 0 if self.listens else self._wait_gone(grace_s, drain)
        for stronger, number in (("term", signal.SIGTERM), ("kill", signal.SIGKILL)):
            if not end_ns:
                means = stronger
                self.signal_group(number)
                end_ns = self._wait_gone(grace_s, drain)
        self._release()
        return means, end_ns or now_ns()

    def destroy(self) -> None:
        """End the group in short order, if :meth:`end` has not; for interruption and failure."""
        if not self._ended:
            self.end(DESTROY_GRACE_S, self._discard)

    def signal_group(self, number: int) -> None:
        """Send a signal to every process of the server's group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    @property
    def exit_code(self) -> int | None:
        """The exit code if the process has been reaped."""
        return self._popen.returncode

    def _wait_gone(self, limit_s: float, drain: Callable[[], bool]) -> int:
        """Wait for the process and its group; return the time, or 0 when the limit is over."""
        deadline = time.monotonic() + limit_s
        open_stdout = not self.listens
        while (rest := deadline - time.monotonic()) > 0:
            if self._popen.poll() is not None:
                gone_ns = now_ns()
                if self._group_empty():
                    return gone_ns
            fds = [self.stdout_fd] if open_stdout else []
            open_stdout = self._wait_event(fds, rest, drain) and open_stdout
        return 0

    def _wait_event(self, fds: list[int], rest_s: float, drain: Callable[[], bool]) -> bool:
        """Sleep until stdout or the exit of the process wakes us; False when stdout has ended."""
        exited = self._popen.returncode is not None
        waitable = fds if exited or self._exited is None else [*fds, self._exited]
        pause_s = _GROUP_POLL_S if exited or self._exited is None else rest_s
        ready, _, _ = select.select(waitable, [], [], min(pause_s, rest_s))
        if fds and fds[0] in ready:
            return drain()
        return True

    def _group_empty(self) -> bool:
        """Reap orphans that were handed to us and look whether the group has members left."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-self.pid, os.WNOHANG)[0]:
                pass
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False

    def _discard(self) -> bool:
        return bool(os.read(self.stdout_fd, 65536))

    def _release(self) -> None:
        self._ended = True
        if self._popen.stdout is not None:
            self._popen.stdout.close()
        if self._exited is not None:
            os.close(self._exited)
            self._exited = None


def kill_orphans() -> None:
    """Kill our children, then those that fall to us as their subreaper, until none is left.

    For a process that is being interrupted: whatever it had started, nothing survives. Linux only.
    """
    while found := children():
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def children() -> list[int]:
    """Return the processes that we have started and not yet reaped (Linux only)."""
    try:
        return [int(pid) for pid in Path("/proc/thread-self/children").read_text().split()]
    except OSError:
        return []


def _spawn(
    argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, *, listens: bool
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            bufsize=0,
            stdin=subprocess.DEVNULL if listens else subprocess.PIPE,
            stdout=sys.stderr.fileno() if listens else subprocess.PIPE,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if cwd is not None and error.filename == cwd:
            raise SessionError("spawn", "not_found", f"no such folder: {cwd}") from None
        raise SessionError("spawn", "not_found", _not_found(argv[0])) from None
    except PermissionError:
        text = f"not executable: {argv[0]}; expected a program with the right to be executed"
        raise SessionError("spawn", "not_executable", text) from None
    except OSError as error:
        what = (
            "neither a program of this machine nor a script that names its interpreter (#!)"
            if error.errno == errno.ENOEXEC
            else error.strerror
        )
        raise SessionError("spawn", "spawn_failed", f"cannot start {argv[0]}: {what}") from None


def _not_found(command: str) -> str:
    if os.path.exists(command):
        return f"cannot start {command}: the interpreter that its first line names does not exist"
    return f"command not found: {command}; expected a program on PATH or the path of one"


def _exit_waiter(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process exits, where there are such."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
