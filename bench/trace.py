"""The wire as people read it: ``->`` and ``<-`` lines, one message each."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from bench.transports.base import Arrival
from bench.transports.stdio import StdioTransport


class TracedStdioTransport(StdioTransport):
    """A stdio transport that writes every message to a descriptor. Its times are not for use."""

    _fd: int

    @classmethod
    def to(cls, fd: int) -> Callable[..., TracedStdioTransport]:
        """Return a constructor for transports that trace to ``fd``."""

        def make(*args: Any, **options: Any) -> TracedStdioTransport:
            transport = cls(*args, **options)
            transport._fd = fd
            return transport

        return make

    def send(self, data: bytes) -> None:
        """Trace, then send."""
        self._write(b"-> ", data)
        super().send(data)

    def receive(self) -> Arrival:
        """Receive, then trace."""
        line, ns = super().receive()
        text = line if isinstance(line, bytes) else b"(%d bytes, too large)" % line.size_bytes
        self._write(b"<- ", text)
        return line, ns

    def _write(self, arrow: bytes, message: bytes) -> None:
        os.write(self._fd, arrow + message.rstrip(b"\r\n") + b"\n")
