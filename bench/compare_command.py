"""What ``mcp-latency compare`` does: files to comparisons, then their report and exit code."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bench import comparison, conclusion, exports, gates, noise_floor
from bench.cli import NOT_COMPARABLE
from bench.comparison import Comparison
from bench.errors import BenchError
from bench.exports.contents import Contents
from bench.render import formats, verdicts
from bench.results import Result
from bench.storage import load


def compare(files: Sequence[Path], options: Mapping[str, Any]) -> None:
    """Print comparisons; ends the program with its exit code."""
    asked = conclusion.read(options, files, relative=True)
    results = load_all(files)
    found = comparisons(results, options)
    outcomes = gates.check_comparisons(found, asked.gates, strict=asked.strict)
    contents = Contents(results, found, outcomes, noise_floor.lines(results.values()))
    comparable = any(one.comparable for one in found)
    conclusion.conclude(
        asked,
        contents,
        lambda: print_comparisons(contents, asked.format),
        otherwise=0 if comparable else NOT_COMPARABLE,
    )


def load_all(files: Sequence[Path]) -> dict[str, Result]:
    """Return the results in files under their names."""
    return {label: load(path) for label, path in _labelled(files)}


def comparisons(results: Mapping[str, Result], options: Mapping[str, Any]) -> list[Comparison]:
    """Return the comparisons that the command line asks for."""
    threshold = options["threshold"] / 100
    if math.isnan(threshold):
        raise BenchError("--threshold: nan is no percentage; expected one from 0 to 100, like 2")
    first, *others = results.items()
    if not others:
        label, result = first
        by = options["by"] or comparison.field_of_design(result)
        if by is None:
            raise BenchError(
                f"{label}: one file alone; give a second one, or --by FIELD (server, transport, "
                "client, revision, …) to compare cells of this one"
            )
        return comparison.compare_within(
            result, by, baseline=options["baseline"], threshold=threshold
        )
    for option in ("by", "baseline"):
        if options[option] is not None:
            raise BenchError(f"--{option} compares cells of one file; {len(results)} were given")
    return [
        comparison.compare(
            first[1],
            result,
            labels=(first[0], label),
            threshold=threshold,
            anyway=options["anyway"],
        )
        for label, result in others
    ]


def print_comparisons(contents: Contents, format_: str = "text") -> None:
    """Print comparisons in one of the formats of tables."""
    if format_ == "markdown":
        for one, table in zip(contents.comparisons, contents.tables, strict=True):
            lines = [*verdicts.sentences(one), *contents.floors]
            listed = "".join(f"- {line}\n" for line in lines)
            click.echo(listed + "\n" + formats.markdown([table]))
    elif format_ == "text":
        print_text(contents.comparisons, contents.floors)
    else:
        click.echo(exports.text(format_, contents), nl=False)


def print_text(found: Sequence[Comparison], floors: Sequence[str] = ()) -> None:
    """Print comparisons on the terminal, and what the machine shows where there is nothing."""
    from bench.render.report import make_console

    console = make_console()
    for one in found:
        formats.print_tables(console, [verdicts.verdict_table(one)])
        for line in verdicts.sentences(one):
            console.print(line, markup=False, soft_wrap=True)
    for line in floors:
        console.print(line, markup=False, soft_wrap=True)


def _labelled(files: Sequence[Path]) -> list[tuple[str, Path]]:
    """Return each file under its short name, or under its whole path where short ones collide."""
    short = [path.name.removesuffix(".gz").removesuffix(".json") for path in files]
    whole = [str(path) for path in files]
    names = short if len(set(short)) == len(files) else whole
    if len(set(names)) < len(files):
        names = [f"{name} ({place})" for place, name in enumerate(names, start=1)]
    return list(zip(names, files, strict=True))
