"""The table of tools and the check of arguments against it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from servers.errors import BadArguments
from servers.tools import TOOLS, validate


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("noop", {}),
        ("echo", {"payload": ""}),
        ("sleep", {"duration_ms": 0}),
        ("spin", {"duration_ms": 0.5}),
        ("search_tickets", {"query": "refund"}),
        ("search_tickets", {"query": "refund", "status": "open", "limit": 1}),
        ("search_tickets", {"query": "refund", "limit": 50}),
        ("get_ticket", {"id": -(2**80)}),
    ],
)
def test_arguments_that_fit_pass(name: str, arguments: dict[str, Any]) -> None:
    validate(arguments, TOOLS[name].input_schema)


@pytest.mark.parametrize(
    ("name", "arguments", "part"),
    [
        ("noop", None, "object"),
        ("noop", {"x": 1}, "'x' is not an argument"),
        ("echo", {}, "payload is missing"),
        ("echo", {"payload": None}, "payload must be of type string"),
        ("sleep", {"duration_ms": True}, "type number"),
        ("sleep", {"duration_ms": "1"}, "type number"),
        ("sleep", {"duration_ms": -0.1}, "at least 0"),
        ("sleep", {"duration_ms": math.inf}, "at most"),
        ("spin", {"duration_ms": math.nan}, "at least 0"),
        ("search_tickets", {"query": "a", "limit": 0}, "at least 1"),
        ("search_tickets", {"query": "a", "limit": 51}, "at most 50"),
        ("search_tickets", {"query": "a", "limit": 1.0}, "type integer"),
        ("search_tickets", {"query": "a", "status": "lost"}, "open, pending, closed"),
        ("get_ticket", {"id": False}, "type integer"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(
    name: str, arguments: Any, part: str
) -> None:
    with pytest.raises(BadArguments, match=part):
        validate(arguments, TOOLS[name].input_schema)


def test_the_plain_tools_do_what_their_names_say() -> None:
    assert TOOLS["noop"].function() == "ok"
    assert TOOLS["echo"].function(payload="é\ud800") == "é\ud800"
    assert TOOLS["sleep"].function(duration_ms=0) == "ok"
    assert TOOLS["spin"].function(duration_ms=0.01) == "ok"
