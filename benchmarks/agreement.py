"""Whether pyperf and scipy get the same numbers from the same file, to the last digit.

Method: the recorded run ``results/bill.json.gz`` is read by this project and by pyperf. Means,
medians and percentiles of every benchmark are held against ``pyperf.Benchmark`` and against scipy
(means, and quantiles by the same declared method, type 7); ``pyperf compare_to`` of two cells is
held against the ratio of means that ``mcp-latency compare`` prints; Student's t against scipy's.

Bound: a relative difference of 1e-12 (pyperf keeps seconds as floats, this project integer ns), and
the same text where pyperf prints a ratio.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyperf
from scipy import stats as scipy_stats
from scipy.stats import mstats

from bench import stats
from bench.comparison import compare_within
from bench.results import CellResult
from bench.storage import load
from bench.subjects import measured
from common import Report, quick

FILE = Path(__file__).parent.parent / "results" / "bill.json.gz"
BOUND = 1e-12
LEVELS = (0.5, 0.9, 0.99)


def apart(ours: float, theirs: float) -> float:
    """Return the relative difference of two numbers."""
    return abs(ours - theirs) / abs(theirs) if theirs else abs(ours)


def against_pyperf(cell: CellResult, benchmark: pyperf.Benchmark) -> float:
    """Return the largest relative difference of what both can compute."""
    found = measured(cell, "call")
    assert found is not None
    theirs = [benchmark.mean(), *(benchmark.percentile(100 * q) for q in LEVELS)]
    ours = [found.sample.value(q) for q in (None, *LEVELS)]
    pairs = zip(ours, theirs, strict=True)
    return max(apart(mine / 1e9, other) for mine, other in pairs if mine is not None)


def against_scipy(cell: CellResult) -> float:
    """Return the largest relative difference of mean and quantiles (type 7: alphap = betap = 1)."""
    found = measured(cell, "call")
    assert found is not None
    calls = np.concatenate(list(found.groups))
    quantiles = mstats.mquantiles(calls, LEVELS, alphap=1, betap=1)
    theirs = [float(scipy_stats.tmean(calls)), *map(float, quantiles)]
    ours = [found.sample.value(q) for q in (None, *LEVELS)]
    pairs = zip(ours, theirs, strict=True)
    return max(apart(mine, other) for mine, other in pairs if mine is not None)


def printed_ratio(suite: pyperf.BenchmarkSuite, left: str, right: str) -> str:
    """Return the ratio of means that ``pyperf compare_to`` prints for two benchmarks."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for side, name in (("left", left), ("right", right)):
            runs = suite.get_benchmark(f"{name}:call").get_runs()
            metadata = {"name": "call", "unit": "second"}
            kept = [
                pyperf.Run(run.values, metadata=metadata, collect_metadata=False) for run in runs
            ]
            files.append(str(Path(folder) / f"{side}.json"))
            pyperf.Benchmark(kept).dump(files[-1])
        command = [sys.executable, "-m", "pyperf", "compare_to", *files]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"([\d.]+)x (slower|faster)", done.stdout)
    return found[0] if found else done.stdout.strip()


def our_ratio(ratio: float) -> str:
    """Return a ratio the way pyperf prints it."""
    return f"{ratio:.2f}x slower" if ratio >= 1 else f"{1 / ratio:.2f}x faster"


def main() -> None:
    """Run the proof."""
    quick(__doc__)
    report = Report("Agreement: pyperf and scipy on the same file")
    report.start(f"{FILE.name}, every cell with calls")
    result, suite = load(FILE), pyperf.BenchmarkSuite.load(str(FILE))
    cells = [cell for cell in result.cells if cell.n_calls]
    by_name = {benchmark.get_name(): benchmark for benchmark in suite}
    pyperfs = max(against_pyperf(cell, by_name[f"{cell.name}:call"]) for cell in cells)
    report.judge("mean, median, p90, p99 of pyperf", pyperfs <= BOUND, f"{pyperfs:.1e} apart")
    scipys = max(map(against_scipy, cells))
    report.judge("mean and quantiles of scipy", scipys <= BOUND, f"{scipys:.1e} apart")
    for comparison in compare_within(result, "server"):
        for pair in comparison.pairs:
            found = comparison.row(pair, "call", "mean")
            assert found is not None
            assert found.contrast is not None
            assert found.contrast.ratio is not None
            ours = our_ratio(found.contrast.ratio.value)
            theirs = printed_ratio(suite, pair.left.name, pair.right.name)
            names = f"{pair.right.name} against {pair.left.name}"
            report.judge(f"pyperf compare_to, {names}", ours == theirs, f"{ours} and {theirs}")
    degrees = [*range(1, 31), 50, 100, 1000]
    worst = max(
        apart(stats.student_t(0.95, d), float(scipy_stats.t.ppf(0.975, d))) for d in degrees
    )
    report.judge("Student's t of scipy", worst < 2e-4, f"{worst:.1e} apart (bound 2e-4)")
    report.end()


if __name__ == "__main__":
    main()
