"""Exports: every format is read back by somebody else, in ns, written in one step or refused."""

from __future__ import annotations

import csv
import io
import os
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from bench import exports
from bench.cli import FAILED, GATE_FAILED
from bench.comparison import compare_within
from bench.errors import BenchError
from bench.exports.contents import Contents
from bench.exports.markdown_ import LIMIT_BYTES
from bench.gate_syntax import parse
from bench.gates import check_comparisons, check_result
from bench.results import Failure, Result, Session
from bench.storage import save
from tests.command import invoke, strict_json
from tests.make_results import make_cell, make_result, make_session

ROUNDS = range(1, 5)
GATES = ("call.p50 > +10%", "call.p99 > +10%", "setup.mean > +1s")


def sessions(scale: float = 1.0, seed: int = 0, calls: int = 50) -> list[Session]:
    places = iter(range(seed, 100, 2))
    return [
        make_session(r, calls=calls, scale=scale, seed=seed, position=next(places)) for r in ROUNDS
    ]


def of_two() -> Result:
    cells = make_cell("A", sessions=sessions()), make_cell("B", sessions=sessions(2.0, seed=1))
    return make_result(*cells)


def shown(result: Result | None = None, *gates: str) -> Contents:
    result = result or of_two()
    read = [parse(text, relative=False) for text in gates]
    return Contents({"run.json.gz": result}, outcomes=check_result(result, read))


