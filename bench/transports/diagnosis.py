"""Why a spawned server does not answer: looked at once a session has already failed.

Everything here is outside any clock.
"""

from __future__ import annotations

import select
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from bench.errors import PeerClosed, SessionError
from bench.notices import printable
from bench.phases import Phase
from bench.protocol.jsonrpc import request
from bench.transports.process import EXIT_NOTICE_S, ServerProcess

if TYPE_CHECKING:
    from bench.transports.stdio import StdioTransport

PINGS = 8
"""To a server that has gone silent, in case its answers lag: a lag of four or five was seen."""


def server_ended(process: ServerProcess, phase: str, done: int) -> SessionError:
    """Say how a server whose byte stream has ended stands: exited, or alive without it."""
    code = process.wait_exit(EXIT_NOTICE_S)
    where = f"after {done} exchanges" if phase == "calls" else f"before {phase} was done"
    if code is None:
        return SessionError(
            phase, "stdout_closed", f"the server closed its stdout {where} but is still running"
        )
    return SessionError(phase, "server_exited", f"the server ended {where}: {describe_exit(code)}")


def stdio_silence(transport: StdioTransport, phase: str, limit_s: float, *, pings: int) -> str:
    """Say what a time-out over stdio looks like, after one look at what was held back."""
    if phase == Phase.BOOT:
        text = f"the server did not read its stdin within {limit_s:g} s (--timeout)"
        printed = next((line for line, _ in transport.ready if isinstance(line, bytes)), b"")
        return f"{text}; its stdout began with {printable(printed)}" if printed else text
    text = f"no answer within {limit_s:g} s (--timeout)"
    pending = transport.framing.pending
    if pending:
        return f"{text}; {len(pending)} bytes without a line end wait: {printable(pending)}"
    if _answers_after_more_input(transport, pings):
        text += (
            "; output appeared only after more input or at its end: "
            "the server does not flush its stdout"
        )
    return text


def describe_exit(code: int) -> str:
    """Return an exit code for people: a negative one is a signal."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _answers_after_more_input(transport: StdioTransport, pings: int) -> bool:
    process = transport.process
    assert process is not None
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
