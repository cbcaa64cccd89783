"""Where a run was made: pyperf's metadata of the machine, our versions, our overheads."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping

from bench import __version__

PATHS = frozenset({"python_executable", "python_cflags", "python_config_args", "description"})
"""Keys of pyperf that hold paths of a machine: of no use to a reader elsewhere."""


def collect(overheads: Mapping[str, int]) -> dict[str, int | float | str]:
    """Return flat metadata: pyperf's own, versions, and overheads as ``overhead_*_ns``."""
    import pyperf

    metadata = pyperf.Run((1.0,), collect_metadata=True).get_metadata()
    own = {key: value for key, value in metadata.items() if key not in PATHS}
    return {
        **own,
        "harness_version": __version__,
        "mcp_version": importlib.metadata.version("mcp"),
        "kernel": platform.release(),
        "clock": "perf_counter_ns",
        **{f"overhead_{name}": value for name, value in overheads.items()},
    }
