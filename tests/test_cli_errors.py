"""The command line when something is wrong: one sentence, exit code 2, no traceback, no loss."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import bench
from bench import storage
from bench.cli import cli as command_line
from bench.journal import Journal, SessionEntry

if TYPE_CHECKING:
    from conftest import Cli

SUITE = '[[cell]]\nserver = "minimal"\n'
SUITES = {
    "syntax.toml": "calls = 5\n[[cell]\n",
    "key.toml": SUITE + "cals = 5\n",
    "type.toml": 'calls = "5"\n' + SUITE,
    "server.toml": '[[cell]]\nserver = "nope"\n',
    "empty.toml": "",
    "no-cells.toml": "cell = []\n",
}

BAD_RUNS = {
    "run nosuch": r"no suite 'nosuch'; expected one of: .*bill.*, or the path of a \.toml file",
    "run nosuch.toml": r"nosuch\.toml: cannot be read: No such file or directory",
    "run folder.toml": r"folder\.toml: cannot be read: Is a directory",
    "run binary.toml": r"binary\.toml: cannot be read: not UTF-8 text",
    "run syntax.toml": r"syntax\.toml: not TOML: .*line 2",
    "run key.toml": r"key\.toml: .*unknown field `cals`.*cell\[0\]",
    "run type.toml": r"type\.toml: Expected `int`, got `str` - at `\$\.calls`",
    "run server.toml": r"cell 1: no shipped server 'nope'; expected one of: floor, minimal",
    "run empty.toml": r"empty\.toml: .*missing required field `cell`",
    "run no-cells.toml": r"no-cells\.toml: no cells; expected at least one",
    "run bill --revision 1999-01-01": r"--revision: no revision '1999-01-01'; expected one of: 20",
    "run bill --fast --rigorous": r"fast and rigorous exclude each other",
    "run bill --command x --tool x": r"either the suite 'bill' or --command, not both",
    "run bill --ab x y --tool x": r"either the suite 'bill' or --ab, not both",
    "run --tool x": r"--tool needs --command",
    "run --env NAME=value": r"--env needs --command",
    "run --command x": r"--command, --url and --ab need --tool, the name of the tool",
    "run --command '' --tool x": r"the command is empty; expected a program",
    """run --command "x 'y" --tool x""": r"cannot be split into words: No closing quotation",
    "run --command x --tool x --arguments {bad": r"--arguments: not JSON: .* at character 2",
    "run --command x --tool x --arguments [1]": r"--arguments: expected a JSON object, like",
    "run --command x --tool x --env NAME": r"--env, the one in place 1: expected NAME=VALUE",
    "run --command x --tool x --revision 1": r"no revision '1'; expected one of: 2024-11-05",
    "run --aa": r"--aa needs --command or --url, the target to be compared with itself",
    "run --aa --command x --name a/b --tool x": r"--names: 'a/b,a/b2' are no names",
    "run --ab x y": r"need --tool",
    "run --ab x y --tool x --only server=A": r"--only picks cells of a suite; --ab and --aa need",
    "run --ab x y --command z --tool x": r"--ab names both of its targets; leave out --command",
    "run --ab x http://h/mcp --tool x": r"one is a command and one a URL; expected two of a kind",
    "run --ab x y --tool x --names a": r"--names: 'a' are no names; expected two that differ",
    "run --ab x y --tool x --names a,a": r"--names: 'a,a' are no names",
    "run --ab x y --tool x --name a": r"--name is for one target; --names A,B names the two",
    "run --command x --tool x --names a,b": r"--names is for the two of --ab or --aa",
    "run --precision 0": r"--precision: '0' is no precision; expected a percentage above 0%",
    "run --precision ''": r"--precision: '' is no precision",
    "run --budget ''": r"--budget: '' is no time",
    "run --ab x y --tool x --names ''": r"--names: '' are no names",
    "run --precision 0%": r"--precision: '0%' is no precision",
    "run --precision 0.02": r"--precision: '0\.02' is no precision; .*, like 2%",
    "run --precision 2% --precision-of p50": r"--precision-of: 'p50' is no figure; .* setup, .*",
    "run --precision 2% --precision-of call.p5": r"no figure; .* FIGURE one of: mean, p50, p90",
    "run --precision-of call.p99": r"--precision-of needs --precision",
    "run --budget x": r"--budget: 'x' is no time; expected one like 30s, 10m or 1h",
    "run --budget 10": r"--budget: '10' is no time",
    "run --budget 0m": r"--budget: '0m' is no time",
    "run --budget 1m --order blocked": r"--order blocked needs a number of sessions: leave out",
    "run --affinity 4096": r"--affinity: no CPU 4096 here; expected some of 0",
    "run --affinity x": r"--affinity: 'x' is no CPU; expected a list like 0,2 or 0-1",
    "run --affinity 1-0": r"--affinity: '1-0' runs backwards; expected 0-1",
    "run --affinity 0-99999999999": r"--affinity: '0-99999999999' is no CPU",
    "run --affinity 0:": r"--affinity: '' is no CPU",
    "run -o old.json": r"old\.json: a result is there already; --force overwrites it, -o names",
    "run -o torn.json": r"torn\.json\.journal: the journal of an interrupted run .* recover",
    "run -o gone/x.json": r"gone/x\.json: the folder gone does not exist",
    "run -o folder": r"folder: is a folder; expected the name of a file",
    "run -o new.json --trace gone/x": r"--trace: gone/x: cannot be written: No such file",
    "recover gone.journal -o x.json": r"gone\.journal: cannot be read: No such file",
    "recover old.journal -o x.json": r"old\.journal: not a journal of this program",
    "show gone.json": r"gone\.json: no such file",
    "report gone.json": r"gone\.json: no such file",
    "report old.json": r"old\.json: not a result file",
    "report old.json -o gone/x.html": r"gone/x\.html: the folder gone does not exist",
    "report old.json -o folder": r"folder: is a folder; expected the name of a file",
    "report old.json -o old.json": r"old\.json: is one of the results; expected another name",
    "report old.json -o torn.json.journal": r"torn\.json\.journal: is no name of a page; expected",
    "report old.json -o x.pdf": r"x\.pdf: is no name of a page; expected .* in \.html or \.htm$",
    "report old.json -o -": r"-: is no name of a page; expected one that ends in \.html or \.htm",
    "show old.json": r"old\.json: not a result file",
    "plot old.json": r"old\.json: not a result file",
    "serve nope": r"no shipped server 'nope'; expected one of: floor",
}


def invoke(line: str) -> Result:
    """Run a command in this process. What escapes from it as an exception is a failure."""
    result = CliRunner().invoke(command_line, shlex.split(line))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that can be wrong."""
    monkeypatch.chdir(tmp_path)
    for name, text in SUITES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    for name in ("folder", "folder.toml"):
        (tmp_path / name).mkdir()
    for name in ("old.json", "old.journal", "torn.json.journal"):
        (tmp_path / name).write_text("old\n")
    return tmp_path


