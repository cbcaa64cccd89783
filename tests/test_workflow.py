"""The workflow in the README: it parses, and its commands have the options that it uses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from bench import exports, gate_syntax
from bench.cli import cli

README = Path(__file__).parent.parent / "README.md"


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    (text,) = re.findall(r"```yaml\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    loaded = yaml.safe_load(text)
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture(scope="module")
def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    (job,) = workflow["jobs"].values()
    assert job["runs-on"]
    assert job["timeout-minutes"]
    found: list[dict[str, Any]] = job["steps"]
    return found


def commands(steps: list[dict[str, Any]]) -> list[list[str]]:
    lines = "\n".join(step.get("run", "") for step in steps).splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("mcp-latency ")]


def parsed(words: list[str]) -> dict[str, Any]:
    """Return the options of a command, parsed as it would itself."""
    name, *rest = words
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command.make_context(name, rest).params


def test_the_workflow_runs_on_pull_requests_and_may_only_read(workflow: dict[Any, Any]) -> None:
    # In YAML 1.1 the key "on" is the boolean.
    assert workflow[True] == "pull_request"
    assert workflow["permissions"] == {"contents": "read"}


def test_every_step_does_one_thing(steps: list[dict[str, Any]]) -> None:
    for step in steps:
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "actions/none@v1"))


def test_the_commands_of_the_workflow_have_the_options_that_it_uses(
    steps: list[dict[str, Any]],
) -> None:
    measure, compare = commands(steps)
    ran, held = parsed(measure), parsed(compare)
    assert len(ran["ab"]) == 2
    assert [str(file) for file in held["files"]] == [str(ran["output"])]
    for gate in held["fail_if"]:
        gate_syntax.parse(gate, relative=True)
    written = exports.parse(held["export"], held["files"])
    assert [export.format for export in written] == ["markdown", "junit"]
    kept = next(step for step in steps if "upload-artifact" in step.get("uses", ""))
    assert kept["if"] == "always()"
    assert kept["with"]["path"].split() == ["ab.json.gz", "latency.xml"]
