"""The tools that every server offers: names, schemas and the functions behind them.

What lives here is the same whatever server runs it, so the difference between two servers is their
boundary. No protocol, no framing, no marks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from servers.errors import BadArguments
from servers.tickets import MAX_RESULTS, STATUSES, get_ticket, search_tickets

MAX_DURATION_MS = 600_000


class Tool(NamedTuple):
    """One row of the table: what ``tools/list`` tells of a tool and what ``tools/call`` runs."""

    name: str
    description: str
    input_schema: dict[str, Any]
    function: Callable[..., str]


def noop() -> str:
    """Do nothing: what remains of a call is the boundary."""
    return "ok"


def echo(payload: str) -> str:
    """Return the payload unchanged."""
    return payload


def sleep(duration_ms: float) -> str:
    """Wait without using the processor."""
    time.sleep(duration_ms / 1000)
    return "ok"


def spin(duration_ms: float) -> str:
    """Use the processor until the time is over; exact where a sleep wakes up late."""
    now_ns = time.perf_counter_ns
    end_ns = now_ns() + round(duration_ms * 1_000_000)
    while now_ns() < end_ns:
        pass
    return "ok"


def _object(properties: dict[str, dict[str, Any]], *required: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | {"additionalProperties": False}


_DURATION = _object(
    {
        "duration_ms": {
            "type": "number",
            "minimum": 0,
            "maximum": MAX_DURATION_MS,
            "description": "How long, in milliseconds",
        }
    },
    "duration_ms",
)

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("noop", "Do nothing and answer ok.", _object({}), noop),
        Tool(
            "echo",
            "Answer with the payload, unchanged.",
            _object({"payload": {"type": "string", "description": "Any text"}}, "payload"),
            echo,
        ),
        Tool("sleep", "Wait for a given time without using the processor.", _DURATION, sleep),
        Tool("spin", "Keep the processor busy for a given time.", _DURATION, spin),
        Tool(
            "search_tickets",
            "Search the support tickets by words in their subject and body, best match first. "
            "All words have to occur.",
            _object(
                {
                    "query": {"type": "string", "description": "Words to look for"},
                    "status": {
                        "type": "string",
                        "enum": list(STATUSES),
                        "description": "Only tickets in this state",
                    },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_RESULTS,
                        "default": 10,
                        "description": "The most tickets to return",
                    },
                },
                "query",
            ),
            search_tickets,
        ),
        Tool(
            "get_ticket",
            "Read one support ticket in full, by the id that search_tickets returned.",
            _object({"id": {"type": "integer", "description": "The id of the ticket"}}, "id"),
            get_ticket,
        ),
    )
}
"""The one table, in the order of ``tools/list``."""


def validate(arguments: object, schema: dict[str, Any]) -> None:
    """Raise :class:`BadArguments` unless the arguments fit the schema of a tool.

    Knows the part of JSON Schema that the table above uses: an object of scalars with required
    keys, types, enumerations and bounds, and no other keys.
    """
    if not isinstance(arguments, dict):
        raise BadArguments("arguments must be an object")
    properties = schema["properties"]
    for name in schema.get("required", ()):
        if name not in arguments:
            raise BadArguments(f"{name} is missing")
    for name, value in arguments.items():
        if name not in properties:
            raise BadArguments(f"{name!r} is not an argument of this tool")
        flaw = _flaw(value, properties[name])
        if flaw:
            raise BadArguments(f"{name} must be {flaw}")


# Compared by exact type: to Python True is an int, to JSON it is not a number.
_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float)}


def _flaw(value: Any, schema: dict[str, Any]) -> str | None:
    """Say what the value should have been, or None where it fits."""
    if type(value) not in _TYPES[schema["type"]]:
        return f"of type {schema['type']}"
    if "enum" in schema and value not in schema["enum"]:
        return "one of " + ", ".join(schema["enum"])
    # Written so that a not-a-number fails both.
    if "minimum" in schema and not value >= schema["minimum"]:
        return f"at least {schema['minimum']}"
    if "maximum" in schema and not value <= schema["maximum"]:
        return f"at most {schema['maximum']}"
    return None
