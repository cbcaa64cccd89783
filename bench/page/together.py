"""Several results at once: the verdict on each against the first, and all side by side."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from bench import accounts, charts
from bench.comparison import compare
from bench.notices import plain
from bench.page.figure import Chart, chart
from bench.page.shown import ShownTable, shown_table
from bench.render import verdicts
from bench.render.tables import Table, Value
from bench.results import CellResult, Result


@dataclass(frozen=True)
class Compared:
    """One result against the first: the verdict in sentences, its table and its picture.

    Table and picture are None where no cell could be compared; the sentences then say why.
    """

    sentences: list[str]
    table: ShownTable | None = None
    chart: Chart | None = None


@dataclass(frozen=True)
class Together:
    """Several results at once: each against the first, then all side by side.

    ``base`` says what they are held against, where that is not plain from there being two. There is
    no overview where no two results have a cell in common.
    """

    base: str
    comparisons: list[Compared]
    overview: ShownTable | None


def together(names: Sequence[str], results: Sequence[Result]) -> Together:
    """Return what two results or more say together; names begin with their letters."""
    letters = [letter(place) for place in range(len(results))]
    first, *others = zip(letters, results, strict=True)
    base = f"All are compared with the first file, {letters[0]}." if len(others) > 1 else ""
    overview = None
    if _share_a_cell(results):
        table = _overview(names, letters, results)
        overview = shown_table(table, "together", otherwise="not in this file")
    return Together(base, [_compared(*first, *other) for other in others], overview)


def letter(place: int) -> str:
    """Return the short name of a file by its place: A for the first."""
    letters = string.ascii_uppercase
    return letters[place] if place < len(letters) else str(place + 1)


def _compared(left: str, base: Result, right: str, result: Result) -> Compared:
    if not _share_a_cell([base, result]):
        return Compared([f"{right} and {left} have no cell in common, so nothing is compared."])
    found = compare(base, result, labels=(left, right))
    if not found.rows:
        return Compared([plain(f"{right} against {left}: {found.counted}.")])
    sentences = [plain(line) for line in verdicts.sentences(found)]
    table = shown_table(verdicts.verdict_table(found), f"compared-{right}")
    return Compared(sentences, table, chart(f"compared-{right}-chart", charts.compare(found)))


def _share_a_cell(results: Sequence[Result]) -> bool:
    """Tell whether any cell is in two of the results or more."""
    names = [name for result in results for name in {cell.name for cell in result.cells}]
    return len(set(names)) < len(names)


def _overview(names: Sequence[str], letters: Sequence[str], results: Sequence[Result]) -> Table:
    """Return setup and median call of every cell that any of the results has."""
    cells = dict.fromkeys(cell.name for result in results for cell in result.cells)
    rows: list[dict[str, Value]] = [{"cell": name} for name in cells]
    for row in rows:
        for short, result in zip(letters, results, strict=True):
            cell = next((c for c in result.cells if c.name == row["cell"]), None)
            row |= _summary(short, cell) if cell is not None else {}
    columns = {"cell": "cell"}
    columns |= {f"{short}_setup_ns": f"setup {short}" for short in letters}
    columns |= {f"{short}_p50_ns": f"p50 {short}" for short in letters}
    notes = (
        ", ".join(names),
        "Setup is a mean, p50 the median call. The files are separate runs: an interval says how "
        "the sessions of one run differ, not how the machine has changed between two runs.",
    )
    return Table("together", "The files side by side", columns, rows, notes)


def _summary(short: str, cell: CellResult) -> dict[str, Value]:
    bill, calls = accounts.setup(cell), accounts.calls(cell)
    return {
        f"{short}_setup_ns": bill.total if bill is not None and bill.parts else None,
        f"{short}_p50_ns": calls.median if calls is not None else None,
    }
