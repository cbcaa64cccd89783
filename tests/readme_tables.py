"""The tables in Markdown pages are made from recorded results: ``python -m tests.readme_tables``.

A table stands between ``<!-- FILE: KEY -->`` and ``<!-- end -->``; FILE is in ``results/``.
"""

from __future__ import annotations

import re
from pathlib import Path

from bench import proofs, storage
from bench.comparison import compare_two_targets
from bench.render import formats, report, tables, verdicts

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "results" / "README.md")
BLOCK = re.compile(r"<!-- (\S+): (\S+) -->\n.*?<!-- end -->", re.DOTALL)


def refreshed(text: str) -> str:
    """Return a page with every table made anew from its result file."""

    def table(match: re.Match[str]) -> str:
        file, key = match.groups()
        if key == "proofs":
            return f"<!-- {file}: {key} -->\n{_proofs(ROOT / 'results' / file)}\n<!-- end -->"
        result = storage.load(ROOT / "results" / file)
        if key == "provenance":
            body = report.markdown_provenance(result).strip()
        elif key == "verdicts":
            found = compare_two_targets(result)
            assert found is not None
            said = "\n".join(f"- {line}" for line in verdicts.sentences(found))
            body = f"{said}\n\n{formats.markdown([verdicts.verdict_table(found)]).strip()}"
        else:
            made = {made.key: made for made in tables.all_tables(result)}
            body = formats.markdown([made[key]]).strip()
        return f"<!-- {file}: {key} -->\n{body}\n<!-- end -->"

    return BLOCK.sub(table, text)


def _proofs(file: Path) -> str:
    """Return a row per proof, and the machines that they ran on."""
    found = proofs.load(file).values()
    rows = [
        "| proof | command | amount | date | lines that pass |",
        "| :-- | :-- | :-- | :-- | --: |",
    ]
    for proof in found:
        judged = proof.judged()
        passed = sum(line["verdict"] == "PASS" for line in judged)
        run = proof.run
        about = [proof.title, f"`{run['command']}`", run["amount"], run["created"]]
        rows.append(f"| {' | '.join(about)} | {passed} of {len(judged)} |")
    machines = {", ".join(str(value) for value in proof.environment.values()) for proof in found}
    return "\n".join([*(f"- {machine}" for machine in sorted(machines)), "", *rows])


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refreshed(page.read_text("utf-8")), "utf-8")
