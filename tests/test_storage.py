"""Result files: what goes in comes out, pyperf reads them, damaged ones are named."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyperf
import pytest

from bench import storage
from bench.errors import ResultFileError
from bench.phases import CALL_UNMARKED, Phase
from bench.results import ABSENT, Failure, Result, Session
from tests.make_results import make_cell, make_result, make_session


def assert_same_session(got: Session, expected: Session) -> None:
    assert got.setup == expected.setup
    assert (got.round, got.position) == (expected.round, expected.position)
    assert (got.first_call_ns, got.close_ns) == (expected.first_call_ns, expected.close_ns)
    assert got.outcomes == expected.outcomes
    assert got.facts == expected.facts
    assert got.calls.keys() == expected.calls.keys()
    for phase, column in expected.calls.items():
        assert np.array_equal(got.calls[phase], column), phase
    assert np.array_equal(got.gap_ns, expected.gap_ns)
    assert np.array_equal(got.protocol_probe_ns, expected.protocol_probe_ns)


@pytest.mark.parametrize("name", ["r.json", "r.json.gz"])
def test_a_result_survives_the_file_to_the_nanosecond(tmp_path: Path, name: str) -> None:
    failure = Failure(2, "boot", "server_exited", "the server ended: exit code 7")
    result = make_result(
        make_cell("minimal"),
        make_cell("minimal", marks=False),
        make_cell("sdk", failures=[failure]),
        make_cell("floor", "echo", marks=False, transport="pipe"),
    )
    storage.save(result, tmp_path / name)
    loaded = storage.load(tmp_path / name)
    assert [cell.name for cell in loaded.cells] == [cell.name for cell in result.cells]
    assert loaded.run == result.run
    assert loaded.cells[2].failures == [failure]
    for got, expected in zip(loaded.cells, result.cells, strict=True):
        assert got.fields == expected.fields
        for one, other in zip(got.sessions, expected.sessions, strict=True):
            assert_same_session(one, other)


def test_a_phase_of_zero_nanoseconds_reads_back_as_zero(tmp_path: Path) -> None:
    session = make_session(1, calls=3, marked=False)
    calls = {phase: np.zeros(3, np.int64) for phase in CALL_UNMARKED}
    calls[Phase.SERVER] = np.array([0, 5, 10**13], dtype=np.int64)
    zero = Session(**{**vars_of(session), "calls": calls})
    storage.save(make_result(make_cell(sessions=[zero], marks=False)), tmp_path / "r.json")
    loaded = storage.load(tmp_path / "r.json").cells[0].sessions[0]
    assert loaded.calls[Phase.SERVER].tolist() == [0, 5, 10**13]
    assert loaded.calls[Phase.ENCODE].tolist() == [0, 0, 0]


def vars_of(session: Session) -> dict[str, Any]:
    return {name: getattr(session, name) for name in session.__dataclass_fields__}


def test_calls_without_a_complete_set_of_marks_stay_absent(tmp_path: Path) -> None:
    session = make_session(1, calls=5, absent=[0, 3])
    storage.save(make_result(make_cell(sessions=[session])), tmp_path / "r.json")
    loaded = storage.load(tmp_path / "r.json").cells[0].sessions[0]
    assert (loaded.calls[Phase.HANDLER] == ABSENT).tolist() == [True, False, False, True, False]
    assert np.array_equal(loaded.total_ns, session.total_ns)


def test_a_cell_whose_sessions_all_failed_is_still_in_the_file(tmp_path: Path) -> None:
    failed = make_cell("sdk", sessions=[], failures=[Failure(1, "boot", "timeout", "nothing came")])
    storage.save(make_result(make_cell(), failed), tmp_path / "r.json")
    loaded = storage.load(tmp_path / "r.json")
    assert loaded.cells[1].sessions == []
    assert loaded.failures[0][1].text == "nothing came"


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Result]:
    result = make_result(make_cell("minimal"), make_cell("sdk"))
    path = tmp_path / "r.json.gz"
    storage.save(result, path)
    return path, result


def test_pyperf_loads_the_file_and_agrees_on_values_and_means(saved: tuple[Path, Result]) -> None:
    path, result = saved
    suite = pyperf.BenchmarkSuite.load(str(path))
    cell = result.cells[0]
    total = suite.get_benchmark(f"{cell.name}:call")
    assert total.get_nrun() == len(cell.sessions)
    ours = np.concatenate(cell.totals())
    assert [round(value * 1e9) for value in total.get_values()] == ours.tolist()
    assert total.mean() == pytest.approx(float(ours.mean()) / 1e9, rel=1e-12)
    assert total.get_unit() == "second"


@pytest.mark.parametrize("command", ["show", "stats", "hist", "metadata", "dump"])
def test_pyperf_commands_work_on_the_file(saved: tuple[Path, Result], command: str) -> None:
    done = pyperf_command(command, "--benchmark", "stdio/minimal/noop:call", str(saved[0]))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_pyperf_compares_two_of_our_files(saved: tuple[Path, Result], tmp_path: Path) -> None:
    other = tmp_path / "other.json.gz"
    storage.save(saved[1], other)
    done = pyperf_command("compare_to", str(saved[0]), str(other))
    assert done.returncode == 0, done.stderr


def pyperf_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pyperf", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def edited(path: Path, change: str, into: str) -> Path:
    text = gzip.decompress(path.read_bytes()).decode()
    assert change in text
    target = path.with_name("edited.json")
    target.write_text(text.replace(change, into, 1))
    return target


def test_a_file_that_is_cut_short_is_named_as_such(saved: tuple[Path, Result]) -> None:
    data = saved[0].read_bytes()
    saved[0].write_bytes(data[: len(data) // 2])
    with pytest.raises(ResultFileError, match="cut short"):
        storage.load(saved[0])


def test_the_file_of_another_program_is_refused_with_what_reads_it(tmp_path: Path) -> None:
    run = pyperf.Run([1.0], metadata={"name": "other"}, collect_metadata=False)
    path = tmp_path / "other.json"
    pyperf.BenchmarkSuite([pyperf.Benchmark([run])]).dump(str(path))
    with pytest.raises(ResultFileError, match="not a result of mcp-latency"):
        storage.load(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [("", "not a result file"), ("{", "not a result file"), ("[1]", "not a result file")],
)
def test_what_is_no_result_is_said_with_its_reason(
    tmp_path: Path, content: str, reason: str
) -> None:
    path = tmp_path / "r.json"
    path.write_text(content)
    with pytest.raises(ResultFileError, match=reason):
        storage.load(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ResultFileError, match="no such file"):
        storage.load(tmp_path / "none.json")


def test_a_total_that_was_edited_by_hand_is_found(saved: tuple[Path, Result]) -> None:
    document = json.loads(gzip.decompress(saved[0].read_bytes()))
    for benchmark in document["benchmarks"]:
        if benchmark["metadata"]["name"].endswith(":handler"):
            benchmark["runs"][0]["values"][0] *= 2
    path = saved[0].with_name("edited.json")
    path.write_text(json.dumps(document))
    with pytest.raises(ResultFileError, match="do not sum"):
        storage.load(path)


def test_another_unit_is_found(saved: tuple[Path, Result]) -> None:
    document = json.loads(gzip.decompress(saved[0].read_bytes()))
    document["benchmarks"][0]["metadata"]["unit"] = "byte"
    path = saved[0].with_name("edited.json")
    path.write_text(json.dumps(document))
    with pytest.raises(ResultFileError, match="unit"):
        storage.load(path)


def test_a_failed_write_leaves_the_older_file_and_no_litter(
    saved: tuple[Path, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved[0].read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bench.storage.os.fsync", full)
    with pytest.raises(ResultFileError, match="No space left"):
        storage.save(saved[1], saved[0])
    assert saved[0].read_bytes() == before
    assert [path.name for path in saved[0].parent.iterdir()] == [saved[0].name]


def test_a_result_without_sessions_is_not_written(tmp_path: Path) -> None:
    empty = make_result(make_cell(sessions=[]))
    with pytest.raises(ResultFileError, match="nothing to write"):
        storage.save(empty, tmp_path / "r.json")
    assert not (tmp_path / "r.json").exists()
