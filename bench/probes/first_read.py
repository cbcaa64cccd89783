"""First read: when a server, in any language, first reads its stdin.

After the first request is written, the kernel says how many bytes of it still lie in the pipe
(FIONREAD on the write end). The moment it becomes empty is the end of ``boot``.
"""

from __future__ import annotations

import fcntl
import termios
from array import array
from dataclasses import dataclass

from bench.clock import now_ns
from bench.transports.stdio import StdioTransport

POLL_S = 50e-6
"""Between two looks. Timer slack makes it about 0.1 ms; the gap is reported as the uncertainty."""


@dataclass(frozen=True, slots=True)
class FirstRead:
    """``at_ns``: the server had read by then; ``uncertainty_ns`` before, it had not.

    Where the answer came between two looks, ``at_ns`` is the middle of that gap.
    """

    at_ns: int
    uncertainty_ns: int


def await_first_read(transport: StdioTransport) -> FirstRead | None:
    """Wait until the server has read our first request.

    Returns None where that cannot be seen: the system has no FIONREAD for pipes, or the server
    answered without reading. Output that arrives meanwhile is stamped and queued.
    """
    looked_ns = now_ns()
    while True:
        try:
            unread = transport.unread_bytes(_unread_bytes)
        except OSError:
            return None
        ns = now_ns()
        answered_ns = _answered_ns(transport)
        if not unread:
            if answered_ns is None:
                return FirstRead(ns, ns - looked_ns)
            return FirstRead((looked_ns + answered_ns) // 2, answered_ns - looked_ns)
        if answered_ns is not None:
            return None
        looked_ns = ns
        transport.read_if_ready(POLL_S)


def _unread_bytes(fd: int) -> int:
    count = array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]


def _answered_ns(transport: StdioTransport) -> int | None:
    """Return when the first thing that looks like an answer was read, if it was."""
    for message, ns in transport.ready:
        if isinstance(message, bytes) and (b'"result"' in message or b'"error"' in message):
            return ns
    return None
