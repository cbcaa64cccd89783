"""mcp-latency: where the milliseconds of a Model Context Protocol session go.

The public names are imported on first use, so that ``import bench`` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "BenchError": "bench.errors",
    "Run": "bench.api",
    "load": "bench.api",
    "run": "bench.run_function",
    "compare": "bench.compared",
    "breakdown": "bench.api",
    "accounts": "bench",
    "charts": "bench",
    "cost_of_calls": "bench",
    "proofs": "bench",
}

if TYPE_CHECKING:
    from bench import accounts as accounts
    from bench import charts as charts
    from bench import cost_of_calls as cost_of_calls
    from bench import proofs as proofs
    from bench.api import Run as Run
    from bench.api import breakdown as breakdown
    from bench.api import load as load
    from bench.compared import compare as compare
    from bench.errors import BenchError as BenchError
    from bench.run_function import run as run

__all__ = [
    "BenchError",
    "Run",
    "__version__",
    "accounts",
    "breakdown",
    "charts",
    "compare",
    "cost_of_calls",
    "load",
    "proofs",
    "run",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _PUBLIC[name]
    if home == __name__:
        return importlib.import_module(f"{home}.{name}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
