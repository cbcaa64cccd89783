"""Files at the edge: nothing, one, equal, zero, edited, torn or somebody else's.

Each gives a labelled output or one sentence, with the documented exit code.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyperf
import pytest

from bench import exports
from bench.cli import FAILED, NOT_COMPARABLE
from bench.figures import figure
from bench.phases import CALL_UNMARKED, Phase
from bench.results import CellResult, Failure, Result, Session
from bench.stats import needed
from bench.storage import save
from tests.command import invoke, strict_json
from tests.make_results import make_cell, make_result, make_session

CALLS = [Phase.ENCODE, Phase.SERVER, Phase.DECODE]


def of_values(*values: int, rounds: int = 1) -> list[Session]:
    """Return sessions whose calls take these times, all of them in the server."""
    sessions = []
    for round_ in range(1, rounds + 1):
        session = make_session(round_, calls=len(values), marked=False)
        columns = {phase: np.zeros(len(values), np.int64) for phase in CALL_UNMARKED}
        columns[Phase.SERVER] = np.array(values, dtype=np.int64)
        sessions.append(replace(session, calls={phase: columns[phase] for phase in CALLS}))
    return sessions


def failing() -> list[Session]:
    session = make_session(1, calls=0, marked=False)
    return [replace(session, outcomes={"ok": 0, "tool_error": 7}, first_call_ns=None)]


SAMPLES: dict[str, list[Session]] = {
    "no calls": [make_session(1, calls=0)],
    "all failed": failing(),
    "one": of_values(31_000),
    "equal": of_values(*[31_000] * 100),
    "equal in sessions": of_values(*[31_000] * 100, rounds=3),
    "zero": of_values(0, rounds=3),
    "some zero": of_values(0, 0, 0, 5, 9, rounds=3),
}
NO_NUMBER = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)
SILENT = ("no calls", "all failed")


def result_of(sessions: list[Session]) -> Result:
    cells = [make_cell(name, sessions=sessions, marks=False) for name in ("A", "B")]
    result = make_result(*cells)
    return replace(result, run={**result.run, "design": "ab"})


@pytest.fixture(params=SAMPLES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(kind: str, tmp_path: Path) -> Path:
    save(result_of(SAMPLES[kind]), tmp_path / "run.json.gz")
    return tmp_path / "run.json.gz"


def test_show_gives_tables_or_says_that_no_call_succeeded(kind: str, file: Path) -> None:
    """C25"""
    done = invoke("show", file)
    assert done.exit_code == (FAILED if kind in SILENT else 0), done.output
    said = "no call succeeded, so there are no statistics"
    assert (said in done.stderr) == (kind in SILENT)
    assert "host host" in done.stdout
    assert not NO_NUMBER.search(done.stdout)


def test_compare_refuses_sides_without_data_and_gives_no_ratio_of_nothing(
    kind: str, file: Path
) -> None:
    """C25"""
    done = invoke("compare", file)
    one_session = len(SAMPLES[kind]) == 1
    assert done.exit_code == (NOT_COMPARABLE if one_session else 0), done.output
    words = "no successful calls in A and B" if kind in SILENT else "B against A"
    assert words in done.stdout
    assert not NO_NUMBER.search(done.stdout)


@pytest.mark.parametrize("format_", exports.FORMATS)
@pytest.mark.parametrize("command", ["show", "compare"])
def test_every_export_holds_what_there_is(
    kind: str, file: Path, command: str, format_: str
) -> None:
    """C25"""
    target = file.with_name("out")
    done = invoke(command, file, "--export", f"{format_}={target}")
    assert done.exit_code in (0, FAILED, NOT_COMPARABLE)
    text = target.read_text("utf-8")
    assert text
    if format_ in ("json", "github"):
        strict_json(text)
    assert not NO_NUMBER.search(text)


def test_a_figure_that_is_missing_is_null_with_its_reason_and_number(kind: str, file: Path) -> None:
    """C25"""
    document = strict_json(invoke("show", file, "--format", "json").stdout)
    assert len(document["figures"]) == 20
    for found in document["figures"]:
        assert (found["value_ns"] is None) == (found["reason"] is not None)
        assert isinstance(found["n_samples"], int)
        if found["n_sessions"] == 1:
            assert found["low_ns"] is found["high_ns"] is None
    if kind in SILENT:
        assert {found["reason"] for found in document["figures"]} == {"no call succeeded"}


def test_gates_on_files_at_the_edge_never_pass_on_nothing(kind: str, file: Path) -> None:
    """C25"""
    done = invoke("show", file, "--fail-if", "call.p50 > 1s")
    assert done.exit_code == (FAILED if kind in SILENT else 0), done.output
    done = invoke("compare", file, "--fail-if", "call.p50 > +1s")
    assert done.exit_code == (NOT_COMPARABLE if kind in SILENT else 0), done.output
    done = invoke("compare", file, "--fail-if", "call.p50 > +900%")
    if "zero" in kind:
        assert done.exit_code == FAILED
        assert "a percentage of it means nothing; give a duration" in done.stdout


def test_charts_of_files_at_the_edge_are_labelled(file: Path) -> None:
    """C25"""
    done = invoke("plot", file, "-o", file.parent / "charts")
    assert done.exit_code == 0, done.output
    assert list((file.parent / "charts").iterdir())


def test_sessions_that_all_failed_are_counted_and_end_with_2(tmp_path: Path) -> None:
    failures = [Failure(1, "boot", "server_exited", "the server ended: exit code 7")]
    dead = make_cell("B", sessions=[], failures=failures)
    save(make_result(make_cell("A"), dead), tmp_path / "r.json")
    done = invoke("show", tmp_path / "r.json", "--fail-if", "call.p50 > 1s")
    assert done.exit_code == FAILED
    assert "gate: ERROR  call.p50 > 1s  stdio/B/noop: no session was finished" in done.stdout


def edited(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Return a result file that somebody has changed by hand."""
    path = tmp_path / "edited.json"
    save(result_of(of_values(31_000, 32_000, rounds=2)), path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def unit_of_all(document: dict[str, Any]) -> None:
    document["metadata"]["unit"] = "byte"


def unit_of_one(document: dict[str, Any]) -> None:
    document["benchmarks"][0]["metadata"]["unit"] = "integer"


def unit_of_a_run(document: dict[str, Any]) -> None:
    document["benchmarks"][0]["runs"][0]["metadata"]["unit"] = "byte"


def negative(document: dict[str, Any]) -> None:
    document["benchmarks"][0]["runs"][0]["values"][0] = -1.0


def endless(document: dict[str, Any]) -> None:
    document["benchmarks"][0]["runs"][0]["values"][0] = 1e300


def no_number(document: dict[str, Any]) -> None:
    document["metadata"]["mcp_run"] = '{"seed": NaN}'


def sum_changed(document: dict[str, Any]) -> None:
    setup = next(b for b in document["benchmarks"] if b["metadata"]["name"].endswith(":setup"))
    setup["runs"][0]["values"][0] *= 2


EDITED = {
    unit_of_all: "edited.json: damaged or edited: unit of stdio/A/noop",
    unit_of_one: "is 'integer', not 'second'",
    unit_of_a_run: "is 'byte', not 'second'",
    negative: "a value is negative, not a number, or above 1000000 s",
    endless: "a value is negative, not a number, or above 1000000 s",
    no_number: "edited.json: damaged or edited: JSON is malformed",
    sum_changed: "the phases of setup do not sum to its total",
}


@pytest.mark.parametrize("change", EDITED, ids=lambda change: change.__name__)
@pytest.mark.parametrize("command", ["show", "compare", "plot"])
def test_a_file_edited_by_hand_is_refused_in_one_sentence(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], command: str
) -> None:
    refused(command, edited(tmp_path, change), EDITED[change])


