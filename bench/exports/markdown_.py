"""A summary for the page of a CI job: the verdict first, then the gates, then tables to unfold."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Sequence

from bench.comparison import Comparison
from bench.exports.contents import Contents
from bench.gates import Outcome, State
from bench.render import report, verdicts
from bench.render.formats import markdown, markdown_row
from bench.render.gate_lines import describe
from bench.render.units import counted
from bench.results import Result

LIMIT_BYTES = 1_000_000
"""GitHub shows no summary that is larger than 1 MiB."""
_SIGNS = {
    State.PASS: "✅ pass",
    State.FAIL: "❌ fail",
    State.STRADDLES: "⚠️ straddles",
    State.NOT_COMPARABLE: "⚪ not comparable",
    State.ERROR: "❗ error",
}


def export(contents: Contents) -> str:
    """Return the summary; tables that would make it too long to be shown are left out."""
    head = "\n".join(_head(contents))
    tables = _unfolding("Tables", markdown(contents.tables)) if contents.tables else ""
    tail = "".join(
        _unfolding(f"Provenance of {_escaped(name)}", report.markdown_provenance(result))
        for name, result in contents.results.items()
    )
    if len((head + tables + tail).encode()) > LIMIT_BYTES:
        tables = "\nThe tables are too long for this page; `--export csv` has them.\n"
    return head + "\n" + tables + tail


def _head(contents: Contents) -> Iterator[str]:
    yield f"## mcp-latency: {_verdict(contents)}"
    yield ""
    for comparison in contents.comparisons:
        yield from (f"- {_escaped(line)}" for line in verdicts.sentences(comparison))
        yield ""
    if contents.floors:
        yield from (f"- {_escaped(line)}" for line in contents.floors)
        yield ""
    if contents.outcomes:
        yield from _gates(contents.outcomes)
        yield ""


def _verdict(contents: Contents) -> str:
    if contents.outcomes:
        counts = Counter(outcome.state for outcome in contents.outcomes)
        said = ", ".join(f"{counts[state]} {_SIGNS[state]}" for state in State if counts[state])
        return f"gates: {said}"
    if contents.comparisons:
        return "; ".join(map(_of_comparison, contents.comparisons))
    return "; ".join(map(_of_result, contents.results.values()))


def _of_comparison(comparison: Comparison) -> str:
    counts = Counter(row.verdict for row in comparison.rows)
    said = ", ".join(f"{count} × {verdict}" for verdict, count in counts.items())
    return _escaped(f"{comparison.right} against {comparison.left}: {said or 'nothing compared'}")


def _of_result(result: Result) -> str:
    n_calls = sum(cell.n_calls for cell in result.cells)
    if not n_calls:
        return "no call succeeded, so there are no statistics"
    said = f"{counted(n_calls, 'call')} in {counted(len(result.cells), 'cell')}"
    failed = f", {counted(len(result.failures), 'session')} failed"
    return said + (failed if result.failures else "")


def _gates(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield markdown_row(["gate", "outcome", "found"])
    yield markdown_row([":--", ":--", ":--"])
    for outcome in outcomes:
        row = [f"`{outcome.gate.text}`", _SIGNS[outcome.state], _escaped(describe(outcome))]
        yield markdown_row(row)


def _unfolding(title: str, body: str) -> str:
    return f"\n<details><summary>{title}</summary>\n\n{body}\n</details>\n"


def _escaped(text: str) -> str:
    """Return a text in which nothing is taken for HTML, emphasis or the end of a line."""
    plain = html.escape(" ".join(text.split()), quote=False)
    return plain.replace("*", "\\*").replace("_", "\\_").replace("`", "\\`")
