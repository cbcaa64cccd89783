"""What the harness costs its user in time and memory.

Method: the commands as a user types them, each in a process of its own, timed from outside; peak
memory as the system accounts it for that process. The file with 600,000 samples is synthetic
(60 cells × 10 sessions × 1,000 calls), written by the project's own writer.

Bounds: ``run --fast`` of the default suite ≤ 60 s on 2 CPUs; ``--help`` ≤ 0.3 s; ``show`` of
600,000 samples ≤ 2.5 s and ≤ 500 MiB. Of repetitions the smallest time counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.storage import save
from common import Report, python, quick

SAMPLES = (60, 10, 1_000)
COMMAND = python("-m", "bench")


def timed(arguments: Sequence[str], cwd: str, limit_s: float) -> tuple[float, float]:
    """Run one command; return its wall time in s and its peak memory in MiB."""
    with open(os.devnull, "wb") as null, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen([*COMMAND, *arguments], cwd=cwd, stdout=null, stderr=errors)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            took_s = time.perf_counter() - start
            if pid:
                break
            if took_s > limit_s:
                process.kill()
                process.wait()
                sys.exit(f"FAIL  {' '.join(arguments)}: not done within {limit_s:g} s")
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            text = errors.read().decode(errors="replace")[-600:]
            sys.exit(f"FAIL  {' '.join(arguments)} ended with {process.returncode}: {text}")
    return took_s, usage.ru_maxrss / 1024


def write_samples(path: Path) -> None:
    """Write a result of 600,000 calls, with marks."""
    # Not installed with the project, and this folder alone is on the path of a script.
    sys.path.append(str(Path(__file__).parent.parent))
    from tests.make_results import make_cell, make_result, make_session

    cells, sessions, calls = SAMPLES
    rounds = range(1, sessions + 1)
    made = [
        make_cell(f"server-{number}", sessions=[make_session(r, calls=calls) for r in rounds])
        for number in range(cells)
    ]
    save(make_result(*made), path)


def main() -> None:
    """Run the proof."""
    repetitions = 3 if quick(__doc__) else 9
    report = Report("harness cost: time and memory of the commands")
    report.start(f"run once, the others {repetitions} times")
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples.json.gz"
        write_samples(samples)
        helps = [timed(["--help"], folder, 30)[0] for _ in range(repetitions)]
        shows = [timed(["show", samples.name], folder, 60) for _ in range(repetitions)]
        run_s, _ = timed(["run", "--fast", "-o", "out.json.gz"], folder, 300)
    report.check("run --fast of the default suite, wall", run_s, 60, "s")
    report.check("mcp-latency --help, best", min(helps), 0.3, "s")
    report.check("show of 600,000 samples, best", min(took for took, _ in shows), 2.5, "s")
    report.check("show of 600,000 samples, peak", max(peak for _, peak in shows), 500, "MiB")
    report.end()


if __name__ == "__main__":
    main()
