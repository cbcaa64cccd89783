"""mcp-latency: where the milliseconds of a Model Context Protocol session go.

The public names are imported on first use, so that ``import bench`` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "load": "bench.storage",
    "breakdown": "bench",
    "charts": "bench",
}

if TYPE_CHECKING:
    from bench.storage import load as load

__all__ = ["__version__", "load"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _PUBLIC[name]
    if home == __name__:
        return importlib.import_module(f"{home}.{name}")
    return getattr(importlib.import_module(home), name)
