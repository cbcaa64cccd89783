"""How far the raw client is from the least that a client can cost.

Method: ``pingpong.c`` and the raw client drive the same server (``servers/floor.py``) with the same
97 bytes, a fresh server each time, in turn. Both run with the same placement, client on one CPU and
server on another, since the scheduler's choice alone changes a round trip by a factor of ten. The
figure is the median of the ratios of neighbouring p50s.

Bound: ratio ≤ 1.15 across two CPUs. On one CPU there is no wake-up to wait for and the interpreter
of the client stands bare; that ratio is printed as information.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from bench.spec import SessionSpec
from common import Report, python, quick, rounds, two_cpus

SIZE_BYTES = 97
SERVER = python("-m", "servers.floor")
SOURCE = Path(__file__).parent / "pingpong.c"
BOUND = 1.15


def build(folder: str) -> str:
    """Compile the C client; return its path."""
    program = str(Path(folder) / "pingpong")
    subprocess.run(["gcc", "-O2", "-Wall", "-o", program, str(SOURCE)], check=True)
    return program


def c_p50_ns(program: str, calls: int, warmups: int, cpus: tuple[int, int]) -> float:
    """Return the p50 of one run of the C client."""
    numbers = [calls, warmups, SIZE_BYTES, *cpus]
    done = subprocess.run(
        [program, *map(str, numbers), *SERVER],
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    return float(np.median([int(line) for line in done.stdout.split()]))


def raw_p50_ns(calls: int, warmups: int, cpus: tuple[int, int]) -> float:
    """Return the p50 of one session of the raw client."""
    spec = SessionSpec(
        argv=SERVER,
        tool="echo",
        transport="pipe",
        arguments={"payload": "x" * (SIZE_BYTES - 1)},
        calls=calls,
        warmups=warmups,
        client_cpus=(cpus[0],),
        server_cpus=(cpus[1],),
    )
    (sessions,) = rounds({"floor": spec}, 1)
    return float(np.median(sessions["floor"].total_ns))


def compare(program: str, pairs: int, calls: int, cpus: tuple[int, int]) -> tuple[float, str]:
    """Return the median ratio of neighbouring p50s, and both medians in words."""
    c_all, raw_all = [], []
    for pair in range(pairs):
        if pair % 2:
            raw_all.append(raw_p50_ns(calls, 200, cpus))
            c_all.append(c_p50_ns(program, calls, 200, cpus))
        else:
            c_all.append(c_p50_ns(program, calls, 200, cpus))
            raw_all.append(raw_p50_ns(calls, 200, cpus))
    ratios = np.array(raw_all) / np.array(c_all)
    words = (
        f"C {np.median(c_all) / 1e3:.2f} µs, raw client {np.median(raw_all) / 1e3:.2f} µs, "
        f"ratios {np.min(ratios):.3f} to {np.max(ratios):.3f}"
    )
    return float(np.median(ratios)), words


def main() -> None:
    """Run the proof."""
    pairs, calls = (100, 3_000) if quick(__doc__) else (300, 3_000)
    report = Report("pipe floor: the raw client against a C ping-pong")
    report.start(f"{pairs} pairs × {calls} round trips of {SIZE_BYTES} bytes")
    cpus = two_cpus()
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        ratio, words = compare(program, pairs, calls, cpus)
        report.say(f"two CPUs: {words}")
        report.check("raw client / C, p50 across two CPUs", ratio, BOUND, "×")
        ratio, words = compare(program, max(pairs // 4, 2), calls, (cpus[0], cpus[0]))
        report.say(f"one CPU (information): {words}; ratio {ratio:.3f}")
    report.end()


if __name__ == "__main__":
    main()
