"""JUnit XML: one test case per gate and cell; without gates one per compared row or shown cell.

A verdict alone fails nothing, as it does not fail the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from junitparser import Error, JUnitXml, Skipped, TestCase, TestSuite
from junitparser import Failure as Failed
from junitparser.junitparser import FinalResult

from bench.comparison import Verdict
from bench.exports.contents import Contents
from bench.gates import Outcome, State
from bench.render.gate_lines import describe
from bench.render.units import counted
from bench.render.verdicts import row_sentence
from bench.results import CellResult

SUITE = "mcp-latency"
_RESULTS = {
    State.FAIL: Failed,
    State.ERROR: Error,
    State.NOT_COMPARABLE: Skipped,
}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def export(contents: Contents) -> str:
    """Return contents as a document with one test suite."""
    suite = TestSuite(SUITE)
    suite.add_testcases(list(_cases(contents)))
    document = JUnitXml(SUITE)
    document.add_testsuite(suite)
    document.update_statistics()
    written: bytes = document.tostring()
    return written.decode() + "\n"


def _cases(contents: Contents) -> Iterator[TestCase]:
    if contents.outcomes:
        yield from map(_of_gate, contents.outcomes)
    elif contents.comparisons:
        for comparison in contents.comparisons:
            for row in comparison.rows:
                said = row_sentence(row)
                skipped = row.verdict is Verdict.NOT_COMPARABLE
                name = f"{row.subject}.{row.figure}, {comparison.right} against {comparison.left}"
                yield _case(row.cell, name, Skipped(_xml(said)) if skipped else said)
            for cell, why in comparison.excluded:
                yield _case(
                    cell, f"{comparison.right} against {comparison.left}", Skipped(_xml(why))
                )
    else:
        for result in contents.results.values():
            yield from map(_of_cell, result.cells)


def _of_gate(outcome: Outcome) -> TestCase:
    said = describe(outcome)
    made = _RESULTS.get(outcome.state)
    return _case(
        outcome.cell or "no cell", outcome.gate.text, said if made is None else made(_xml(said))
    )


def _of_cell(cell: CellResult) -> TestCase:
    causes = [f"round {f.round}, {f.phase}: {f.text}" for f in cell.failures]
    if not cell.n_calls:
        causes.insert(0, "no call succeeded")
    if causes:
        return _case(cell.name, "sessions", Error(_xml("; ".join(causes))))
    amount = f"{counted(len(cell.sessions), 'session')}, {counted(cell.n_calls, 'call')}"
    return _case(cell.name, "sessions", amount)


def _case(cell: str, name: str, said: str | FinalResult) -> TestCase:
    case = TestCase(_xml(name), _xml(cell), 0.0)
    if isinstance(said, str):
        case.system_out = _xml(said)
    else:
        case.result = said
    return case


def _xml(text: str) -> str:
    r"""Return a text without the characters that XML forbids: each is shown as ``\x1b``."""
    return _NOT_XML.sub(lambda match: f"\\x{ord(match.group()):02x}", text)
