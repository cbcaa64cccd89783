"""Comparisons: who is judged against whom, when a verdict is given, and when it is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as Ran

import bench
from bench import noise_floor
from bench.cli import FAILED, NOT_COMPARABLE, cli
from bench.comparison import Comparison, Row, Verdict, compare, compare_within, judge
from bench.errors import BenchError
from bench.figures import figure
from bench.phases import Phase
from bench.render.verdicts import sentences, verdict_table
from bench.results import Failure, Result, Session
from bench.stats import Contrast, Estimate
from bench.storage import save
from bench.subjects import NAMES, measured
from tests.make_results import make_cell, make_result, make_session

ROUNDS = range(1, 9)


def sessions(scale: float = 1.0, seed: int = 0, *, marked: bool = True) -> list[Session]:
    return [make_session(r, calls=100, scale=scale, seed=seed, marked=marked) for r in ROUNDS]


def slower_in(phase: Phase, factor: float, seed: int = 0) -> list[Session]:
    """Return sessions in which one phase inside the server, and all that holds it, is slower."""
    changed = []
    for session in sessions(seed=seed):
        columns = dict(session.calls)
        longer = np.asarray(columns[phase] * factor, dtype=np.int64)
        columns[Phase.SERVER] = columns[Phase.SERVER] + longer - columns[phase]
        changed.append(replace(session, calls={**columns, phase: longer}))
    return changed


def of_two(left: Sequence[Session], right: Sequence[Session], **run: str) -> Result:
    result = make_result(make_cell("A", sessions=left), make_cell("B", sessions=right))
    return replace(result, run={**result.run, **run})


def within(left: Sequence[Session], right: Sequence[Session]) -> Comparison:
    (found,) = compare_within(of_two(left, right), "server")
    return found


def row(comparison: Comparison, subject: str, figure: str = "mean") -> Row:
    return next(r for r in comparison.rows if (r.subject, r.figure) == (subject, figure))


def test_the_same_sessions_under_two_names_show_no_difference() -> None:
    found = within(sessions(seed=1), sessions(seed=2))
    assert {r.verdict for r in found.rows} == {Verdict.NO_DIFFERENCE}
    assert found.paired


def test_a_slower_handler_is_not_read_as_a_slower_boundary() -> None:
    found = within(sessions(seed=1), slower_in(Phase.HANDLER, 20, seed=2))
    assert row(found, "handler").verdict is Verdict.SLOWER
    assert row(found, "boundary").verdict is Verdict.NO_DIFFERENCE
    assert row(found, "call", "p50").verdict is Verdict.SLOWER
    assert row(found, "setup").verdict is Verdict.NO_DIFFERENCE


def test_a_slower_boundary_is_not_read_as_a_slower_handler() -> None:
    found = within(slower_in(Phase.DISPATCH, 5, seed=1), sessions(seed=2))
    assert row(found, "boundary").verdict is Verdict.FASTER
    assert row(found, "handler").verdict is Verdict.NO_DIFFERENCE


def test_what_is_surely_smaller_than_the_threshold_is_no_difference() -> None:
    left, right = sessions(seed=1), sessions(scale=1.01, seed=1)
    (found,) = compare_within(of_two(left, right), "server")
    assert row(found, "call").verdict is Verdict.NO_DIFFERENCE
    (strict,) = compare_within(of_two(left, right), "server", threshold=0.001)
    assert row(strict, "call").verdict is Verdict.SLOWER


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("hostname", "elsewhere", "another host"),
        ("cpu_model_name", "Other CPU", "another host"),
        ("harness_version", "9.9", "another harness version"),
    ],
)
def test_other_conditions_are_not_judged_unless_told_so(key: str, value: str, words: str) -> None:
    left = make_result(make_cell(sessions=sessions(seed=1)))
    right = make_result(make_cell(sessions=sessions(seed=2)))
    right = replace(right, environment={**right.environment, key: value})
    found = compare(left, right)
    assert {r.verdict for r in found.rows} == {Verdict.NOT_COMPARABLE}
    assert all(words in r.reason for r in found.rows)
    assert found.rows[0].contrast is not None
    anyway = compare(left, right, anyway=True)
    assert {r.verdict for r in anyway.rows} == {Verdict.NO_DIFFERENCE}
    assert any(words in warning for warning in anyway.warnings)


def test_another_python_is_told_and_does_not_stand_in_the_way() -> None:
    left = make_result(make_cell(sessions=sessions(seed=1)))
    right = replace(left, environment={**left.environment, "python_version": "3.13"})
    found = compare(left, right)
    assert found.comparable
    assert any("another Python" in warning for warning in found.warnings)


def test_two_runs_are_said_to_hold_what_the_machine_did_between_them() -> None:
    left = make_result(make_cell(sessions=sessions()))
    right = replace(left, run={**left.run, "seed": 2})
    assert any("run --ab" in warning for warning in compare(left, right).warnings)
    assert not within(sessions(), sessions()).warnings


@pytest.mark.parametrize("field", ["revision", "payload_bytes", "arguments"])
def test_other_orders_to_the_server_are_not_judged(field: str) -> None:
    cell = make_cell(sessions=sessions())
    other = replace(cell, fields={**cell.fields, field: "other"})
    found = compare(make_result(cell), make_result(other))
    assert {r.verdict for r in found.rows} == {Verdict.NOT_COMPARABLE}
    assert field.replace("_", " ") in found.rows[0].reason


def test_other_success_rates_are_not_judged() -> None:
    failing = [replace(s, outcomes={"ok": 100, "tool_error": 20}) for s in sessions()]
    found = within(sessions(), failing)
    assert {r.verdict for r in found.rows} == {Verdict.NOT_COMPARABLE}
    assert "success rates differ (A 100.0%, B 83.3%)" in found.rows[0].reason


def test_sessions_that_failed_count_against_the_success_rate() -> None:
    broken = make_cell("B", sessions=sessions()[:4], failures=[Failure(5, "boot", "timeout", "")])
    result = make_result(make_cell("A", sessions=sessions()), broken)
    (found,) = compare_within(result, "server")
    assert "B 80.0%" in found.rows[0].reason


def test_a_cell_without_successful_calls_is_left_out_and_named() -> None:
    names = ["a", "b", "c", "d", "slow"]
    left = make_result(*(make_cell(handler=name, sessions=sessions()) for name in names))
    dead = [make_session(r, calls=0) for r in ROUNDS]
    cells = [*left.cells[:4], make_cell(handler="slow", sessions=dead)]
    found = compare(left, make_result(*cells), labels=("old", "new"))
    assert found.counted == (
        "4 of 5 cells compared; stdio/minimal/slow excluded: no successful calls in new"
    )
    assert not any("slow" in r.cell for r in found.rows)


def test_cells_of_one_side_alone_are_named() -> None:
    found = compare(
        make_result(make_cell(handler="a", sessions=sessions())),
        make_result(make_cell(handler="b", sessions=sessions())),
        labels=("old", "new"),
    )
    assert not found.comparable
    assert "stdio/minimal/a excluded: only in old" in found.counted
    assert "stdio/minimal/b excluded: only in new" in found.counted


def test_a_percentile_that_too_few_samples_tell_is_refused_with_their_number() -> None:
    few = [make_session(r, calls=5) for r in ROUNDS]
    found = row(within(few, few), "call", "p99")
    assert (found.verdict, found.contrast) == (Verdict.NOT_COMPARABLE, None)
    assert found.reason == "p99 needs 100 samples, a side has 40"


def test_one_session_gives_numbers_and_no_verdict() -> None:
    found = row(within([make_session(1)], [make_session(1, scale=2)]), "call", "p50")
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert "one session" in found.reason
    assert found.contrast is not None
    assert found.contrast.ratio is not None


def test_without_marks_boundary_and_handler_are_compared_by_difference() -> None:
    plain, other = sessions(seed=1, marked=False), sessions(seed=2, marked=False)
    found = within(plain, other)
    assert row(found, "handler").estimated
    assert row(found, "boundary").verdict is Verdict.NO_DIFFERENCE


def test_marks_on_one_side_alone_compare_only_what_both_can_tell() -> None:
    left = make_cell("A", sessions=sessions())
    right = make_cell("B", sessions=sessions(marked=False))
    (found,) = compare_within(make_result(left, right), "server")
    assert row(found, "handler").verdict is Verdict.NOT_COMPARABLE
    assert row(found, "call").verdict is Verdict.NO_DIFFERENCE


def test_only_what_differs_in_one_field_alone_is_compared() -> None:
    cells = [
        make_cell("A", sessions=sessions()),
        make_cell("A", sessions=sessions(), transport="http"),
        make_cell("B", sessions=sessions()),
    ]
    found = compare_within(make_result(*cells), "transport")
    assert [(one.left, one.right, len(one.pairs)) for one in found] == [("stdio", "http", 1)]
    assert found[0].pairs[0].name == "A/noop"
    assert "stdio/B/noop excluded: no counterpart with transport http" in found[0].counted


@pytest.mark.parametrize(
    ("by", "baseline", "words"),
    [
        ("colour", None, "no field 'colour'"),
        ("handler", None, "nothing to compare"),
        ("server", "C", "no cell has server 'C'"),
    ],
)
def test_what_cannot_be_compared_is_said(by: str, baseline: str | None, words: str) -> None:
    with pytest.raises(BenchError, match=words):
        compare_within(of_two(sessions(), sessions()), by, baseline=baseline)


@pytest.mark.parametrize("subject", NAMES)
def test_every_subject_can_be_asked_for(subject: str) -> None:
    found = measured(make_cell(sessions=sessions()), subject)
    assert found is None or found.sample.n_sessions == len(ROUNDS)


def test_parts_of_a_call_are_whole_in_their_subjects() -> None:
    cell = make_cell(sessions=sessions())
    parts = [measured(cell, name) for name in ("boundary", "handler", "call")]
    means = [part.sample.value(None) for part in parts if part is not None]
    assert means[0] is not None
    assert means[1] is not None
    assert means[0] + means[1] == pytest.approx(means[2])


def test_no_number_stands_beside_a_difference_that_is_not_shown() -> None:
    (line, counted) = sentences(within(sessions(seed=1), sessions(seed=2)))
    assert "no difference shown" in line
    assert "times" not in line
    assert counted == "1 of 1 cell compared"


def test_rankings_go_by_the_median_of_skewed_times_not_by_their_mean() -> None:
    """A few huge outliers on the side with the quicker median leave the median's verdict alone."""
    quick = []
    for session in sessions(scale=0.5, seed=2):
        column = session.calls[Phase.SERVER].copy()
        column[:2] *= 500
        quick.append(replace(session, calls={**session.calls, Phase.SERVER: column}))
    plain = [replace(s, calls={p: c for p, c in s.calls.items() if p in KEPT}) for s in quick]
    left = [
        replace(s, calls={p: c for p, c in s.calls.items() if p in KEPT}) for s in sessions(seed=1)
    ]
    found = within(left, plain)
    assert row(found, "call", "p50").verdict is Verdict.FASTER
    assert row(found, "call", "mean").verdict is not Verdict.FASTER


