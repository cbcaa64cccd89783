"""From results to what the template shows: a value with sections, and no markup but the charts'."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.charts.files import drawings
from bench.charts.parts import caption
from bench.comparison import compare_two_targets
from bench.notices import plain
from bench.page.figure import Chart, chart
from bench.page.shown import ShownTable, shown_table
from bench.page.together import Together, letter, together
from bench.page.verdict import Statement, statements
from bench.render import report, tables, verdicts
from bench.render.tables import Table, Value
from bench.results import CellResult, Result

_CHARTS_OF: Mapping[str, tuple[str, ...]] = {
    "verdicts": ("compare",),
    "comparison": ("side-by-side", "cost-of-calls"),
    "setup": ("setup", "setup-after-boot", "sequence"),
    "calls": ("ecdf", "percentiles", "timeline"),
    "phases": ("calls", "calls-share", "small-multiples"),
    "ladder": ("ladder",),
}
"""Which charts stand under which table; a chart of no table stands after them."""


@dataclass(frozen=True)
class Topic:
    """A table with the charts that show the same."""

    id: str
    table: ShownTable | None
    charts: list[Chart]


@dataclass(frozen=True)
class Section:
    """One result. ``name`` is its file as the reader knows it."""

    id: str
    name: str
    caption: str
    statements: list[Statement]
    failures: list[str]
    findings: list[str]
    topics: list[Topic]
    made_by: str
    provenance: list[str]
    cells: ShownTable
    environment: ShownTable
    order: list[str]


@dataclass(frozen=True)
class Page:
    """Everything that the page shows, in its order."""

    title: str
    sections: list[Section]
    together: Together | None


def page(files: Sequence[tuple[str, Result]]) -> Page:
    """Return the page of some results, each with the name of its file. Draws all charts."""
    results = [_printable(result) for _, result in files]
    names = [plain(name) for name, _ in files]
    title = f"mcp-latency: {', '.join(names)}"
    several = len(files) > 1
    if several:
        names = [f"{letter(place)}: {name}" for place, name in enumerate(names)]
    sections = [
        _section(f"f{number}", name, result)
        for number, (name, result) in enumerate(zip(names, results, strict=True), 1)
    ]
    return Page(title, sections, together(names, results) if several else None)


def _printable(result: Result) -> Result:
    """Return a result whose names hold no character that XML or one line of text cannot."""

    def cell(old: CellResult) -> CellResult:
        fields = {k: plain(v) if isinstance(v, str) else v for k, v in old.fields.items()}
        return replace(old, name=plain(old.name), fields=fields)

    run = {k: plain(v) if isinstance(v, str) else v for k, v in result.run.items()}
    env = {k: plain(v) if isinstance(v, str) else v for k, v in result.environment.items()}
    return Result([cell(old) for old in result.cells], run, env)


def _section(id_: str, name: str, result: Result) -> Section:
    return Section(
        id=id_,
        name=name,
        caption=caption(result),
        statements=statements(result),
        failures=_lines(report.failures(result)),
        findings=_lines(report.findings(result)),
        topics=_topics(id_, result),
        made_by=str(result.run.get("command", "")),
        provenance=report.provenance(result),
        cells=shown_table(_cells_table(result), f"{id_}-cells"),
        environment=shown_table(_environment_table(result), f"{id_}-environment"),
        order=_order(result),
    )


def _lines(lines: Iterable[str]) -> list[str]:
    """Return lines of the terminal without the word (note, check, failed) that they begin with."""
    return [plain(line.partition(": ")[2]) for line in lines]


def _topics(id_: str, result: Result) -> list[Topic]:
    charts = {name: chart(f"{id_}-chart-{name}", draw()) for name, draw in drawings(result).items()}
    found = compare_two_targets(result)
    keyed = {} if found is None else {"verdicts": verdicts.verdict_table(found)}
    keyed |= {table.key: table for table in tables.all_tables(result)}
    topics = []
    for key, table in keyed.items():
        drawn = [charts.pop(name) for name in _CHARTS_OF.get(key, ()) if name in charts]
        topics.append(Topic(f"{id_}-{key}", shown_table(table, f"{id_}-{key}"), drawn))
    if charts:
        topics.append(Topic(f"{id_}-charts", None, list(charts.values())))
    return topics


def _cells_table(result: Result) -> Table:
    """Return what each cell is, so that every figure can be traced: its fields and amounts."""
    fields = dict.fromkeys(key for cell in result.cells for key, value in cell.fields.items())
    kept = [k for k in fields if any(c.fields.get(k) not in (None, "") for c in result.cells)]
    rows: list[dict[str, Value]] = []
    for cell in result.cells:
        row: dict[str, Value] = {key: cell.fields.get(key) for key in kept}
        facts = next((session.facts for session in cell.sessions), {})
        row |= {key: str(facts[key]) for key in ("agreed_revision", "server_info") if key in facts}
        amounts = {"finished": len(cell.sessions), "failed": len(cell.failures)}
        rows.append({"cell": cell.name, **amounts, "calls": cell.n_calls, **row})
    headings = {"cell": "cell", "finished": "sessions", "failed": "failed", "calls": "calls"}
    shown = {key: key.replace("_", " ") for key in (*kept, "agreed_revision", "server_info")}
    return Table("cells", "Cells", headings | shown, rows)


def _environment_table(result: Result) -> Table:
    made = {key: value for key, value in result.run.items() if key not in ("order", "command")}
    rows: list[dict[str, Value]] = [
        {"key": key.replace("_", " "), "value": None if value is None else str(value)}
        for key, value in (made | dict(result.environment)).items()
    ]
    columns = {"key": "what", "value": "value"}
    return Table("environment", "Run and environment", columns, rows)


def _order(result: Result) -> list[str]:
    """Return the cells of the finished sessions in the order in which they ran."""
    ran = [(session.position, cell.name) for cell in result.cells for session in cell.sessions]
    return [name for _, name in sorted(ran)]
