"""Strict JSON: no NaN and no infinity; what cannot be told is null, with the reason beside it."""

from __future__ import annotations

from bench.exports.contents import Contents
from bench.render.formats import as_json


def export(contents: Contents) -> str:
    """Return contents as one JSON object; comparisons stand in it once, without their tables."""
    return as_json([] if contents.comparisons else contents.tables, contents.fields())
