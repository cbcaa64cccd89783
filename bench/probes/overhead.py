"""What the harness itself costs: its clock, an empty timed region, the start of a no-op process."""

from __future__ import annotations

import shutil
import statistics
import sys
from itertools import pairwise

from bench.clock import now_ns
from bench.errors import SessionError
from bench.transports.process import ServerProcess

CLOCK_READS = 20_000
SPAWNS = 20


def measure() -> dict[str, int]:
    """Return the overheads in nanoseconds.

    ``clock_resolution_ns``: the smallest step seen between two reads. ``clock_read_ns`` and
    ``empty_region_ns``: medians. ``spawn_noop_ns``: until the spawn call returns for ``true``;
    ``run_noop_ns`` and ``run_python_ns``: from there on until ``true``, and a Python without
    imports, have ended; medians of 20.
    """
    reads = [now_ns() for _ in range(CLOCK_READS)]
    steps = [end - start for start, end in pairwise(reads)]
    regions = []
    for _ in range(CLOCK_READS):
        start_ns = now_ns()
        end_ns = now_ns()
        regions.append(end_ns - start_ns)
    figures = {
        "clock_resolution_ns": min((step for step in steps if step > 0), default=0),
        "clock_read_ns": round((reads[-1] - reads[0]) / (CLOCK_READS - 1)),
        "empty_region_ns": round(statistics.median(regions)),
    }
    true = shutil.which("true")
    if true is not None:
        figures["spawn_noop_ns"], figures["run_noop_ns"] = _spawn((true,))
    _, figures["run_python_ns"] = _spawn((sys.executable, "-I", "-S", "-c", "pass"))
    return figures


def _spawn(argv: tuple[str, ...]) -> tuple[int, int]:
    spawns, runs = [], []
    for _ in range(SPAWNS):
        try:
            process = ServerProcess(argv, None, None)
        except SessionError:
            return 0, 0
        process.wait_exit(10.0)
        ended_ns = now_ns()
        process.destroy()
        spawns.append(process.spawned_ns - process.start_ns)
        runs.append(ended_ns - process.spawned_ns)
    return round(statistics.median(spawns)), round(statistics.median(runs))
