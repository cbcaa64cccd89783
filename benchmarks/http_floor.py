"""How the raw client over HTTP stands beside load generators made to time HTTP.

Method: the raw client, ``wrk``, ``hey`` and ``autocannon`` POST the same ``tools/call`` of ``noop``
to the same process of ``servers/minimal_http.py --stateless`` (no session to open first), a fresh
process each round, in turn, over one connection. Client on one CPU, server on another. The figure
is the median of the ratios of the p50s of one round.

All start the clock before the request is written and stop it when the HTTP message is there. The
tools send one request that was built before, and parse no JSON; what they time is what the raw
client calls ``server``: from the start of its write until it has the whole answer. Its whole call,
with a new request built (``encode``) and the answer parsed (``decode``), is printed as information.
``hey`` gives its times in steps of 100 µs: its p50 is interpolated in the step it lies in.

Bounds: raw client / wrk ≤ 1.15; raw client / hey and raw client / autocannon ≤ 0.9. The second can
be expected only where the tool is that much slower than the floor; wrk / tool says whether it is:
where wrk is above 0.9 too, a client at the floor meets it by chance alone. ``make tools`` installs
the three.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.phases import Phase
from bench.protocol.http import HttpBinding, Url
from bench.protocol.jsonrpc import Template
from bench.protocol.revisions import DEFAULT_REVISION
from bench.spec import SessionSpec
from common import Report, quick, rounds, served, two_cpus

TOOLS = Path(__file__).parent / "tools"
SERVER = ("servers.minimal_http", "--stateless")
BOUNDS = {"wrk": 1.15, "hey": 0.9, "autocannon": 0.9}
SLOW_EVERY = 3
"""The tools that are far off need fewer rounds: one of so many."""
HEY_STEP_US = 100.0


@dataclass(frozen=True)
class Call:
    """What all of them send, where, and from which CPU."""

    url: str
    headers: dict[str, str]
    body: str
    calls: int
    cpu: int

    @classmethod
    def of(cls, url: str, calls: int, cpu: int) -> Call:
        """Take the request from the raw client, so that the server reads the same."""
        binding = HttpBinding(Url.parse(url), {}, DEFAULT_REVISION)
        binding.agree(DEFAULT_REVISION)
        template = Template("tools/call", {"name": "noop", "arguments": {}})
        head, _, body = binding.request(template).encode(1000).decode().partition("\r\n\r\n")
        lines = (line.split(": ", 1) for line in head.split("\r\n")[1:])
        own = ("host", "content-length")  # each tool writes these by itself
        headers = {name: value for name, value in lines if name.lower() not in own}
        return cls(url, headers, body, calls, cpu)

    @property
    def flags(self) -> list[str]:
        """The headers as wrk and hey take them."""
        return [word for name, value in self.headers.items() for word in ("-H", f"{name}: {value}")]

    def run(self, *command: str) -> str:
        """Run a tool on the client's CPU; return what it prints."""
        done = subprocess.run(
            ["taskset", "-c", str(self.cpu), *command], capture_output=True, text=True, timeout=90
        )
        if done.returncode:
            sys.exit(f"FAIL  {command[0]} ended with {done.returncode}: {done.stderr[-600:]}")
        return done.stdout


def raw_us(call: Call, whole: list[float]) -> float:
    """Return the p50 from write to answer in one session; that of the call goes to ``whole``."""
    spec = SessionSpec(
        argv=(),
        url=call.url,
        transport="http",
        tool="noop",
        calls=call.calls,
        warmups=200,
        client_cpus=(call.cpu,),
    )
    (sessions,) = rounds({"raw": spec}, 1)
    if len(sessions["raw"].total_ns) != call.calls:
        sys.exit("FAIL  raw client: calls failed")
    whole.append(float(np.median(sessions["raw"].total_ns)) / 1e3)
    return float(np.median(sessions["raw"].calls[Phase.SERVER])) / 1e3


def wrk_us(call: Call) -> float:
    """Return the p50 of one second of wrk, the least it runs."""
    script = str(TOOLS / "post.lua")
    return _reported(
        call.run("wrk", "-c1", "-t1", "-d1s", *call.flags, "-s", script, call.url, "--", call.body)
    )


