"""What ``bench.run`` does: keywords to a suite, a run with its progress, then a value."""

from __future__ import annotations

import os
import random
import signal
import threading
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import storage
from bench import suite as suites
from bench.adaptive import DEFAULT_FIGURE, Goal, parse_figure
from bench.api import Run
from bench.ask import cell_of, sized
from bench.errors import MeasurementError, ResultFileError, SuiteError
from bench.measure import Options, check_output, measure, plan_of
from bench.prepare import certificates, with_tickets, without_missing
from bench.redact import redact
from bench.render import report
from bench.render.course import imprecise
from bench.results import Result
from bench.runner import Interrupted
from bench.show_progress import make_progress
from bench.suite import Suite
from bench.suite_file import load_suite
from bench.target import checked_headers, reach

_FOR_A_TOOL = ("arguments", "url", "transport", "client", "revision", "name", "env", "headers")
_NOT_SHOWN = ("env", "headers", "progress")
"""What results do not tell of a call: secrets, and what changes nothing."""
_AMOUNTS: Mapping[str, Any] = {
    "sessions": int,
    "calls": int,
    "warmups": int,
    "pause_s": int | float,
    "timeout_s": int | float,
}


def run(
    what: str | os.PathLike[str],
    *,
    tool: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    url: str | None = None,
    transport: str | None = None,
    client: str | None = None,
    revision: str | None = None,
    name: str | None = None,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    only: str | Collection[str] | None = None,
    sessions: int | None = None,
    calls: int | None = None,
    warmups: int | None = None,
    pause_s: float | None = None,
    timeout_s: float | None = None,
    precision: float | None = None,
    precision_of: str | None = None,
    budget_s: float | None = None,
    fast: bool = False,
    rigorous: bool = False,
    seed: int | None = None,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: bool = True,
) -> Run:
    """Measure a suite, or one tool of a server, and return the run; works in notebooks.

    ``what`` is a shipped suite or the path of a .toml file, of which ``only`` keeps some cells
    (``"transport=http,client=raw"``); with ``tool`` it is a command line or a URL (a command with
    ``url`` is started and reached there). ``precision`` (a share: 0.02) and ``budget_s`` add rounds
    until ``precision_of`` (``"call.p50"``) is that precise in every cell or the time is spent;
    ``sessions`` is then the fewest. ``output`` also keeps the result in a file, ``force``
    overwrites one.

    Warns of cells that were skipped or are not precise, and of sessions that failed. Raises
    SuiteError for what cannot be run, ResultFileError where the result cannot be kept,
    MeasurementError where no call succeeded. KeyboardInterrupt says in which file the
    finished sessions were kept.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    _refuse_other_threads()
    _refuse_other_kinds(given)
    suite = _suite_of_one(given) if tool is not None else _suite(given)
    amounts = {name: given.get(name) for name in _AMOUNTS}
    goes_on = precision is not None or budget_s is not None
    suite = sized(suite, amounts, fast=fast, rigorous=rigorous, goes_on=goes_on)
    goal = _goal(given, suite.sessions)
    suite, skipped = without_missing(suite)
    for line in skipped:
        warnings.warn(line, stacklevel=2)
    drawn = random.SystemRandom().randrange(2**32) if seed is None else seed
    options = Options(drawn, _as_text(suite, given), goal)
    with _place(output, suite, force=force) as path:
        result, interrupted = _measured(suite, options, path, show=progress)
        if interrupted:
            raise KeyboardInterrupt(_kept(result, suite, path if output else None))
    failures = report.failures(result)
    if not any(cell.n_calls for cell in result.cells):
        raise MeasurementError(
            "; ".join(["no call succeeded", *failures, *report.findings(result)])
        )
    for line in (*failures, *imprecise(result)):
        warnings.warn(line, stacklevel=2)
    return Run.of(result)


def _refuse_other_threads() -> None:
    if threading.current_thread() is not threading.main_thread():
        raise MeasurementError(
            "bench.run handles Ctrl-C, which only the main thread can: call it there, or run "
            "mcp-latency as a process"
        )


def _refuse_other_kinds(given: Mapping[str, Any]) -> None:
    if not isinstance(given.get("what"), str | os.PathLike):
        raise SuiteError("what: expected a suite, the path of one, or a server with tool=…")
    for name, kinds in _AMOUNTS.items():
        if name in given and not isinstance(given[name], kinds):
            raise SuiteError(f"{name} is {given[name]!r}; expected a number")


def _suite(given: Mapping[str, Any]) -> Suite:
    if alone := [name for name in _FOR_A_TOOL if name in given]:
        raise SuiteError(f"{', '.join(alone)}: only with tool, the name of the tool to call")
    only, what = given.get("only", ()), str(given["what"])
    if not what.endswith(".toml") and (" " in what.strip() or "://" in what):
        raise SuiteError(f"{what!r} looks like a server: give tool=…, the name of the tool to call")
    return suites.only(load_suite(what), [only] if isinstance(only, str) else only)


def _suite_of_one(given: Mapping[str, Any]) -> Suite:
    if "only" in given:
        raise SuiteError("only: selects from a suite; there is one cell with tool")
    what, url, name = str(given["what"]), given.get("url"), given.get("name")
    is_url = "://" in what.partition(" ")[0]
    if is_url and url is not None:
        raise SuiteError("url: the target is a URL already; expected a command beside it")
    target = replace(
        reach(None, what, name) if is_url else reach(what, url, name),
        passed=dict(given.get("env", {})),
        headers=checked_headers(given.get("headers", {})),
    )
    cell = cell_of(
        target,
        given["tool"],
        dict(given.get("arguments", {})),
        transport=given.get("transport"),
        client=given.get("client"),
        revision=given.get("revision"),
    )
    return Suite(target.name, (cell,))


def _goal(given: Mapping[str, Any], least_sessions: int) -> Goal | None:
    """Return what the run goes on for; None where its sessions are planned."""
    precision, budget_s, of = (given.get(n) for n in ("precision", "budget_s", "precision_of"))
    if of is not None and precision is None:
        raise SuiteError("precision_of: needs precision, how narrow the figure is to be")
    if precision is None and budget_s is None:
        return None
    if precision is not None and not (isinstance(precision, float) and 0 < precision < 1):
        raise SuiteError(f"precision is {precision!r}; expected a share, like 0.02")
    if budget_s is not None and not (isinstance(budget_s, int | float) and budget_s > 0):
        raise SuiteError(f"budget_s is {budget_s!r}; expected seconds, more than 0")
    figure = parse_figure(of or DEFAULT_FIGURE, "precision_of")
    return Goal(precision, *figure, budget_s, least_sessions)


def _as_text(suite: Suite, given: Mapping[str, Any]) -> str:
    """Return the call as results show it."""
    secrets = [secret for cell in suite.cells for secret in cell.target.secrets]
    shown = {
        name: value
        for name, value in given.items()
        if name not in _NOT_SHOWN and value is not False
    }
    what = str(shown.pop("what"))
    words = [repr(what), *(f"{name}={value!r}" for name, value in shown.items())]
    return redact(f"bench.run({', '.join(words)})", secrets)


@contextmanager
def _place(output: str | os.PathLike[str] | None, suite: Suite, *, force: bool) -> Iterator[Path]:
    """Give the file that the run is kept in: the one asked for, or one that is gone afterwards."""
    if output is None:
        with TemporaryDirectory(prefix="mcp-latency-") as folder:
            yield Path(folder, "result.json.gz")
        return
    path = Path(output)
    if path.is_file() and not force:
        raise ResultFileError(f"{path}: a result is there already; force=True overwrites it")
    check_output(path, suite, force=force)
    yield path


def _measured(suite: Suite, options: Options, path: Path, *, show: bool) -> tuple[Result, bool]:
    suite = with_tickets(suite)
    slots = len(plan_of(suite, options.seed)) if options.goal is None else None
    with (
        _handlers_kept(),
        certificates(suite) as certified,
        make_progress(certified, slots, quiet=not show) as progress,
    ):
        try:
            return measure(
                certified, options, path, progress.update, progress.finished, progress.looked
            )
        except Interrupted:
            raise KeyboardInterrupt("interrupted before the first session") from None


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Give back what answers Ctrl-C: a run that was interrupted ends with signals ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kept(result: Result, suite: Suite, path: Path | None) -> str:
    """Keep what an interrupted run has finished; return the sentence that says where."""
    finished = sum(len(cell.sessions) for cell in result.cells)
    if not finished:
        return "interrupted; no session was finished"
    if path is None:
        path = storage.default_path(suite.name)
        storage.save(result, path)
    return f"interrupted; {finished} finished sessions are kept in {path}"
