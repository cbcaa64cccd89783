"""The servers on the TypeScript SDKs as real processes: the same tools with the same texts."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import pytest
from server_peer import INITIALIZE, WAIT_S, Peer

from servers import tickets
from servers.tools import TOOLS

FOLDER = Path(tickets.__file__).parent / "node"
LOCK_FILE = FOLDER / "package-lock.json"
VERSIONS = ("v1", "v2")

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules").is_dir(),
    reason="servers/node is not installed: run `make node` (needs Node 20 or newer and npm)",
)


class HttpPeer:
    """The client's end of one server that listens on a port."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        ready, _, _ = select.select([process.stderr], [], [], WAIT_S)
        assert ready, f"no address within {WAIT_S} s"
        address = urlsplit(process.stderr.readline().decode().strip())
        self.process = process
        self.content_type: str | None = None
        self._path = address.path
        self._connection = http.client.HTTPConnection(address.netloc, timeout=WAIT_S)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._ids = 0

    def post(self, message: dict[str, Any], **headers: str) -> tuple[int, str]:
        """Send one message; return the status and the body."""
        body = json.dumps({"jsonrpc": "2.0"} | message)
        self._connection.request("POST", self._path, body, self._headers | headers)
        response = self._connection.getresponse()
        self.content_type = response.headers["Content-Type"]
        session = response.headers["Mcp-Session-Id"]
        if session:
            self._headers["Mcp-Session-Id"] = session
        return response.status, response.read().decode()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and return its whole answer."""
        self._ids += 1
        status, body = self.post({"id": self._ids, "method": method, "params": params or {}})
        assert status == 200, body
        if self.content_type == "text/event-stream":
            (body,) = re.findall(r"^data: (.*)$", body, re.MULTILINE)
        answer: dict[str, Any] = json.loads(body)
        assert answer["id"] == self._ids
        return answer

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def handshake(self) -> None:
        assert "result" in self.ask("initialize", INITIALIZE)
        assert self.post({"method": "notifications/initialized"}) == (202, "")

    def close(self) -> int:
        """Tell the server to end and return its exit code."""
        self._connection.close()
        self.process.terminate()
        return self.process.wait(WAIT_S)

    def end(self) -> None:
        self._connection.close()
        self.process.kill()
        self.process.wait(WAIT_S)
        assert self.process.stderr is not None
        self.process.stderr.close()


Start: TypeAlias = Callable[..., Peer | HttpPeer]


@pytest.fixture(scope="module")
def start_node() -> Iterator[Start]:
    """Start a version with options; none of the processes outlives the module."""
    peers: list[Peer | HttpPeer] = []

    def start_one(version: str, *options: str, **environment: str) -> Peer | HttpPeer:
        over_http = "--port" in options
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        process = subprocess.Popen(
            ["node", str(FOLDER / f"{version}.mjs"), *options],
            stdin=nothing if over_http else pipe,
            stdout=nothing if over_http else pipe,
            stderr=pipe if over_http else None,
            bufsize=0,
            env=os.environ | environment,
        )
        try:
            peers.append(HttpPeer(process) if over_http else Peer(process))
        except BaseException:
            process.kill()
            raise
        return peers[-1]

    yield start_one
    for peer in peers:
        peer.end()


HTTP = ("--port", "0")


@pytest.fixture(
    scope="module",
    params=[
        ("v1",),
        ("v2",),
        ("v1", *HTTP),
        ("v1", *HTTP, "--json"),
        ("v1", *HTTP, "--stateless"),
        ("v2", *HTTP),
        ("v2", *HTTP, "--json"),
    ],
    ids=" ".join,
)
def server(
    request: pytest.FixtureRequest, start_node: Start, database: Path
) -> Iterator[Peer | HttpPeer]:
    peer = start_node(*request.param, **{tickets.ENVIRONMENT_VARIABLE: str(database)})
    peer.handshake()
    if isinstance(peer, HttpPeer):
        kind = "application/json" if "--json" in request.param else "text/event-stream"
        assert peer.content_type is None  # of the notification, which has no body
        peer.ask("ping")
        assert peer.content_type == kind
    yield peer
    assert peer.close() == 0


@pytest.fixture
def same_tickets(database: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this process read the database of the servers."""
    monkeypatch.setenv(tickets.ENVIRONMENT_VARIABLE, str(database))
    tickets.close()
    yield
    tickets.close()


def text_of(answer: dict[str, Any]) -> str:
    assert not answer["result"].get("isError", False)
    (content,) = answer["result"]["content"]
    assert content["type"] == "text"
    text: str = content["text"]
    return text


def refusal_of(answer: dict[str, Any]) -> str:
    assert answer["result"]["isError"] is True
    text: str = answer["result"]["content"][0]["text"]
    return text


@needs_node
def test_the_tools_are_those_of_the_table(server: Peer | HttpPeer) -> None:
    assert server.ask("tools/list")["result"]["tools"] == [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
        }
        for tool in TOOLS.values()
    ]


@needs_node
def test_the_plain_tools_answer(server: Peer | HttpPeer) -> None:
    payload = 'é\n"\u2028\x7f😀' * 1000
    assert text_of(server.call("noop")) == "ok"
    assert text_of(server.call("echo", payload=payload)) == payload
    assert text_of(server.call("sleep", duration_ms=0.5)) == "ok"
    assert text_of(server.call("spin", duration_ms=0.5)) == "ok"


