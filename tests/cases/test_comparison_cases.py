"""Public trouble reports about comparisons and about what a timer times."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from bench.accounts import ladder
from bench.cli import cli
from bench.clock import now_ns
from bench.plan import make_plan
from bench.render.report import provenance
from bench.storage import save
from bench.transports.process import ServerProcess
from tests.make_results import make_cell, make_result, make_session

SAY_X = ("sh", "-c", "printf x; read line")


def test_the_order_of_an_interleaved_run_is_balanced_and_in_every_export(tmp_path: Path) -> None:
    """Same code compared with itself "regresses": one side always came first."""
    plan = make_plan(2, 200, seed=3)
    first = [slot.cell for slot in plan if slot.position % 2 == 0]
    assert 70 <= sum(first) <= 130
    sides = [make_cell(name, sessions=[make_session(r) for r in (1, 2, 3)]) for name in "AB"]
    result = make_result(*sides)
    order = [0, 1, 1, 0, 0, 1]
    run = {**result.run, "design": "ab", "names": ["A", "B"], "order": order, "seed": 3}
    file = tmp_path / "ab.json.gz"
    save(replace(result, run=run), file)
    for command in ("show", "compare"):
        text = CliRunner().invoke(cli, [command, str(file), "--format", "json"]).stdout
        found = json.loads(text)
        runs = [found["run"]] if command == "show" else [one["run"] for one in found["runs"]]
        assert all((one["order"], one["seed"]) == (order, 3) for one in runs)


def spawned_here_ns() -> int:
    process = ServerProcess(SAY_X, None, None)
    try:
        os.read(process.stdout_fd, 1)
        return now_ns() - process.start_ns
    finally:
        process.destroy()


def spawned_bare_ns() -> int:
    ours, theirs = os.pipe()
    keep, stdin = os.pipe()
    start_ns = now_ns()
    actions = [(os.POSIX_SPAWN_DUP2, keep, 0), (os.POSIX_SPAWN_DUP2, theirs, 1)]
    pid = os.posix_spawn("/bin/sh", SAY_X, dict(os.environ), file_actions=actions)
    os.read(ours, 1)
    took_ns = now_ns() - start_ns
    for fd in (ours, theirs, keep, stdin):
        os.close(fd)
    os.waitpid(pid, 0)
    return took_ns


def test_the_spawn_clock_holds_little_but_the_spawn() -> None:
    """Does "spawn time" include the timer's own work? A bare posix_spawn tells, in turn with it."""
    pairs = [(spawned_here_ns(), spawned_bare_ns()) for _ in range(15)]
    here_ns, bare_ns = np.median(np.array(pairs), axis=0)
    assert here_ns < 4 * bare_ns + 3_000_000


def test_the_floor_of_a_spawn_stands_under_every_result() -> None:
    result = make_result()
    environment = {**result.environment, "overhead_spawn_noop_ns": 219_000}
    lines = provenance(replace(result, environment=environment))
    assert any("spawn of a no-op 219 µs" in line for line in lines)


def test_what_is_ranked_is_ranked_by_medians() -> None:
    """A lognormal tail moves means past each other; the ladder goes by medians."""
    random = np.random.default_rng(1)
    cells = []
    for name, median_ns, sigma in (("steady", 120_000, 0.1), ("skewed", 100_000, 1.2)):
        sessions = []
        for round_ in (1, 2, 3):
            session = make_session(round_, marked=False, calls=200)
            column = random.lognormal(np.log(median_ns), sigma, 200).astype(np.int64)
            calls = dict(session.calls)
            (server,) = [phase for phase in calls if phase.value == "server"]
            sessions.append(replace(session, calls={**calls, server: column}))
        cells.append(make_cell(name, sessions=sessions, marks=False))
    assert np.mean(np.concatenate(cells[1].totals())) > np.mean(np.concatenate(cells[0].totals()))
    assert [rung.cell.server for rung in ladder(make_result(*cells))] == ["skewed", "steady"]
