"""Checks: silent on clean data, loud on planted faults, in sentences that name cause and remedy.

The trials are seeded: that a check is silent, or fires, in 95 % of 200 of them is a fact.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest
from scipy import stats as peer

from bench import accounts, checks, detect
from bench.render import formats, report, tables
from bench.results import CellResult, Nanoseconds
from tests.make_results import make_cell, make_result, make_session, session_of

TRIALS = 200
QUIET = {"calls_wall_ns": 10**9, "client_cpu_ns": 5 * 10**8, "server_calls_wait_ns": 10**7}
Run = list[Nanoseconds]


def clean_runs(
    sessions: int = 10, *, calls: int = 200, spread: float = 0.08, alike: float = 0.3,
    noise: float = 0.25, trials: int = TRIALS,
) -> list[Run]:  # fmt: skip
    """Return runs of about 1 ms a call: lognormal, neighbours alike, sessions a little apart."""
    random = np.random.default_rng(20260728)
    fresh = random.standard_normal((trials, sessions, calls))
    for i in range(1, calls):
        fresh[..., i] = alike * fresh[..., i - 1] + (1 - alike**2) ** 0.5 * fresh[..., i]
    level = spread * random.standard_normal((trials, sessions, 1))
    times = np.asarray(1e6 * np.exp(level + noise * fresh), dtype=np.int64)
    return [list(trial) for trial in times]


def mixed(run: Run, factor: float, share: float) -> Run:
    """Return the run with some of its calls ``factor`` times as long."""
    random = np.random.default_rng(int(run[0][0]))
    return [
        np.asarray(np.where(random.random(len(g)) < share, g * factor, g), np.int64) for g in run
    ]


def scaled(run: Run, factors: Iterable[float]) -> Run:
    """Return the run with each session ``factors`` times as long."""
    return [np.asarray(g * f, np.int64) for g, f in zip(run, factors, strict=True)]


def cell_of(run: Sequence[Nanoseconds], *, transport: str = "stdio", **facts: int) -> CellResult:
    sessions = [session_of(g, i, facts=QUIET | facts) for i, g in enumerate(run, start=1)]
    return make_cell(sessions=sessions, marks=False, transport=transport)


def only(cell: CellResult) -> checks.Finding:
    (finding,) = checks.of_cell(cell, warmups=20)
    return finding


# --- silence -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("sessions", "spread"), [(3, 0.1), (6, 0.05), (6, 0.1), (10, 0.1)])
def test_on_clean_data_every_check_is_silent(sessions: int, spread: float) -> None:
    runs = clean_runs(sessions, spread=spread)
    found = Counter(f.code for run in runs for f in checks.of_cell(cell_of(run)))
    assert all(count <= 0.05 * TRIALS for count in found.values()), found


def test_a_far_tail_makes_no_modes_and_no_other_finding() -> None:
    random = np.random.default_rng(5)
    found: Counter[str] = Counter()
    for run in clean_runs(6):
        far = [
            np.where(random.random(len(g)) < 0.04, random.pareto(1.5, len(g)) + 2, 1) for g in run
        ]
        slow = [np.asarray(g * f, np.int64) for g, f in zip(run, far, strict=True)]
        found.update(f.code for f in checks.of_cell(cell_of(slow)))
    assert all(count <= 0.05 * TRIALS for count in found.values()), found


def test_calls_that_are_much_alike_make_no_modes() -> None:
    runs = clean_runs(6, alike=0.8)
    assert sum(detect.modes(run) is not None for run in runs) <= 0.05 * TRIALS


@pytest.mark.parametrize(("sessions", "calls"), [(0, 0), (1, 200), (2, 200), (5, 4)])
def test_too_few_samples_say_nothing(sessions: int, calls: int) -> None:
    rising = [np.linspace(9e6, 1e6, calls).astype(np.int64) * (i + 1) for i in range(sessions)]
    found = {finding.code for finding in checks.of_cell(cell_of(rising, client_cpu_ns=10**9))}
    assert found <= {"client_busy"}
    assert not found or sessions * calls >= checks.MIN_CALLS


def test_equal_calls_and_calls_of_no_time_say_nothing() -> None:
    for ns in (0, 1_000):
        run = [np.full(200, ns) for _ in range(10)]
        assert detect.warm_up(run) is detect.drift(run, range(10)) is detect.modes(run) is None
        assert detect.session_modes(run) is detect.autocorrelation(run) is None
        assert detect.disagreement(run) is None


def test_a_check_changes_no_figure() -> None:
    cell = cell_of(mixed(clean_runs(6, trials=1)[0], 40, 0.3))
    kept = [total.copy() for total in cell.totals()]
    before = accounts.calls(cell)
    assert checks.of_cell(cell)
    assert accounts.calls(cell) == before
    assert all(np.array_equal(a, b) for a, b in zip(kept, cell.totals(), strict=True))


# --- planted faults ------------------------------------------------------------------------------


def still_warming_up(run: Run) -> Run:
    first = 1 + np.exp(-np.arange(len(run[0])) / 20)
    return [np.asarray(g * first, np.int64) for g in run]


def drifting(run: Run) -> Run:
    return scaled(run, np.linspace(1, 1.7, len(run)))


def in_two_groups(run: Run) -> Run:
    return scaled(run, [3 if i % 3 == 0 else 1 for i in range(len(run))])


@pytest.mark.parametrize(
    ("code", "plant", "made"),
    [
        ("warm_up", still_warming_up, {}),
        ("drift", drifting, {"spread": 0.05}),
        ("modes", lambda run: mixed(run, 4, 0.3), {}),
        ("modes", lambda run: mixed(run, 40, 0.07), {}),
        ("session_modes", in_two_groups, {}),
        ("autocorrelation", lambda run: run, {"alike": 0.75}),
        ("disagreement", lambda run: run, {"spread": 0.5, "noise": 0.2}),
    ],
    ids=["warm_up", "drift", "modes", "rare_mode", "session_modes", "autocorrelation", "sessions"],
)
def test_a_planted_fault_is_found(
    code: str, plant: Callable[[Run], Run], made: dict[str, float]
) -> None:
    runs = clean_runs(**made)  # type: ignore[arg-type]
    found = [{finding.code for finding in checks.of_cell(cell_of(plant(run)))} for run in runs]
    assert sum(code in codes for codes in found) >= 0.95 * TRIALS


def test_the_warm_ups_that_would_be_needed_are_counted() -> None:
    (run,) = clean_runs(trials=1, spread=0.02, noise=0.1)
    slow = np.where(np.arange(200) < 30, 1.6, 1.0)
    cell = cell_of([np.asarray(g * slow, np.int64) for g in run])
    finding = next(f for f in checks.of_cell(cell, warmups=20) if f.code == "warm_up")
    assert finding.facts["warmups_needed"] == 50
    assert "20 warm-ups were too few: use --warmups 50" in finding.sentence


def test_calls_that_never_settle_need_more_warm_ups_than_half_a_session() -> None:
    run = [np.linspace(3e6, 1e6, 200).astype(np.int64) + i for i in range(5)]
    finding = next(f for f in checks.of_cell(cell_of(run), warmups=20) if f.code == "warm_up")
    assert "use more than --warmups 120" in finding.sentence


def test_a_run_that_grows_quicker_is_told_so_and_gets_one_explanation() -> None:
    (run,) = clean_runs(trials=1, spread=0.01, noise=0.1)
    finding = only(cell_of(scaled(run, np.linspace(2, 1, 10))))
    assert finding.code == "drift"
    assert "in the first sessions they take" in finding.sentence


def test_drift_of_a_blocked_run_promises_no_comparison_within_rounds() -> None:
    (run,) = clean_runs(trials=1, spread=0.01, noise=0.1)
    cell = cell_of(scaled(run, np.linspace(2, 1, 10)))
    said = {
        in_rounds: " ".join(f.sentence for f in checks.of_cell(cell, in_rounds=in_rounds))
        for in_rounds in (True, False)
    }
    assert "Comparisons within rounds stand" in said[True]
    assert "stand" not in said[False]
    assert "measure again, interleaved" in said[False]


def test_the_slope_and_its_p_are_those_of_others() -> None:
    (run,) = clean_runs(trials=1, spread=0.05)
    run = drifting(run)
    at = [3, 9, 14, 22, 30, 31, 48, 50, 66, 70]
    medians = [float(np.median(np.log(g))) for g in run]
    found = detect.drift(run, at)
    assert found is not None
    assert np.log(found.factor) == pytest.approx(peer.theilslopes(medians, at).slope * (70 - 3))
    assert found.p == pytest.approx(peer.spearmanr(at, medians).pvalue, abs=0.005)


def test_the_share_between_sessions_is_that_of_the_variances() -> None:
    runs = clean_runs(30, spread=0.4, noise=0.2, alike=0.0, trials=20)
    shares = [found.share for run in runs if (found := detect.disagreement(run)) is not None]
    assert np.mean(shares) == pytest.approx(0.8, abs=0.05)


# --- two modes -----------------------------------------------------------------------------------


def test_modes_within_sessions_are_told_from_sessions_in_one_of_two() -> None:
    (run,) = clean_runs(trials=1)
    within = detect.modes(mixed(run, 4, 0.3))
    assert within is not None
    assert within.slow_share == pytest.approx(0.3, abs=0.05)
    assert within.slow_ns / within.fast_ns == pytest.approx(4, rel=0.1)
    assert detect.session_modes(mixed(run, 4, 0.3)) is None
    apart = detect.session_modes(in_two_groups(run))
    assert apart is not None
    assert (apart.fast_sessions, apart.slow_sessions) == (6, 4)
    assert detect.modes(in_two_groups(run)) is None


def stalled(stall_ms: int, share: float, *, base_ms: int = 2) -> Run:
    (run,) = clean_runs(6, trials=1)
    random = np.random.default_rng(3)
    stalls = [np.where(random.random(len(g)) < share, stall_ms * 1_000_000, 0) for g in run]
    return [g * base_ms + stall for g, stall in zip(run, stalls, strict=True)]


@pytest.mark.parametrize("stall_ms", [40, 200, 260])
def test_a_mode_of_a_timer_is_named_and_charged_to_the_transport(stall_ms: int) -> None:
    finding = only(cell_of(stalled(stall_ms, 0.2), transport="http"))
    assert f"the slow ones wait about {stall_ms} ms, the signature of" in finding.sentence
    assert "It is the transport's, not the handler's: set TCP_NODELAY" in finding.sentence


def test_a_stall_on_top_of_a_slow_call_is_known_by_what_it_adds() -> None:
    finding = only(cell_of(stalled(40, 0.2, base_ms=20), transport="http"))
    assert finding.code == "modes_of_a_timer"


def test_where_no_tcp_is_no_timer_of_tcp_is_named() -> None:
    assert only(cell_of(stalled(40, 0.2))).code == "modes"
    cell = cell_of(stalled(40, 0.2), transport="http")
    unix = CellResult(cell.name, {**cell.fields, "socket": "unix"}, cell.sessions)
    assert only(unix).code == "modes"


def test_other_modes_are_no_timers() -> None:
    finding = only(cell_of(stalled(100, 0.2), transport="http"))
    assert finding.code == "modes"
    assert "timer" not in finding.sentence
    assert "the median tells of one only" in finding.sentence


@pytest.mark.parametrize(("scale", "late"), [(500.0, True), (50.0, False), (5000.0, False)])
def test_the_signature_of_a_delayed_acknowledgement_is_named(scale: float, late: bool) -> None:
    session = make_session(1, scale=scale, calls=100)
    cell = make_cell("minimal", "noop", [session], transport="http")
    assert checks.acknowledged_late(cell) is late
    lines = report.findings(make_result(cell))
    assert any("delayed acknowledgement" in line for line in lines) is late
    assert not checks.acknowledged_late(make_cell("minimal", "noop", [session]))


def test_a_handler_that_works_for_40_ms_is_no_delayed_acknowledgement() -> None:
    sessions = [session_of(np.full(60, 41_000_000), i, handler_ns=40_000_000) for i in (1, 2)]
    assert not checks.of_cell(make_cell(sessions=sessions, transport="http"))


# --- accounts ------------------------------------------------------------------------------------


def test_a_busy_client_is_named_where_it_is_a_process_of_its_own() -> None:
    (run,) = clean_runs(trials=1)
    cell = cell_of(run, client_cpu_ns=9 * 10**8)
    assert "busy for 90 % of the time of the calls" in only(cell).sentence
    assert "--client raw" not in only(cell).sentence
    library = CellResult(cell.name, {**cell.fields, "client": "sdk"}, cell.sessions)
    assert "--client raw shows the server without it" in only(library).sentence
    assert not checks.of_cell(cell_of(run, transport="inproc", client_cpu_ns=9 * 10**8))


def test_waiting_for_a_cpu_is_named_with_its_share() -> None:
    (run,) = clean_runs(trials=1)
    finding = only(cell_of(run, server_calls_wait_ns=7 * 10**7))
    assert finding.facts == {"share": 0.07}
    assert "together for 7 % of the time of the calls" in finding.sentence


def test_alike_calls_are_worth_fewer() -> None:
    (run,) = clean_runs(trials=1, alike=0.8)
    finding = only(cell_of(run))
    assert finding.facts["calls"] == 2000
    assert 100 < finding.facts["effective_calls"] < 350
    assert "2,000 calls tell as much as about" in finding.sentence


# --- shown ---------------------------------------------------------------------------------------


def test_one_check_over_many_cells_is_one_line_that_names_the_worst() -> None:
    (run,) = clean_runs(trials=1)
    cells = [
        CellResult(f"stdio/s{i}/noop", cell.fields, cell.sessions)
        for i in range(8)
        for cell in [cell_of(run, server_calls_wait_ns=(10 + i) * 10**7)]
    ]
    (line,) = report.findings(make_result(*cells))
    assert line.startswith("check: stdio/s7/noop: threads of the server")
    assert line.endswith(
        " (the worst of 8 cells; also stdio/s0/noop, stdio/s1/noop, stdio/s2/noop, stdio/s3/noop "
        "and 3 more)"
    )


def test_all_findings_are_in_json_and_one_line_each_in_markdown() -> None:
    (run,) = clean_runs(trials=1)
    result = make_result(cell_of(run, server_calls_wait_ns=10**8))
    document = json.loads(formats.as_json(tables.all_tables(result), report.as_fields(result)))
    (check,) = document["checks"]
    assert (check["code"], check["cell"], check["facts"]) == (
        "run_queue", "stdio/minimal/noop/no-marks", {"share": 0.1},
    )  # fmt: skip
    assert document["notices"] == [f"check: {check['cell']}: {check['sentence']}"]
    assert f"- check: {check['cell']}: {check['sentence']}\n" in report.markdown_provenance(result)
