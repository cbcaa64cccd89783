"""The options of ``mcp-latency run``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bench.plan import INTERLEAVED, ORDERS

OPTIONS = (
    click.option(
        "-o", "--output", type=click.Path(path_type=Path), help="Result file (.json or .json.gz)."
    ),
    click.option("--force", is_flag=True, help="Overwrite an existing result file."),
    click.option(
        "-p",
        "--processes",
        "--sessions",
        "sessions",
        type=click.IntRange(1),
        metavar="N",
        help="Sessions per cell, each in a fresh process.",
    ),
    click.option(
        "-n",
        "--values",
        "--calls",
        "calls",
        type=click.IntRange(1),
        metavar="N",
        help="Measured calls per session.",
    ),
    click.option(
        "-w",
        "--warmups",
        "--warmup",
        "warmups",
        type=click.IntRange(0),
        metavar="N",
        help="Calls before them, not in the statistics.",
    ),
    click.option(
        "--pause",
        type=click.FloatRange(0, 86_400),
        metavar="SECONDS",
        help="Wait that long between calls, outside the clock (default 0).",
    ),
    click.option("--fast", is_flag=True, help="Few sessions: a rough answer quickly."),
    click.option("--rigorous", is_flag=True, help="Many sessions: narrow intervals."),
    click.option(
        "--precision",
        metavar="PERCENT",
        help="Add rounds until the interval of every cell is ± this narrow, like 2%.",
    ),
    click.option(
        "--precision-of",
        metavar="WHAT.FIGURE",
        help="The figure that is to be so precise, like call.p99 or setup.mean (default call.p50).",
    ),
    click.option(
        "--budget",
        metavar="TIME",
        help="Add rounds as long as they fit in this time, like 30s, 10m or 1h.",
    ),
    click.option(
        "--order",
        type=click.Choice(ORDERS),
        default=INTERLEAVED,
        help="blocked runs one cell after the other, to show what drift then does.",
    ),
    click.option(
        "--seed", type=int, help="Seed of the order of sessions (default: drawn, recorded)."
    ),
    click.option(
        "--affinity",
        metavar="CPUS[:CPUS]",
        help="Pin to CPUs, like 0 or 0-1; with a colon, client and server apart.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(0.001, 86_400),
        metavar="SECONDS",
        help="Limit of each phase and each call (default 30).",
    ),
    click.option(
        "--close-grace",
        type=click.FloatRange(0.001, 86_400),
        metavar="SECONDS",
        help="How long a server may take to leave before TERM, then KILL (default 2).",
    ),
    click.option("--no-marks", is_flag=True, help="Measure without marks inside the servers."),
    click.option("--marks", is_flag=True, help="With --command: also measure what the marks cost."),
    click.option("--strict", is_flag=True, help="Text on the server's stdout fails the session."),
    click.option(
        "--probe-version",
        is_flag=True,
        help="Also ask each server, apart, for a revision that never was (thin client, handshake).",
    ),
    click.option(
        "--only",
        multiple=True,
        metavar="FIELD=VALUE,…",
        help="Only the cells of the suite that fit.",
    ),
    click.option("--command", metavar="COMMAND", help="Measure this server instead of a suite."),
    click.option(
        "--ab",
        nargs=2,
        metavar="A B",
        help="Measure two servers interleaved, each a command or a URL, and compare them.",
    ),
    click.option(
        "--aa",
        is_flag=True,
        help="With --command or --url: the same server under two names, for the noise floor.",
    ),
    click.option("--names", metavar="A,B", help="What to call the two of --ab or --aa in results."),
    click.option(
        "--url",
        help="Measure the server at this URL; with --command it is started there first, at {port}.",
    ),
    click.option("--transport", help="With --command or --url: stdio, http, sse or rest."),
    click.option(
        "--client", help="With --command or --url: raw, or a client library: sdk, fastmcp."
    ),
    click.option(
        "--reopen",
        type=click.Choice(["nothing", "connection", "session"]),
        default="nothing",
        help="What each call over http opens anew.",
    ),
    click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="NAME=VALUE",
        help="A header of each HTTP request; its value is never shown.",
    ),
    click.option("--name", help="What to call it in results."),
    click.option("--tool", help="The tool to call (with --command)."),
    click.option("--arguments", metavar="JSON", help="Its arguments, a JSON object."),
    click.option("--revision", help="Protocol revision to offer."),
    click.option(
        "--inherit-environ", metavar="VARS", help="Variables the server inherits, by comma."
    ),
    click.option("--copy-env", is_flag=True, help="The server inherits the whole environment."),
    click.option(
        "--env",
        "variables",
        multiple=True,
        metavar="NAME=VALUE",
        help="A variable for the server; its value is never shown.",
    ),
    click.option(
        "--trace",
        type=click.Path(path_type=Path),
        help="Write the wire to a file, as -> and <- lines.",
    ),
    click.option("--dry-run", is_flag=True, help="Print the order of sessions and stop."),
    click.option("-q", "--quiet", is_flag=True, help="No progress."),
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a run, in the order in which ``--help`` shows them."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
