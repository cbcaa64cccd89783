"""How messages of the protocol become bytes of a transport: one binding per transport."""

from __future__ import annotations

from typing import Any, Protocol

from bench.protocol.jsonrpc import Template


class Encoder(Protocol):
    """A request that is sent many times."""

    def encode(self, id: int) -> bytes:  # noqa: A002
        """Return the bytes of the request with this id."""


class Binding(Protocol):
    """Wraps messages for one connection; follows what the handshake agreed on."""

    def request(self, template: Template) -> Encoder:
        """Return what is sent for a request."""

    def message(self, line: bytes) -> bytes:
        """Return what is sent for a notification or an answer of ours."""

    def listed(self, tool: dict[str, Any]) -> None:
        """Take note of how the server describes the tool that will be called.

        Raises ValueError with a sentence where it must not be called.
        """

    def offer(self, revision: str) -> None:
        """Start over, asking for this revision."""

    def agree(self, revision: str) -> None:
        """Take note of the revision in force from here on."""


class LineBinding:
    """stdio: a message is its line."""

    def request(self, template: Template) -> Encoder:
        """See :class:`Binding`."""
        return template

    def message(self, line: bytes) -> bytes:
        """See :class:`Binding`."""
        return line

    def listed(self, tool: dict[str, Any]) -> None:
        """See :class:`Binding`."""

    def offer(self, revision: str) -> None:
        """See :class:`Binding`."""

    def agree(self, revision: str) -> None:
        """See :class:`Binding`."""
