"""What the raw client sees of an empty call, and what a loop on the official SDK makes of it.

Method: both call ``noop`` of ``servers/minimal.py`` over stdio, in turn, client and server pinned
to one CPU, so that no wake-up of another core is in either figure. The SDK client is
``ClientSession`` over ``stdio_client`` with its tool list read first (an unknown tool would cost a
hidden round trip), timed around ``call_tool``. The best session of each side is compared: another
program on the CPU can only add.

Bounds: p50 of the raw client ≤ 60 µs, and the SDK client shows at least 500 / 60 times that. Its
500 µs were seen on a slower machine; the ratio is what carries over.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench.spec import SessionSpec
from common import Report, python, quick, rounds

SERVER = python("-m", "servers.minimal")
RAW_BOUND_US = 60.0
RATIO_BOUND = 500 / 60


def raw_p50_us(calls: int, cpu: int) -> float:
    """Return the p50 of one session of the raw client."""
    spec = SessionSpec(
        argv=SERVER,
        tool="noop",
        calls=calls,
        warmups=100,
        client_cpus=(cpu,),
        server_cpus=(cpu,),
    )
    (sessions,) = rounds({"raw": spec}, 1)
    return float(np.median(sessions["raw"].total_ns)) / 1e3


def sdk_p50_us(calls: int, cpu: int) -> float:
    """Return the p50 of one session of the SDK client, in a process of its own."""
    script = Path(__file__).with_name("sdk_client_loop.py")
    done = subprocess.run(
        python(str(script), str(calls), str(cpu), *SERVER),
        capture_output=True,
        text=True,
        timeout=90,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    if done.returncode:
        sys.exit(f"FAIL  the SDK client ended with {done.returncode}: {done.stderr[-600:]}")
    return float(np.median([int(line) for line in done.stdout.split()])) / 1e3


def main() -> None:
    """Run the proof."""
    pairs, calls = (5, 1_000) if quick(__doc__) else (15, 2_000)
    report = Report("client overhead: the raw client against a client loop on the SDK")
    report.start(f"{pairs} sessions × {calls} calls of each, alternating, on one CPU")
    cpu = max(os.sched_getaffinity(0))
    raw, sdk = [], []
    for _ in range(pairs):
        raw.append(raw_p50_us(calls, cpu))
        sdk.append(sdk_p50_us(calls, cpu))
    report.say(f"raw client, sessions: {', '.join(f'{us:.1f}' for us in sorted(raw))} µs")
    report.say(f"SDK client, sessions: {', '.join(f'{us:.0f}' for us in sorted(sdk))} µs")
    report.check("raw client, p50 of noop on minimal", min(raw), RAW_BOUND_US, "µs")
    report.say(f"SDK client, p50 of the same: {min(sdk):.1f} µs")
    report.check("SDK client / raw client", min(sdk) / min(raw), RATIO_BOUND, "×", least=True)
    report.end()


if __name__ == "__main__":
    main()
