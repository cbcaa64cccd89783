"""Arguments of a tool that its caller repeats as HTTP headers (2026-07-28, streamable HTTP).

A property of the tool's schema that is annotated with ``x-mcp-header: NAME`` goes, whenever it has
a value, into the header ``Mcp-Param-NAME`` too. A tool with a broken annotation must not be called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Mirrored = Mapping[tuple[str, ...], str]
"""Where a value stands among the arguments -> the name of its header."""

ANNOTATION = "x-mcp-header"
PREFIX = "Mcp-Param-"
_TYPES = ("string", "integer", "boolean")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_INSTANCES = ("const", "default", "enum", "examples")  # they hold values, not schemas


def mirrored(schema: object) -> Mirrored:
    """Return what a tool's input schema asks for.

    Raises ValueError with a sentence where an annotation breaks a rule.
    """
    found: dict[tuple[str, ...], str] = {}
    taken: set[str] = set()
    for path, holder in _annotated(schema, ()):
        name = holder[ANNOTATION]
        if path is None:
            raise ValueError(f"{ANNOTATION} {name!r} stands where no argument has its own place")
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{ANNOTATION} {name!r} is no name of a header")
        if holder.get("type") not in _TYPES:
            raise ValueError(f"{ANNOTATION} {name!r} is on a property that is none of {_TYPES}")
        if name.lower() in taken:
            raise ValueError(f"{ANNOTATION} {name!r} stands on two properties")
        taken.add(name.lower())
        found[path] = PREFIX + name
    return found


def values(mirror: Mirrored, arguments: object) -> Iterator[tuple[str, str]]:
    """Yield name and text of each header that these arguments need: none for null or absent."""
    for path, name in mirror.items():
        value: Any = arguments
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        match value:
            case bool():
                yield name, "true" if value else "false"
            case int() | str():
                yield name, str(value)


def _annotated(
    schema: object, path: tuple[str, ...] | None
) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Yield each annotated schema with the path of properties to it, None off such a path."""
    if isinstance(schema, list):
        for part in schema:
            yield from _annotated(part, None)
    if not isinstance(schema, dict):
        return
    if ANNOTATION in schema:
        yield path or None, schema
    for key, part in schema.items():
        if key == "properties" and isinstance(part, dict):
            for name, property_ in part.items():
                yield from _annotated(property_, None if path is None else (*path, name))
        elif key not in _INSTANCES and key != ANNOTATION:
            yield from _annotated(part, None)
