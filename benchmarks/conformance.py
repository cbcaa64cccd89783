"""The official MCP conformance suite, against the raw HTTP client and the thin HTTP server.

Method: one run of the suite per scenario and revision. A client scenario starts
``conformance_client.py``, which makes its calls through the path that measures; a server scenario
goes to ``servers/minimal_http.py``, and the ones that call tools by name to the same server with
those tools (``conformance_server.py``). In full each server scenario runs twice, against answers
in JSON and against answers as event streams.

Bound: no check fails but those of :data:`KNOWN`, each with its reason; those do fail, so that the
table cannot go stale. Such a run is KNOWN, any other PASS or FAIL.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.errors import PeerClosed
from bench.transports.served import Served
from bench.transports.sockets import Endpoint, free_port
from common import Report, python, quick

HERE = Path(__file__).parent
FOLDER = HERE / "conformance"
MODULES = FOLDER / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance"
VERSION = "0.2.0-alpha.12"
NODE_SINCE = 22
LIMIT_S = 60.0
AT_ONCE = 3

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
BOTH = (HANDSHAKE, STATELESS)

CLIENT = {
    "initialize": (HANDSHAKE,),
    "tools_call": BOTH,
    "sse-retry": (HANDSHAKE,),
    "elicitation-sep1034-client-defaults": (HANDSHAKE,),
    "request-metadata": (STATELESS,),
    "http-standard-headers": (STATELESS,),
    "http-custom-headers": (STATELESS,),
    "http-invalid-tool-headers": (STATELESS,),
    "sep-2322-client-request-state": (STATELESS,),
    "json-schema-ref-no-deref": (STATELESS,),
}
SERVER = {
    "server-initialize": (HANDSHAKE,),
    "ping": (HANDSHAKE,),
    "server-session-lifecycle": (HANDSHAKE,),
    "tools-list": BOTH,
    "server-sse-multiple-streams": BOTH,
    "dns-rebinding-protection": BOTH,
    "server-stateless": (STATELESS,),
    "http-header-validation": (STATELESS,),
    "caching": (STATELESS,),
}
TOOLS = {
    "tools-call-simple-text": BOTH,
    "tools-call-image": BOTH,
    "tools-call-audio": BOTH,
    "tools-call-embedded-resource": BOTH,
    "tools-call-mixed-content": BOTH,
    "tools-call-error": BOTH,
}
"""Scenario -> the revisions that have it."""


class Known(NamedTuple):
    """Checks of a scenario that fail, and why that is no fault."""

    checks: frozenset[str]
    reason: str


KNOWN = {
    "sse-retry": Known(
        frozenset({"client-sse-graceful-reconnect"}),
        "The measuring client does not resume a stream: an answer that needs a second connection "
        "is no sample of a call, so it is reported as lost.",
    ),
    "elicitation-sep1034-client-defaults": Known(
        frozenset(
            {
                "client-elicitation-sep1034-general",
                "client-elicitation-sep1034-string-default",
                "client-elicitation-sep1034-integer-default",
                "client-elicitation-sep1034-number-default",
                "client-elicitation-sep1034-enum-default",
                "client-elicitation-sep1034-boolean-default",
            }
        ),
        "The server asks on a stream of its own, which the measuring client does not open, and a "
        "form is declined, never filled in: nobody is there to fill it in.",
    ),
    "server-stateless": Known(
        frozenset(
            {
                "sep-2575-server-rejects-undeclared-capability",
                "sep-2575-missing-capability-http-400",
                "sep-2575-http-server-no-independent-requests-on-stream",
                "sep-2575-server-no-log-without-loglevel",
            }
        ),
        "The server has no tool that needs a capability of its client, asks for input or logs.",
    ),
    "caching": Known(
        frozenset(
            {
                "sep-2549-prompts-list-caching-hints",
                "sep-2549-resources-list-caching-hints",
                "sep-2549-resources-templates-list-caching-hints",
            }
        ),
        "The server has neither prompts nor resources, whose lists would carry hints.",
    ),
}
NOT_RUN = {
    "client auth/*": "The client sends the headers it is given, and goes through no authorization.",
    "client json-schema-2020-12-preservation": (
        "The client reads the annotations of the one tool that it calls and keeps no schema."
    ),
    "server tools-call-with-*, -sampling, -elicitation, input-required-result-*, server-sse-polling"
    ", logging-*": "The server answers each request at once and sends or asks nothing else.",
    "server prompts-*, resources-*, completion-*, sep-2164-*": "The server has tools only.",
    "server http-custom-header-server-validation, json-schema-2020-12, elicitation-sep*": (
        "No tool of the server has annotated arguments, a rich schema or a form."
    ),
}


@dataclass
class Counts:
    """What the checks of some runs say, by status."""

    statuses: Counter[str]
    failed: frozenset[str] = frozenset()

    @property
    def passed(self) -> int:
        """How many checks hold."""
        return self.statuses["SUCCESS"]

    @property
    def decided(self) -> int:
        """How many checks could be made."""
        return self.passed + self.statuses["FAILURE"] + self.statuses["WARNING"]

    def text(self) -> str:
        """Say it."""
        warnings = self.statuses["WARNING"]
        return f"{self.passed} of {self.decided} checks" + (
            f", {warnings} of them warnings" if warnings else ""
        )


# -- the suite and its Node ----------------------------------------------------------------------


def installed_version() -> str | None:
    """Return the version of the suite that is installed, None where there is none."""
    try:
        return str(json.loads((SUITE / "package.json").read_text("utf-8"))["version"])
    except (OSError, ValueError, KeyError):
        return None


def node() -> str | None:
    """Return the command of a Node that is new enough for the suite, if there is one."""
    for command in (shutil.which("node"), str(MODULES / ".bin" / "node")):
        if command is not None and node_version(command) >= NODE_SINCE:
            return command
    return None


def node_version(command: str) -> int:
    """Return the major version of a Node; 0 where it does not run."""
    try:
        done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
        return int(done.stdout.lstrip("v").partition(".")[0])
    except (OSError, ValueError, subprocess.CalledProcessError):
        return 0


def installed() -> str:
    """Install the suite if it is not there; return the command of Node."""
    command = node()
    if installed_version() == VERSION and command is not None:
        return command
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("FAIL  the conformance suite comes from npm, which is missing; install Node.js")
    # A Node that is new enough need not be fetched: it is optional among the packages.
    without = ["--omit=optional"] if command is not None else []
    arguments = [npm, "ci", "--no-audit", "--no-fund", *without]
    done = subprocess.run(arguments, cwd=FOLDER, capture_output=True, text=True, check=False)
    command = node()
    if done.returncode or installed_version() != VERSION:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        sys.exit(f"FAIL  npm ci in {FOLDER} failed: {' '.join(lines[-3:])}")
    if command is None:
        sys.exit(f"FAIL  the suite needs Node {NODE_SINCE}; npm has none for this platform")
    return command


# -- one run -------------------------------------------------------------------------------------


def run(command: list[str], scenario: str, revision: str) -> tuple[Counts, str]:
    """Run one scenario; return what its checks say, and what is wrong beside them."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        words = ["--scenario", scenario, "--spec-version", revision, "-o", folder]
        try:
            done = subprocess.run(
                [*command, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return Counts(Counter()), f"no end within {LIMIT_S:g} s"
        found = [json.loads(path.read_text("utf-8")) for path in Path(folder).rglob("checks.json")]
        said = [path.read_text("utf-8").strip() for path in Path(folder).rglob("stderr.txt")]
    checks = [check for checks in found for check in checks]
    failed = frozenset(check["id"] for check in checks if check["status"] == "FAILURE")
    counts = Counts(Counter(check["status"] for check in checks), failed)
    if not counts.decided:
        return counts, "no check was made"
    if done.returncode and not failed:
        return counts, f"exit code {done.returncode} {' '.join(said)}".rstrip()
    return counts, ""


@contextmanager
def serving(*program: str) -> Iterator[str]:
    """Start a server of ours; yield its URL; end it."""
    port = free_port()
    argv = python(*program, "--port", str(port))
    served = Served(Endpoint("127.0.0.1", port), argv, dict(os.environ), None, 1.0)
    try:
        served.start(lambda _: None)
        yield f"http://127.0.0.1:{port}/mcp"
    except PeerClosed:
        sys.exit(f"FAIL  {' '.join(program)} ended before it listened")
    finally:
        served.destroy()


class Book:
    """All runs: judges each, adds them up."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.runs = Counter[str]()
        self.total = Counter[str]()

    def judge(self, side: str, scenario: str, revision: str, counts: Counts, wrong: str) -> None:
        """Print the line of one run."""
        known = KNOWN.get(scenario)
        expected = known.checks if known is not None else frozenset()
        text = counts.text()
        if counts.failed - expected:
            wrong = f"failed: {', '.join(sorted(counts.failed - expected))}"
        elif not wrong and expected - counts.failed:
            passed = ", ".join(sorted(expected - counts.failed))
            wrong = f"no longer fails, so take it out of the table: {passed}"
        word = "PASS" if known is None else "KNOWN"
        self.runs["FAIL" if wrong else word] += 1
        self.total += counts.statuses
        what = f"{side} {revision} {scenario}"
        self.report.judge(what, not wrong, f"{text}; {wrong}" if wrong else text, word)

    def all(self, command: list[str], side: str, scenarios: dict[str, tuple[str, ...]]) -> None:
        """Run a table of scenarios, a few at a time: nothing is timed here."""
        pairs = [
            (name, revision) for name, revisions in scenarios.items() for revision in revisions
        ]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            results = pool.map(lambda pair: run(command, *pair), pairs)
            for (scenario, revision), (counts, wrong) in zip(pairs, results, strict=True):
                self.judge(side, scenario, revision, counts, wrong)

    def close(self) -> None:
        """Print what does not pass and why, and the totals."""
        say, runs, total = self.report.say, self.runs, self.total
        say("KNOWN: only what cannot pass fails")
        for scenario, known in KNOWN.items():
            say(f"  {scenario}: {known.reason}")
        say("Not run")
        for what, reason in NOT_RUN.items():
            say(f"  {what}: {reason}")
        say(f"{runs.total()} runs: {runs['PASS']} pass, {runs['KNOWN']} known, {runs['FAIL']} fail")
        say(
            f"checks: {total['SUCCESS']} passed, {total['FAILURE']} failed, "
            f"{total['WARNING']} warnings, {total['SKIPPED']} skipped by the suite"
        )


def main() -> None:
    """Run the proof."""
    answers = ("json",) if quick(__doc__) else ("json", "sse")
    suite = [installed(), str(SUITE / "dist" / "index.js")]
    report = Report(f"official conformance suite {VERSION}")
    report.start(f"server answers as {' and '.join(answers)}")
    book = Book(report)
    client = shlex.join(python(str(HERE / "conformance_client.py")))
    book.all([*suite, "client", "--command", client], "client", CLIENT)
    for form in answers:
        option = ("--sse",) if form == "sse" else ()
        for program, scenarios in (
            (("-m", "servers.minimal_http"), SERVER),
            ((str(HERE / "conformance_server.py"),), TOOLS),
        ):
            with serving(*program, *option) as url:
                book.all([*suite, "server", "--url", url], f"server ({form})", scenarios)
    book.close()
    report.end()


if __name__ == "__main__":
    main()
