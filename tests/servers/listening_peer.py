"""A blocking HTTP client for one server process, with a limit on every wait."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server_peer import INITIALIZE, WAIT_S

from bench import marks
from bench.marks import Mark

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
STATELESS = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


class HttpPeer:
    """One server process and the client's end of one connection at a time to it."""

    def __init__(
        self,
        module: str,
        *options: str,
        place: int | Path,
        cert: Path | None = None,
        **environment: str,
    ) -> None:
        self.place = place
        self._tls = None if cert is None else ssl.create_default_context(cafile=str(cert))
        self._session: dict[str, str] = {}
        self._marks = environment.get(marks.ENVIRONMENT_VARIABLE)
        where = ("--port", str(place)) if isinstance(place, int) else ("--socket", str(place))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *where, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    def connect(self) -> socket.socket:
        """Return a connection to the server, as soon as it listens."""
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                plain = self._dial()
                break
            except (ConnectionRefusedError, FileNotFoundError):
                assert time.monotonic() < deadline, f"nobody listens after {WAIT_S} s"
                try:
                    self.process.wait(0.02)
                except subprocess.TimeoutExpired:
                    continue
                raise AssertionError(self.process.communicate()[1]) from None
        plain.settimeout(WAIT_S)
        return (
            plain
            if self._tls is None
            else self._tls.wrap_socket(plain, server_hostname="localhost")
        )

    def _dial(self) -> socket.socket:
        if isinstance(self.place, int):
            dialed = socket.create_connection(("127.0.0.1", self.place))
            # Head and body are two writes: the second must not wait for an acknowledgement.
            dialed.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return dialed
        dialed = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            dialed.connect(str(self.place))
        except OSError:
            dialed.close()
            raise
        return dialed

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers in lower case, and body of one request on a new connection."""
        with self.connect() as connected:
            client = http.client.HTTPConnection("localhost")
            client.sock = connected
            client.request(method, path, body, headers or {})
            with client.getresponse() as response:
                names = {name.lower(): value for name, value in response.getheaders()}
                return response.status, names, response.read()

    def rest(self, name: str, body: bytes) -> tuple[int, dict[str, Any]]:
        status, _, answer = self.request("POST", f"/rest/{name}", body)
        return status, json.loads(answer)

    def post(self, message: dict[str, Any], **headers: str) -> tuple[int, dict[str, str], bytes]:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return self.request("POST", "/mcp", body, JSON | self._session | headers)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to one request of the handshake era."""
        _, headers, body = self.post({"id": 7, "method": method, "params": params or {}})
        return answer_in(headers, body)

    def ask_stateless(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to one request with the envelope."""
        params = {**(params or {}), "_meta": ENVELOPE}
        headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        _, named, body = self.post({"id": 7, "method": method, "params": params}, **headers)
        return answer_in(named, body)

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def handshake(self) -> None:
        _, headers, body = self.post({"id": 0, "method": "initialize", "params": INITIALIZE})
        assert "result" in answer_in(headers, body)
        self._session = {"MCP-Protocol-Version": INITIALIZE["protocolVersion"]}  # type: ignore[dict-item]
        if "mcp-session-id" in headers:
            self._session["Mcp-Session-Id"] = headers["mcp-session-id"]
        status, _, body = self.post({"method": "notifications/initialized"})
        assert (status, body) == (202, b"")

    def marks_of(self, action: Callable[[], object]) -> list[Mark]:
        assert self._marks is not None
        before = len(marks.read(Path(self._marks)))
        action()
        return [Mark(mark) for mark, _ in marks.read(Path(self._marks))[before:]]

    def terminate(self) -> tuple[int, str, str]:
        """End the server as its user would; return its exit code and what it wrote."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, out, err

    def end(self) -> None:
        """Kill what still runs and close the pipes, whatever state they are in."""
        self.process.kill()
        self.process.wait(WAIT_S)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def answer_in(headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Return the one message of a JSON answer or of a stream."""
    answer: dict[str, Any]
    if headers["content-type"].startswith("application/json"):
        answer = json.loads(body)
    else:
        (data,) = (line[5:] for line in body.splitlines() if line.startswith(b"data:"))
        answer = json.loads(data)
    return answer