@pytest.mark.parametrize("line", BAD_RUNS)
def test_what_cannot_be_done_is_said_in_one_sentence_before_anything_runs(
    folder: Path, line: str
) -> None:
    before = sorted(folder.rglob("*"))
    result = invoke(line)
    assert result.exit_code == 2
    assert re.search(BAD_RUNS[line], result.stderr)
    assert result.stderr.startswith("mcp-latency: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("option", ["--sessions 0", "--calls 0", "--timeout 0", "--sessions x"])
def test_a_number_out_of_range_is_a_usage_error(option: str) -> None:
    result = invoke(f"run {option}")
    assert result.exit_code == 2
    assert "Invalid value for" in result.stderr


def test_a_command_that_cannot_be_started_is_named_once_for_all_sessions(cli: Cli) -> None:
    done = cli.run(
        *("run", "--command", "no-such-command", "--tool", "x", "--sessions", "3"),
        *("-o", "out.json"),
    )
    assert done.returncode == 2
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("failed: "))
    assert line == (
        "failed: stdio/no-such-command/x, round 1, 2, 3, spawn: command not found: "
        "no-such-command; expected a program on PATH or the path of one"
    )
    assert "no call succeeded, so there are no statistics" in done.stderr
    assert not list(cli.folder.iterdir())


