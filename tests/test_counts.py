"""How many there are of something is said in the number of its noun."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench import exports
from bench.exports.contents import Contents
from bench.page import as_html
from bench.render.report import findings, provenance
from bench.render.units import counted
from bench.results import Failure, Result
from tests.make_results import make_cell, make_result, make_session


@pytest.fixture
def lonely() -> Result:
    """A result that has one of everything."""
    session = replace(make_session(1, calls=1), notices=("a notice",))
    result = make_result(make_cell(sessions=[session]))
    return replace(result, run={**result.run, "sessions": 1, "calls": 1, "warmups": 1})


def test_only_one_is_singular() -> None:
    assert [counted(amount, "call") for amount in (0, 1, 2, 1200)] == [
        "0 calls",
        "1 call",
        "2 calls",
        "1200 calls",
    ]
    assert counted(1200, "call", ",") == "1,200 calls"


def test_provenance_counts_sessions_calls_and_warm_ups(lonely: Result) -> None:
    said = provenance(lonely)[2]
    assert "1 session × 1 call (1 warm-up) per cell, 1 session finished" in said
    said = provenance(make_result())[2]
    assert "3 sessions × 20 calls (2 warm-ups) per cell, 3 sessions finished" in said


def test_provenance_of_a_run_that_does_not_tell_its_amount_has_no_none_in_it() -> None:
    result = replace(make_result(), run={})
    assert "? sessions × ? calls (? warm-ups) per cell" in provenance(result)[2]


def test_notices_count_the_sessions_of_their_cell(lonely: Result) -> None:
    assert "note: stdio/minimal/noop: a notice (in 1 of 1 session)" in findings(lonely)


def test_exports_count_sessions_calls_and_cells(lonely: Result) -> None:
    contents = Contents({"run.json": lonely})
    assert "1 session, 1 call<" in exports.text("junit", contents)
    assert '"extra": "1 session, 1 sample"' in exports.text("github", contents)
    assert "1 call in 1 cell" in exports.text("markdown", contents)
    failed = make_result(make_cell(failures=[Failure(4, "boot", "timeout", "no answer")]))
    text = exports.text("markdown", Contents({"run.json": failed}))
    assert "60 calls in 1 cell, 1 session failed" in text


def test_the_page_counts_sessions_and_calls(lonely: Result) -> None:
    html = as_html([("run.json", lonely)])
    assert "Order of the 1 finished session<" in html
    assert "the median of 1 call." in html
