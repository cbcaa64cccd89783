"""Gates: how they are read, what fails them, what cannot be told, and the exit code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.cli import FAILED, GATE_FAILED, NOT_COMPARABLE
from bench.comparison import compare, compare_within
from bench.conclusion import exit_code
from bench.gate_syntax import Gate, GateError, Kind, parse
from bench.gates import Outcome, State, check_comparisons, check_result, judge
from bench.render.gate_lines import line
from bench.results import Result, Session
from bench.stats import Estimate
from bench.storage import save
from tests.command import invoke, strict_json
from tests.make_results import make_cell, make_result, make_session

ROUNDS = range(1, 9)

if TYPE_CHECKING:
    from conftest import Cli


def sessions(scale: float = 1.0, seed: int = 0, calls: int = 100) -> list[Session]:
    return [make_session(r, calls=calls, scale=scale, seed=seed) for r in ROUNDS]


def of_two(left: list[Session], right: list[Session]) -> Result:
    result = make_result(make_cell("A", sessions=left), make_cell("B", sessions=right))
    return replace(result, run={**result.run, "design": "ab"})


def outcomes_of(result: Result, text: str, *, strict: bool = False) -> list[Outcome]:
    found = compare_within(result, "server")
    return check_comparisons(found, [parse(text, relative=True)], strict=strict)


def states(outcomes: list[Outcome]) -> list[State]:
    return [outcome.state for outcome in outcomes]


def estimate(value: float, low: float | None, high: float | None) -> Estimate:
    return Estimate(value, low, high, 1 if low is None else 8, 100)


RELATIVE = {
    "call.p99 > +10%": ("call", "p99", ">", 1.1, Kind.RATIO),
    "call.median<-2.5%": ("call", "p50", "<", 0.975, Kind.RATIO),
    "setup.mean >= +50ms": ("setup", "mean", ">=", 5e7, Kind.DIFFERENCE),
    " first_call.mean <= −7 us ": ("first_call", "mean", "<=", -7e3, Kind.DIFFERENCE),
    "tools_list.p99.9 > +0%": ("tools_list", "p99.9", ">", 1.0, Kind.RATIO),
}
ABSOLUTE = {
    "call.p50 > 3ms": 3e6,
    "call.p50 > 0.1 ms": 1e5,
    "call.p50 > 250us": 2.5e5,
    "call.p50 > 250µs": 2.5e5,
    "call.p50 > 250μs": 2.5e5,
    "call.p50 > 80ns": 80.0,
    "call.p50 > 1.5s": 1.5e9,
}


@pytest.mark.parametrize("text", RELATIVE)
def test_a_gate_on_a_change_is_read(text: str) -> None:
    gate = parse(text, relative=True)
    found = (gate.subject, gate.figure, gate.operator, gate.limit, gate.kind)
    assert found == RELATIVE[text]
    assert gate.cells is None


@pytest.mark.parametrize("text", ABSOLUTE)
def test_a_gate_on_a_figure_is_read_in_every_unit(text: str) -> None:
    gate = parse(text, relative=False)
    assert (gate.limit, gate.kind) == (ABSOLUTE[text], Kind.FIGURE)


def test_cells_are_chosen_by_a_shell_pattern_which_may_hold_a_colon() -> None:
    assert parse("stdio/*: call.p50 > 3ms", relative=False).cells == "stdio/*"
    assert parse("http/host:80/*:call.p50>3ms", relative=False).cells == "http/host:80/*"


def test_a_gate_is_one_line_however_it_was_written() -> None:
    assert parse("call.p50 >\n  3ms ", relative=False).text == "call.p50 > 3ms"


# The gate, with the character at fault between « and nothing, and what is said about it.
FAULTS = {
    (True, "«"): "expected a subject: one of setup, first_call, close, call, boundary, handler",
    (True, "«cal.p99 > +10%"): "expected a subject: one of setup",
    (True, "call« > +10%"): "expected a dot and a figure, like call.p50",
    (True, "call.«p98 > +10%"): "expected a figure: one of mean, p50, p90, p99, p99.9, median",
    (True, "call.p99« +10%"): "expected what fails the gate: one of >, >=, <, <=",
    (True, "call.p99 «== +10%"): "expected what fails the gate: one of >, >=, <, <=",
    (True, "call.p99 >«"): "expected a limit, like 'call.p99 > +10%'",
    (True, "call.p99 > «10%"): "expected a sign, + or -: compare limits the change",
    (True, "call.p99 > «3ms"): "show limits the figure itself",
    (True, "call.p99 > +«ms"): "expected a number, like 'call.p99 > +10%'",
    (True, "call.p99 > +10«"): "expected a unit: one of ns, us, µs, ms or s, or %",
    (True, "call.p99 > +10 «m"): "expected a unit: one of ns, us, µs, ms or s, or %",
    (True, "call.p99 < «-100%"): "expected a percentage above -100%",
    (True, "call.p99 > +10% «and more"): "expected the end of the gate",
    (True, "call.p99 > +«1234567890123456%"): "expected a number of 15 digits at most",
    (True, "«: call.p99 > +10%"): "expected a pattern of cell names before the colon",
    (True, "stdio/*: «cal.p99 > +10%"): "expected a subject",
    (False, "call.p50 > «+3ms"): "expected a duration without a sign",
    (False, "call.p50 > «10%"): "like 'call.p50 > 3ms' (compare limits changes)",
    (False, "call.p50 > 3«"): "expected a unit: one of ns, us, µs, ms or s",
    (False, "call.p50 > «nan"): "expected a limit, like 'call.p50 > 3ms'",
}


@pytest.mark.parametrize(("relative", "marked"), FAULTS)
def test_a_fault_is_shown_under_its_character_with_what_was_expected(
    relative: bool, marked: str
) -> None:
    at, text = marked.index("«"), marked.replace("«", "")
    with pytest.raises(GateError) as caught:
        parse(text, relative=relative)
    said, shown, caret = str(caught.value).split("\n")
    assert FAULTS[relative, marked] in said
    assert shown == f"  {text}"
    # White space before the fault may be on either side of the caret.
    assert text[: caret.index("^") - 2].rstrip() == text[:at].rstrip()


def test_a_control_character_cannot_move_the_caret() -> None:
    with pytest.raises(GateError) as caught:
        parse("call.p50\x1b[31m\n> 3ms", relative=False)
    assert str(caught.value).isprintable() is False
    assert str(caught.value).count("\n") == 2
    assert "\x1b" not in str(caught.value)


GATE = Gate("call.p50 > 3ms", None, "call", "p50", ">", 3e6, Kind.FIGURE)
JUDGED = [
    (">", 4e6, 3.5e6, 4.5e6, State.FAIL),
    (">", 2e6, 1.5e6, 2.5e6, State.PASS),
    (">", 4e6, 2.9e6, 5e6, State.STRADDLES),
    (">", 2e6, 1e6, 3.1e6, State.STRADDLES),
    (">", 2e6, 1e6, 3e6, State.PASS),
    (">=", 2e6, 1e6, 3e6, State.STRADDLES),
    (">=", 3e6, 3e6, 3e6, State.FAIL),
    (">", 3e6, 3e6, 3e6, State.PASS),
    ("<", 2e6, 1e6, 2.5e6, State.FAIL),
    ("<", 4e6, 3.5e6, 5e6, State.PASS),
    ("<=", 4e6, 3e6, 5e6, State.STRADDLES),
    (">", 4e6, None, None, State.FAIL),
    (">", 2e6, None, None, State.PASS),
]


@pytest.mark.parametrize(("operator", "value", "low", "high", "state"), JUDGED)
def test_a_gate_needs_the_whole_interval_beyond_its_limit(
    operator: str, value: float, low: float | None, high: float | None, state: State
) -> None:
    gate = replace(GATE, operator=operator)
    assert judge(gate, "cell", estimate(value, low, high)).state is state
    strict = State.FAIL if state is State.STRADDLES else state
    assert judge(gate, "cell", estimate(value, low, high), strict=True).state is strict


def test_an_interval_over_the_limit_and_a_missing_one_are_said_in_words() -> None:
    straddling = judge(GATE, "stdio/noop", estimate(4e6, 2.9e6, 5e6))
    assert line(straddling) == (
        "gate: STRADDLES  call.p50 > 3ms  stdio/noop: 4.00 ms [2.90 – 5.00]; "
        "the interval straddles the limit"
    )
    alone = judge(GATE, "stdio/noop", estimate(4e6, None, None))
    assert line(alone) == (
        "gate: FAIL  call.p50 > 3ms  stdio/noop: 4.00 ms; "
        "judged by the value alone: one session has no interval"
    )


def test_a_change_is_shown_with_its_sign_in_the_words_of_its_limit() -> None:
    gate = parse("call.p99 > +10%", relative=True)
    assert line(judge(gate, "stdio/noop", estimate(1.031, 1.01, 1.052))) == (
        "gate: PASS  call.p99 > +10%  stdio/noop: +3.1 % [+1.0 – +5.2]"
    )
    gate = parse("setup.mean > +50ms", relative=True)
    assert "a: -1.00 ms [-3.00 – +1.00]" in line(judge(gate, "a", estimate(-1e6, -3e6, 1e6)))


def test_a_slower_side_fails_and_the_same_one_passes() -> None:
    slower = of_two(sessions(seed=1), sessions(scale=2, seed=2))
    assert states(outcomes_of(slower, "call.p50 > +10%")) == [State.FAIL]
    assert states(outcomes_of(slower, "call.p50 > +10us")) == [State.FAIL]
    assert states(outcomes_of(slower, "setup.mean > +1ms")) == [State.PASS]
    assert states(outcomes_of(slower, "call.p50 < -10%")) == [State.PASS]
    same = of_two(sessions(seed=1), sessions(seed=2))
    assert states(outcomes_of(same, "call.p50 > +10%")) == [State.PASS]
    assert states(outcomes_of(same, "call.p50 > +0%")) == [State.STRADDLES]
    assert states(outcomes_of(same, "call.p50 > +0%", strict=True)) == [State.FAIL]


def test_one_session_a_side_is_judged_by_its_value_and_says_so() -> None:
    result = of_two([make_session(1)], [make_session(1, scale=2)])
    (outcome,) = outcomes_of(result, "call.p50 > +10%")
    assert outcome.state is State.FAIL
    assert "value alone" in outcome.reason


def test_too_few_samples_for_a_percentile_are_an_error_with_their_number() -> None:
    few = of_two(sessions(calls=5), sessions(calls=5))
    (outcome,) = outcomes_of(few, "call.p99 > +10%")
    assert (outcome.state, outcome.reason) == (
        State.ERROR, "p99 needs 100 samples, a side has 40",
    )  # fmt: skip
    found = check_result(few, [parse("call.p99 > 3ms", relative=False)])
    assert states(found) == [State.ERROR] * 2
    assert found[0].reason == "p99 needs 100 samples, there are 40"


def test_a_subject_that_no_cell_has_and_a_pattern_that_fits_none_are_errors() -> None:
    result = of_two(sessions(), sessions())
    for text, words in (
        ("tls.mean > +1ms", "no cell that it speaks of has tls"),
        ("http/*: call.p50 > +1ms", "no cell fits 'http/*'; there are: stdio/noop"),
    ):
        (outcome,) = outcomes_of(result, text)
        assert (outcome.state, outcome.reason) == (State.ERROR, words)
        (shown,) = check_result(result, [parse(text.replace("+", ""), relative=False)])
        assert shown.state is State.ERROR


def test_a_subject_that_some_cells_have_is_held_where_it_is() -> None:
    marked, bare = make_cell("A"), make_cell("B", marks=False)
    found = check_result(make_result(marked, bare), [parse("dispatch.mean > 1s", relative=False)])
    assert [(outcome.cell, outcome.state) for outcome in found] == [(marked.name, State.PASS)]


def test_calls_that_all_failed_never_pass_a_gate() -> None:
    dead = [make_session(r, calls=0) for r in ROUNDS]
    good, bad = make_cell("A", sessions=sessions()), make_cell("B", sessions=dead)
    found = check_result(make_result(good, bad), [parse("setup.mean < 1ns", relative=False)])
    assert states(found) == [State.PASS, State.ERROR]
    assert found[1].reason == "no call succeeded"
    (outcome,) = outcomes_of(of_two(sessions(), dead), "setup.mean > +1s")
    assert (outcome.state, outcome.reason) == (
        State.NOT_COMPARABLE, "no successful calls in B",
    )  # fmt: skip


def test_a_cell_that_only_one_side_has_is_another_suite_unless_it_alone_is_meant() -> None:
    both, new = make_cell("A", sessions=sessions()), make_cell("B", sessions=sessions())
    found = [compare(make_result(both), make_result(both, new))]
    everywhere = check_comparisons(found, [parse("call.p50 > +99%", relative=True)])
    assert states(everywhere) == [State.PASS]
    there = check_comparisons(found, [parse("*/B/*: call.p50 > +99%", relative=True)])
    assert [(o.state, o.reason) for o in there] == [(State.NOT_COMPARABLE, "only in B")]


def test_a_cell_that_one_of_several_comparisons_has_is_held_there_alone() -> None:
    cells = [make_cell(name, sessions=sessions()) for name in ("A", "B", "C")]
    cells += [make_cell(name, "echo", sessions=sessions()) for name in ("A", "B")]
    found = compare_within(make_result(*cells), "server", baseline="A")
    gate = parse("*/echo: call.p50 > +99%", relative=True)
    outcomes = check_comparisons(found, [gate])
    assert [(outcome.sides, outcome.state) for outcome in outcomes] == [(("A", "B"), State.PASS)]


def test_another_host_is_not_comparable_with_its_reason() -> None:
    left = make_result(make_cell(sessions=sessions()))
    right = replace(left, environment={**left.environment, "hostname": "elsewhere"})
    (outcome,) = check_comparisons([compare(left, right)], [parse("call.p50 > +9%", relative=True)])
    assert outcome.state is State.NOT_COMPARABLE
    assert "another host" in line(outcome)


def test_a_percentage_of_nothing_is_an_error_that_names_the_other_way() -> None:
    zero = [replace(s, calls={p: c * 0 for p, c in s.calls.items()}) for s in sessions()]
    (outcome,) = outcomes_of(of_two(zero, sessions()), "call.p50 > +10%")
    assert outcome.state is State.ERROR
    assert "give a duration" in outcome.reason
    assert states(outcomes_of(of_two(zero, sessions()), "call.p50 > +1us")) == [State.FAIL]


@pytest.mark.parametrize(
    ("met", "code"),
    [
        ([], 0),
        ([State.PASS, State.STRADDLES], 0),
        ([State.PASS, State.NOT_COMPARABLE], NOT_COMPARABLE),
        ([State.NOT_COMPARABLE, State.FAIL], GATE_FAILED),
        ([State.FAIL, State.ERROR, State.NOT_COMPARABLE], FAILED),
    ],
)
def test_the_most_serious_outcome_decides_the_exit_code(met: list[State], code: int) -> None:
    assert exit_code(Outcome(GATE, "cell", state) for state in met) == code


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An interleaved run whose right side is twice as slow in its calls."""
    path = tmp_path / "ab.json.gz"
    save(of_two(sessions(seed=1), sessions(scale=2, seed=2)), path)
    return path


