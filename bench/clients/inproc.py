"""The ``inproc`` arm: the handler as a plain function call, the least that a tool can cost.

There is no server and no boundary; the client is called ``direct``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from bench.clients.base import Context, Pausing, explained
from bench.clock import IDLE, now_ns
from bench.errors import SessionError
from bench.exchange import Exchange, Kind, Outcome
from bench.phases import Timeline
from bench.transports.base import Ending


class InprocPeer(Pausing):
    """One tool of the shipped table, called in the worker itself."""

    def __init__(self, context: Context, env: Mapping[str, str]) -> None:
        self.facts: dict[str, int | str] = {}
        self._context = context
        # The handler finds its database as it would in a server.
        os.environ.update(env)

    def open(self) -> Timeline:
        """Load the handler; nothing of a session exists, so there are no phases."""
        from servers.tools import TOOLS

        spec = self._context.spec
        if spec.tool not in TOOLS:
            text = f"no tool {spec.tool!r} here; expected one of: {', '.join(TOOLS)}"
            raise SessionError("start", "no_tool", text)
        self._function = TOOLS[spec.tool].function
        return Timeline(now_ns())

    def exchange(self, kind: Kind) -> Exchange:
        """Return one function call."""
        watch, arguments = self._context.watch, self._context.spec.arguments
        outcome = Outcome.OK
        watch.started_ns = start_ns = now_ns()
        try:
            self._function(**arguments)
        except Exception:
            # Whatever a tool raises is its way to say that it failed.
            outcome = Outcome.TOOL_ERROR
        end_ns = now_ns()
        watch.started_ns = IDLE
        return Exchange(kind, start_ns, start_ns, 0, end_ns, end_ns, outcome=outcome)

    def group(self) -> int:
        """There is no server."""
        return 0

    def close(self) -> Ending:
        """There is nothing to end."""
        return Ending(0, 0)

    def destroy(self) -> None:
        """There is nothing to end."""

    def explain(self, error: Exception, phase: str, done: int) -> SessionError:
        """Name what ended the session."""
        limit_s = self._context.spec.timeout_s
        return explained(
            error,
            phase,
            closed=lambda said: SessionError(phase, "unreachable", said),
            silent=lambda: f"the handler did not return within {limit_s:g} s (--timeout)",
        )
