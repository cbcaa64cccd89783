"""HTTP+SSE, the transport of 2024-11-05, without input or output: where messages are POSTed to.

The server names the place in the first event of its stream, as a URL that may be relative.
"""

from __future__ import annotations

from urllib.parse import urljoin

from bench.notices import printable
from bench.protocol.framing import Oversized
from bench.protocol.http import HttpBinding, Url


class SseBinding(HttpBinding):
    """Wraps the messages of one session: a POST each, without headers of session or revision."""

    def agree(self, revision: str) -> None:
        """See :class:`~bench.protocol.binding.Binding`."""
        self.opening = False

    def follow(self, said: bytes | Oversized) -> None:
        """POST to the endpoint that the server named. Raises ValueError with a sentence."""
        if isinstance(said, Oversized):
            raise ValueError(f"the endpoint event is too large ({said.size_bytes} bytes)")
        shown = printable(said)
        text = said.decode("ascii", "replace")
        if not text or not text.isascii() or not text.isprintable() or " " in text:
            raise ValueError(f"the endpoint event holds no URL: {shown}")
        try:
            url = Url.parse(urljoin(str(self.url), text))
        except ValueError:
            raise ValueError(f"the endpoint event holds no URL of a server: {shown}") from None
        if (url.scheme, url.host, url.port) != (self.url.scheme, self.url.host, self.url.port):
            origin = f"{self.url.scheme}://{self.url.authority}"
            text = f"the endpoint event leads to another origin than {origin}, refused: {shown}"
            raise ValueError(text)
        self.url = url
