"""The noise floor of a machine: what an A/A run finds, kept and recalled by host and CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench import noise_floor
from bench.errors import ResultFileError
from bench.noise_floor import Difference, NoiseFloor
from bench.results import CellResult, Result
from tests.make_results import make_cell, make_result, make_session

HERE = {"hostname": "host", "cpu_model_name": "fast CPU"}
FLOOR = NoiseFloor("2026-12-01", "stdio/noop", 10, {"call.p50": Difference(0.01, 0.02)})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def under(name: str, scale: float = 1.0, sessions: int = 6) -> CellResult:
    """Return a cell of one target under a name."""
    made = [make_session(r, calls=200, scale=scale) for r in range(1, sessions + 1)]
    return make_cell(name, sessions=made)


def aa(*cells: CellResult, order: str = "interleaved") -> Result:
    result = make_result(*cells)
    names = [cell.server for cell in cells]
    run = {**result.run, "design": "aa", "order_of_sessions": order, "names": names}
    return replace(result, run=run)


def test_what_a_run_finds_is_the_distance_of_the_ratio_from_one() -> None:
    floor = noise_floor.measured_in(aa(under("A"), under("A2", 1.1)))
    assert floor is not None
    assert set(floor.figures) == {
        "setup.mean", "call.p50", "call.mean", "call.p99", "boundary.mean", "handler.mean",
    }  # fmt: skip
    found = floor.figures["call.p50"]
    assert found.share == pytest.approx(0.1, abs=0.001)
    assert 0 <= found.half_width < 0.05


def test_a_quicker_second_name_is_as_far_off_as_a_slower_one() -> None:
    floor = noise_floor.measured_in(aa(under("A", 1.25), under("A2")))
    assert floor is not None
    assert floor.figures["call.p50"].share == pytest.approx(0.2, abs=0.001)


@pytest.mark.parametrize(
    "result",
    [
        aa(under("A", sessions=1), under("A2", sessions=1)),
        aa(under("A"), under("A2"), order="blocked"),
        aa(under("A"), make_cell("A2", sessions=[])),
    ],
    ids=["one session", "blocked", "no calls"],
)
def test_a_run_that_cannot_tell_gives_no_floor(result: Result) -> None:
    assert noise_floor.measured_in(result) is None


def test_what_is_remembered_is_recalled_on_the_same_machine_only(home: Path) -> None:
    path = noise_floor.remember(FLOOR, HERE)
    assert path == home / "mcp-latency" / "noise-floor.json"
    assert noise_floor.recall(HERE) == FLOOR
    assert noise_floor.recall({**HERE, "cpu_model_name": "other"}) is None


def test_the_last_run_counts_and_other_machines_keep_theirs() -> None:
    there = {**HERE, "hostname": "there"}
    noise_floor.remember(FLOOR, HERE)
    noise_floor.remember(FLOOR, there)
    newer = replace(FLOOR, created="2026-12-02")
    noise_floor.remember(newer, HERE)
    assert (noise_floor.recall(HERE), noise_floor.recall(there)) == (newer, FLOOR)


def test_nothing_is_known_before_the_first_run() -> None:
    notes: list[str] = []
    assert noise_floor.recall(HERE, notes.append) is None
    assert notes == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"host, fast CPU": {}}', '{"host, fast CPU": 3}', "\xff"]
)
def test_a_broken_file_is_ignored_with_a_note_and_replaced_by_the_next_run(text: str) -> None:
    path = noise_floor.state_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("latin-1"))
    notes: list[str] = []
    assert noise_floor.recall(HERE, notes.append) is None
    (note,) = notes
    assert note.startswith(f"{path}: ignored: not a noise floor: ")
    noise_floor.remember(FLOOR, HERE)
    assert noise_floor.recall(HERE) == FLOOR


def test_a_folder_in_its_place_is_said(home: Path) -> None:
    noise_floor.state_path().mkdir(parents=True)
    notes: list[str] = []
    assert noise_floor.recall(HERE, notes.append) is None
    assert "cannot be read" in notes[0]
    with pytest.raises(ResultFileError, match="cannot be written"):
        noise_floor.remember(FLOOR, HERE)


def test_a_relative_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = tmp_path / ".local" / "state" / "mcp-latency" / "noise-floor.json"
    assert noise_floor.state_path() == expected
