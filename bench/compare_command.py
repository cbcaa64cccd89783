"""What ``mcp-latency compare`` does: files to comparisons, then their report and exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bench import comparison
from bench.cli import NOT_COMPARABLE
from bench.comparison import Comparison
from bench.errors import BenchError
from bench.render import formats, verdicts
from bench.results import Result
from bench.storage import load

DESIGNS_OF_TWO = ("ab", "aa")
"""Runs of two targets that differ in their name (and command) alone."""


def compare(files: Sequence[Path], options: Mapping[str, Any]) -> None:
    """Print comparisons; ends the program with its exit code."""
    found = comparisons(files, options)
    print_comparisons(found, options["format_"])
    if not any(one.comparable for one in found):
        raise click.exceptions.Exit(NOT_COMPARABLE)


def comparisons(files: Sequence[Path], options: Mapping[str, Any]) -> list[Comparison]:
    """Return the comparisons that the command line asks for."""
    threshold = options["threshold"] / 100
    if len(files) == 1:
        result = load(files[0])
        by = options["by"] or _by_design(result)
        if by is None:
            raise BenchError(
                f"{files[0]}: one file alone; give a second one, or --by FIELD (server, transport, "
                "client, revision, …) to compare cells of this one"
            )
        return comparison.compare_within(
            result, by, baseline=options["baseline"], threshold=threshold
        )
    for option in ("by", "baseline"):
        if options[option] is not None:
            raise BenchError(f"--{option} compares cells of one file; {len(files)} were given")
    first, *others = [(label, load(path)) for label, path in _labelled(files)]
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


def print_comparisons(found: Sequence[Comparison], format_: str = "text") -> None:
    """Print comparisons in one of the formats of tables."""
    tables = [verdicts.verdict_table(one) for one in found]
    if format_ == "json":
        fields = {"comparisons": [verdicts.as_fields(one) for one in found]}
        click.echo(formats.as_json([], fields), nl=False)
    elif format_ == "csv":
        click.echo(formats.as_csv(tables), nl=False)
    elif format_ == "markdown":
        for one, table in zip(found, tables, strict=True):
            lines = "".join(f"- {line}\n" for line in verdicts.sentences(one))
            click.echo(lines + "\n" + formats.markdown([table]))
    else:
        _print_text(found)


def _print_text(found: Sequence[Comparison]) -> None:
    from bench.render.report import make_console

    console = make_console()
    for one in found:
        formats.print_tables(console, [verdicts.verdict_table(one)])
        for line in verdicts.sentences(one):
            console.print(line, markup=False, soft_wrap=True)


def _by_design(result: Result) -> str | None:
    return "server" if result.run.get("design") in DESIGNS_OF_TWO else None


def _labelled(files: Sequence[Path]) -> list[tuple[str, Path]]:
    """Return each file under its short name, or under its whole path where short ones collide."""
    short = [path.name.removesuffix(".gz").removesuffix(".json") for path in files]
    whole = [str(path) for path in files]
    names = short if len(set(short)) == len(files) else whole
    if len(set(names)) < len(files):
        names = [f"{name} ({place})" for place, name in enumerate(names, start=1)]
    return list(zip(names, files, strict=True))
