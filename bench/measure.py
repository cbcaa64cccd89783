"""A whole run: suite and plan to workers, entries to a journal, journal to a result file."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import environment, storage
from bench.adaptive import Ending, Goal, Width, ending, is_look, widths
from bench.errors import ResultFileError
from bench.journal import SUFFIX, Journal, SessionEntry
from bench.plan import Slot, make_plan, rounds
from bench.records import result_of
from bench.redact import redact_tree
from bench.results import Result
from bench.runner import Interrupted, Job, OnProgress, Runner, ignore_stop_signals
from bench.suite import Cell, Suite

BYTES_PER_CALL = 160
"""A generous guess of what one call takes in the journal, for the check of free space."""


OnSession = Callable[[Slot, SessionEntry], None]
OnLook = Callable[[Sequence[Width]], None]


@dataclass(frozen=True)
class Options:
    """How a run is made, beside its suite.

    With a ``goal`` the suite's number of sessions is not planned: the goal says when to end.
    """

    seed: int
    command: str
    goal: Goal | None = None
    client_cpus: tuple[int, ...] = ()
    server_cpus: tuple[int, ...] = ()
    trace_fd: int | None = None


def check_output(path: Path, suite: Suite, *, force: bool) -> None:
    """Find out before the run whether its result can be kept. Raises ResultFileError."""
    folder = path.parent
    if not folder.is_dir():
        raise ResultFileError(f"{path}: the folder {folder} does not exist")
    journal = path.with_name(path.name + SUFFIX)
    for file in (path, journal):
        if file.is_dir():
            raise ResultFileError(f"{file}: is a folder; expected the name of a file")
        if file.exists() and not force:
            what = "the journal of an interrupted run" if file == journal else "a result"
            raise ResultFileError(
                f"{file}: {what} is there already; --force overwrites it, -o names another"
                + (f", mcp-latency recover {file} saves it" if file == journal else "")
            )
    needed = (suite.calls + suite.warmups) * suite.sessions * len(suite.cells) * BYTES_PER_CALL
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ResultFileError(
            f"{path}: {free // 2**20} MiB free in {folder}, this run may need "
            f"{needed // 2**20 + 1} MiB; free some or lower --calls or --sessions"
        )


def plan_of(suite: Suite, seed: int) -> tuple[Slot, ...]:
    """Return the order of execution."""
    return make_plan(len(suite.cells), suite.sessions, seed, suite.order)


def measure(
    suite: Suite,
    options: Options,
    path: Path,
    on_progress: OnProgress,
    on_session: OnSession,
    on_look: OnLook = lambda _known: None,
) -> tuple[Result, bool]:
    """Run a suite and keep its result in ``path``; return it and whether it was cut short.

    Every finished session is in the journal at once and in the result at the end, also after
    Ctrl-C. The journal stays behind where the result could not be written.
    """
    runner = Runner(on_progress, options.trace_fd)
    with _journal(path, suite, options, runner) as (journal, description):
        course = _Course(suite, options, description, on_look)
        try:
            for entry in runner.run(_job(suite, options, slot) for slot in course.slots()):
                course.entries.append(entry)
                journal.append(entry)
                on_session(entry.slot, entry)
        except Interrupted:
            # What is left is to save the result: a second Ctrl-C must not cut that short.
            ignore_stop_signals()
        result = course.result()
        if any(cell.sessions for cell in result.cells):
            storage.save(result, path)
        journal.discard()
    return result, course.ending is Ending.INTERRUPTED


class _Course:
    """Which session comes next: as planned, or decided between rounds from what is known then."""

    def __init__(
        self, suite: Suite, options: Options, description: Mapping[str, Any], on_look: OnLook
    ) -> None:
        self.entries: list[SessionEntry] = []
        self.ending = Ending.INTERRUPTED
        self._suite, self._options = suite, options
        self._description, self._on_look = description, on_look

    def slots(self) -> Iterator[Slot]:
        """Yield the slots to run; what came of those before is expected in ``entries``."""
        goal, seed = self._options.goal, self._options.seed
        if goal is None:
            yield from plan_of(self._suite, seed)
            self.ending = Ending.PLANNED
            return
        started_s = time.monotonic()
        for done, block in enumerate(rounds(len(self._suite.cells), seed)):
            known = self._look(goal) if done and is_look(done) else None
            why = ending(goal, done, time.monotonic() - started_s, known)
            if why is not None:
                self.ending = why
                return
            yield from block

    def result(self) -> Result:
        """Return what the run has given so far."""
        run = {**self._description["run"], "ended": self.ending.value}
        return result_of({**self._description, "run": run}, self.entries)

    def _look(self, goal: Goal) -> list[Width]:
        known = widths(self.result().cells, goal)
        self._on_look(known)
        return known


@contextmanager
def _journal(
    path: Path, suite: Suite, options: Options, runner: Runner
) -> Iterator[tuple[Journal, Mapping[str, Any]]]:
    description = describe(suite, options, runner.overheads())
    journal = Journal(path.with_name(path.name + SUFFIX), description)
    try:
        yield journal, description
    finally:
        journal.close()


def describe(suite: Suite, options: Options, overheads: Mapping[str, int]) -> dict[str, Any]:
    """Return what a run is: its cells, how its order comes about, and where it is made."""
    return {
        "cells": [
            {"name": cell.name, **cell.fields(), "arguments": _shown(cell)} for cell in suite.cells
        ],
        "run": {
            "suite": suite.name,
            "description": suite.description,
            "command": options.command,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "seed": options.seed,
            "calls": suite.calls,
            "warmups": suite.warmups,
            "pause_s": suite.pause_s,
            "timeout_s": suite.timeout_s,
            "affinity": _affinity(options),
            "order_of_sessions": suite.order,
            "design": suite.design,
            "names": list(suite.names),
            "ended": Ending.KILLED.value,
            **_goal(options.goal),
        },
        "environment": environment.collect(overheads),
    }


def _goal(goal: Goal | None) -> dict[str, Any]:
    if goal is None:
        return {}
    return {
        "precision": goal.precision,
        "precision_of": goal.of,
        "budget_s": goal.budget_s,
        "least_sessions": goal.least_sessions,
    }


def _shown(cell: Cell) -> str:
    """Return the arguments of a cell without what must not be shown."""
    arguments = redact_tree(json.loads(cell.arguments), cell.target.secrets)
    return json.dumps(arguments, ensure_ascii=False)


def _affinity(options: Options) -> str | None:
    if not options.client_cpus and not options.server_cpus:
        return None
    client = ",".join(map(str, options.client_cpus))
    server = ",".join(map(str, options.server_cpus))
    return client if client == server else f"{client}:{server}"


def _job(suite: Suite, options: Options, slot: Slot) -> Job:
    cell = suite.cells[slot.cell]
    spec = replace(
        suite.spec(cell),
        client_cpus=options.client_cpus,
        server_cpus=options.server_cpus,
        probe_version=suite.probe_version and slot.round == 1,  # a server answers always alike
    )
    return Job(slot, spec, cell.target.secrets)


def parse_arguments(text: str) -> dict[str, Any]:
    """Return the JSON object in a text. Raises ValueError with the place of the fault."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    if not isinstance(value, dict):
        raise ValueError('expected a JSON object, like \'{"query": "refund"}\'')
    return value


__all__ = ["Options", "check_output", "describe", "measure", "plan_of"]
