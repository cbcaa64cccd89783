"""The servers over HTTP as real processes: the ways in, the errors, the marks, the end."""

from __future__ import annotations

import datetime
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from listening_peer import JSON, HttpPeer, free_port
from mcp import Client
from mcp.client.sse import sse_client
from server_peer import INITIALIZE, WAIT_S, skip_if_not_installed

from bench import marks
from bench.marks import Mark
from servers import sdk_http, sdk_lowlevel, tickets
from servers.tools import TOOLS

CALL = [Mark.RECEIVED, Mark.HANDLER_START, Mark.HANDLER_END, Mark.REPLY]
REFUSAL = [Mark.RECEIVED, Mark.REPLY]
ACCEPTED = [Mark.RECEIVED]

PROGRAMS = {
    "sdk": ("servers.sdk_http",),
    "sdk-json": ("servers.sdk_http", "--json", "--stateless", "--sync"),
    "lowlevel": ("servers.sdk_lowlevel",),
    "lowlevel-json": ("servers.sdk_lowlevel", "--json", "--stateless"),
    "fastmcp": ("servers.fastmcp_server",),
    "fastmcp-json": ("servers.fastmcp_server", "--json", "--stateless"),
}
EVERY = pytest.mark.parametrize("name", list(PROGRAMS))
WITH_REST = pytest.mark.parametrize("name", ["sdk", "sdk-json"])

Running = Callable[[str], HttpPeer]