def test_the_commands_print_each_outcome_after_the_tables_and_end_with_its_code(file: Path) -> None:
    done = invoke("compare", file, "--fail-if", "call.p50 > +10%", "--fail-if", "setup.mean > +1ms")
    assert done.exit_code == GATE_FAILED
    first, second = done.stdout.splitlines()[-2:]
    assert first.startswith("gate: FAIL  call.p50 > +10%  stdio/noop, B against A: +9")
    assert second.startswith("gate: PASS  setup.mean > +1ms  stdio/noop, B against A: +0")
    assert invoke("show", file, "--fail-if", "call.p50 > 1s").exit_code == 0
    assert invoke("show", file, "--fail-if", "*/B/*: call.p50 > 1ns").exit_code == GATE_FAILED
    assert invoke("show", file, "--fail-if", "*/C/*: call.p50 > 1ns").exit_code == FAILED


def test_what_the_interval_straddles_fails_only_if_one_asks_for_it(tmp_path: Path) -> None:
    save(of_two(sessions(seed=1), sessions(seed=2)), tmp_path / "aa.json")
    words = ("compare", tmp_path / "aa.json", "--fail-if", "call.p50 > +0%")
    assert invoke(*words).exit_code == 0
    assert invoke(*words, "--strict").exit_code == GATE_FAILED
    assert invoke("compare", tmp_path / "aa.json", "--strict").exit_code == FAILED


