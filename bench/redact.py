"""Secrets stay out: every text that leaves the harness passes here first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar, cast

T = TypeVar("T")

MASK = "•••"
_SHORTEST_SECRET = 4
_SECRET_NAME = re.compile(
    r"(?i)(?:api|access)[-_]?key|authorization|bearer|passw(?:or)?d|secret|(?<![a-z])token"
)

_PATTERNS = (
    # name=value and name: value, where the name says that the value is a secret
    re.compile(
        r"(?i)((?:api[-_]?key|access[-_]?key|auth(?:orization)?|bearer|passw(?:or)?d|secret|token)"
        r"[\"']?\s*[=:]\s*[\"']?(?:bearer\s+|basic\s+)?)([^\s\"',;&}]+)"
    ),
    # --token VALUE
    re.compile(r"(?i)(--?[a-z-]*(?:key|password|secret|token)\s+)([^\s]+)"),
    re.compile(r"(?i)(\bbearer\s+)([a-z0-9._~+/=-]{8,})"),
    # credentials in a URL
    re.compile(r"(\b[a-z][a-z0-9+.-]*://)([^\s/@]+)(?=@)"),
    # the shapes of well-known tokens: sk-…, ghp_…, xoxb-…, JSON web tokens
    re.compile(
        r"()(\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}|\bgh[a-z]_[A-Za-z0-9]{16,}|\bxox[a-z]-[\w-]{8,})"
    ),
    re.compile(r"()(\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"),
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return ``text`` with every known secret, and what looks like one, masked."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, MASK)
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return text


def redact_tree(value: T, secrets: Iterable[str] = ()) -> T:
    """Return nested lists and dicts with every text in them redacted."""
    known = tuple(secrets)
    if isinstance(value, str):
        return cast("T", redact(value, known))
    if isinstance(value, dict):
        return cast("T", {key: _redact_item(key, item, known) for key, item in value.items()})
    if isinstance(value, list):
        return cast("T", [redact_tree(item, known) for item in value])
    return value


def _redact_item(name: object, item: object, secrets: tuple[str, ...]) -> object:
    """Redact one member of an object, whole where its name says that it is a secret."""
    if isinstance(item, str | int) and isinstance(name, str) and _SECRET_NAME.search(name):
        return MASK
    return redact_tree(item, secrets)
