"""What ``mcp-latency show`` does: a file to tables, then gates, exports and the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bench import conclusion, exports, gates
from bench.cli import FAILED
from bench.exports.contents import Contents
from bench.render import formats, report
from bench.storage import load


def show(file: Path, options: Mapping[str, Any]) -> None:
    """Print the tables of a result; ends the program with its exit code."""
    asked = conclusion.read(options, [file], relative=False)
    result = load(file)
    outcomes = gates.check_result(result, asked.gates, strict=asked.strict)
    contents = Contents({file.name: result}, outcomes=outcomes)
    silent = not any(cell.n_calls for cell in result.cells)
    if silent:
        click.echo(f"mcp-latency: {file}: no call succeeded, so there are no statistics", err=True)
    conclusion.conclude(
        asked,
        contents,
        lambda: print_result(contents, asked.format),
        otherwise=FAILED if silent else 0,
    )


def print_result(contents: Contents, format_: str) -> None:
    """Print a result in one of the formats of tables."""
    (result,) = contents.results.values()
    if format_ == "text":
        report.print_report(result, contents.tables)
    elif format_ == "markdown":
        click.echo(formats.markdown(contents.tables) + report.markdown_provenance(result))
    else:
        click.echo(exports.text(format_, contents), nl=False)
