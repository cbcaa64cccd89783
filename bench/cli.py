"""The command line: parse, call, print, exit code; no logic.

Exit codes: 0 all is well; 2 something could not be done (bad input, a session that failed, calls
that all failed); 3 nothing was comparable; 130 interrupted. What was measured before is kept in
every case.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from bench import __version__
from bench.errors import BenchError
from bench.run_options import run_options

if TYPE_CHECKING:
    from bench.results import Result

FAILED = 2
NOT_COMPARABLE = 3
INTERRUPTED = 130


class Group(click.Group):
    """Prints the errors of the project as one sentence, never as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error of ours ends with exit code 2."""
        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
            return value
        except BenchError as error:
            click.echo(f"mcp-latency: {error}", err=True)
            ctx.exit(FAILED)
        except KeyboardInterrupt:
            click.echo("mcp-latency: interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            # The reader of our output has left (a pager, head): that is no fault.
            _silence(sys.stdout)
            ctx.exit(0)
        except OSError as error:
            _silence(sys.stdout)
            click.echo(
                f"mcp-latency: {error.filename or 'output'}: {error.strerror or error}", err=True
            )
            ctx.exit(FAILED)


def _silence(stream: TextIO) -> None:
    """Let what is still buffered for a stream that cannot be written go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mcp-latency")
def cli() -> None:
    """Where the milliseconds of a Model Context Protocol session go."""


@cli.command()
@click.argument("suite", required=False)
@run_options
def run(suite: str | None, output: Path | None, **options: Any) -> None:
    """Measure SUITE (a shipped one or a .toml file; default: bill), or --command."""
    from bench import run_command

    run_command.run(suite, output, options)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json", "csv"]),
    default="text",
    show_default=True,
)
def show(file: Path, format_: str) -> None:
    """Print the tables of a result FILE."""
    from bench.storage import load

    result = load(file)
    _print_result(result, format_)
    _refuse_without_calls(file, result)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder for the charts (default: beside FILE).",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["svg", "png", "pdf"]),
    default="svg",
    show_default=True,
)
@click.option("--log", is_flag=True, help="Logarithmic axis for the setup waterfall.")
def plot(file: Path, folder: Path | None, format_: str, log: bool) -> None:
    """Draw the charts of a result FILE."""
    from bench import charts
    from bench.storage import load

    result = load(file)
    target = folder or file.with_name(
        file.name.removesuffix(".gz").removesuffix(".json") + "-charts"
    )
    try:
        target.mkdir(parents=True, exist_ok=True)
        drawn = charts.save_all(result, target, format_=format_, log=log)
    except OSError as error:
        raise BenchError(f"{target}: charts cannot be written: {error.strerror}") from None
    for path in drawn:
        click.echo(f"chart: {path}")


@cli.command("report")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The page (default: beside FILE)."
)
def make_page(files: Sequence[Path], output: Path | None) -> None:
    """Make one HTML page of result FILES: verdict, tables, charts, method. It needs no network."""
    from bench.page import write_page

    page, results = write_page(files, output)
    click.echo(f"page: {page}")
    for file, result in zip(files, results, strict=True):
        _refuse_without_calls(file, result)


@cli.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by", metavar="FIELD", help="Compare cells of one FILE that differ in this field.")
@click.option("--baseline", metavar="VALUE", help="With --by: the value that others are held to.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 100),
    default=2.0,
    show_default=True,
    metavar="PERCENT",
    help="A smaller difference is none to act on.",
)
@click.option("--anyway", is_flag=True, help="Judge also across hosts and versions; warn only.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json", "csv"]),
    default="text",
    show_default=True,
)
def compare(files: Sequence[Path], **options: Any) -> None:
    """Compare result FILES with the first of them, or the cells of one FILE."""
    from bench import compare_command

    compare_command.compare(files, options)


@cli.command()
def suites() -> None:
    """List the shipped suites and their cells."""
    from bench.suite_file import load_suite, shipped_suites

    for name in shipped_suites():
        suite = load_suite(name)
        click.echo(f"{name}: {suite.description}")
        for cell in suite.cells:
            click.echo(f"  {cell.name}")


@cli.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--tickets",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Size of the ticket service's database.",
)
def serve(name: str, arguments: Sequence[str], tickets: int) -> None:
    """Run the shipped server NAME by hand: on this terminal, or over HTTP with --port N."""
    from bench.target import served_by_hand, ticket_environment

    argv = served_by_hand(name, arguments)
    environment = {**os.environ, **ticket_environment(tickets)}
    os.execvpe(argv[0], argv, environment)


@cli.command()
def doctor() -> None:
    """Say what makes timings on this machine unsteady, and what the harness itself costs."""
    from rich.console import Console

    from bench import doctor as checks

    checks.print_report(Console())


@cli.command()
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
@click.option("--force", is_flag=True, help="Overwrite an existing result file.")
def recover(journal: Path, output: Path, force: bool) -> None:
    """Turn the JOURNAL of a run that was killed into a result file."""
    from bench.journal import unread_bytes
    from bench.storage import load, save

    if output.exists() and not force:
        raise BenchError(f"{output}: is there already; --force overwrites it")
    result = load(journal)
    save(result, output)
    if lost := unread_bytes(journal):
        click.echo(
            f"mcp-latency: {journal}: its last {lost} bytes are damaged and were left out", err=True
        )
    sessions = sum(len(cell.sessions) for cell in result.cells)
    click.echo(f"{output}: {sessions} sessions recovered")


def _refuse_without_calls(file: Path, result: Result) -> None:
    if not any(cell.n_calls for cell in result.cells):
        raise BenchError(f"{file}: no call succeeded, so there are no statistics")


def _print_result(result: Result, format_: str) -> None:
    from bench.render import formats, report, tables

    made = tables.all_tables(result)
    if format_ == "text":
        report.print_report(result, made)
    elif format_ == "markdown":
        click.echo(formats.markdown(made) + report.markdown_provenance(result))
    elif format_ == "json":
        click.echo(formats.as_json(made, report.as_fields(result)), nl=False)
    else:
        click.echo(formats.as_csv(made), nl=False)
