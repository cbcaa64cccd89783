"""Suites: files and flags become cells; what cannot be run is said before anything runs."""

from __future__ import annotations

import json

import pytest

from bench import suite_file as suites
from bench.errors import SuiteError
from bench.suite_file import parse_suite
from bench.target import command, parse_pairs, shipped

SERVER = '[[cell]]\nserver = "minimal"\n'


def names(text: str) -> list[str]:
    return [cell.name for cell in parse_suite(text, "s.toml", "s").cells]


@pytest.mark.parametrize("name", suites.shipped_suites())
def test_every_shipped_suite_can_be_run(name: str) -> None:
    assert suites.load_suite(name).cells


def test_lists_stand_for_one_cell_each_and_marked_servers_get_one_plain_twin() -> None:
    text = '[[cell]]\nserver = "minimal"\ntool = ["noop", "search_tickets"]\n'
    assert names(text) == [
        "stdio/minimal/noop",
        "stdio/minimal/noop/no-marks",
        "stdio/minimal/search_tickets",
    ]


def test_names_hold_what_differs_from_the_defaults() -> None:
    text = SERVER + 'tool = "echo"\npayload_bytes = [10, 1000]\nrevision = "2026-07-28"\n'
    text += "marks = false\n"
    assert names(text) == [
        "stdio/minimal/echo/10B/2026-07-28/no-marks",
        "stdio/minimal/echo/1000B/2026-07-28/no-marks",
    ]


def test_the_pipe_server_needs_no_protocol() -> None:
    (cell,) = parse_suite('[[cell]]\nserver = "floor"\n', "s.toml", "s").cells
    assert (cell.transport, cell.handler, cell.marks) == ("pipe", "echo", False)


def test_a_payload_becomes_the_argument_of_that_size() -> None:
    suite = parse_suite(SERVER + 'tool = "echo"\npayload_bytes = 7\n', "s.toml", "s")
    assert suite.spec(suite.cells[0]).arguments == {"payload": "x" * 7}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sessions = \n", r"s\.toml: not TOML: .*line 1"),
        ("", r"s\.toml: .*missing required field `cell`"),
        ("cell = []\n", r"s\.toml: no cells"),
        (SERVER + "cals = 5\n", r"s\.toml: .*unknown field `cals` - at `\$\.cell\[0\]`"),
        ("calls = '5'\n" + SERVER, r"Expected `int`, got `str` - at `\$\.calls`"),
        ("calls = 0\n" + SERVER, r"calls is 0; expected 1 or more"),
        ("sessions = 0\n" + SERVER, r"sessions is 0"),
        ("timeout_s = 0\n" + SERVER, r"timeout_s"),
        ("pause_s = -1\n" + SERVER, r"pause_s is -1\.0; expected 0 to 86400 seconds"),
        (
            '[[cell]]\nserver = "nope"\n',
            r"cell 1: no shipped server 'nope'; expected one of: floor",
        ),
        ("[[cell]]\n", r"cell 1: expected server"),
        (SERVER + 'command = "x"\n', r"cell 1: expected either server"),
        (SERVER + 'revision = "2020-01-01"\n', r"no revision '2020-01-01'; expected one of"),
        (SERVER + "payload_bytes = 0\n", r"payload_bytes is 0"),
        (SERVER + SERVER, r"two cells are called 'stdio/minimal/noop'"),
        ('[[cell]]\ncommand = "python \'x"\n', r"cannot be split"),
    ],
)
def test_a_bad_suite_says_where_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        parse_suite(text, "s.toml", "s")


def test_an_unknown_suite_lists_those_there_are() -> None:
    with pytest.raises(SuiteError, match="bill"):
        suites.load_suite("nope")


def test_a_missing_suite_file_is_said_to_be_missing() -> None:
    with pytest.raises(SuiteError, match="No such file"):
        suites.load_suite("nope.toml")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("python my_server.py --port 1", "my_server"),
        ("/usr/bin/python3.11 /srv/tickets.py", "tickets"),
        ("npx @scope/server-x", "server-x"),
        ("./run-me", "run-me"),
        ("node dist/index.js stdio", "index"),
    ],
)
def test_a_command_is_called_after_what_it_launches(text: str, name: str) -> None:
    assert command(text).name == name


def test_the_label_of_a_command_holds_no_path_of_this_machine_and_no_secret() -> None:
    target = command("/opt/venv/bin/python server.py --token abc123secret")
    assert target.label.startswith("python server.py")
    assert "abc123secret" not in target.label


def test_a_server_gets_few_variables_and_those_it_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_SECRET", "hidden")
    target = shipped("minimal")
    assert "AWS_SECRET" not in target.environment()
    assert "PATH" in target.environment()


def test_a_variable_without_value_is_refused_without_showing_one() -> None:
    assert parse_pairs(["A=b=c"], "--env") == {"A": "b=c"}
    with pytest.raises(SuiteError, match="NAME=VALUE"):
        parse_pairs(["JUSTANAME"], "--env")


def test_cells_of_a_suite_are_told_to_workers_as_plain_values() -> None:
    suite = suites.load_suite("bill")
    for cell in suite.cells:
        assert json.loads(suite.spec(cell).to_json())["tool"] == cell.handler
