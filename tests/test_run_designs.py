"""How a run is made, end to end: two targets, one target twice, an order, a precision, a budget."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import bench
from bench import noise_floor
from bench.cli import cli as command_line
from bench.comparison import compare_within
from bench.journal import Journal
from bench.plan import make_plan
from bench.results import Result

if TYPE_CHECKING:
    from conftest import Cli

MINIMAL = shlex.join([sys.executable, "-P", "-m", "servers.minimal"])
TINY = ("--tool", "noop", "--calls", "3", "--warmup", "0", "-o", "out.json", "--seed", "1")


def measured(cli: Cli, *words: str) -> tuple[Result, str]:
    """Run with these words; return the result and everything that was printed."""
    done = cli.run("run", *words, *TINY)
    assert done.returncode == 0, done.stderr
    return bench.load(cli.folder / "out.json"), done.stdout + done.stderr


def cells_in_order(result: Result) -> list[int]:
    """Return the cell of each session, by its place in the run."""
    places = {s.position: n for n, cell in enumerate(result.cells) for s in cell.sessions}
    return [places[position] for position in sorted(places)]


def test_two_targets_are_interleaved_and_pair_by_round(cli: Cli) -> None:
    result, out = measured(cli, "--ab", MINIMAL, MINIMAL, "--names", "old,new", "--sessions", "2")
    assert [cell.name for cell in result.cells] == ["stdio/old/noop", "stdio/new/noop"]
    assert (result.run["design"], result.run["names"]) == ("ab", ["old", "new"])
    assert result.run["ended"] == "planned"
    assert result.run["order_of_sessions"] == "interleaved"
    assert result.run["order"] == [slot.cell for slot in make_plan(2, 2, 1)]
    assert cells_in_order(result) == result.run["order"]
    left, right = (dict(cell.fields) for cell in result.cells)
    assert {key for key in left if left[key] != right[key]} == {"server"}
    (comparison,) = compare_within(result, "server", baseline="old")
    assert comparison.paired
    assert comparison.rows[0].contrast is not None
    assert comparison.counted in out


def test_one_target_under_two_names_gives_the_noise_floor(cli: Cli, state_home: Path) -> None:
    result, out = measured(cli, "--aa", "--command", MINIMAL, "--sessions", "2")
    assert [cell.server for cell in result.cells] == ["A", "A2"]
    assert (result.run["design"], result.run["names"]) == ("aa", ["A", "A2"])
    floor = noise_floor.recall(result.environment)
    assert floor is not None
    assert floor.created == result.run["created"]
    assert f"noise floor: kept in {state_home / 'mcp-latency' / 'noise-floor.json'}" in out


def test_a_name_goes_to_both_sides_of_a_target_measured_twice(cli: Cli) -> None:
    words = ["--aa", "--command", MINIMAL, "--name", "mine", "--dry-run", "--sessions", "1"]
    out = cli.run("run", *words, *TINY).stdout
    assert sorted(line.split()[-1] for line in out.splitlines()[1:]) == [
        "stdio/mine/noop",
        "stdio/mine2/noop",
    ]


def test_a_blocked_order_runs_one_target_after_the_other_and_says_what_that_does(cli: Cli) -> None:
    result, out = measured(cli, "--ab", MINIMAL, MINIMAL, "--sessions", "2", "--order", "blocked")
    assert result.run["order_of_sessions"] == "blocked"
    assert cells_in_order(result) == [0, 0, 1, 1] == result.run["order"]
    assert "drift of the machine during the run looks like a difference" in out
    assert "drift of the machine" in cli.run("show", "out.json").stdout
    (comparison,) = compare_within(result, "server")
    assert not comparison.paired


def test_a_precision_adds_rounds_and_the_result_says_how_it_ended(cli: Cli) -> None:
    words = ["--command", MINIMAL, "--precision", "99%", "--sessions", "3", "--budget", "1h"]
    result, out = measured(cli, *words)
    run = result.run
    assert run["sessions"] == len(run["order"]) == len(result.cells[0].sessions) >= 3
    assert (run["precision"], run["precision_of"]) == (0.99, "call.p50")
    assert (run["budget_s"], run["least_sessions"], run["ended"]) == (3600.0, 3, "precise")
    assert "precision ±99%, budget 1h: call.p50 is within ±99% in 1 of 1 cell after " in out
    assert "[1] stdio/" in out
    assert "widest interval unknown (stdio/" in out
    assert "widest interval ±" in out


def test_what_is_not_precise_when_the_budget_is_spent_is_named_and_is_no_failure(cli: Cli) -> None:
    words = ["--command", MINIMAL, "--name", "mine", "--budget", "0.001s"]
    result, out = measured(cli, *words, "--precision", "1%", "--precision-of", "setup.mean")
    assert (result.run["sessions"], result.run["ended"]) == (1, "budget")
    assert "not precise: stdio/mine/noop: setup.mean " in out


def test_a_budget_alone_runs_whole_rounds(cli: Cli) -> None:
    result, out = measured(cli, "--ab", MINIMAL, MINIMAL, "--budget", "0.001s")
    assert result.run["order"] == [slot.cell for slot in make_plan(2, 1, 1)]
    assert result.run["precision"] is None
    assert "budget 0.001s: 1 session of each cell; another round would probably not" in out
    shown = json.loads(cli.run("show", "out.json", "--format", "json").stdout)
    assert shown["run"]["budget_s"] == 0.001


def test_a_dry_run_shows_how_an_adaptive_run_begins(cli: Cli) -> None:
    words = ["--ab", MINIMAL, MINIMAL, "--precision", "2%", "--dry-run"]
    head, *slots, last = cli.run("run", *words, *TINY).stdout.splitlines()
    assert head == (
        "suite A-vs-B, seed 1: 2 cells × at least 5 sessions, until call.p50 is within ±2%"
    )
    assert len(slots) == 10
    assert last == "and further rounds like these"
    assert not list(cli.folder.iterdir())


def test_the_journal_of_an_adaptive_run_is_recovered_with_what_was_executed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Journal, "discard", Journal.close)
    monkeypatch.chdir(cli.folder)
    words = ["run", "--ab", MINIMAL, MINIMAL, "--budget", "0.001s", *TINY]
    done = CliRunner().invoke(command_line, words)
    assert done.exit_code == 0, done.output
    assert cli.run("recover", "out.json.journal", "-o", "saved.json").returncode == 0
    saved, whole = bench.load(cli.folder / "saved.json"), bench.load(cli.folder / "out.json")
    assert saved.run == {**whole.run, "ended": "killed"}
    assert "the run was cut short" in cli.run("show", "saved.json").stdout
