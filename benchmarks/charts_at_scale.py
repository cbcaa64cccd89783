"""What the Python interface and the charts cost with a million samples.

Method: a synthetic result of 1,000,000 marked calls (20 cells × 10 sessions × 5,000 calls, two
transports and two handlers), written by the project's own writer. Each chart is drawn and written
as SVG in a process of its own that loads the file first; times are taken inside, peak memory is
its VmHWM (the peak of getrusage begins with that of the parent). Drawing includes the import of
matplotlib.

The page is made by the command, of the recorded run of 43 cells (``results/transports.json.gz``).

Bounds: loading ≤ 2 s; each chart ≤ 2 s and ≤ 500 MiB with the result loaded, its SVG ≤ 1 MB;
``import bench`` ≤ 0.25 s, without numpy, and loading without matplotlib. Of repetitions the
smallest time counts, and the largest peak. The page of 40 cells or more ≤ 10 s and ≤ 3 MB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.storage import save
from common import Report, python, quick

TRANSPORTS, SERVERS, HANDLERS = ("stdio", "http"), 5, ("noop", "search_tickets")
SESSIONS, CALLS = 10, 5_000
MANY_CELLS = Path(__file__).parent.parent / "results" / "transports.json.gz"

IMPORTING = """
import sys, time
start = time.perf_counter()
import bench
print(time.perf_counter() - start, *{"numpy", "matplotlib", "click", "rich"} & set(sys.modules))
"""
DRAWING = """
import json, re, sys, time
from pathlib import Path
import bench
file, name, target = sys.argv[1:]
start = time.perf_counter()
run = bench.load(file)
loaded = time.perf_counter()
early = "matplotlib" in sys.modules
from bench.charts import files
files.save(files.drawings(run)[name](), run, Path(target))
drawn = time.perf_counter()
status = Path("/proc/self/status").read_text()
print(json.dumps({
    "load_s": loaded - start, "chart_s": drawn - loaded, "early": early,
    "peak_mib": int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) / 1024,
    "svg_mb": Path(target).stat().st_size / 1e6,
}))
"""
NAMES = "import sys, bench; print(*bench.charts.files.drawings(bench.load(sys.argv[1])))"


def child(program: str, *arguments: str) -> str:
    """Run a program in a fresh process; return what it printed, or end with its error."""
    command = python("-c", program, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        sys.exit(f"FAIL  a child ended with {done.returncode}: {done.stderr[-600:]}")
    return done.stdout


def write_samples(path: Path) -> None:
    """Write a result of 1,000,000 calls, with marks."""
    # Not installed with the project, and this folder alone is on the path of a script.
    sys.path.append(str(Path(__file__).parent.parent))
    from tests.make_results import make_cell, make_result, make_session

    cells = [
        (transport, f"server-{number}", handler)
        for transport in TRANSPORTS
        for number in range(SERVERS)
        for handler in HANDLERS
    ]
    made = [
        make_cell(
            server,
            handler,
            [
                make_session(
                    round_ + 1, calls=CALLS, seed=index, scale=1.3 ** (index % 7),
                    position=round_ * len(cells) + index,
                )
                for round_ in range(SESSIONS)
            ],
            transport=transport,
        )
        for index, (transport, server, handler) in enumerate(cells)
    ]  # fmt: skip
    save(make_result(*made), path)


def main() -> None:
    """Run the proof."""
    repetitions = 1 if quick(__doc__) else 3
    report = Report("charts at scale: a result of 1,000,000 samples")
    report.start(f"each process {repetitions} times")
    imports = [child(IMPORTING).split() for _ in range(max(repetitions, 3))]
    report.check("import bench, best", min(float(words[0]) for words in imports), 0.25, "s")
    heavy = sorted({word for words in imports for word in words[1:]})
    report.judge("import bench loads nothing heavy", not heavy, ", ".join(heavy) or "nothing")
    with tempfile.TemporaryDirectory() as folder:
        file, svg = Path(folder, "samples.json.gz"), Path(folder, "chart.svg")
        write_samples(file)
        found: dict[str, list[dict[str, Any]]] = {
            name: [
                json.loads(child(DRAWING, str(file), name, str(svg))) for _ in range(repetitions)
            ]
            for name in child(NAMES, str(file)).split()
        }
    every = [one for ones in found.values() for one in ones]
    report.check("load, best", min(one["load_s"] for one in every), 2, "s")
    early = any(one["early"] for one in every)
    report.judge(
        "loading imports no matplotlib", not early, "imported" if early else "not imported"
    )
    for name, ones in found.items():
        report.check(f"{name}, best", min(one["chart_s"] for one in ones), 2, "s")
        report.check(f"{name}, peak", max(one["peak_mib"] for one in ones), 500, "MiB")
        report.check(f"{name}, SVG", ones[0]["svg_mb"], 1, "MB")
    check_page(report, repetitions)
    report.end()


def check_page(report: Report, repetitions: int) -> None:
    """Let the command make the page of a run of many cells."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        command = python("-m", "bench", "report", str(MANY_CELLS), "-o", str(page))
        took_s = []
        for _ in range(repetitions):
            start_s = time.monotonic()
            subprocess.run(command, capture_output=True, timeout=120, check=True)
            took_s.append(time.monotonic() - start_s)
        report.check("page of 43 cells, best", min(took_s), 10, "s")
        report.check("page of 43 cells, size", page.stat().st_size / 1e6, 3, "MB")


if __name__ == "__main__":
    main()
