"""Suites over several transports: which cells they make, which combinations do not exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench import prepare, suite
from bench.arms import ARMS
from bench.errors import SuiteError
from bench.suite_file import load_suite, parse_suite, shipped_suites
from bench.target import checked_headers, parse_pairs, reach


def names(text: str) -> list[str]:
    return [cell.name for cell in parse_suite(text, "s.toml", "s").cells]


def test_the_transports_suite_has_every_transport_with_two_handlers() -> None:
    cells = load_suite("transports").cells
    assert {cell.transport for cell in cells} == {transport for transport, _ in ARMS}
    for transport in {cell.transport for cell in cells} - {"pipe"}:
        handlers = {cell.handler for cell in cells if cell.transport == transport}
        assert handlers == {"noop", "search_tickets"}


def test_the_clients_suite_has_every_client_of_stdio_and_http() -> None:
    cells = load_suite("clients").cells
    asked = {(c.transport, c.client) for c in cells}
    assert asked == {arm for arm in ARMS if arm[0] in ("stdio", "http")}


def test_the_eras_suite_has_every_revision_and_the_search_for_it() -> None:
    revisions = {cell.revision for cell in load_suite("eras").cells}
    assert len(revisions) == 6
    assert "auto" in revisions


@pytest.mark.parametrize("name", shipped_suites())
def test_cells_of_shipped_suites_have_names_of_their_own(name: str) -> None:
    cells = [cell.name for cell in load_suite(name).cells]
    assert len(set(cells)) == len(cells)


def test_names_say_how_http_is_used() -> None:
    text = '[[cell]]\ntransport = "http"\nserver = "minimal"\nmarks = true\n'
    text += 'answers = ["json", "sse"]\nreopen = ["nothing", "session"]\ntls = true\n'
    assert [name for name in names(text) if "no-marks" not in name] == [
        "http/minimal/noop/tls",
        "http/minimal/noop/new-session/tls",
        "http/minimal/noop/event-stream/tls",
        "http/minimal/noop/event-stream/new-session/tls",
    ]


def test_filters_keep_the_cells_that_fit_one_of_them() -> None:
    whole = load_suite("transports")
    kept = suite.only(whole, ["transport=stdio,client=sdk", "transport=lsp"]).cells
    assert {(cell.transport, cell.client) for cell in kept} == {("stdio", "sdk"), ("lsp", "raw")}


@pytest.mark.parametrize(
    ("text", "message"),
    [("colour=red", "is no filter"), ("transport", "is no filter"), ("transport=tcp", "no cell")],
)
def test_a_filter_that_fits_nothing_is_said(text: str, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        suite.only(load_suite("transports"), [text])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('transport = "tcp"\nserver = "minimal"', "has no transport 'tcp'"),
        ('transport = "stdio"\nserver = "grpcio"', "has no transport 'stdio'; it has: grpc"),
        ('transport = "sse"\nrevision = "2026-07-28"', "opens with a handshake"),
        ('transport = "stdio"\nclient = "curl"', "has no client 'curl'; it has: raw, sdk, fastmcp"),
        ('transport = "http"\nreopen = "socket"', "expected one of: nothing, connection, session"),
        ('transport = "stdio"\ntls = true', "only for cells over HTTP"),
        ('transport = "http"\nanswers = "xml"', "answers is 'xml'; expected one of: json, sse"),
        (
            'transport = "http"\nreopen = "session"\nrevision = "2026-07-28"',
            "no sessions to open anew",
        ),
        ('transport = "http"\nclient = "sdk"\nrevision = "2025-06-18"', "cannot be told to offer"),
        ('url = "ftp://x"\ntool = "a"', "is no URL of a server"),
        ('url = "http://h/mcp"\ntls = true', "a URL is measured as it is"),
        ('url = "http://h/mcp"\nsocket = "unix"', "needs {socket} in the command"),
        ('url = "http://h/mcp"\ntransport = "stdio"', "transport 'stdio' has no URL"),
        ('url = "http://h/mcp"\ntransport = "memory"', "is for the shipped tools alone"),
        ('command = "x"\ntransport = "http"', "transport 'http' needs a URL"),
        ('command = "x"\ntransport = "inproc"', "is for the shipped tools alone"),
        ('url = "http://h/mcp"\nclient = "sdk"\nheaders = {a = "b"}', "for the raw client"),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_runs(text: str, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        parse_suite(f"[[cell]]\n{text}\n", "s.toml", "s")


def test_a_cell_whose_part_is_missing_is_skipped_with_the_command_that_installs_it() -> None:
    whole = load_suite("transports")
    missing = "grpc is not installed; install with: pip install '.[grpc]'"
    cells = tuple(
        replace(cell, target=replace(cell.target, missing=missing))
        if cell.transport == "grpc"
        else replace(cell, target=replace(cell.target, missing=None))
        for cell in whole.cells
    )
    kept, lines = prepare.without_missing(replace(whole, cells=cells))
    assert len(kept.cells) == len(whole.cells) - 2
    assert lines == [
        f"skipped: grpc/grpcio/{tool}: {missing}" for tool in ("noop", "search_tickets")
    ]


def test_a_suite_of_missing_parts_alone_says_what_to_install() -> None:
    whole = suite.only(load_suite("transports"), ["transport=lsp"])
    cells = tuple(
        replace(cell, target=replace(cell.target, missing="pygls is not installed"))
        for cell in whole.cells
    )
    with pytest.raises(SuiteError, match="pygls is not installed"):
        prepare.without_missing(replace(whole, cells=cells))


def test_header_values_are_secrets() -> None:
    target = replace(reach(None, "http://h:1/mcp", None), headers={"X": "token-1"})
    assert "token-1" in target.secrets


@pytest.mark.parametrize("url", ["http://u:hunter2hunter2@h:1/mcp", "http://h:{port}/mcp"])
def test_a_url_that_would_not_be_used_as_given_is_refused(url: str) -> None:
    with pytest.raises(SuiteError, match="in a URL") as refused:
        reach(None, url, None)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("pairs", [["Authorization: Bearer hunter2"], ["=hunter2"]])
def test_a_pair_that_cannot_be_read_is_refused_without_showing_it(pairs: list[str]) -> None:
    with pytest.raises(SuiteError, match="--header, the one in place 1") as refused:
        parse_pairs(pairs, "--header")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("headers", [{"a b": "hunter2"}, {"X": "hunter2\n"}, {"X": "☃hunter2"}])
def test_a_header_that_cannot_be_sent_is_refused_without_showing_it(
    headers: dict[str, str],
) -> None:
    with pytest.raises(SuiteError, match="header") as refused:
        checked_headers(headers)
    assert "hunter2" not in str(refused.value)


def test_certificates_are_gone_with_the_run() -> None:
    whole = suite.only(load_suite("transports"), ["tls=on"])
    with prepare.certificates(whole) as ready:
        files = [Path(str(cell.target.ca_file)) for cell in ready.cells]
        assert "{cert}" not in ready.cells[0].target.argv
        assert all(file.read_text().startswith("-----BEGIN") for file in files)
    assert not any(file.exists() for file in files)
