"""The servers under test, in the order of the ladder: one layer more on every rung.

``floor`` only moves bytes, ``minimal`` adds the protocol, ``sdk`` and ``sdk-sync`` add the official
SDK. All but the floor serve the tools of :mod:`servers.tools`, so that only the boundary differs.
"""

from __future__ import annotations

SERVERS: dict[str, tuple[str, ...]] = {
    "floor": ("servers.floor",),
    "minimal": ("servers.minimal",),
    "sdk": ("servers.sdk",),
    "sdk-sync": ("servers.sdk", "--sync"),
}
"""Name of a server -> what follows ``python -P -m`` to run it."""

VERSION = "1"
"""What the servers call their own version in ``serverInfo``."""
