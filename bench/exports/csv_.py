"""CSV in long form: one line per value, durations in ns."""

from __future__ import annotations

from bench.exports.contents import Contents
from bench.render.formats import as_csv


def export(contents: Contents) -> str:
    """Return the tables of contents as CSV."""
    return as_csv(contents.tables)
