"""A client loop on the official SDK, as people write it to time a server.

``sdk_client_loop.py CALLS CPU COMMAND…`` prints the nanoseconds of each call of ``noop``.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

WARMUPS = 100


async def measure(calls: int, command: list[str]) -> list[int]:
    """Open a session, read the tool list, call."""
    server = StdioServerParameters(command=command[0], args=command[1:])
    took_ns = []
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.list_tools()
        for _ in range(WARMUPS + calls):
            start_ns = time.perf_counter_ns()
            await session.call_tool("noop", {})
            took_ns.append(time.perf_counter_ns() - start_ns)
    return took_ns[WARMUPS:]


if __name__ == "__main__":
    os.sched_setaffinity(0, (int(sys.argv[2]),))
    print(*asyncio.run(measure(int(sys.argv[1]), sys.argv[3:])), sep="\n")
