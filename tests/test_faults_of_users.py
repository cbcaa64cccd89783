"""What users and their files do wrong ends in one sentence, and nothing measured is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import bench
from bench.errors import ResultFileError, SuiteError
from bench.storage import load, save
from bench.suite_file import parse_suite
from tests.make_results import make_result

if TYPE_CHECKING:
    from conftest import Cli


def test_a_run_outlives_whoever_read_its_progress(cli: Cli) -> None:
    words = [sys.executable, "-P", "-m", "bench", *cli.measure("good", options="--sessions 3")]
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    with os.fdopen(write_fd, "wb") as nobody:
        done = subprocess.run(
            words, cwd=cli.folder, stdout=subprocess.DEVNULL, stderr=nobody, timeout=60, check=False
        )
    assert done.returncode == 0
    assert len(bench.load(cli.folder / "out.json").cells[0].sessions) == 3


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_output_that_nobody_reads_is_no_failure(cli: Cli, format_: str) -> None:
    save(make_result(), cli.folder / "r.json")
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    words = [sys.executable, "-P", "-m", "bench", "show", "r.json", "--format", format_]
    with os.fdopen(write_fd, "wb") as nobody:
        done = subprocess.run(
            words, cwd=cli.folder, stdout=nobody, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_output_that_cannot_be_written_is_said(cli: Cli) -> None:
    save(make_result(), cli.folder / "r.json")
    words = [sys.executable, "-P", "-m", "bench", "show", "r.json"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            words, cwd=cli.folder, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"mcp-latency: output: No space left on device\n"


def test_a_narrow_character_set_is_no_failure(cli: Cli) -> None:
    save(make_result(), cli.folder / "r.json")
    assert cli.run("show", "r.json", env={"PYTHONIOENCODING": "ascii"}).returncode == 0


def test_a_journal_damaged_in_the_middle_says_what_was_left_out(cli: Cli) -> None:
    cli.run(*cli.measure("good", options="--sessions 1 --quiet"))
    for text in ("{}\n", '{"cells": 5}\n', "[]\n"):
        (cli.folder / "d.json.journal").write_text(text)
        done = cli.run("recover", "d.json.journal", "-o", "saved.json")
        assert done.returncode == 2
        assert "damaged or edited" in done.stderr


@pytest.mark.parametrize(
    ("key", "value"), [("mcp_cells", "[3]"), ("mcp_run", "null"), ("mcp_failures", '[{"x": 1}]')]
)
def test_an_edited_result_file_is_named(cli: Cli, key: str, value: str) -> None:
    path = cli.folder / "r.json"
    save(make_result(), path)
    document: dict[str, Any] = json.loads(path.read_text())
    document["metadata"][key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(ResultFileError, match=r"r\.json: damaged or edited"):
        load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[cell]]\nserver = "minimal"\narguments = {d = 1979-05-27}\n', "no form in JSON"),
        ('timeout_s = 1e300\n[[cell]]\nserver = "minimal"\n', "expected 0.001 to 86400"),
        (
            '[[cell]]\ncommand = "uv run a.py"\ntool = "x"\n'
            '[[cell]]\ncommand = "uv run b.py"\ntool = "y"\n',
            "two different commands are called 'run'",
        ),
    ],
)
def test_a_suite_that_cannot_mean_what_it_says_is_refused(text: str, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        parse_suite(text, "s.toml", "s")


def test_calls_that_all_fail_say_why(cli: Cli) -> None:
    command = f"{sys.executable} -P -m servers.minimal"
    words = ["run", "--command", command, "--tool", "noop", "--arguments", '{"limit": 1}']
    done = cli.run(*words, "--sessions", "1", "--calls", "2", "-o", "out.json")
    assert done.returncode == 2
    assert "'limit' is not an argument of this tool" in done.stdout


def test_calls_that_all_fail_over_http_give_no_statistics(cli: Cli) -> None:
    """C01: the outcome comes from the body, whatever the status of HTTP says."""
    command = f"{sys.executable} -P -m servers.minimal_http --port {{port}}"
    words = ["run", "--command", command, "--url", "http://127.0.0.1:{port}/mcp", "--tool", "noop"]
    words += ["--arguments", '{"limit": 1}', "--sessions", "1", "--calls", "2", "-o", "out.json"]
    done = cli.run(*words)
    assert done.returncode == 2
    assert "no call succeeded, so there are no statistics" in done.stderr
    cell = bench.load(cli.folder / "out.json").cells[0]
    assert cell.outcomes == {"ok": 0, "rpc_error": 2}