@needs_node
@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "refund"},
        {"query": 'Delivery "late" -OR- \ufeff* parcel\0', "limit": 50},
        {"query": "password reset", "status": "open", "limit": 1},
        {"query": "nobodywrotethis"},
    ],
    ids=lambda arguments: arguments["query"].split()[0],
)
@pytest.mark.usefixtures("same_tickets")
def test_a_search_gives_the_text_of_the_python_servers(
    server: Peer | HttpPeer, arguments: dict[str, Any]
) -> None:
    text = text_of(server.call("search_tickets", **arguments))
    assert text == tickets.search_tickets(**arguments)


@needs_node
@pytest.mark.usefixtures("same_tickets")
def test_a_ticket_is_the_text_of_the_python_servers(server: Peer | HttpPeer) -> None:
    assert text_of(server.call("get_ticket", id=7)) == tickets.get_ticket(7)


@needs_node
def test_what_a_tool_cannot_do_is_a_sentence(server: Peer | HttpPeer) -> None:
    assert "no word" in refusal_of(server.call("search_tickets", query="?!"))
    for absent in (-1, 10**6, 10**30):
        assert "There is no ticket" in refusal_of(server.call("get_ticket", id=absent))


@needs_node
@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("nope", {}, "Unknown tool: nope"),
        ("toString", {}, "Unknown tool: toString"),
        ("echo", {}, "Invalid arguments for echo: payload is missing"),
        ("echo", {"payload": 1}, "Invalid arguments for echo: payload must be of type string"),
        ("noop", {"x": 1}, "Invalid arguments for noop: 'x' is not an argument of this tool"),
        (
            "sleep",
            {"duration_ms": True},
            "Invalid arguments for sleep: duration_ms must be of type number",
        ),
        (
            "search_tickets",
            {"query": "x", "limit": 51},
            "Invalid arguments for search_tickets: limit must be at most 50",
        ),
    ],
)
def test_a_call_that_fits_no_tool_is_an_error_of_the_protocol(
    server: Peer | HttpPeer, name: str, arguments: dict[str, Any], message: str
) -> None:
    assert server.call(name, **arguments)["error"] == {"code": -32602, "message": message}


@needs_node
@pytest.mark.parametrize("version", VERSIONS)
def test_a_missing_database_is_named_until_it_is_there(
    start_node: Start, database: Path, tmp_path: Path, version: str
) -> None:
    path = tmp_path / "later.sqlite3"
    peer = start_node(version, **{tickets.ENVIRONMENT_VARIABLE: str(path)})
    peer.handshake()
    assert "missing" in refusal_of(peer.call("get_ticket", id=1))
    path.write_bytes(b"no database " * 100)
    assert "rebuild" in refusal_of(peer.call("get_ticket", id=1))
    shutil.copy(database, path)
    assert text_of(peer.call("get_ticket", id=1))


@needs_node
@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_ends_on_a_signal_and_with_its_client_even_amid_a_call(
    start_node: Start, version: str
) -> None:
    for leave in ("signal", "client"):
        peer = start_node(version)
        assert isinstance(peer, Peer)
        peer.handshake()
        call = {"name": "sleep", "arguments": {"duration_ms": 600_000}}
        message = {"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": call}
        peer.send(json.dumps(message).encode() + b"\n")
        assert "result" in peer.ask("ping")
        if leave == "signal":
            peer.process.send_signal(signal.SIGTERM)
            assert peer.process.wait(WAIT_S) == 0
        else:
            assert peer.close() == 0


@needs_node
@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_asked_before_the_end_of_stdin_is_answered_in_full(version: str) -> None:
    # More than a pipe holds, so that answers wait inside the server when stdin ends.
    count, payload = 500, "x" * 4096
    requests = [{"id": 0, "method": "initialize", "params": INITIALIZE}] + [
        {"id": number, "method": "tools/call", "params": call}
        for call in [{"name": "echo", "arguments": {"payload": payload}}]
        for number in range(1, count)
    ]
    lines = (json.dumps({"jsonrpc": "2.0"} | request) + "\n" for request in requests)
    done = subprocess.run(
        ["node", str(FOLDER / f"{version}.mjs")],
        input="".join(lines).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Node remarks on the number of answers that wait
        timeout=WAIT_S,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(count))
    assert all("result" in answer for answer in answers)


@needs_node
@pytest.mark.parametrize("version", VERSIONS)
def test_a_page_of_another_site_is_not_served(start_node: Start, version: str) -> None:
    peer = start_node(version, *HTTP)
    assert isinstance(peer, HttpPeer)
    ping = {"id": 1, "method": "ping"}
    assert peer.post(ping, Host="example.org")[0] == 403
    assert peer.post(ping, Origin="https://example.org")[0] == 403


@needs_node
def test_version_2_serves_requests_that_carry_their_own_envelope(start_node: Start) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    answer = start_node("v2").ask("tools/call", {"name": "noop", "_meta": meta})
    assert text_of(answer) == "ok"
    assert answer["result"]["resultType"] == "complete"


def test_the_lock_file_names_no_download_address() -> None:
    packages = json.loads(LOCK_FILE.read_bytes())["packages"]
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert not re.search(r"registry|\.tgz", LOCK_FILE.read_text("utf-8"))
