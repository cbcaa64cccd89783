"""The command line: parse, call, print, exit code; no logic.

Exit codes: 0 all is well; 1 a gate failed; 2 something could not be done (bad input, a session that
failed, calls that all failed, a figure that cannot be told); 3 not comparable; 130 interrupted.
What was measured before is kept in every case.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from bench import __version__
from bench.errors import BenchError
from bench.publish import LIMIT_S
from bench.run_options import run_options

if TYPE_CHECKING:
    from bench.results import Result

GATE_FAILED = 1
FAILED = 2
NOT_COMPARABLE = 3
INTERRUPTED = 130

Decorated = TypeVar("Decorated", bound=Callable[..., object])


class Group(click.Group):
    """Prints the errors of the project as one sentence, never as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error of ours ends with exit code 2."""
        try:
            with reader_may_leave():
                value = super().invoke(ctx)
                sys.stdout.flush()
                return value
            ctx.exit(0)
        except BenchError as error:
            click.echo(f"mcp-latency: {error}", err=True)
            ctx.exit(FAILED)
        except KeyboardInterrupt:
            click.echo("mcp-latency: interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except OSError as error:
            _silence(sys.stdout)
            click.echo(
                f"mcp-latency: {error.filename or 'output'}: {error.strerror or error}", err=True
            )
            ctx.exit(FAILED)


@contextlib.contextmanager
def reader_may_leave() -> Iterator[None]:
    """Go on where the reader of our output has left (a pager, head): that is no fault."""
    try:
        yield
    except BrokenPipeError:
        _silence(sys.stdout)


def _silence(stream: TextIO) -> None:
    """Let what is still buffered for a stream that cannot be written go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def report_options(example: str) -> Callable[[Decorated], Decorated]:
    """Add the options for the format of a report, for gates and for exports to a command."""
    options = (
        click.option(
            "--format",
            "format_",
            type=click.Choice(["text", "markdown", "json", "csv"]),
            default="text",
            show_default=True,
        ),
        click.option(
            "--fail-if",
            multiple=True,
            metavar="GATE",
            help=f"Exit 1 if this holds, like '{example}' or 'stdio/*: {example}'; repeatable.",
        ),
        click.option("--strict", is_flag=True, help="A gate that its interval straddles fails."),
        click.option(
            "--export",
            multiple=True,
            metavar="FORMAT=PATH",
            help="Write markdown, github, junit, hdr, csv or json; - is stdout; repeatable.",
        ),
    )

    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


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
@report_options("call.p50 > 3ms")
def show(file: Path, **options: Any) -> None:
    """Print the tables of a result FILE.

    Exit codes: 0 every gate passes; 1 one fails; 2 something cannot be done or told.
    """
    from bench import show_command

    show_command.show(file, options)


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
@click.option("--dark", is_flag=True, help="For a dark page.")
def plot(file: Path, folder: Path | None, format_: str, log: bool, dark: bool) -> None:
    """Draw the charts of a result FILE."""
    from bench import charts
    from bench.storage import load

    result = load(file)
    target = folder or file.with_name(
        file.name.removesuffix(".gz").removesuffix(".json") + "-charts"
    )
    try:
        with charts.style(dark=dark):
            drawn = charts.save_all(result, target, format_=format_, log=log)
    except OSError as error:
        raise BenchError(f"{target}: charts cannot be written: {error.strerror}") from None
    for path in drawn:
        click.echo(f"chart: {path}")


@cli.command("report")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The page, a name in .html or .htm (default: beside FILE).",
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
@report_options("call.p99 > +10%")
def compare(files: Sequence[Path], **options: Any) -> None:
    """Compare result FILES with the first of them, or the cells of one FILE.

    Exit codes: 0 every gate passes; 1 one fails; 2 something cannot be done or told; 3 a gate meets
    what is not comparable, or nothing at all is.
    """
    from bench import compare_command

    compare_command.compare(files, options)


@cli.command()
@click.argument("notebooks", nargs=-1, required=True, metavar="NOTEBOOK|all")
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR"
)
@click.option(
    "--time-limit",
    "limit_s",
    type=click.FloatRange(0, min_open=True),
    default=LIMIT_S,
    show_default=True,
    metavar="SECONDS",
    help="For each notebook.",
)
def publish(notebooks: Sequence[str], folder: Path, limit_s: float) -> None:
    """Execute notebooks; write pages, and every figure as SVG, PNG and PDF, listed in figures.json.

    all stands for the notebooks in the folder notebooks. Pages need no network.
    """
    from bench import publish as publishing

    for page, notes in publishing.publish(notebooks, folder, limit_s=limit_s):
        click.echo(f"page: {page}")
        for note in notes:
            click.echo(f"mcp-latency: {note}", err=True)


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
    from bench.render.units import counted
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
    click.echo(f"{output}: {counted(sessions, 'session')} recovered")


def _refuse_without_calls(file: Path, result: Result) -> None:
    if not any(cell.n_calls for cell in result.cells):
        raise BenchError(f"{file}: no call succeeded, so there are no statistics")
