"""A blocking HTTP client for one process of the server over HTTP, with a limit on every wait."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import time
from typing import Any, NamedTuple, Self

from server_peer import INITIALIZE, WAIT_S

POST_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error, if it is one."""
        error = self.json.get("error") if self.body else None
        return error["code"] if isinstance(error, dict) else None


class HttpPeer:
    """One server process and the ways to reach it."""

    def __init__(self, *options: str, path: str = "", **environment: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.path = path
        self.process = subprocess.Popen(
            command(*(("--socket", path) if path else ("--port", str(self.port))), *options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
        )
        self._wait_until_it_listens()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def socket(self) -> socket.socket:
        if not self.path:
            return socket.create_connection(("127.0.0.1", self.port), WAIT_S)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(WAIT_S)
        try:
            connection.connect(self.path)
        except OSError:
            connection.close()
            raise
        return connection

    def connect(self, tls: ssl.SSLContext | None = None) -> http.client.HTTPConnection:
        if tls:
            return http.client.HTTPSConnection("localhost", self.port, timeout=WAIT_S, context=tls)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        if self.path:
            connection.sock = self.socket()
        return connection

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str | None] | None = None,
        over: http.client.HTTPConnection | None = None,
    ) -> Answer:
        """Send one request, on a connection of its own unless one is given."""
        connection = over or self.connect()
        given = {name: value for name, value in (headers or {}).items() if value is not None}
        try:
            connection.request(method, path, body, given)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            if over is None:
                connection.close()

    def post(
        self, message: Any, over: http.client.HTTPConnection | None = None, **changes: str | None
    ) -> Answer:
        """Post a message (or bytes) to the endpoint; ``Mcp_Name="x"`` changes a header."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        named = {name.replace("_", "-"): value for name, value in changes.items()}
        return self.send("POST", "/mcp", body, POST_HEADERS | named, over)

    def rest(self, name: str, body: Any, **changes: str | None) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in changes.items()}
        return self.send(
            "POST", f"/rest/{name}", data, {"Content-Type": "application/json"} | named
        )

    def open_session(self) -> str:
        answer = self.post(
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
        )
        assert answer.status == 200
        session = answer.headers["Mcp-Session-Id"]
        assert isinstance(session, str)
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> tuple[bytes, bytes]:
        """End the process; return what it has said."""
        self.process.terminate()
        try:
            return self.process.communicate(timeout=WAIT_S)
        finally:
            self.process.kill()

    def _wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            try:
                self.socket().close()
            except OSError:
                try:
                    self.process.wait(0.02)
                except subprocess.TimeoutExpired:
                    continue
                raise AssertionError(self.process.communicate()[1].decode()) from None
            else:
                return
        self.process.kill()
        raise AssertionError(f"nobody listens after {WAIT_S} s")


def command(*options: str) -> list[str]:
    return [sys.executable, "-P", "-m", "servers.minimal_http", *options]
