"""An MCP server with delays set by hand, one per phase: what a breakdown has to find again.

The question: does each delay appear in its own phase and in no other? Delays are made by spinning
on the clock, so they are exact on a free core. Usage: ``delayed_server.py boot=300 close=100 …`` in
milliseconds; tools ``handler-2``, ``handler-10`` and so on spin that long.
"""

from __future__ import annotations

import json
import os
import sys
import time

from bench.marks import HANDLER_END, HANDLER_START, RECEIVED, REPLY, mark

DELAYS = {name: float(ms) for name, _, ms in (word.partition("=") for word in sys.argv[1:])}


def spin(ms: float) -> None:
    """Keep the CPU busy until the clock has moved on by ``ms``."""
    end_ns = time.perf_counter_ns() + round(ms * 1e6)
    while time.perf_counter_ns() < end_ns:
        pass


def delay(phase: str) -> None:
    """Spin for the delay of a phase, if it has one."""
    spin(DELAYS.get(phase, 0.0))


def answer(request: dict[str, object]) -> object:
    """Return the result of a request, after the delay of its phase."""
    method = request["method"]
    if method == "initialize":
        delay("initialize")
        info = {"name": "delayed", "version": "1"}
        version = "2025-11-25"
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        delay("tools_list")
        schema = {"type": "object"}
        return {
            "tools": [{"name": f"handler-{ms}", "inputSchema": schema} for ms in (0, 2, 10, 31)]
        }
    if method == "tools/call":
        params = request["params"]
        assert isinstance(params, dict)
        _, _, ms = str(params["name"]).partition("handler-")
        if not ms.isdigit():
            return {"content": [], "isError": True}
        delay("dispatch")
        mark(HANDLER_START)
        spin(float(ms))
        mark(HANDLER_END)
        delay("reply")
        return {"content": [{"type": "text", "text": "ok"}]}
    return {}


def main() -> None:
    """Serve lines until the end of stdin."""
    delay("boot")
    pending = b""
    while chunk := os.read(0, 65536):
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            mark(RECEIVED)
            request = json.loads(line)
            if "id" not in request:
                continue
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
            text = json.dumps(reply, separators=(",", ":")).encode() + b"\n"
            mark(REPLY)
            os.write(1, text)
    delay("close")


if __name__ == "__main__":
    main()