KEPT = (Phase.ENCODE, Phase.SERVER, Phase.DECODE)


def run(*arguments: str) -> Ran:
    return CliRunner().invoke(cli, ["compare", *arguments])


def test_the_command_compares_an_interleaved_run_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "ab.json.gz"
    save(of_two(sessions(seed=1), slower_in(Phase.HANDLER, 20, 2), design="ab"), file)
    done = run(str(file))
    assert done.exit_code == 0, done.output
    assert "call.p50 slower" in done.output


def test_the_commands_json_is_strict_and_carries_the_units(tmp_path: Path) -> None:
    file = tmp_path / "ab.json.gz"
    save(of_two(sessions(), [make_session(1, calls=0)], design="ab"), file)
    done = run(str(file), "--format", "json")
    assert done.exit_code == NOT_COMPARABLE

    def refuse(word: str) -> None:
        raise AssertionError(word)

    found = json.loads(done.stdout, parse_constant=refuse)["comparisons"][0]
    assert found["rows"] == []
    assert found["excluded"] == [{"cell": "stdio/noop", "reason": "no successful calls in B"}]


@pytest.mark.parametrize("format_", ["markdown", "csv"])
def test_other_formats_hold_every_row(tmp_path: Path, format_: str) -> None:
    file = tmp_path / "ab.json.gz"
    save(of_two(sessions(seed=1), sessions(seed=2), design="ab"), file)
    text = run(str(file), "--format", format_).output
    assert "stdio/noop call.p50" in text
    assert "stdio/noop handler.mean" in text


