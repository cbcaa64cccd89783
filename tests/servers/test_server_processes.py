"""The servers as real processes: marks, one contract for all, and the official client."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    ClientCapabilities,
    Implementation,
    InitializedNotification,
    InitializeRequest,
    InitializeRequestParams,
    InitializeResult,
)
from server_peer import WAIT_S, Peer, command, skip_if_not_installed

from bench import marks
from bench.marks import Mark
from servers import tickets
from servers.tools import TOOLS

CALL = [Mark.RECEIVED, Mark.HANDLER_START, Mark.HANDLER_END, Mark.REPLY]
REFUSAL = [Mark.RECEIVED, Mark.REPLY]


class Marked:
    """A server that takes marks, after the handshake."""

    def __init__(self, peer: Peer, path: Path) -> None:
        self.peer = peer
        self._path = path

    def marks_of(self, action: Callable[[], object]) -> list[Mark]:
        before = len(marks.read(self._path))
        action()
        return [Mark(mark) for mark, _ in marks.read(self._path)[before:]]


@pytest.fixture(scope="module", params=["minimal", "sdk-lowlevel", "sdk", "sdk-sync", "fastmcp"])
def server(
    request: pytest.FixtureRequest,
    start: Callable[..., Peer],
    database: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Marked]:
    skip_if_not_installed(request.param)
    path = tmp_path_factory.mktemp("marks") / "marks"
    marks.create(path, capacity=1000)
    environment = {
        marks.ENVIRONMENT_VARIABLE: str(path),
        tickets.ENVIRONMENT_VARIABLE: str(database),
    }
    peer = start(request.param, **environment)
    peer.handshake()
    assert "result" in peer.ask("ping")  # the notification before it is read as well
    yield Marked(peer, path)
    assert peer.close() == 0


# -- every server with the protocol --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("noop", {}),
        ("echo", {"payload": "é" * 3}),
        ("search_tickets", {"query": "refund", "limit": 2}),
        ("search_tickets", {"query": "?!"}),
        ("get_ticket", {"id": 10**6}),
    ],
)
def test_each_call_leaves_its_four_marks_in_order(
    server: Marked, name: str, arguments: dict[str, Any]
) -> None:
    assert server.marks_of(lambda: server.peer.call(name, **arguments)) == CALL
    assert server.marks_of(lambda: [server.peer.call(name, **arguments) for _ in "ab"]) == CALL * 2


def test_a_request_that_reaches_no_handler_leaves_no_mark_of_one(server: Marked) -> None:
    assert server.marks_of(lambda: server.peer.ask("ping")) == REFUSAL
    assert server.marks_of(lambda: server.peer.ask("tools/list")) == REFUSAL
    assert server.marks_of(lambda: server.peer.call("no-such")) == REFUSAL
    assert server.marks_of(lambda: server.peer.call("echo")) == REFUSAL


def test_every_server_lists_the_same_tools(server: Marked) -> None:
    listed = server.peer.ask("tools/list")["result"]["tools"]
    assert [
        (tool["name"], tool["description"], tool["inputSchema"], tool.get("outputSchema"))
        for tool in listed
    ] == [(tool.name, tool.description, tool.input_schema, None) for tool in TOOLS.values()]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("no-such", {}),
        ("noop", {"x": 1}),
        ("echo", {}),
        ("echo", {"payload": 5}),
        ("sleep", {"duration_ms": -1}),
        ("sleep", {"duration_ms": "1"}),
        ("search_tickets", {"query": "a", "limit": 51}),
        ("search_tickets", {"query": "a", "limit": True}),
        ("search_tickets", {"query": "a", "status": "lost"}),
        ("search_tickets", {"query": "a", "status": None}),
        ("get_ticket", {"id": "1"}),
    ],
)
def test_every_server_refuses_the_same_calls_as_errors_of_the_protocol(
    server: Marked, name: str, arguments: dict[str, Any]
) -> None:
    answer = server.peer.call(name, **arguments)
    assert answer["error"]["code"] == -32602
    assert name in answer["error"]["message"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("noop", {}),
        ("echo", {"payload": '{"looks": "like JSON"}'}),
        ("echo", {"payload": "ünï\u2028cödé\n"}),
        ("sleep", {"duration_ms": 0}),
        ("spin", {"duration_ms": 0.01}),
        ("search_tickets", {"query": "refund", "status": "open"}),
        ("search_tickets", {"query": "?!"}),
        ("get_ticket", {"id": 7}),
        ("get_ticket", {"id": 2**70}),
    ],
)
def test_every_server_answers_what_the_handler_says(
    server: Marked,
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: dict[str, Any],
) -> None:
    monkeypatch.setenv(tickets.ENVIRONMENT_VARIABLE, str(database))
    try:
        text, failed = TOOLS[name].function(**arguments), False
    except tickets.ToolError as error:
        text, failed = str(error), True
    finally:
        tickets.close()
    result = server.peer.call(name, **arguments)["result"]
    assert result == {"content": [{"type": "text", "text": text}], "isError": failed}


# -- the floor and the stdio loop of minimal -----------------------------------------------------


def test_the_floor_echoes_lines_of_any_size_and_ends_with_its_stdin(
    start: Callable[..., Peer],
) -> None:
    peer = start("floor")
    for size in (1, 100, 65_536, 3_000_000):
        line = bytes(range(32, 127)) * (size // 95 + 1)
        writer = peer.send_from_thread(line + b"\n")
        assert peer.line() == line
        writer.join(WAIT_S)
    assert peer.close() == 0


def test_minimal_reads_lines_however_they_are_cut(start: Callable[..., Peer]) -> None:
    peer = start("minimal")
    for part in (b'\n{"jsonrpc":"2.0",', b'"id":1,"method":"ping"}', b"\r\n\r\n"):
        peer.send(part)
    assert json.loads(peer.line()) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    ping = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n'
    peer.send(b"".join(ping % number for number in range(50)) + b"no json\n")
    assert [json.loads(peer.line())["id"] for _ in range(50)] == list(range(50))
    assert json.loads(peer.line())["error"]["code"] == -32700
    assert peer.close() == 0


def test_minimal_answers_a_last_line_that_ends_without_a_newline() -> None:
    ended = subprocess.run(
        command("minimal"),
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        capture_output=True,
        timeout=WAIT_S,
        check=True,
    )
    assert json.loads(ended.stdout)["result"] == {}
    assert ended.stderr == b""


def test_minimal_carries_a_payload_of_many_chunks(start: Callable[..., Peer]) -> None:
    peer = start("minimal")
    peer.handshake()
    payload = "x" * 3_000_000
    params = {"name": "echo", "arguments": {"payload": payload}}
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    writer = peer.send_from_thread(json.dumps(message).encode() + b"\n")
    assert json.loads(peer.line())["result"]["content"][0]["text"] == payload
    writer.join(WAIT_S)


def test_minimal_is_quiet_when_its_reader_goes_away(start: Callable[..., Peer]) -> None:
    peer = start("minimal")
    peer.handshake()
    assert peer.process.stdout is not None
    peer.process.stdout.close()
    peer.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert peer.process.wait(WAIT_S) == 0


@pytest.mark.parametrize("size", ["0", "-3", "many"])
def test_minimal_refuses_a_page_size_that_is_none(size: str) -> None:
    ended = subprocess.run(
        command("minimal", "--page-size", size), input=b"", capture_output=True, timeout=WAIT_S
    )
    assert ended.returncode == 2
    assert b"--page-size" in ended.stderr


def test_the_light_servers_do_not_load_what_they_do_not_use() -> None:
    program = "import servers.minimal, servers.floor, sys; print(*sorted(sys.modules))"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, timeout=WAIT_S, check=True
    )
    loaded = ended.stdout.decode().split()
    assert not {"argparse", "sqlite3", "dataclasses", "logging", "asyncio", "mcp"} & set(loaded)


# -- against the official client -----------------------------------------------------------------


def parameters(name: str, *options: str, **environment: str) -> StdioServerParameters:
    program, *arguments = command(name, *options)
    return StdioServerParameters(command=program, args=arguments, env=environment)


@pytest.mark.parametrize(
    ("name", "mode", "revision"),
    [
        ("minimal", "legacy", "2025-11-25"),
        ("minimal", "2026-07-28", "2026-07-28"),
        ("minimal", "auto", "2026-07-28"),
        ("sdk", "legacy", "2025-11-25"),
        ("sdk-sync", "2026-07-28", "2026-07-28"),
        ("sdk-lowlevel", "auto", "2026-07-28"),
        ("fastmcp", "legacy", "2025-11-25"),
    ],
)
def test_the_official_client_lists_calls_and_is_refused(
    name: str, mode: str, revision: str, database: Path
) -> None:
    skip_if_not_installed(name)

    async def session() -> None:
        target = parameters(name, **{tickets.ENVIRONMENT_VARIABLE: str(database)})
        with anyio.fail_after(WAIT_S):
            async with Client(target, mode=mode, cache=None) as client:  # type: ignore[arg-type]
                assert client.protocol_version == revision
                assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)
                answer = await client.call_tool("echo", {"payload": "é"})
                assert (answer.content[0].text, answer.is_error) == ("é", False)  # type: ignore[union-attr]
                answer = await client.call_tool("get_ticket", {"id": 10**6})
                assert answer.is_error
                for wrong in ("no-such", "echo"):
                    with pytest.raises(MCPError) as refused:
                        await client.call_tool(wrong, {})
                    assert refused.value.code == -32602

    anyio.run(session)


def test_the_official_client_collects_the_tools_from_pages() -> None:
    async def session() -> None:
        with anyio.fail_after(WAIT_S):
            target = parameters("minimal", "--page-size", "4")
            async with Client(target, mode="legacy", cache=None) as client:
                first = await client.list_tools()
                rest = await client.list_tools(cursor=first.next_cursor)
                assert [tool.name for tool in first.tools + rest.tools] == list(TOOLS)
                assert rest.next_cursor is None

    anyio.run(session)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_official_client_agrees_with_minimal_on_every_handshake_revision(
    revision: str,
) -> None:
    async def session() -> None:
        with anyio.fail_after(WAIT_S):
            async with (
                stdio_client(parameters("minimal")) as streams,
                ClientSession(*streams) as client,
            ):
                params = InitializeRequestParams(
                    protocol_version=revision,
                    capabilities=ClientCapabilities(),
                    client_info=Implementation(name="tests", version="1"),
                )
                agreed = await client.send_request(
                    InitializeRequest(params=params), InitializeResult
                )
                assert agreed.protocol_version == revision
                client.adopt(agreed)
                await client.send_notification(InitializedNotification())
                assert not (await client.call_tool("noop", {})).is_error

    anyio.run(session)
