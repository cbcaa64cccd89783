"""``servers/minimal_http.py`` with the tools that the official conformance suite calls by name.

The endpoint is the server's own. Added here is only what the tools answer: fixed content, of kinds
that no tool of the server has.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from servers.http_messages import Connection
from servers.minimal import Tools
from servers.minimal_http import HOST, Endpoint

TEXT = {"type": "text", "text": "This is a simple text response for testing."}
ERROR = {"type": "text", "text": "This tool intentionally returns an error for testing"}
IMAGE = {
    "type": "image",
    "mimeType": "image/png",
    # one white pixel
    "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptV"
    "AAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==",
}
AUDIO = {
    "type": "audio",
    "mimeType": "audio/wav",
    # a head without samples
    "data": "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=",
}
RESOURCE = {
    "type": "resource",
    "resource": {
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "This is an embedded resource content.",
    },
}
CONTENTS: dict[str, list[dict[str, Any]]] = {
    "test_simple_text": [TEXT],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [RESOURCE],
    "test_multiple_content_types": [TEXT, IMAGE, RESOURCE],
    "test_error_handling": [ERROR],
}


class Fixtures(Tools):
    """The tools of the server and, after them, those of the suite."""

    def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """See :class:`~servers.minimal.Tools`."""
        page = super().list(params)
        added = [
            {"name": name, "description": "Fixed content.", "inputSchema": {"type": "object"}}
            for name in CONTENTS
        ]
        return page | {"tools": page["tools"] + added}

    def call(self, params: dict[str, Any]) -> dict[str, Any]:
        """See :class:`~servers.minimal.Tools`."""
        content = CONTENTS.get(str(params.get("name")))
        if content is None:
            return super().call(params)
        return {"content": content, "isError": content == [ERROR]}


async def serve(port: int, stream: bool) -> None:
    """Serve until the process is ended."""
    endpoint = Endpoint(Fixtures(), stream=stream)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(endpoint), HOST, port)
    await server.serve_forever()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--sse", action="store_true", help="answer with streams of one event")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.sse))


if __name__ == "__main__":
    main()