def test_one_file_alone_needs_to_be_told_what_to_compare(tmp_path: Path) -> None:
    file = tmp_path / "one.json.gz"
    save(of_two(sessions(), sessions()), file)
    done = run(str(file))
    assert done.exit_code == 2
    assert "--by FIELD" in done.output
    assert "stdio/noop" in run(str(file), "--by", "server").output


def test_files_are_named_by_their_short_names_and_other_hosts_end_with_3(tmp_path: Path) -> None:
    result = make_result(make_cell(sessions=sessions()))
    save(result, tmp_path / "old.json.gz")
    moved = replace(result, environment={**result.environment, "hostname": "elsewhere"})
    save(moved, tmp_path / "new.json.gz")
    files = [str(tmp_path / name) for name in ("old.json.gz", "new.json.gz")]
    done = run(*files)
    assert done.exit_code == NOT_COMPARABLE
    assert "new against old" in done.output
    assert run(*files, "--anyway").exit_code == 0
    assert run(*files, "--by", "server").exit_code == 2


def test_the_table_names_both_sides() -> None:
    table = verdict_table(within(sessions(seed=1), sessions(seed=2)))
    assert list(table.columns.values())[1:3] == ["A", "B"]


def test_python_compares_two_runs_or_the_two_targets_of_one() -> None:
    found = bench.compare(of_two(sessions(seed=1), slower_in(Phase.HANDLER, 20, 2), design="ab"))
    assert (found.left, found.right) == ("A", "B")
    records = {(r["subject"], r["figure"]): r for r in found.table()}
    assert records["handler", "mean"]["verdict"] == "slower"
    assert records["handler", "mean"]["ratio_low"] > 1
    assert "slower" in found._repr_html_()
    whole = make_result(make_cell(sessions=sessions()))
    assert bench.compare(whole, whole, labels=("old", "new")).right == "new"