def test_an_old_result_is_overwritten_only_by_force(cli: Cli) -> None:
    (cli.folder / "out.json").write_text("old")
    assert cli.run(*cli.measure("good")).returncode == 2
    assert (cli.folder / "out.json").read_text() == "old"
    assert cli.run(*cli.measure("good", options="--force")).returncode == 0
    assert bench.load(cli.folder / "out.json").cells[0].n_calls == 2


def test_a_server_with_an_odd_name_is_measured_and_kept(cli: Cli) -> None:
    done = cli.run(*cli.measure("odd-name"))
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    (session,) = bench.load(cli.folder / "out.json").cells[0].sessions
    assert session.facts["server_info"] == r"\x1b[31mred\n\ud83d 1"


def test_a_dry_run_prints_the_order_and_starts_nothing(cli: Cli) -> None:
    words = cli.measure("exit", 7, options="--dry-run --sessions 2 --seed 1")
    done = cli.run(*words)
    assert done.returncode == 0
    header, *slots = done.stdout.splitlines()
    assert header == "suite faulty_server, seed 1: 1 cell × 2 sessions"
    assert [line.split() for line in slots] == [
        [number, "round", number, "stdio/faulty_server/probe"] for number in ("1", "2")
    ]
    assert not list(cli.folder.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_disk_that_fills_up_loses_no_finished_session(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Journal.append

    def append_to_full_disk(journal: Journal, entry: SessionEntry) -> None:
        if entry.slot.position == 1:
            swap_file(journal, open("/dev/full", "wb", buffering=0))  # noqa: SIM115
        append(journal, entry)

    monkeypatch.setattr(Journal, "append", append_to_full_disk)
    monkeypatch.chdir(cli.folder)
    result = invoke(shlex.join(cli.measure("good", options="--sessions 3")))
    assert result.exit_code == 2
    sentence = "mcp-latency: out.json.journal: cannot be written: No space left on device; "
    assert sentence + "the sessions before this one are in it" in result.stderr
    monkeypatch.undo()
    assert cli.run("recover", "out.json.journal", "-o", "saved.json").returncode == 0
    assert len(bench.load(cli.folder / "saved.json").cells[0].sessions) == 1


def swap_file(journal: Journal, file: IO[bytes]) -> None:
    journal._file.close()
    journal._file = file


def test_a_result_that_cannot_be_written_stays_in_the_journal(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", fail)
    monkeypatch.chdir(cli.folder)
    result = invoke(shlex.join(cli.measure("good")))
    assert result.exit_code == 2
    assert "mcp-latency: out.json: cannot be written: No space left on device" in result.stderr
    assert [file.name for file in cli.folder.iterdir()] == ["out.json.journal"]
    monkeypatch.undo()
    assert cli.run("recover", "out.json.journal", "-o", "out.json").returncode == 0
    assert len(bench.load(cli.folder / "out.json").cells[0].sessions) == 1


@pytest.mark.parametrize("torn_bytes", [1, 8, 120, 200])
def test_a_torn_journal_gives_back_what_is_whole(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, torn_bytes: int
) -> None:
    monkeypatch.setattr(Journal, "discard", Journal.close)
    monkeypatch.chdir(cli.folder)
    assert invoke(shlex.join(cli.measure("good", options="--sessions 2"))).exit_code == 0
    journal = cli.folder / "out.json.journal"
    journal.write_bytes(journal.read_bytes()[:-torn_bytes])
    result = invoke("recover out.json.journal -o saved.json")
    assert (result.exit_code, result.stdout) == (0, "saved.json: 1 session recovered\n")
    assert invoke("recover out.json.journal -o saved.json").exit_code == 2