@pytest.fixture(scope="module")
def running(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Name a server and have it, after the handshake: each is started once, and takes marks."""
    peers: dict[str, HttpPeer] = {}

    def named(name: str) -> HttpPeer:
        skip_if_not_installed(name)
        if name not in peers:
            path = tmp_path_factory.mktemp("marks") / "marks"
            marks.create(path, capacity=2000)
            environment = {
                marks.ENVIRONMENT_VARIABLE: str(path),
                tickets.ENVIRONMENT_VARIABLE: str(database),
            }
            peers[name] = HttpPeer(*PROGRAMS[name], place=free_port(), **environment)
            peers[name].handshake()
        return peers[name]

    yield named
    try:
        for name, peer in peers.items():
            assert peer.terminate() == (0, "", ""), name
    finally:
        for peer in peers.values():
            peer.end()


# -- streamable HTTP -----------------------------------------------------------------------------


@EVERY
def test_every_server_lists_the_same_tools(running: Running, name: str) -> None:
    server = running(name)
    for answer in (server.ask("tools/list"), server.ask_stateless("tools/list")):
        assert [
            (tool["name"], tool["description"], tool["inputSchema"], tool.get("outputSchema"))
            for tool in answer["result"]["tools"]
        ] == [(tool.name, tool.description, tool.input_schema, None) for tool in TOOLS.values()]


@EVERY
@pytest.mark.parametrize(
    ("tool", "arguments", "text", "failed"),
    [
        ("noop", {}, "ok", False),
        ("echo", {"payload": "ünï\u2028cödé\n"}, "ünï\u2028cödé\n", False),
        ("echo", {"payload": "event: message\r\ndata: {"}, "event: message\r\ndata: {", False),
        ("get_ticket", {"id": 10**6}, None, True),
    ],
)
def test_a_call_answers_with_text_alone_and_leaves_its_four_marks_in_order(
    running: Running,
    name: str,
    tool: str,
    arguments: dict[str, Any],
    text: str | None,
    failed: bool,
) -> None:
    server = running(name)
    answers: list[dict[str, Any]] = []
    params = {"name": tool, "arguments": arguments}
    for ask in (server.ask, server.ask_stateless):
        assert server.marks_of(lambda ask=ask: answers.append(ask("tools/call", params))) == CALL  # type: ignore[misc]
    for answer in answers:
        (content,) = answer["result"]["content"]
        assert text is None or content["text"] == text
        assert answer["result"]["isError"] is failed
        assert "structuredContent" not in answer["result"]


@EVERY
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("no-such", {}),
        ("noop", {"x": 1}),
        ("echo", {}),
        ("echo", {"payload": 5}),
        ("sleep", {"duration_ms": "1"}),
        ("search_tickets", {"query": "a", "limit": 51}),
    ],
)
def test_a_call_that_does_not_fit_is_an_error_of_the_protocol_and_reaches_no_handler(
    running: Running, name: str, tool: str, arguments: dict[str, Any]
) -> None:
    server = running(name)
    answers: list[dict[str, Any]] = []
    assert server.marks_of(lambda: answers.append(server.call(tool, **arguments))) == REFUSAL
    assert answers[0]["error"]["code"] == -32602
    assert tool in answers[0]["error"]["message"]


@EVERY
def test_a_notification_is_received_and_not_replied_to(running: Running, name: str) -> None:
    server = running(name)
    note = {"method": "notifications/initialized"}
    assert server.marks_of(lambda: server.post(note)) == ACCEPTED


@EVERY
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_official_client_gets_along(running: Running, name: str, mode: str) -> None:
    url = f"http://127.0.0.1:{running(name).place}/mcp"

    async def session() -> None:
        with anyio.fail_after(WAIT_S):
            async with Client(url, mode=mode, cache=None) as client:  # type: ignore[arg-type]
                assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)
                answer = await client.call_tool("echo", {"payload": "é"})
                assert answer.content[0].text == "é"  # type: ignore[union-attr]

    anyio.run(session)


def test_answers_are_streams_or_json_and_sessions_kept_or_not_as_the_flags_say(
    running: Running,
) -> None:
    request = {"id": 1, "method": "initialize", "params": INITIALIZE}
    seen = {}
    for name in ("sdk", "sdk-json"):
        _, headers, _ = running(name).post(request)
        seen[name] = (headers["content-type"].split(";")[0], "mcp-session-id" in headers)
    assert seen == {"sdk": ("text/event-stream", True), "sdk-json": ("application/json", False)}


# -- without MCP ---------------------------------------------------------------------------------


@WITH_REST
@pytest.mark.parametrize(
    ("tool", "body", "status", "answer", "left"),
    [
        ("noop", b"{}", 200, {"text": "ok"}, CALL),
        ("echo", '{"payload": "é"}'.encode(), 200, {"text": "é"}, CALL),
        ("no-such", b"{}", 404, {"error": "Unknown tool: no-such"}, REFUSAL),
        ("noop", b"", 400, None, REFUSAL),
        ("noop", b"[]", 400, None, REFUSAL),
        ("echo", b'{"payload": 5}', 400, None, REFUSAL),
        ("get_ticket", b'{"id": 1000000}', 422, None, CALL),
    ],
)
def test_plain_json_has_a_status_for_each_failure_and_the_marks_of_a_call(
    running: Running,
    name: str,
    tool: str,
    body: bytes,
    status: int,
    answer: dict[str, str] | None,
    left: list[Mark],
) -> None:
    server = running(name)
    answers: list[tuple[int, dict[str, Any]]] = []
    assert server.marks_of(lambda: answers.append(server.rest(tool, body))) == left
    ((got, content),) = answers
    assert got == status
    assert content == answer if answer else list(content) == ["error"]


# -- the old transport ---------------------------------------------------------------------------


class OldStream:
    """The stream of a GET: its events, and the path that its first one names."""

    def __init__(self, peer: HttpPeer) -> None:
        self._peer = peer
        self._socket = peer.connect()
        self._socket.sendall(
            b"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        )
        self._file = self._socket.makefile("rb")
        self.path = self.event("endpoint").decode()

    def event(self, kind: str) -> bytes:
        for line in self._file:
            if line.rstrip() == f"event: {kind}".encode():
                return self._file.readline()[len(b"data: ") :].rstrip()
        raise AssertionError("the stream has ended")

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, _, _ = self._peer.request("POST", self.path, json.dumps(message).encode(), JSON)
        assert status == 202
        answer: dict[str, Any] = json.loads(self.event("message"))
        return answer

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@WITH_REST
def test_the_old_transport_answers_on_the_stream_of_the_get_and_marks_it_there(
    running: Running, name: str
) -> None:
    server = running(name)
    answers: list[dict[str, Any]] = []
    call = {"name": "echo", "arguments": {"payload": "é"}}
    with closing(OldStream(server)) as stream:
        assert stream.path.startswith("/messages/?session_id=")
        assert server.marks_of(lambda: stream.ask("initialize", INITIALIZE)) == REFUSAL
        assert server.marks_of(lambda: answers.append(stream.ask("tools/call", call))) == CALL
    assert answers[0]["result"]["content"][0]["text"] == "é"


def test_the_official_client_gets_along_with_the_old_transport(running: Running) -> None:
    url = f"http://127.0.0.1:{running('sdk').place}/sse"

    async def session() -> None:
        with anyio.fail_after(WAIT_S):
            async with Client(sse_client(url), mode="legacy", cache=None) as client:
                answer = await client.call_tool("noop", {})
                assert answer.content[0].text == "ok"  # type: ignore[union-attr]

    anyio.run(session)


# -- where a server listens ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost that vouches for itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "cert").write_bytes(made.public_bytes(pem))
    (folder / "key").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert", folder / "key"


def test_a_unix_socket_with_tls_serves_takes_over_what_the_dead_left_and_cleans_up(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    cert, key = certificate
    options = ("--cert", str(cert), "--key", str(key))
    peer = HttpPeer("servers.sdk_http", *options, place=path, cert=cert)
    try:
        peer.handshake()
        assert peer.call("noop")["result"]["content"] == [{"type": "text", "text": "ok"}]
        assert peer.rest("noop", b"{}") == (200, {"text": "ok"})
        assert peer.terminate() == (0, "", "")
    finally:
        peer.end()
    assert not path.exists()


def test_a_place_that_is_taken_is_said_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-P", "-m", "servers.sdk_http", "--port", str(port)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"servers.sdk_http: cannot serve on 127.0.0.1:{port}: Address already in use\n"
    )


@pytest.mark.parametrize(
    ("main", "options", "word"),
    [
        (sdk_http.main, (), "--socket"),
        (sdk_http.main, ("--port", "0"), "not a port"),
        (sdk_http.main, ("--port", "8000", "--socket", "x"), "not allowed"),
        (sdk_http.main, ("--port", "8000", "--cert", "x"), "--key"),
        (sdk_lowlevel.main, ("--json",), "--port"),
    ],
)
def test_flags_that_make_no_sense_are_a_usage_error(
    main: Callable[[], None],
    options: tuple[str, ...],
    word: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["server", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert word in capsys.readouterr().err


def test_without_fastmcp_its_server_names_what_to_install() -> None:
    program = "import sys; sys.modules['fastmcp'] = None; import servers.fastmcp_server"
    command = [sys.executable, "-P", "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "servers.fastmcp_server: fastmcp is not installed, try: pip install '.[fastmcp]'\n"
    )