def refused(command: str, path: Path, words: str) -> None:
    done = invoke(command, path)
    assert done.exit_code == FAILED
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["show", "compare", "plot"])
def test_a_torn_archive_and_files_of_other_programs_are_named(tmp_path: Path, command: str) -> None:
    whole = tmp_path / "whole.json.gz"
    save(result_of(SAMPLES["equal"]), whole)
    torn = tmp_path / "torn.json.gz"
    torn.write_bytes(whole.read_bytes()[:-100])
    refused(command, torn, "torn.json.gz: the file is cut short or damaged (gzip)")
    other = tmp_path / "other.json"
    run = pyperf.Run([1.0], metadata={"name": "other"}, collect_metadata=False)
    pyperf.Benchmark([run]).dump(str(other))
    refused(command, other, "other.json: not a result of mcp-latency")
    text = tmp_path / "text.json.gz"
    text.write_bytes(gzip.compress(b"hello"))
    refused(command, text, "text.json.gz: not a result file")


SERIES = [
    ([15, 20, 35, 40, 50], {0.1: 17, 0.25: 20, 0.5: 35, 0.75: 40, 0.9: 46}),
    ([3, 6, 7, 8, 8, 10, 13, 15, 16, 20], {0.25: 7.25, 0.5: 9, 0.75: 14.5}),
    ([7], {0.5: 7}),
    ([4, 4, 4], {0.5: 4}),
]


