"""What leaves the harness: the wire as people read it, and never a secret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import bench

if TYPE_CHECKING:
    from conftest import Cli

SECRET = 'it\'s "quoted" 4711'
TOKEN = "sk-abcdefghijklmnop1234"
SEVEN = [
    ("->", "initialize"),
    ("<-", "result"),
    ("->", "notifications/initialized"),
    ("->", "tools/list"),
    ("<-", "result"),
    ("->", "tools/call"),
    ("<-", "result"),
]


def messages(lines: list[str]) -> list[tuple[str, str]]:
    """Return the arrow of each line, and the method of a request or the kind of an answer."""
    found = []
    for line in lines:
        arrow, _, text = line.partition(" ")
        message = json.loads(text)
        found.append((arrow, message.get("method") or "result" * ("result" in message)))
    return found


def test_connecting_listing_and_calling_once_is_seven_lines_in_a_file(cli: Cli) -> None:
    done = cli.run(*cli.measure("good", options="--calls 1 --trace wire.txt"))
    assert done.returncode == 0
    assert messages((cli.folder / "wire.txt").read_text().splitlines()) == SEVEN


def test_connecting_listing_and_calling_once_is_seven_lines_on_stderr(cli: Cli) -> None:
    words = cli.measure("good", options="--calls 1 --quiet")
    done = cli.run(*words, env={"MCP_LOG_LEVEL": "debug"})
    assert done.returncode == 0
    lines = [line for line in done.stderr.splitlines() if line.startswith(("->", "<-"))]
    assert messages(lines) == SEVEN
    assert not any(line.startswith(("->", "<-")) for line in done.stdout.splitlines())


def test_a_trace_that_cannot_be_kept_ends_the_run_with_a_sentence(cli: Cli) -> None:
    done = cli.run(*cli.measure("good", options="--trace /dev/full"))
    assert done.returncode == 2
    assert "mcp-latency: the trace cannot be written: No space left on device; " in done.stderr


def test_the_value_of_a_variable_is_never_shown(cli: Cli) -> None:
    """The server prints it on stdout, in an answer, and on stderr before it dies.

    Also where a text is shortened in the middle of it.
    """
    words = cli.measure("secret", "API_PASS", options="--sessions 2 --trace wire.txt")
    done = cli.run(*words, "--env", f"API_PASS={SECRET}")
    assert done.returncode == 2
    assert "stderr ended with: •••..." in done.stderr
    assert "cannot log in with •••" in done.stderr
    assert_hidden(cli, done.stdout + done.stderr)
    wire = (cli.folder / "wire.txt").read_text()
    assert "<- started with •••\n" in wire
    assert '"text": "•••"' in wire


def test_the_value_of_a_variable_is_in_no_file_of_a_run_that_went_well(cli: Cli) -> None:
    words = cli.measure("secret", "API_PASS", options="--calls 1 --trace wire.txt")
    done = cli.run(*words, "--env", f"API_PASS={SECRET}")
    assert done.returncode == 0
    assert "'started with •••'" in done.stdout
    assert_hidden(cli, done.stdout + done.stderr)
    command = bench.load(cli.folder / "out.json").run["command"]
    assert "--env API_PASS=•••" in command.replace("'", "")


def assert_hidden(cli: Cli, output: str) -> None:
    files = [file.read_text() for file in cli.folder.iterdir()]
    for text in (output, *files):
        assert "4711" not in text
        assert "quoted" not in text


def test_what_looks_like_a_token_is_not_shown(cli: Cli) -> None:
    words = cli.measure("good", f"--token={TOKEN}", options="--trace wire.txt")
    done = cli.run(*words, "--arguments", json.dumps({"api_key": TOKEN, "password": "hunter2x"}))
    assert done.returncode == 0
    wire = (cli.folder / "wire.txt").read_text()
    assert '"arguments":{"api_key":"•••","password":"•••"}' in wire
    run = bench.load(cli.folder / "out.json").run
    for text in (done.stdout, done.stderr, wire, json.dumps(dict(run))):
        assert TOKEN not in text
        assert "hunter2x" not in text


def test_a_token_in_the_arguments_is_not_in_the_result_file(cli: Cli) -> None:
    words = cli.measure("good")
    cli.run(*words, "--arguments", json.dumps({"api_key": TOKEN}))
    assert TOKEN not in (cli.folder / "out.json").read_text()
