"""The wire as people read it: ``->`` and ``<-`` lines, one message each."""

from __future__ import annotations

import os
from typing import Any

from bench.transports.base import Arrival, Arrived, Transport

_HEADS = (b"POST ", b"GET ", b"DELETE ", b"Content-Length: ")


class TracedTransport:
    """Any transport, with every message written to a descriptor. Its times are not for use."""

    def __init__(self, transport: Transport, fd: int) -> None:
        self._transport = transport
        self._fd = fd

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def send(self, data: bytes) -> None:
        """Trace, then send."""
        self._write(b"-> ", _message(data))
        self._transport.send(data)

    def tell(self, data: bytes, *, aside: bool = False) -> None:
        """Trace, then tell."""
        self._write(b"-> ", _message(data))
        self._transport.tell(data, aside=aside)

    def receive(self) -> Arrival:
        """Receive, then trace."""
        message, ns = self._transport.receive()
        self._write(b"<- ", _received(message))
        return message, ns

    def _write(self, arrow: bytes, message: bytes) -> None:
        os.write(self._fd, arrow + message.rstrip(b"\r\n") + b"\n")


def _message(data: bytes) -> bytes:
    """Return the message in what is sent, without its head (HTTP, LSP)."""
    if not data.startswith(_HEADS):
        return data
    head, _, body = data.partition(b"\r\n\r\n")
    return body or head.partition(b"\r\n")[0]


def _received(message: Arrived) -> bytes:
    if isinstance(message, bytes):
        return message
    return f"({message})".encode()
