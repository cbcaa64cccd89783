"""What proofs have found, read back: ``benchmarks/*.py --json FILE`` writes the file.

A proof is a result without cells: its lines are its data, and charts of it say where it is from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.api import Records
from bench.errors import ResultFileError
from bench.render import html
from bench.results import Result
from bench.stats import Estimate
from bench.tidy import with_all_keys


@dataclass(frozen=True)
class Ratio:
    """A compared figure of a proof, as ``bench.charts.compare`` takes it."""

    label: str
    ratio: Estimate | None
    verdict: str


@dataclass(frozen=True, repr=False)
class Proof(Result):
    """One proof: its lines with figure, bound and verdict (PASS, FAIL or None: information)."""

    name: str = ""
    title: str = ""
    verdict: str = ""
    lines: Records = field(default_factory=lambda: Records([]))
    ratios: tuple[Ratio, ...] = ()

    def judged(self) -> Records:
        """Return the lines that could have failed: what, found, verdict."""
        rows = [
            {"what": line["what"], "found": line["found"], "verdict": line["verdict"]}
            for line in self.lines
            if line["verdict"] is not None
        ]
        return Records(rows, self.title, [self.run["command"], self.run.get("amount", "")])

    def _repr_html_(self) -> str:
        judged = self.judged()
        return html.table(judged, judged.title, judged.notes)


def load(path: str | os.PathLike[str]) -> dict[str, Proof]:
    """Return the proofs in a file by name: the program and its words, ``coverage``.

    Raises ResultFileError where the file cannot be read or is another one.
    """
    file = Path(path)
    try:
        entries = json.loads(file.read_text("utf-8"))["proofs"]
        return {entry["proof"]: _proof(entry, str(file)) for entry in entries}
    except OSError as error:
        raise ResultFileError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ResultFileError(
            f"{file}: not a file of proofs ({error}); benchmarks/*.py --json FILE writes one"
        ) from None


def joined(*proofs: Proof) -> Proof:
    """Return several proofs as one; what differs between their machines is left out."""
    first = proofs[0]
    same = {
        key: value
        for key, value in first.environment.items()
        if all(proof.environment.get(key) == value for proof in proofs)
    }
    return replace(
        first,
        run={
            "proof": ", ".join(proof.name for proof in proofs),
            "created": min(proof.run["created"] for proof in proofs),
            "command": "; ".join(proof.run["command"] for proof in proofs),
        },
        environment=same,
        name=", ".join(proof.name for proof in proofs),
        title="; ".join(proof.title for proof in proofs),
        verdict="PASS" if all(proof.verdict == "PASS" for proof in proofs) else "FAIL",
        lines=Records(with_all_keys(line for proof in proofs for line in proof.lines)),
        ratios=tuple(ratio for proof in proofs for ratio in proof.ratios),
    )


def _proof(entry: Mapping[str, Any], source: str) -> Proof:
    run = {
        "proof": entry["proof"],
        "created": entry["created"],
        "amount": entry["amount"],
        "command": entry["command"],
    }
    rows = [
        _ratio(row, f"{line['what']} " if line["verdict"] else f"run {line['run']} ")
        for line in entry["lines"]
        for row in line.get("rows", ())
    ]
    plain = [{k: v for k, v in line.items() if k != "rows"} for line in entry["lines"]]
    return Proof(
        cells=(),
        run=run,
        environment=dict(entry["environment"]),
        source=source,
        name=entry["proof"],
        title=entry["title"],
        verdict=entry["verdict"],
        lines=Records(with_all_keys(plain), entry["title"]),
        ratios=tuple(rows),
    )


def _ratio(row: Mapping[str, Any], of: str) -> Ratio:
    known = row["ratio"] is not None
    ratio = Estimate(row["ratio"], row["low"], row["high"], 0, 0) if known else None
    return Ratio(f"{of}{row['row']}", ratio, row["verdict"])
