"""``bench.run``: suites and servers measured from Python, warnings and errors, notebooks."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import bench
from bench import run_function
from bench.errors import BenchError, MeasurementError, ResultFileError, SuiteError
from bench.runner import Interrupted
from tests.conftest import faulty_command

FEW: dict[str, Any] = {"sessions": 1, "calls": 2, "warmups": 0, "progress": False}

ONE_EACH = "marking_cost = false\n"


def faulty(mode: str, *arguments: str) -> str:
    return shlex.join(faulty_command(mode, *arguments))


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_server_given_as_a_command_is_measured(tmp_path: Path) -> None:
    run = bench.run(faulty("good"), tool="probe", name="mine", env={"KEY": "hush-hush"}, **FEW)
    (record,) = run.table()
    assert (record["cell"], record["n_calls"]) == ("stdio/mine/probe", 2)
    assert run.run["command"].startswith("bench.run(")
    assert "tool='probe'" in run.run["command"]
    assert "hush-hush" not in str(run.run)
    assert list(tmp_path.iterdir()) == []


def test_a_suite_is_measured_and_kept_where_it_is_told(tmp_path: Path) -> None:
    cell = f'[[cell]]\ncommand = """{faulty("good")}"""\ntool = ["probe", "other"]\nname = "mine"\n'
    Path("mine.toml").write_text(ONE_EACH + cell)
    run = bench.run("mine.toml", only="handler=probe", output="out.json.gz", seed=3, **FEW)
    assert [cell.name for cell in run.cells] == ["stdio/mine/probe"]
    assert bench.load("out.json.gz").table() == run.table()
    assert run.run["seed"] == 3
    with pytest.raises(ResultFileError, match="force=True overwrites it"):
        bench.run("mine.toml", output="out.json.gz", **FEW)
    bench.run("mine.toml", only="handler=probe", output="out.json.gz", force=True, **FEW)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.toml", "out.json.gz"]


def test_a_precision_adds_rounds_until_it_or_the_budget_is_reached() -> None:
    few = {**FEW, "calls": 20, "sessions": 5}
    run = bench.run(faulty("good"), tool="probe", precision=0.99, **few)
    assert (run.run["ended"], run.run["precision"]) == ("precise", 0.99)
    assert run.table()[0]["n_sessions"] >= 5
    with pytest.warns(UserWarning, match="not precise: stdio/"):
        run = bench.run(faulty("good"), tool="probe", precision=1e-9, budget_s=0.01, **few)
    assert (run.run["ended"], run.table()[0]["n_sessions"]) == ("budget", 1)


def test_progress_is_said_on_stderr_unless_it_is_not_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bench.run(faulty("good"), tool="probe", **{**FEW, "progress": True})
    assert "[1/1]" in capsys.readouterr().err
    bench.run(faulty("good"), tool="probe", **FEW)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"what": "nope"}, "no suite 'nope'"),
        ({"what": "bill", "transport": "http"}, "transport: only with tool"),
        ({"what": "bill", "only": "x"}, "'x' is no filter"),
        ({"what": "bill", "precision": 2}, "precision is 2; expected a share, like 0.02"),
        ({"what": "bill", "precision": "2%"}, "precision is '2%'; expected a share"),
        ({"what": "bill", "budget_s": 0}, "budget_s is 0; expected seconds"),
        ({"what": "bill", "precision_of": "call.p99"}, "precision_of: needs precision"),
        ({"what": "bill", "precision": 0.1, "precision_of": "x"}, "precision_of: 'x' is no figure"),
        ({"what": "bill", "fast": True, "rigorous": True}, "fast and rigorous exclude each other"),
        ({"what": None}, "what: expected a suite"),
        ({"what": "bill", "calls": "10"}, "calls is '10'; expected a number"),
        ({"what": "python server.py"}, "looks like a server: give tool="),
        ({"what": "http://h/mcp"}, "looks like a server: give tool="),
        ({"what": "bill", "sessions": 0}, "sessions is 0; expected 1 or more"),
        ({"what": "true", "tool": "t", "only": "x"}, "only: selects from a suite"),
        ({"what": "http://h/mcp", "tool": "t", "url": "http://h/"}, "url: the target is a URL"),
        ({"what": "http://h/mcp", "tool": "t", "transport": "stdio"}, "'stdio' has no URL"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(SuiteError, match=message):
        bench.run(**arguments)


def test_a_run_without_a_single_call_says_why() -> None:
    with pytest.raises(MeasurementError, match=r"no call succeeded; failed: stdio/.*exit"):
        bench.run(shlex.join([sys.executable, "-c", "raise SystemExit(7)"]), tool="t", **FEW)


def test_failures_beside_good_sessions_are_warned_of(tmp_path: Path) -> None:
    bad = shlex.join([sys.executable, "-c", "raise SystemExit(7)"])
    Path("two.toml").write_text(
        f'{ONE_EACH}[[cell]]\ncommand = """{faulty("good")}"""\ntool = "probe"\nname = "good"\n'
        f'[[cell]]\ncommand = """{bad}"""\ntool = "probe"\nname = "bad"\n'
    )
    with pytest.warns(UserWarning, match="failed: stdio/bad/probe, round 1"):
        run = bench.run("two.toml", **FEW)
    assert [len(cell.sessions) for cell in run.cells] == [1, 0]


def test_another_thread_is_told_to_use_the_main_one() -> None:
    met: list[BaseException] = []

    def measure() -> None:
        try:
            bench.run("bill", **FEW)
        except BenchError as error:
            met.append(error)

    thread = threading.Thread(target=measure)
    thread.start()
    thread.join()
    assert "main thread" in str(met[0])


def test_an_interrupted_run_keeps_what_is_finished_and_gives_ctrl_c_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = run_function.make_progress

    def interrupting(*arguments: Any, **options: Any) -> Any:
        context = real(*arguments, **options)
        progress = context.__enter__()
        progress.finished = lambda *_: os.kill(os.getpid(), signal.SIGINT)
        context.__exit__ = lambda *_: None
        return _Kept(progress)

    monkeypatch.setattr(run_function, "make_progress", interrupting)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.raises(KeyboardInterrupt, match="1 finished sessions are kept in mcp-latency-"):
        bench.run(faulty("good"), tool="probe", **{**FEW, "sessions": 3})
    (file,) = tmp_path.iterdir()
    assert len(bench.load(file).cells[0].sessions) == 1
    assert {number: signal.getsignal(number) for number in before} == before


class _Kept:
    def __init__(self, value: Any) -> None:
        self._value = value

    def __enter__(self) -> Any:
        return self._value

    def __exit__(self, *_: object) -> None:
        return None


def test_an_interruption_before_the_first_session_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise Interrupted

    monkeypatch.setattr(run_function, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt, match="before the first session"):
        bench.run(faulty("good"), tool="probe", **FEW)


def test_a_notebook_measures_under_its_event_loop_and_shows_progress_and_run() -> None:
    source = f"""
import asyncio, bench
assert asyncio.get_running_loop().is_running()
bench.run({faulty("good")!r}, tool="probe", name="mine", sessions=2, calls=2)
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    progress, shown = notebook.cells[0].outputs
    assert 'value="2" max="2"' in progress["data"]["text/html"]
    assert "2/2 sessions" in progress["data"]["text/html"]
    assert "stdio/mine/probe" in shown["data"]["text/html"]
    assert shown["data"]["text/plain"] == "<Run mine: 1 cells, 2 sessions>"
