"""A blocking client for one server process, with a limit on every wait."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import subprocess
import threading
import time
from typing import Any

import pytest

from bench.target import served_by_hand

WAIT_S = 30.0

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}


class Peer:
    """The client's end of one server process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._received = b""
        self._ids = 0

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        os.write(self.process.stdin.fileno(), data)

    def line(self) -> bytes:
        """Return the next whole line; the test fails if it does not come in time."""
        assert self.process.stdout is not None
        fd, deadline = self.process.stdout.fileno(), time.monotonic() + WAIT_S
        while b"\n" not in self._received:
            ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"no line within {WAIT_S} s, only {self._received[:80]!r}"
            chunk = os.read(fd, 1 << 20)
            assert chunk, f"stdout ended after {self._received[:80]!r}"
            self._received += chunk
        line, self._received = self._received.split(b"\n", 1)
        return line

    def notify(self, method: str) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method}).encode() + b"\n")

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and return its whole answer."""
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params or {}}
        self.send(json.dumps(message).encode() + b"\n")
        answer: dict[str, Any] = json.loads(self.line())
        assert answer["id"] == self._ids
        return answer

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def handshake(self) -> None:
        assert "result" in self.ask("initialize", INITIALIZE)
        self.notify("notifications/initialized")

    def send_from_thread(self, data: bytes) -> threading.Thread:
        """Start to write what may not fit into the pipe; the caller reads and then joins."""
        assert self.process.stdin is not None
        thread = threading.Thread(target=self.process.stdin.write, args=(data,), daemon=True)
        thread.start()
        return thread

    def close(self) -> int:
        """End the server's stdin and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(WAIT_S)

    def end(self) -> None:
        """Kill what still runs and close the pipes, whatever state they are in."""
        self.process.kill()
        self.process.wait(WAIT_S)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def skip_if_not_installed(name: str) -> None:
    """Skip a test of fastmcp where it is not installed, without importing all of it."""
    if "fastmcp" in name and importlib.util.find_spec("fastmcp") is None:
        pytest.skip("fastmcp is not installed")


def command(name: str, *options: str) -> list[str]:
    return list(served_by_hand(name, options))
