"""Secrets stay out: every text that leaves the harness passes here first."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import TypeVar, cast

T = TypeVar("T")

MASK = "•••"
_SHORTEST_SECRET = 4
_SECRET_NAME = re.compile(
    r"(?i)(?:api|access)[-_]?key|authorization|bearer|passw(?:or)?d|secret|(?<![a-z])token"
)

_NAME = (
    r"(?:api[-_]?key|access[-_]?key|auth(?:orization)?|bearer|passw(?:or)?d|secret|token"
    r"|(?<=[a-z0-9])_key(?==))"
)
_OPTION = r"--?(?:[a-z-]*(?:key|passw(?:or)?d|secret|token)|(?:[a-z-]+-)?pass(?:phrase)?)"
_WORD = r"(?:(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|[^\s'\"\\])+(?=\s|$)|\S+)"
"""One word as a shell reads it, quotes and all; up to the next space where they do not match."""
_IS_OPTION = re.compile(f"(?i){_OPTION}")
_IS_VARIABLE = re.compile(r"(?i)\w*(?:key|passw(?:or)?d|secret|token)")

_PATTERNS = (
    # "name": "value" and name='value', where the name says that the value is a secret: to the end
    # of the quotes, also where quotes stand in quotes
    re.compile(rf"(?i)({_NAME}\"?\s*[=:]\s*\")((?:[^\"\\\n]|\\.)+)"),
    re.compile(rf"(?i)({_NAME}\\\"\s*:\s*\\\")((?:[^\"\\\n]|\\[^\"])+)"),
    re.compile(rf"(?i)({_NAME}'?\s*[=:]\s*')([^'\n]+)"),
    # name=value and name: value without quotes
    re.compile(rf"(?i)({_NAME}[\"']?\s*[=:]\s*[\"']?(?:bearer\s+|basic\s+)?)([^\s\"',;&}}]+)"),
    # --token VALUE and --token=VALUE
    re.compile(rf"(?i)((?<![\w-]){_OPTION}(?:\s+|=))({_WORD})"),
    re.compile(r"(?i)(\bbearer\s+)([a-z0-9._~+/=-]{8,})"),
    # credentials in a URL
    re.compile(r"(\b[a-z][a-z0-9+.-]*://)([^\s/@]+)(?=@)"),
    # the shapes of well-known tokens: sk-…, ghp_…, github_pat_…, glpat-…, xoxb-…, AKIA…, AIza…,
    # JSON web tokens
    re.compile(
        r"()(\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}|\bgh[a-z]_[A-Za-z0-9]{16,}|\bxox[a-z]-[\w-]{8,}"
        r"|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,})"
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


def redact_words(
    words: Sequence[str], secrets: Iterable[str] = (), *, pairs: Container[str] = ()
) -> list[str]:
    """Return the words of a command, redacted one by one: a quoted secret may hold spaces.

    ``pairs`` are options whose NAME=VALUE is hidden, whatever the name.
    """
    known = tuple(secrets)
    shown, before = [], ""
    for word in words:
        option, equals, pair = word.partition("=")
        if equals and option in pairs:
            shown.append(f"{option}={pair.partition('=')[0]}={MASK}")
            continue
        if _hides_next(before, word):
            shown.append(MASK)
        elif (hidden := _value(word, before in pairs)) is not None:
            shown.append(word.removesuffix(hidden) + MASK)
        else:
            shown.append(redact(word, known))
        before = word
    return shown


def secrets_in(words: Sequence[str]) -> list[str]:
    """Return the values in a command that the name before them calls a secret."""
    found = []
    for before, word in zip(("", *words), words, strict=False):
        value = word if _hides_next(before, word) else _value(word)
        found += [value] if value else []
    return found


def _hides_next(before: str, word: str) -> bool:
    return bool(_IS_OPTION.fullmatch(before)) and not word.startswith("--")


def _value(word: str, hidden: bool = False) -> str | None:
    """Return the VALUE of NAME=VALUE where it is ``hidden`` or its name calls it a secret."""
    name, equals, value = word.partition("=")
    secret = hidden or _IS_OPTION.fullmatch(name) or _IS_VARIABLE.fullmatch(name)
    return value if equals and secret else None


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
