"""The Python interface: load a run, select from it, and take its figures further.

A :class:`Run` is a :class:`~bench.results.Result`, so whatever takes the one takes the other.
docs/python.md describes it; ``run_function.py`` measures.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bench import storage, tidy
from bench.errors import ResultFileError, SelectionError
from bench.render import html, tables
from bench.results import CellResult, Result, expect_result


class Records(list[dict[str, Any]]):
    """Flat dicts that share their keys; a table in a notebook. pandas and polars take it as is."""

    def __init__(
        self, records: Sequence[dict[str, Any]], title: str = "", notes: Sequence[str] = ()
    ) -> None:
        super().__init__(records)
        self.title = title
        self.notes = tuple(notes)

    def _repr_html_(self) -> str:
        return html.table(self, self.title, self.notes)


class Tables(dict[str, Records]):
    """The tables of a run by their keys, as ``mcp-latency show`` prints them."""

    def _repr_html_(self) -> str:
        return "".join(records._repr_html_() for records in self.values())


@dataclass(frozen=True, repr=False)
class Run(Result):
    """A result with ways to select from it and to take its figures elsewhere."""

    @classmethod
    def of(cls, result: Result) -> Run:
        """Return a result as a run."""
        return cls(result.cells, result.run, result.environment, result.source)

    def filter(self, **fields: object) -> Run:
        """Return the run with the cells whose fields have these values.

        Fields are those of a cell (``transport="http"``, ``handler=["noop", "echo"]``) and
        ``cell``, its name; several values are alternatives. Raises SelectionError naming the
        fields or values there are.
        """
        kept = list(self.cells)
        for field, wanted in fields.items():
            names = {cell.name for cell in _fitting(self.cells, field, wanted)}
            kept = [cell for cell in kept if cell.name in names]
        if not kept:
            given = ", ".join(f"{field}={wanted!r}" for field, wanted in fields.items())
            raise SelectionError(f"filter: no cell fits {given} together; cells are in run.cells")
        return replace(self, cells=kept)

    def table(self) -> Records:
        """Return one record per cell: its fields, counts, setup, mean and percentiles of calls."""
        return Records(tidy.cell_records(self), "Cells")

    def setup(self) -> Records:
        """Return one record per cell and phase of setup: means, which add up."""
        return Records(tidy.setup_records(self), "Setup, mean phases")

    def calls(self) -> Records:
        """Return one record per cell and phase of a call: means, which add up."""
        return Records(tidy.call_records(self), "Calls, mean phases")

    def samples(self) -> dict[str, NDArray[Any]]:
        """Return numpy columns with one row per successful call; see :func:`tidy.samples`."""
        return tidy.samples(self)

    def breakdown(self) -> Tables:
        """Return who is charged for what: setup, calls, phases, ladder, … as tables by key."""
        made = {}
        for table in tables.all_tables(self):
            rows = [
                {k: v for key in table.columns for k, v in tidy.flat(key, row.get(key)).items()}
                for row in table.rows
            ]
            made[table.key] = Records(tidy.with_all_keys(rows), table.title, table.notes)
        return Tables(made)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the run as a result file. Raises ResultFileError where that fails.

        It fails where a file is there already, unless ``force`` is given.
        """
        if not force and Path(path).exists():
            raise ResultFileError(f"{os.fspath(path)}: is there already; force=True overwrites it")
        storage.save(self, path)

    def __repr__(self) -> str:
        sessions = sum(len(cell.sessions) for cell in self.cells)
        return f"<Run {self.run.get('suite')}: {len(self.cells)} cells, {sessions} sessions>"

    def _repr_html_(self) -> str:
        return html.result(self, tidy.cell_records(self))


def breakdown(run: Result) -> Tables:
    """Return who is charged for what in a run; :meth:`Run.breakdown` of any result."""
    expect_result(run)
    return Run.of(run).breakdown()


def load(path: str | os.PathLike[str]) -> Run:
    """Return the run in a result file, or in the journal of one that was interrupted.

    Raises ResultFileError saying what is wrong with the file.
    """
    return Run.of(storage.load(path))


def _fitting(cells: Sequence[CellResult], field: str, wanted: object) -> list[CellResult]:
    """Return the cells that have one of the wanted values in a field.

    Values are compared as text, as ``--only`` does, so that 64 and "64" are the same payload.
    """
    fields = ["cell", *dict.fromkeys(name for cell in cells for name in cell.fields)]
    if field not in fields:
        raise SelectionError(f"filter: no field {field!r}; expected one of: {', '.join(fields)}")
    alternatives = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    values = [str(cell.name if field == "cell" else cell.fields.get(field)) for cell in cells]
    asked = [str(value) for value in alternatives]
    for value in asked:
        if value not in values:
            known = ", ".join(dict.fromkeys(values))
            raise SelectionError(f"filter: no cell has {field} {value!r}; there are: {known}")
    return [cell for cell, value in zip(cells, values, strict=True) if value in asked]
