"""From the flags of ``mcp-latency run`` to what is measured: a suite, its size, its goal, CPUs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bench import suite as suites
from bench.adaptive import DEFAULT_FIGURE, Goal, parse_duration, parse_figure, parse_precision
from bench.ask import cell_of, sized
from bench.errors import SuiteError
from bench.measure import parse_arguments
from bench.plan import INTERLEAVED
from bench.protocol.revisions import AUTO, REVISIONS
from bench.suite import AA, AB, SUITE, Cell, Suite
from bench.suite_file import load_suite
from bench.target import Target, checked_headers, parse_pairs, reach

DEFAULT_SUITE = "bill"
_TARGETS = ("command", "url", "ab", "aa")
_ONLY_WITH_TARGET = (
    "tool", "arguments", "name", "names", "inherit_environ", "copy_env", "marks", "transport",
    "client", "headers",
)  # fmt: skip


def suite_of(name: str | None, flags: Mapping[str, Any]) -> Suite:
    """Return what the flags ask for, checked: a suite, a target, or two to be compared."""
    return _sized(suites.only(_suite(name, flags), flags["only"]), flags)


def goal_of(flags: Mapping[str, Any], suite: Suite) -> Goal | None:
    """Return what the run is to go on for; None where its sessions are planned."""
    if flags["precision_of"] is not None and flags["precision"] is None:
        raise SuiteError("--precision-of needs --precision, how narrow the figure is to be")
    if not _goes_on(flags):
        return None
    if flags["order"] != INTERLEAVED:
        raise SuiteError(
            f"--order {flags['order']} needs a number of sessions: leave out --precision and "
            "--budget, which add rounds"
        )
    precision, of, budget = flags["precision"], flags["precision_of"], flags["budget"]
    return Goal(
        None if precision is None else parse_precision(precision),
        *parse_figure(DEFAULT_FIGURE if of is None else of, "--precision-of"),
        None if budget is None else parse_duration(budget),
        suite.sessions,
    )


def _goes_on(flags: Mapping[str, Any]) -> bool:
    return flags["precision"] is not None or flags["budget"] is not None


def _suite(name: str | None, flags: Mapping[str, Any]) -> Suite:
    given = [option for option in _TARGETS if flags[option] not in (None, False)]
    if name is not None and given:
        raise SuiteError(
            f"give either the suite {name!r} or {' and '.join(_options(given))}, not both"
        )
    _refuse_contradictions(flags)
    if given:
        return _ad_hoc(flags)
    suite = load_suite(name or DEFAULT_SUITE)
    if flags["revision"]:
        if flags["revision"] not in (*REVISIONS, AUTO):
            raise SuiteError(
                f"--revision: no revision {flags['revision']!r}; "
                f"expected one of: {', '.join(REVISIONS)}, {AUTO}"
            )
        cells = tuple(replace(cell, revision=flags["revision"]) for cell in suite.cells)
        suite = replace(suite, cells=cells)
    return suite


def _refuse_contradictions(flags: Mapping[str, Any]) -> None:
    alone = flags["command"] is not None or flags["url"] is not None
    given = _options(option for option in _ONLY_WITH_TARGET if flags[option])
    if flags["aa"] and not alone:
        raise SuiteError("--aa needs --command or --url, the target to be compared with itself")
    if flags["ab"] and (alone or flags["aa"]):
        raise SuiteError("--ab names both of its targets; leave out --command, --url and --aa")
    if flags["only"] and (flags["ab"] or flags["aa"]):
        raise SuiteError("--only picks cells of a suite; --ab and --aa need both of theirs")
    if not alone and not flags["ab"] and (given or flags["variables"]):
        raise SuiteError(f"{', '.join(given) or '--env'} needs --command, --url or --ab")
    if flags["names"] is not None and not (flags["ab"] or flags["aa"]):
        raise SuiteError("--names is for the two of --ab or --aa; --name names one target")
    if flags["name"] and (flags["ab"] or flags["names"] is not None):
        raise SuiteError("--name is for one target; --names A,B names the two of --ab or --aa")


def _ad_hoc(flags: Mapping[str, Any]) -> Suite:
    if not flags["tool"]:
        raise SuiteError("--command, --url and --ab need --tool, the name of the tool to call")
    targets = _targets(flags)
    cells = [_cell(target, flags) for target in targets]
    if len({cell.transport for cell in cells}) > 1:
        raise SuiteError(
            "--ab: one is a command and one a URL; expected two of a kind, which differ in the "
            "server alone"
        )
    names = tuple(target.name for target in targets)
    design = AB if flags["ab"] else AA if flags["aa"] else SUITE
    return Suite(
        "-vs-".join(names),
        suites.with_unmarked_twins(cells) if flags["marks"] else tuple(cells),
        design=design,
        names=() if design == SUITE else names,
    )


def _targets(flags: Mapping[str, Any]) -> list[Target]:
    """Return the target of the flags, or the two of --ab or --aa."""
    places = [(flags["command"], flags["url"])]
    names: tuple[str | None, ...] = (flags["name"],)
    if flags["ab"]:
        places = [(None, one) if _is_url(one) else (one, None) for one in flags["ab"]]
        names = _two_names("A,B" if flags["names"] is None else flags["names"])
    elif flags["aa"]:
        places, name = places * 2, flags["name"] or "A"
        names = _two_names(f"{name},{name}2" if flags["names"] is None else flags["names"])
    inherited = [n.strip() for n in (flags["inherit_environ"] or "").split(",") if n.strip()]
    if flags["copy_env"]:
        inherited = list(os.environ)
    return [
        replace(
            reach(command, url, name),
            inherited=tuple(inherited),
            passed=parse_pairs(flags["variables"], "--env"),
            headers=checked_headers(parse_pairs(flags["headers"], "--header")),
        )
        for (command, url), name in zip(places, names, strict=True)
    ]


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _two_names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    sound = all(re.fullmatch(r"[A-Za-z0-9_.@-]+", name) for name in names)
    if len(names) != 2 or names[0] == names[1] or not sound:
        raise SuiteError(
            f"--names: {text!r} are no names; expected two that differ, of letters, digits and "
            "_.@-, like old,new"
        )
    return names


def _cell(target: Target, flags: Mapping[str, Any]) -> Cell:
    try:
        arguments = parse_arguments(flags["arguments"]) if flags["arguments"] else {}
    except ValueError as error:
        raise SuiteError(f"--arguments: {error}") from None
    return cell_of(
        target,
        flags["tool"],
        arguments,
        transport=flags["transport"],
        client=flags["client"],
        revision=flags["revision"],
        reopen=flags["reopen"],
    )


def _options(names: Iterable[str]) -> list[str]:
    return [f"--{name.replace('_', '-')}" for name in names]


def _sized(suite: Suite, flags: Mapping[str, Any]) -> Suite:
    """Apply the flags that change how much is measured; what is given by number wins."""
    amounts = {
        "sessions": flags["sessions"],
        "calls": flags["calls"],
        "warmups": flags["warmups"],
        "pause_s": flags["pause"],
        "timeout_s": flags["timeout"],
        "close_grace_s": flags["close_grace"],
        "strict": flags["strict"],
        "order": flags["order"],
        "probe_version": flags["probe_version"],
    }
    fast, rigorous = flags["fast"], flags["rigorous"]
    suite = sized(suite, amounts, fast=fast, rigorous=rigorous, goes_on=_goes_on(flags))
    return suites.without_marks(suite) if flags["no_marks"] else suite


def cpus_of(text: str | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the CPUs of the client and those of the server; none are not pinned."""
    if text is None:
        return (), ()
    if not hasattr(os, "sched_setaffinity"):
        raise SuiteError("--affinity: this system cannot pin processes to CPUs")
    client, colon, server = text.partition(":")
    return _cpus(client), _cpus(server if colon else client)


def _cpus(text: str) -> tuple[int, ...]:
    available = os.sched_getaffinity(0)
    cpus: set[int] = set()
    for part in text.split(","):
        numbers = part.split("-")
        if len(numbers) > 2 or not all(re.fullmatch(r"[0-9]{1,6}", number) for number in numbers):
            raise SuiteError(f"--affinity: {part!r} is no CPU; expected a list like 0,2 or 0-1")
        first, last = int(numbers[0]), int(numbers[-1])
        if first > last:
            raise SuiteError(f"--affinity: {part!r} runs backwards; expected {last}-{first}")
        cpus.update(range(first, last + 1))
    if missing := sorted(cpus - available):
        there = ", ".join(map(str, sorted(available)))
        raise SuiteError(f"--affinity: no CPU {missing[0]} here; expected some of {there}")
    return tuple(sorted(cpus))
