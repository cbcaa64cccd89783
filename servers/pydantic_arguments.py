"""A tool's schema as a library that checks with pydantic takes it, and what it found."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from servers.tools import Tool

_SCALARS: dict[str, type] = {"string": str, "integer": int, "number": float}


class Argument(NamedTuple):
    """One argument of a tool: its type and its bounds; the default is ``...`` where required."""

    kind: Any
    default: Any
    bounds: dict[str, Any]


def arguments_of(tool: Tool) -> dict[str, Argument]:
    """Read the arguments from the tool's schema."""
    required = tool.input_schema.get("required", ())
    found: dict[str, Argument] = {}
    for name, schema in tool.input_schema["properties"].items():
        kind: Any = Literal[tuple(schema["enum"])] if "enum" in schema else _SCALARS[schema["type"]]
        default = ... if name in required else schema.get("default")
        bounds = {"ge": schema.get("minimum"), "le": schema.get("maximum")}
        found[name] = Argument(kind, default, bounds)
    return found


def sentence(tool: str, error: ValidationError) -> str:
    """Say in one line what does not fit."""
    flaws = "; ".join(
        f"{'.'.join(map(str, flaw['loc']))}: {flaw['msg']}" for flaw in error.errors()
    )
    return f"Invalid arguments for {tool}: {flaws}"