def test_a_gate_on_another_host_ends_with_3(file: Path, tmp_path: Path) -> None:
    left = make_result(make_cell(sessions=sessions()))
    right = replace(left, environment={**left.environment, "hostname": "elsewhere"})
    for result, name in ((left, "a.json"), (right, "b.json")):
        save(result, tmp_path / name)
    words = ("compare", tmp_path / "a.json", tmp_path / "b.json", "--fail-if", "call.p50 > +10%")
    assert invoke(*words).exit_code == NOT_COMPARABLE
    assert invoke(*words, "--anyway").exit_code == 0


def test_a_gate_that_cannot_be_read_ends_before_any_file_is_opened() -> None:
    done = invoke("compare", "gone.json", "--fail-if", "call.p98 > +10%")
    assert done.exit_code == FAILED
    assert done.stdout == ""
    assert done.stderr == (
        "mcp-latency: --fail-if: expected a figure: one of mean, p50, p90, p99, p99.9, median\n"
        "  call.p98 > +10%\n"
        "       ^\n"
    )


@pytest.mark.parametrize("command", ["show", "compare"])
def test_the_help_names_the_exit_codes(command: str) -> None:
    text = invoke(command, "--help").stdout
    assert "Exit codes: 0 every gate passes; 1 one fails; 2" in " ".join(text.split())


@pytest.mark.parametrize(
    "command", ["show --fail-if call.p50>1ns", "compare --fail-if call.p50>+1ns"]
)
def test_a_reader_who_leaves_early_changes_neither_code_nor_exports(
    cli: Cli, file: Path, command: str
) -> None:
    name, *gate = command.split()
    with cli.start(name, file, *gate, "--export", "json=out.json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == GATE_FAILED
    assert strict_json((cli.folder / "out.json").read_text())["gates"]
