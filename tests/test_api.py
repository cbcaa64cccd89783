"""The Python interface: what it offers, selecting, records for data frames, columns of samples."""

from __future__ import annotations

import inspect
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import bench
from bench import accounts, storage
from bench.api import Records, Run
from bench.errors import ResultFileError, SelectionError
from bench.phases import CALL, Phase
from bench.results import Failure, Result
from tests.charts.drawn import crossed
from tests.make_results import make_cell, make_result, make_session


@pytest.fixture
def run() -> Run:
    return Run.of(crossed())


def test_loading_gives_a_run_that_is_a_result(tmp_path: Path) -> None:
    storage.save(make_result(), tmp_path / "r.json.gz")
    loaded = bench.load(tmp_path / "r.json.gz")
    assert isinstance(loaded, Run)
    assert isinstance(loaded, Result)
    assert [cell.name for cell in loaded.cells] == ["stdio/minimal/noop"]
    loaded.save(tmp_path / "again.json.gz")
    with pytest.raises(ResultFileError, match="is there already; force=True overwrites it"):
        loaded.save(tmp_path / "again.json.gz")
    loaded.save(tmp_path / "again.json.gz", force=True)
    assert bench.load(tmp_path / "again.json.gz").table() == loaded.table()
    with pytest.raises(ResultFileError, match="no such file"):
        bench.load(tmp_path / "other.json")


def test_the_modules_of_figures_and_pictures_are_at_hand() -> None:
    assert bench.accounts.setup_groups
    assert bench.charts.alt_text
    assert set(bench.__all__) <= set(dir(bench))
    with pytest.raises(AttributeError, match="no attribute 'compile'"):
        _ = bench.compile


def test_loading_and_records_import_no_matplotlib(tmp_path: Path) -> None:
    storage.save(make_result(), tmp_path / "r.json")
    program = (
        "import sys, bench; run = bench.load(sys.argv[1]); run.table(); run._repr_html_(); "
        "run.samples(); print(sorted({'matplotlib', 'pyperf', 'click'} & set(sys.modules)))"
    )
    command = [sys.executable, "-P", "-c", program, str(tmp_path / "r.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_is_named_in_short(run: Run) -> None:
    assert repr(run) == "<Run synthetic: 13 cells, 39 sessions>"


def test_cells_are_selected_by_their_fields(run: Run) -> None:
    names = [cell.name for cell in run.filter(transport="http", handler=["noop"]).cells]
    assert names == ["http/server-0/noop", "http/server-1/noop"]
    both = run.filter(transport=("sse", "stdio"), server="server-1")
    assert {cell.transport for cell in both.cells} == {"sse", "stdio"}
    assert list(run.filter(cell="http/server-0/noop").cells) == [run.cell("http/server-0/noop")]
    assert len(run.filter(revision=None).cells) == 1
    assert len(run.filter().cells) == len(run.cells)


def test_a_value_is_compared_as_text() -> None:
    cell = make_cell()
    sized = Run.of(make_result(type(cell)(cell.name, {**cell.fields, "payload_bytes": 64}, [])))
    assert len(sized.filter(payload_bytes="64").cells) == len(sized.filter(payload_bytes=64).cells)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"transpot": "http"}, r"no field 'transpot'; expected one of: cell, transport, server"),
        ({"transport": "htp"}, r"no cell has transport 'htp'; there are: pipe, stdio, http, sse"),
        ({"transport": "pipe", "handler": "noop"}, r"no cell fits transport='pipe', hand"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_with_what_there_is(
    run: Run, fields: dict[str, str], message: str
) -> None:
    with pytest.raises(SelectionError, match=message):
        run.filter(**fields)


def assert_tidy(records: Records) -> None:
    assert records
    for record in records:
        assert record.keys() == records[0].keys()
        assert all(isinstance(value, int | float | str | None) for value in record.values())


@pytest.mark.parametrize("name", ["table", "setup", "calls"])
def test_records_share_their_keys_and_hold_scalars(run: Run, name: str) -> None:
    records = getattr(run, name)()
    assert_tidy(records)


@pytest.mark.parametrize("frames", [pandas, polars])
@pytest.mark.parametrize("name", ["table", "setup", "calls"])
def test_pandas_and_polars_take_records_as_they_are(run: Run, name: str, frames: Any) -> None:
    records = getattr(run, name)()
    frame = frames.DataFrame(records)
    assert list(frame.columns) == list(records[0])
    assert len(frame) == len(records)


def test_a_record_of_a_cell_has_its_figures_with_intervals(run: Run) -> None:
    record = next(one for one in run.table() if one["cell"] == "http/server-0/noop")
    calls = accounts.calls(run.cell("http/server-0/noop"))
    assert calls is not None
    assert calls.median is not None
    assert (record["p50_ns"], record["p50_low_ns"], record["p50_high_ns"]) == (
        calls.median.value, calls.median.low, calls.median.high,
    )  # fmt: skip
    assert (record["n_sessions"], record["n_calls"], record["n_failed_calls"]) == (3, 60, 0)
    assert record["p99_ns"] is None
    assert record["boundary_ns"] + record["handler_ns"] == pytest.approx(record["mean_ns"])


def test_the_phases_of_a_cell_add_up_to_its_totals(run: Run) -> None:
    totals = {record["cell"]: record for record in run.table()}
    for records, total in ((run.setup(), "setup_ns"), (run.calls(), "mean_ns")):
        for name in totals:
            own = [record["mean_ns"] for record in records if record["cell"] == name]
            assert sum(own) == pytest.approx(totals[name][total])


def test_a_cell_without_calls_keeps_its_record() -> None:
    failure = Failure(1, "boot", "timeout", "nothing came")
    failed = Run.of(make_result(make_cell(), make_cell("dead", sessions=[], failures=[failure])))
    assert_tidy(failed.table())
    record = failed.table()[1]
    assert (record["n_calls"], record["n_failed_sessions"], record["p50_ns"]) == (0, 1, None)
    assert [one["cell"] for one in failed.calls()] == ["stdio/minimal/noop"] * len(CALL)


def test_the_breakdown_has_the_tables_of_show_as_records(run: Run) -> None:
    tables = run.breakdown()
    assert bench.breakdown(run) == tables
    assert {"setup", "calls", "phases", "ladder", "comparison"} <= tables.keys()
    for records in tables.values():
        assert_tidy(records)
    assert tables["ladder"].title.startswith("Ladder")


def test_samples_have_a_row_per_call_whose_phases_sum_to_its_total() -> None:
    marked = make_session(1, calls=5, absent=[0, 3], position=1)
    plain = make_session(1, calls=4, marked=False, position=0)
    result = make_result(make_cell(sessions=[marked]), make_cell(marks=False, sessions=[plain]))
    samples = Run.of(result).samples()
    assert {len(column) for column in samples.values()} == {9}
    assert samples["cell"].tolist()[:5] == ["stdio/minimal/noop/no-marks"] * 4 + [
        "stdio/minimal/noop"
    ]
    assert samples["call"].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 4]
    phases = [samples[f"{phase}_ns"] for phase in Phase if f"{phase}_ns" in samples]
    assert np.nansum(phases, axis=0).tolist() == samples["total_ns"].tolist()
    # Absent is absent: the unmarked calls have no handler, the marked ones no undivided server.
    assert np.isnan(samples["handler_ns"]).tolist() == [True] * 5 + [False, False, True, False]
    assert np.isnan(samples["server_ns"]).tolist() == [False] * 5 + [True, True, False, True]
    assert samples["total_ns"].dtype == np.int64


