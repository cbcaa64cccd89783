"""Results that try to get out of the page, or to break it."""

from __future__ import annotations

from dataclasses import replace

from bench.results import Failure, Result
from tests.make_results import make_cell, make_result, make_session

MARKUP = "<script>window.hacked=1</script>"
IMAGE = "\"'><img src=x onerror=window.hacked=1>"
TEMPLATE = "{{ 7*7 }}{% raw %}"
LONG = "n" * 300
CONTROL = "a\x1b[31m\x00\u202eb"


def hostile_result() -> Result:
    """Return a result with hostile names of servers and tools, notices and failures."""
    noisy = [
        replace(make_session(round_), notices=(f"the server prints {MARKUP}",)) for round_ in (1, 2)
    ]
    failure = Failure(3, "initialize", "protocol_error", f"broken: {IMAGE}\nsecond line")
    result = make_result(
        make_cell(MARKUP, "noop", noisy, failures=[failure]),
        make_cell(IMAGE, TEMPLATE),
        make_cell(LONG, CONTROL, transport="http"),
        make_cell("plain", "noop", [make_session(1, calls=5, marked=False)], marks=False),
    )
    return Result(result.cells, {**result.run, "command": f"run {MARKUP}"}, result.environment)
