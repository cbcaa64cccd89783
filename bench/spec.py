"""What one worker is told to do: the values that cross from the runner to the worker.

Standard library only; kept apart from the suite so that the worker imports neither numpy nor
the suite's parser.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

DEFAULT_TIMEOUT_S = 30.0
"""Limit of each phase of setup, and of each call."""
DEFAULT_CLOSE_GRACE_S = 2.0
"""How long a server may take to leave by itself before TERM, and again before KILL; the official
SDK clients allow the same."""
MCP_TRANSPORTS = ("stdio", "http", "sse", "memory")
"""The ones that carry the protocol; the others stand beside them for comparison."""
LISTENING = ("http", "sse", "rest", "grpc")
"""The ones whose server is reached at a URL, and may be running before the session begins."""
ONE_PROCESS = ("inproc", "memory")
"""The ones whose server is in the process of the client."""
MAX_PROBES = 20
CALLS_PER_PROBE = 5


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """One session: what to start, what to call, how often, and the limits of each wait.

    A target that listens has a ``url``; with ``argv`` it is started first, and ``{port}`` or
    ``{socket}`` in either stand for a free port or the path of a Unix socket (``unix``). ``reopen``
    says what each call opens anew: ``nothing``, the ``connection`` or the ``session``.
    ``capabilities`` are those that the client declares; ``answer_input`` answers
    ``input_required`` instead of taking it for the end of a call.
    ``probe_version`` asks for an unknown revision once the session is over, in one of its own.
    ``pause_s`` goes by between two exchanges, outside every clock.
    ``env`` is the whole environment of the server. ``client_cpus`` and ``server_cpus`` pin the
    two sides; empty means no pinning.
    """

    argv: tuple[str, ...]
    tool: str
    url: str | None = None
    unix: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    ca_file: str | None = None
    reopen: str = "nothing"
    capabilities: tuple[str, ...] = ()
    answer_input: bool = False
    transport: str = "stdio"
    client: str = "raw"
    revision: str = "2025-11-25"
    arguments: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] | None = None
    cwd: str | None = None
    calls: int = 1
    warmups: int = 0
    pause_s: float = 0.0
    marks: bool = False
    strict: bool = False
    probe_version: bool = False
    timeout_s: float = DEFAULT_TIMEOUT_S
    close_grace_s: float = DEFAULT_CLOSE_GRACE_S
    limit_bytes: int = 64 * 1024 * 1024
    client_cpus: tuple[int, ...] = ()
    server_cpus: tuple[int, ...] = ()

    @property
    def probes(self) -> int:
        """How many pairs of probes go between the calls: one for five calls, 20 at most."""
        if self.transport not in MCP_TRANSPORTS or self.client != "raw":
            return 0
        return min(MAX_PROBES, self.calls // CALLS_PER_PROBE)

    def to_json(self) -> str:
        """Return the spec as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SessionSpec:
        """Return the spec that :meth:`to_json` wrote."""
        values = json.loads(text)
        for name in ("argv", "capabilities", "client_cpus", "server_cpus"):
            values[name] = tuple(values[name])
        return cls(**values)