def test_samples_of_a_run_without_calls_are_empty() -> None:
    samples = Run.of(make_result(make_cell(sessions=[]))).samples()
    assert {len(column) for column in samples.values()} == {0}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)


def tags(html: str) -> set[str]:
    parser = _Tags()
    parser.feed(html)
    return set(parser.found)


HOSTILE = "<script>alert('x')</script>&\"'"


def test_notebooks_show_runs_and_records_with_every_text_escaped() -> None:
    failure = Failure(1, "boot", "timeout", f"stderr ended with: {HOSTILE}")
    run = Run.of(make_result(make_cell(HOSTILE), make_cell("b", failures=[failure])))
    for shown in (run, run.table(), run.setup(), run.calls(), run.breakdown()):
        html = shown._repr_html_()
        assert "script" not in tags(html)
        assert "table" in tags(html)
        assert "&lt;script&gt;" in html
    assert "failed: stdio/b/noop, round 1, boot" in run._repr_html_()
    assert "host host" in run._repr_html_()


def test_a_table_puts_intervals_beside_values_and_says_what_it_leaves_out(run: Run) -> None:
    html = run.table()._repr_html_()
    assert "p50_low" not in html
    assert "payload_bytes" not in html
    assert "in all rows: client raw" in html
    many = Records([{"n": number, "t_ns": 1_500.0} for number in range(70)])
    assert "10 more rows are not shown" in many._repr_html_()
    assert "1.50 µs" in many._repr_html_()
    assert Records([])._repr_html_() == "<p>no records</p>"


def test_the_example_of_the_documentation_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parent.parent
    monkeypatch.chdir(root)
    text = (root / "docs" / "python.md").read_text("utf-8")
    exec(text.partition("```python\n")[2].partition("```")[0], {})


def test_the_documentation_names_what_there_is() -> None:
    text = (Path(__file__).parent.parent / "docs" / "python.md").read_text("utf-8")
    public = [name for name in vars(Run) if not name.startswith("_") and name != "of"]
    assert [name for name in public if f"run.{name}(" not in text] == []
    assert [name for name in bench.charts.__all__ if f"{name}" not in text] == []
    keywords = inspect.signature(bench.run).parameters
    assert [name for name in keywords if f"`{name}`" not in text and name != "what"] == []


def test_what_is_no_run_is_refused_in_a_sentence(run: Run) -> None:
    said = r"'a\.gz' is a str; expected a run, as bench\.load\(path\) returns"
    for refused in (
        lambda: bench.breakdown("a.gz"),  # type: ignore[arg-type]
        lambda: bench.compare("a.gz", run),  # type: ignore[arg-type]
        lambda: bench.compare(run, "a.gz"),  # type: ignore[arg-type]
    ):
        with pytest.raises(SelectionError, match=said):
            refused()


@pytest.mark.parametrize("options", [{"labels": ("a",)}, {"threshold": -1}, {"threshold": "2%"}])
def test_a_comparison_refuses_what_makes_no_sense(run: Run, options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(bench.BenchError, match=f"{name} is .*; expected"):
        bench.compare(run, run, **options)


def test_a_comparison_is_drawn_under_its_name(run: Run) -> None:
    ax = bench.charts.compare(bench.compare(run, run, labels=("old", "new"), anyway=True))
    assert ax.get_title(loc="left") == "new / old"


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(bench.__file__).parent / "py.typed").is_file()