@pytest.mark.parametrize(("values", "expected"), SERIES)
def test_percentiles_interpolate_linearly_and_the_export_says_so(
    values: list[int], expected: dict[float, float]
) -> None:
    """C23: published values; numpy's default, type 7."""
    from bench.stats import QUANTILE_METHOD, Sample

    sample = Sample([np.array(values, dtype=np.int64)])
    assert QUANTILE_METHOD == "linear"
    for q, value in expected.items():
        if len(values) >= needed(q):
            assert sample.value(q) == pytest.approx(value)


@pytest.mark.parametrize("n_calls", [0, 1, 2, 10, 99, 100, 999, 1000])
def test_percentiles_of_a_cell_are_ordered_or_withheld(n_calls: int) -> None:
    """C23"""
    cell = CellResult("c", make_cell().fields, of_values(*range(1, n_calls + 1)))
    names = ("p50", "p90", "p99", "p99.9")
    found = [figure(cell, "call", name) for name in names]
    told = [one.estimate.value for one in found if one.estimate is not None]
    assert told == sorted(told)
    assert not told or (told[0] >= 1 and told[-1] <= n_calls)
    least = {"p50": 1, "p90": 10, "p99": 100, "p99.9": 1000}
    assert [one.name for one in found if one.estimate] == [n for n in names if n_calls >= least[n]]
    for one in found:
        assert (one.estimate is None) == bool(one.reason)


def test_p50_and_median_are_one_figure_in_every_output(tmp_path: Path) -> None:
    """C23"""
    save(result_of(of_values(*range(10_000, 10_021), rounds=2)), tmp_path / "r.json")
    lines = [
        next(
            line.split("  ", 2)[2]
            for line in invoke("show", tmp_path / "r.json", "--fail-if", gate).stdout.splitlines()
            if line.startswith("gate: ")
        )
        for gate in ("call.p50 > 1s", "call.median > 1s")
    ]
    assert lines[0] == lines[1] == "stdio/A/noop/no-marks: 10.0 µs [10.0 – 10.0]"


def test_the_methods_stand_in_the_exports(tmp_path: Path) -> None:
    """C23"""
    save(result_of(SAMPLES["equal in sessions"]), tmp_path / "r.json")
    for command in ("show", "compare"):
        done = invoke(command, tmp_path / "r.json", "--export", "json=-")
        assert '"quantile_method": "linear"' in done.stdout
        assert '"interval_method": "hierarchical bootstrap' in done.stdout


def test_a_headline_counts_what_was_compared_and_names_what_was_not(tmp_path: Path) -> None:
    """C47: the slowest of five has no successful calls in B, so B must not look the faster."""
    names = ["a", "b", "c", "d", "slow"]
    rounds = range(1, 5)
    good = [make_session(r, calls=20) for r in rounds]
    left = make_result(*(make_cell(handler=name, sessions=good) for name in names))
    dead = make_cell(handler="slow", sessions=[make_session(r, calls=0) for r in rounds])
    right = make_result(*left.cells[:4], dead)
    for result, name in ((left, "A.json"), (right, "B.json")):
        save(result, tmp_path / name)
    files = (tmp_path / "A.json", tmp_path / "B.json")
    said = "4 of 5 cells compared; stdio/minimal/slow excluded: no successful calls in B"
    done = invoke("compare", *files)
    assert (done.exit_code, said in done.stdout) == (0, True)
    for format_ in ("markdown", "json"):
        assert said in invoke("compare", *files, "--export", f"{format_}=-").stdout
    done = invoke("compare", *files, "--fail-if", "call.p50 > +99%")
    assert done.exit_code == NOT_COMPARABLE
    assert "stdio/minimal/slow, B against A: no successful calls in B" in done.stdout


def test_other_success_rates_forbid_a_headline(tmp_path: Path) -> None:
    """C47"""
    good = [make_session(r, calls=20) for r in range(1, 5)]
    failing_often = [replace(s, outcomes={"ok": 20, "tool_error": 20}) for s in good]
    save(make_result(make_cell(sessions=good)), tmp_path / "A.json")
    save(make_result(make_cell(sessions=failing_often)), tmp_path / "B.json")
    done = invoke("compare", tmp_path / "A.json", tmp_path / "B.json")
    assert done.exit_code == NOT_COMPARABLE
    assert "success rates differ (A 100.0%, B 50.0%)" in done.stdout