def compared(*gates: str) -> Contents:
    result = of_two()
    found = compare_within(result, "server")
    read = [parse(text, relative=True) for text in gates]
    return Contents({"ab": result}, found, check_comparisons(found, read))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An interleaved run of two targets."""
    result = of_two()
    save(replace(result, run={**result.run, "design": "ab"}), tmp_path / "ab.json.gz")
    return tmp_path / "ab.json.gz"


# github-action-benchmark


def test_the_benchmark_action_gets_ns_under_names_that_never_change_unit() -> None:
    entries = strict_json(exports.text("github", shown()))
    assert {entry["unit"] for entry in entries} == {"ns"}
    assert len({entry["name"] for entry in entries}) == len(entries)
    assert all(set(entry) == {"name", "unit", "value", "range", "extra"} for entry in entries)
    found = {entry["name"]: entry for entry in entries}
    setup = found["stdio/A/noop setup.mean"]
    assert setup["value"] == pytest.approx(41_560_000)
    assert setup["range"] == "± 0"
    assert setup["extra"] == "4 sessions, 4 samples"
    assert "stdio/A/noop call.p99.9" not in found


def test_of_two_files_the_benchmark_action_gets_the_news() -> None:
    old, new = make_result(make_cell("A")), make_result(make_cell("A"), make_cell("B"))
    entries = strict_json(exports.text("github", Contents({"old": old, "new": new})))
    assert any(entry["name"] == "stdio/B/noop call.p50" for entry in entries)
    third = Contents({"old": old, "new": new, "newer": new})
    names = [entry["name"] for entry in strict_json(exports.text("github", third))]
    assert "newer: stdio/B/noop call.p50" in names
    assert len(set(names)) == len(names)


# JSON and CSV


def test_what_cannot_be_told_is_null_in_json_with_its_reason_and_number() -> None:
    document = strict_json(exports.text("json", shown()))
    found = {figure["name"]: figure for figure in document["figures"]}
    told, untold = found["stdio/A/noop call.p99"], found["stdio/A/noop call.p99.9"]
    assert told["low_ns"] < told["value_ns"] < told["high_ns"]
    assert untold["value_ns"] is untold["low_ns"] is untold["high_ns"] is None
    assert untold["reason"] == "p99.9 needs 1000 samples, there are 200"
    assert untold["n_samples"] == 200


def test_gates_stand_in_json_with_the_unit_in_the_key() -> None:
    document = strict_json(exports.text("json", compared(*GATES)))
    first, second, third = document["gates"]
    assert (first["state"], first["limit_ratio"]) == ("fail", 1.1)
    assert first["ratio"]["value"] == pytest.approx(2, rel=0.05)
    assert second["sides"] == ["A", "B"]
    assert (third["state"], third["limit_ns"]) == ("pass", 1e9)
    (absolute,) = strict_json(exports.text("json", shown(None, "*/A/*: call.p50 > 1s")))["gates"]
    assert (absolute["state"], absolute["limit_ns"]) == ("pass", 1e9)
    assert absolute["figure_ns"]["value"] < 1e6


def test_csv_holds_ns_whatever_is_displayed() -> None:
    rows = list(csv.DictReader(io.StringIO(exports.text("csv", compared()))))
    (row,) = (r for r in rows if r["row"] == "stdio/noop setup.mean" and r["column"] == "left_ns")
    assert float(row["value"]) == pytest.approx(41_560_000)


# JUnit

LAYOUT: Mapping[str, tuple[set[str], set[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"testcase"}),
    "testcase": (
        {"name", "classname", "time"},
        {"failure", "error", "skipped", "system-out"},
    ),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": ({"message", "type"}, set()),
    "system-out": (set(), set()),
}
"""Attributes and children as in the schema of Jenkins (junit-10.xsd), which others follow."""


def junit(findings: Contents) -> ET.Element:
    """Return an export as XML whose layout and counts are as the schema has them."""
    root = ET.fromstring(exports.text("junit", findings))
    for element in root.iter():
        attributes, children = LAYOUT[element.tag]
        assert set(element.attrib) <= attributes, element.tag
        assert {child.tag for child in element} <= children, element.tag
    for element in (root, *root.iter("testsuite")):
        assert int(element.attrib["tests"]) == len(list(element.iter("testcase")))
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.attrib[count]) == len(list(element.iter(tag)))
    for case in root.iter("testcase"):
        assert case.attrib["name"]
        assert case.attrib["classname"]
        assert len(case) == 1
    return root


def outcome_tags(root: ET.Element) -> list[str]:
    return [case[0].tag for case in root.iter("testcase")]


def test_junit_has_a_case_per_gate_and_cell() -> None:
    root = junit(compared(*GATES, "tls.mean > +1ms"))
    assert outcome_tags(root) == ["failure", "failure", "system-out", "error"]
    failure = next(root.iter("failure"))
    assert "stdio/noop, B against A: +" in failure.attrib["message"]


def test_junit_without_gates_has_the_compared_rows_and_a_verdict_fails_nothing() -> None:
    root = junit(compared())
    assert set(outcome_tags(root)) == {"system-out"}
    said = [element.text for element in root.iter("system-out")]
    assert any(text is not None and text.startswith("slower (") for text in said)


def test_junit_skips_what_is_not_comparable() -> None:
    left, dead = make_cell("A"), make_cell("B", sessions=[make_session(1, calls=0)])
    result = make_result(left, dead)
    found = compare_within(result, "server")
    root = junit(Contents({"ab": result}, found))
    assert outcome_tags(root) == ["skipped"]
    assert next(root.iter("skipped")).attrib["message"] == "no successful calls in B"


def test_no_character_of_a_server_can_break_junit() -> None:
    text = 'ended:\x00\x1b[31m<&"\ud83d\ufffe]]> ö'
    cell = make_cell("A", "no\x07op", failures=[Failure(2, "boot", "server_exited", text)])
    root = junit(shown(make_result(cell)))
    (error,) = root.iter("error")
    assert error.attrib["message"].endswith('ended:\\x00\\x1b[31m<&"\\xd83d\\xfffe]]> ö')
    assert next(root.iter("testcase")).attrib["classname"] == "stdio/A/no\\x07op"


# HDR histogram log


def test_an_hdr_log_has_an_interval_per_session_and_cell(tmp_path: Path) -> None:
    result = of_two()
    path = tmp_path / "run.hlog"
    path.write_text(exports.text("hdr", shown(result)))
    reader = HistogramLogReader(str(path), HdrHistogram(1, 10**10, 3))
    read = list(iter(reader.get_next_interval_histogram, None))
    reader.close()
    ran = {s.position: (c, s) for c in result.cells for s in c.sessions}
    assert [h.get_tag() for h in read] == [ran[place][0].name for place in sorted(ran)]
    end_ms = datetime.fromisoformat(result.run["created"]).timestamp() * 1e3
    assert reader.get_start_time_sec() * 1e3 == end_ms
    for histogram, place in zip(read, sorted(ran), strict=True):
        session = ran[place][1]
        assert histogram.get_total_count() == len(session.total_ns)
        for percentile in (50, 90, 100):
            exact = np.quantile(session.total_ns, percentile / 100, method="inverted_cdf")
            got = histogram.get_value_at_percentile(percentile)
            assert got == pytest.approx(exact, rel=1e-3)
        assert histogram.get_start_time_stamp() == pytest.approx(end_ms, abs=0.01)
        end_ms = histogram.get_end_time_stamp()
        lasted_ns = session.gap_ns.sum() + session.total_ns.sum() + (session.close_ns or 0)
        begin_ms = histogram.get_start_time_stamp()
        assert end_ms - begin_ms == pytest.approx(lasted_ns / 1e6, abs=0.01)


def test_an_hdr_log_of_two_files_tells_them_apart_in_its_tags() -> None:
    names = {"old, bad": make_result(), "new": make_result()}
    lines = exports.text("hdr", Contents(names)).splitlines()
    tags = {line.split(",")[0] for line in lines if line.startswith("Tag=")}
    assert tags == {"Tag=old_bad:stdio/minimal/noop", "Tag=new:stdio/minimal/noop"}


# Markdown


def test_the_summary_says_the_verdict_first_then_the_gates_then_the_tables() -> None:
    text = exports.text("markdown", compared(*GATES))
    first, *_ = text.splitlines()
    assert first == "## mcp-latency: gates: 1 ✅ pass, 2 ❌ fail"
    places = [text.index(words) for words in (GATES[0], "<details>", "### B against A")]
    assert places == sorted(places)
    assert text.count("<details>") == text.count("</details>") == 2


def test_the_summary_of_a_comparison_without_gates_begins_with_its_verdicts() -> None:
    first = exports.text("markdown", compared()).splitlines()[0]
    assert first.startswith("## mcp-latency: B against A: ")
    assert "× slower" in first


def test_a_summary_is_never_too_long_to_be_shown() -> None:
    cells = [make_cell("s" * 12_000, str(place)) for place in range(90)]
    text = exports.text("markdown", shown(make_result(*cells)))
    assert len(text.encode()) < LIMIT_BYTES
    assert "The tables are too long for this page" in text


def test_a_name_cannot_become_html_or_another_column() -> None:
    cell = make_cell("<b>|`x`*", sessions=sessions())
    text = exports.text("markdown", shown(make_result(cell), "call.p50 > 1s"))
    (row,) = (line for line in text.splitlines() if "call.p50 > 1s" in line)
    assert "<b>" not in row
    assert row.count("|") - row.count("\\|") == 4


# Files


@pytest.mark.parametrize("format_", exports.FORMATS)
@pytest.mark.parametrize("command", ["show", "compare"])
def test_every_format_is_written_by_both_commands(
    file: Path, tmp_path: Path, command: str, format_: str
) -> None:
    target = tmp_path / "out"
    done = invoke(command, file, "--export", f"{format_}={target}")
    assert done.exit_code == 0, done.output
    assert target.read_text("utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ab.json.gz", "out"]


def test_an_export_to_stdout_is_alone_there(file: Path) -> None:
    done = invoke("compare", file, "--export", "json=-", "--fail-if", "call.p50 > +10%")
    assert done.exit_code == GATE_FAILED
    assert strict_json(done.stdout)["gates"][0]["state"] == "fail"
    assert done.stderr.startswith("gate: FAIL")


def test_gates_never_stand_between_the_lines_of_json(file: Path) -> None:
    done = invoke("show", file, "--format", "json", "--fail-if", "call.p50 > 1s")
    assert len(strict_json(done.stdout)["gates"]) == 2
    assert done.stderr.count("gate: PASS") == 2


def test_exports_are_written_also_where_a_gate_fails(file: Path, tmp_path: Path) -> None:
    words = ("compare", file, "--fail-if", "call.p50 > +10%", "--export")
    assert invoke(*words, f"junit={tmp_path / 'out.xml'}").exit_code == GATE_FAILED
    assert ET.parse(tmp_path / "out.xml").getroot().attrib["failures"] == "1"


UNUSABLE = {
    "yaml=x": "--export: 'yaml=x': expected FORMAT=PATH with FORMAT one of markdown, github",
    "json": "--export: 'json': expected FORMAT=PATH",
    "json=": "--export: 'json=': expected FORMAT=PATH",
    "json=ab.json.gz": "ab.json.gz: is read or written already; give another path",
    "json=gone/x": "--export json: gone/x: cannot be written: No such file or directory",
    "json=.": "--export json: .: cannot be written: Is a directory",
}


@pytest.mark.parametrize("asked", UNUSABLE)
def test_an_export_that_cannot_be_written_is_one_sentence(
    file: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.chdir(file.parent)
    done = invoke("show", file, "--export", asked)
    assert done.exit_code == FAILED
    assert UNUSABLE[asked] in done.stderr
    assert done.stderr.count("\n") == 1


def test_two_exports_do_not_share_a_path_but_a_device_may_be_shared() -> None:
    with pytest.raises(BenchError, match="is read or written already"):
        exports.parse(["json=x", "csv=./x"], [])
    assert len(exports.parse(["json=/dev/null", "csv=/dev/null"], [])) == 2


def test_a_device_is_written_to_and_a_link_is_followed(file: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    words = ("show", file, "--export", f"json={link}", "--export", f"csv={os.devnull}")
    assert invoke(*words).exit_code == 0
    assert link.is_symlink()
    assert strict_json(real.read_text())
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs descriptors as files")
def test_a_pipe_without_a_name_is_written_to(file: Path) -> None:
    reading, writing = os.pipe()
    done = invoke("compare", file, "--export", f"github=/dev/fd/{writing}")
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert strict_json(pipe.read())
    assert done.exit_code == 0


def test_the_noise_floor_is_in_what_a_comparison_exports() -> None:
    contents = replace(compared(), floors=["noise floor of this machine: call.p50 3 %"])
    assert strict_json(exports.text("json", contents))["noise_floors"] == list(contents.floors)
    assert "- noise floor of this machine: call.p50 3 %" in exports.text("markdown", contents)


def test_a_write_that_fails_leaves_the_old_file(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")

    def fail(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    done = invoke("show", file, "--export", f"json={target}")
    assert done.exit_code == FAILED
    assert "out.json: cannot be written: No space left on device" in done.stderr
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_missing_package_is_named_with_the_way_to_get_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "hdrh.log", None)
    done = invoke("show", file, "--export", "hdr=out.hlog")
    assert done.exit_code == FAILED
    assert "needs the package hdrhistogram; pip install 'mcp-latency[hdr]'" in done.stderr