def test_python_says_what_it_cannot_compare() -> None:
    three = make_result(*(make_cell(name, sessions=sessions()) for name in "ABC"))
    with pytest.raises(BenchError, match="several values beside"):
        bench.compare(three, by="server")
    with pytest.raises(BenchError, match="one run alone"):
        bench.compare(three)
    with pytest.raises(BenchError, match="cells of one run"):
        bench.compare(three, three, by="server")


def test_the_noise_floor_of_the_machine_stands_beside_later_verdicts(tmp_path: Path) -> None:
    same = of_two(sessions(seed=1), sessions(seed=2), order_of_sessions="interleaved")
    result = replace(same, run={**same.run, "names": ["A", "B"], "design": "ab"})
    floor = noise_floor.measured_in(result)
    assert floor is not None
    noise_floor.remember(floor, result.environment)
    file = tmp_path / "ab.json.gz"
    save(result, file)
    for format_ in ("text", "markdown"):
        assert "noise floor of this machine" in run(str(file), "--format", format_).output


def test_no_verdict_is_given_that_the_interval_of_the_difference_contradicts() -> None:
    few = Estimate(1.0, None, None, 6, 600)
    difference = replace(few, value=2e3, low=-1e2, high=4.1e3)
    ratio = replace(few, value=3.0, low=1.3, high=6.9)
    for sign, one in ((1, ratio), (-1, replace(few, value=1 / 3, low=1 / 6.9, high=1 / 1.3))):
        ends = sorted((sign * -1e2, sign * 4.1e3))
        held = replace(difference, value=sign * 2e3, low=ends[0], high=ends[1])
        verdict, _ = judge(Contrast(few, few, held, one, paired=True), 0.02, 1e3)
        assert verdict is Verdict.NO_DIFFERENCE
        clear = replace(held, low=sign * 2e3 - 1e2, high=sign * 2e3 + 1e2)
        verdict, _ = judge(Contrast(few, few, clear, one, paired=True), 0.02, 1e3)
        assert verdict is (Verdict.SLOWER if sign > 0 else Verdict.FASTER)


def test_a_side_has_the_interval_that_show_gives_it() -> None:
    left = [make_session(r, calls=20, scale=5 if r == 1 else 0.1, seed=r) for r in (1, 2)]
    result = of_two(left, left)
    for one in within(left, left).rows:
        told = figure(result.cells[0], one.subject, one.figure).estimate
        assert one.contrast is None or one.contrast.left == told


def test_a_threshold_that_is_no_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ab.json.gz"
    save(of_two(sessions(seed=1), sessions(seed=2)), path)
    done = CliRunner().invoke(cli, ["compare", str(path), "--by", "server", "--threshold", "nan"])
    assert done.exit_code == FAILED
    assert "--threshold: nan is no percentage" in done.output


def test_a_field_that_no_cell_has_a_value_for_is_said_to_be_absent() -> None:
    result = of_two(sessions(seed=1), sessions(seed=2))
    with pytest.raises(BenchError, match="every cell is without payload_bytes"):
        compare_within(result, "payload_bytes")


def test_a_run_compared_with_itself_is_not_said_to_be_two_runs() -> None:
    result = of_two(sessions(seed=1), sessions(seed=2))
    (warning,) = compare(result, result).warnings
    assert "both are one run" in warning
    (warning,) = compare(result, replace(result, run={**result.run, "seed": 2})).warnings
    assert "these are two runs" in warning
