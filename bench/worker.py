"""The child's entry: one session in a fresh process, its record down a pipe.

Started as ``python -P -m bench.worker RESULT_FD PROGRESS_FILE RUNNER_PID [TRACE_FD]`` with the
spec as JSON on stdin (so that no value of it shows in a process list). Standard library only, so
that nothing heavy is imported before the timed path. Its stderr is the server's: the runner
drains it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from array import array
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

from bench import session
from bench.errors import BenchError, SessionError
from bench.probes import overhead
from bench.progress import Progress
from bench.spec import SessionSpec
from bench.transports.process import kill_orphans

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Interrupted(BaseException):
    """The runner wants the session to end now."""


def main() -> None:
    """Run the session that stdin describes and write its record to the result pipe."""
    result_fd, progress_file, runner_pid = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    trace_fd = int(sys.argv[4]) if len(sys.argv) > 4 else None
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    _tie_to(runner_pid)
    text = sys.stdin.read()
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    try:
        if text:
            header, rows = _session(text, progress_file, trace_fd)
        else:
            header, rows = {"overheads": overhead.measure()}, array("q")
    except Interrupted:
        # The runner may be gone: then nobody else would end what left the server's group.
        kill_orphans()
        return
    header["rows"] = len(rows)
    _write_all(result_fd, json.dumps(header).encode() + b"\n" + rows.tobytes())


def _session(
    text: str, progress_file: Path, trace_fd: int | None
) -> tuple[dict[str, Any], array[int]]:
    spec = SessionSpec.from_json(text)
    progress = Progress(progress_file)
    try:
        record = session.run(spec, progress, trace_fd)
    except SessionError as error:
        failure = {"phase": error.phase, "cause": error.cause, "text": error.text}
        return {"failure": failure}, array("q")
    except BenchError as error:
        phase, _ = progress.read()
        failure = {"phase": phase, "cause": "harness", "text": str(error)}
        return {"failure": failure}, array("q")
    return {
        "start_ns": record.start_ns,
        "setup": record.setup,
        "close": record.close,
        "facts": record.facts,
        "notices": [asdict(notice) for notice in record.notices],
    }, record.rows


def _interrupt(number: int, _frame: FrameType | None) -> None:
    # One is enough: a second one must not break the clean-up that the first one started.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Interrupted(number)


def _tie_to(runner_pid: int) -> None:
    """Ask Linux for TERM when the runner dies, and for the orphans of our server.

    Without these calls (another system) the server still ends at the end of its stdin.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != runner_pid:
        raise SystemExit(1)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


if __name__ == "__main__":
    main()