def hey_us(call: Call) -> float:
    """Return the p50 of hey, interpolated within its steps."""
    kind = call.headers["Content-Type"]
    text = call.run(
        *("hey", "-c", "1", "-n", str(call.calls), "-cpus", "1", "-m", "POST", "-T", kind),
        *(*call.flags, "-d", call.body, "-o", "csv", call.url),
    )
    lines = list(csv.DictReader(text.splitlines()))
    if len(lines) != call.calls or any(line["status-code"] != "200" for line in lines):
        sys.exit("FAIL  hey: calls failed")
    steps = np.array([float(line["response-time"]) * 1e6 for line in lines])
    middle = np.median(steps)
    below, within = np.mean(steps < middle - 1), np.mean(np.abs(steps - middle) < 1)
    return float(middle + HEY_STEP_US * ((0.5 - below) / within - 0.5))


def autocannon_us(call: Call) -> float:
    """Return the p50 of autocannon."""
    script, headers = str(TOOLS / "autocannon.mjs"), json.dumps(call.headers)
    return _reported(call.run("node", script, call.url, str(call.calls), headers, call.body))


def _reported(text: str) -> float:
    words = text.rpartition("p50_us")[2].split()
    p50, _, calls, _, failed = words
    if int(failed) or not int(calls):
        sys.exit(f"FAIL  of {calls} calls of a tool {failed} failed")
    return float(p50)


def missing() -> list[str]:
    """Return the tools that are not installed."""
    found = {name: shutil.which(name) is not None for name in ("wrk", "hey", "node", "taskset")}
    found["autocannon"] = (TOOLS / "node_modules" / "autocannon").is_dir()
    return [name for name, there in found.items() if not there]


def check_answer(call: Call) -> None:
    """See once that the request that all send is answered with a result."""
    import urllib.request

    request = urllib.request.Request(call.url, call.body.encode(), call.headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        message = json.load(answer)
    if message.get("id") != 1000 or message["result"].get("isError"):
        sys.exit(f"FAIL  the request is not answered as it should be: {message}")


def measure(count: int, calls: int) -> dict[str, list[float]]:
    """Return the p50s of each client, of the raw client beside each tool of the same round."""
    found: dict[str, list[float]] = defaultdict(list)
    clients: dict[str, Callable[[Call], float]] = {
        "raw": lambda call: raw_us(call, found["raw, whole call"]),
        "wrk": wrk_us,
        "hey": hey_us,
        "autocannon": autocannon_us,
    }
    client_cpu, server_cpu = two_cpus()
    for round_ in range(count):
        names = list(clients) if round_ % SLOW_EVERY == 0 else ["raw", "wrk"]
        with served(*SERVER, cpu=server_cpu) as base:
            call = Call.of(f"{base}/mcp", calls, client_cpu)
            check_answer(call)
            p50s = {name: clients[name](call) for name in names[:: -1 if round_ % 2 else 1]}
        for name in names:
            found[name].append(p50s[name])
            if name != "raw":
                found[f"raw / {name}"].append(p50s["raw"] / p50s[name])
                if name != "wrk":
                    found[f"wrk / {name}"].append(p50s["wrk"] / p50s[name])
    return found


def main() -> None:
    """Run the proof."""
    count, calls = (12, 3_000) if quick(__doc__) else (60, 3_000)
    report = Report("HTTP floor: the raw client against wrk, hey and autocannon")
    report.start(f"{count} rounds × {calls} calls, wrk for a second; hey, autocannon each third")
    if absent := missing():
        report.fail(", ".join(absent), "not installed; `make tools` installs it")
        report.end()
    found = measure(count, calls)
    for name, p50s in found.items():
        if name in ("raw", "raw, whole call", *BOUNDS):
            words = f"median {np.median(p50s):.1f} µs, {min(p50s):.1f} to {max(p50s):.1f}"
            report.say(f"{name}, p50: {words}")
    for name, bound in BOUNDS.items():
        ratios = found[f"raw / {name}"]
        report.say(f"raw client / {name}: {min(ratios):.3f} to {max(ratios):.3f}")
        if name != "wrk":
            report.say(f"wrk / {name}, p50: {np.median(found[f'wrk / {name}']):.3f} ×")
        report.check(f"raw client / {name}, p50", float(np.median(ratios)), bound, "×")
    report.end()


if __name__ == "__main__":
    main()
