"""Nobody survives: whatever ends a session or a run, no process of a server is left behind."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

import bench

if TYPE_CHECKING:
    from conftest import Alive, Cli, Session

ENDINGS = {
    "good": (1, "stdin"),
    "stubborn": (1, "kill"),
    "fork": (2, "kill"),
    "daemon": (2, "stdin"),
}


@pytest.mark.parametrize("mode", ENDINGS)
def test_a_session_that_went_well_leaves_nobody(session: Session, alive: Alive, mode: str) -> None:
    """C45: stdin closed, then TERM, then KILL, to the whole group and beyond."""
    processes, escalation = ENDINGS[mode]
    ended = session(mode, env=alive.env)
    assert alive.all_gone(processes)
    assert ended.facts["escalation"] == escalation
    assert ("survivors" in ended.notices) is (mode == "daemon")


FAILURES = {
    "never-answer": 1,
    "never-read": 1,
    "daemon-and-hang": 2,
    "close-stdout": 1,
    "exit 7": 1,
    "bom": 1,
}


@pytest.mark.parametrize("mode", FAILURES)
def test_a_session_that_failed_leaves_nobody(session: Session, alive: Alive, mode: str) -> None:
    """C14, C45: a timeout, a dead server and a broken answer are cleaned up as well."""
    ended = session(*mode.split(), env=alive.env, timeout_s=0.5, calls=3)
    assert ended.failure
    assert alive.all_gone(FAILURES[mode])


def start_run_that_hangs(cli: Cli, alive: Alive, *, sessions: int = 3) -> subprocess.Popen[str]:
    """Start a run whose second session hangs in its first call."""
    options = f"--sessions {sessions} --timeout 120 --seed 1"
    words = cli.measure("hang-in-session", 2, "sessions", options=options)
    process = cli.start(*words, "--env", f"ALIVE_PORT={alive.env['ALIVE_PORT']}")
    alive.wait_for_call()
    return process


def finished_sessions(file: Path) -> int:
    return sum(len(cell.sessions) for cell in bench.load(file).cells)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_stop_keeps_what_is_finished(
    cli: Cli, alive: Alive, number: signal.Signals
) -> None:
    """C45: Ctrl-C in the middle of a session."""
    process = start_run_that_hangs(cli, alive)
    process.send_signal(number)
    done = cli.finish(process)
    assert done.returncode == 130
    assert alive.all_gone(2)
    assert "mcp-latency: interrupted; finished sessions are kept in out.json" in done.stderr
    assert finished_sessions(cli.folder / "out.json") == 1
    assert not list(cli.folder.glob("*.journal"))


def test_an_interrupted_run_ends_what_left_the_group_of_its_server(cli: Cli, alive: Alive) -> None:
    """C45: a child that daemonised itself, at Ctrl-C in the first session."""
    words = cli.measure("daemon-and-hang", options="--timeout 120")
    process = cli.start(*words, "--env", f"ALIVE_PORT={alive.env['ALIVE_PORT']}")
    alive.wait_for_call()
    process.send_signal(signal.SIGINT)
    done = cli.finish(process)
    assert done.returncode == 130
    assert alive.all_gone(2)
    assert "interrupted; no session was finished, so there is no result file" in done.stderr
    assert not list(cli.folder.iterdir())


def test_a_worker_that_is_killed_costs_one_session(cli: Cli, alive: Alive) -> None:
    """C45: a crash of the harness's own worker."""
    process = start_run_that_hangs(cli, alive)
    (worker,) = psutil.Process(process.pid).children()
    worker.kill()
    done = cli.finish(process)
    assert done.returncode == 2
    assert alive.all_gone(3)
    how = "round 2, first_call: the worker process ended in first_call: killed by SIGKILL"
    assert how in done.stderr
    assert finished_sessions(cli.folder / "out.json") == 2


def test_the_end_of_the_runner_ends_the_server_and_leaves_a_journal(cli: Cli, alive: Alive) -> None:
    """C45: kill -9 of the harness; the worker notices, and recover gives back the rest."""
    process = start_run_that_hangs(cli, alive)
    process.kill()
    cli.finish(process)
    assert alive.all_gone(2)
    done = cli.run("recover", "out.json.journal", "-o", "saved.json")
    assert (done.returncode, done.stdout) == (0, "saved.json: 1 session recovered\n")
    assert finished_sessions(cli.folder / "saved.json") == 1


def test_the_end_of_the_runner_ends_what_left_the_group_of_its_server(
    cli: Cli, alive: Alive
) -> None:
    """C45: kill -9 of the harness while a daemonised child lives."""
    words = cli.measure("daemon-and-hang", options="--timeout 120")
    process = cli.start(*words, "--env", f"ALIVE_PORT={alive.env['ALIVE_PORT']}")
    alive.wait_for_call()
    process.kill()
    cli.finish(process)
    assert alive.all_gone(2)
