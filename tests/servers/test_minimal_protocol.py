"""The server on the standard library, driven line by line without a process."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers import minimal
from servers.minimal import HANDSHAKE_REVISIONS, Server
from servers.tools import TOOLS, Tool

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
NOOP = {"name": "noop", "arguments": {}}


def initialize_params(revision: str = "2025-11-25") -> dict[str, Any]:
    client = {"name": "tests", "version": "1"}
    return {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}


def request(method: str, params: Any = None, request_id: Any = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else message | {"params": params}


def send(server: Server, message: Any) -> Any:
    answer = server.receive(json.dumps(message).encode())
    return None if answer is None else json.loads(answer)


def ask(server: Server, method: str, params: Any = None) -> Any:
    return send(server, request(method, params))


def code(answer: Any) -> int:
    return int(answer["error"]["code"])


def handshaken(revision: str = "2025-11-25", **options: Any) -> Server:
    server = Server(**options)
    ask(server, "initialize", initialize_params(revision))
    return server


# -- the handshake era ---------------------------------------------------------------------------


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_a_known_revision_is_agreed_to(revision: str) -> None:
    result = ask(Server(), "initialize", initialize_params(revision))["result"]
    assert result["protocolVersion"] == revision
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert result["serverInfo"].keys() >= {"name", "version"}


@pytest.mark.parametrize("revision", ["1999-01-01", "2026-07-28", "", "latest"])
def test_an_unknown_revision_is_answered_with_the_newest_handshake_revision(revision: str) -> None:
    result = ask(Server(), "initialize", initialize_params(revision))["result"]
    assert result["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "server/discover", "no/such"])
def test_before_initialize_is_answered_every_request_but_ping_is_refused(method: str) -> None:
    server = Server()
    answer = ask(server, method, NOOP)
    assert code(answer) == -32600
    assert "before initialize" in answer["error"]["message"]
    assert ask(server, "ping")["result"] == {}
    assert "result" in ask(server, "initialize", initialize_params())


def test_requests_are_served_between_the_initialize_answer_and_the_initialized_notification() -> (
    None
):
    server = handshaken()
    assert ask(server, "tools/call", NOOP)["result"]["isError"] is False
    assert send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"}) is None
    assert ask(server, "tools/call", NOOP)["result"]["isError"] is False


def test_the_initialized_notification_alone_opens_nothing() -> None:
    server = Server()
    send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert code(ask(server, "tools/list")) == -32600


def test_a_second_initialize_is_refused_and_the_first_agreement_stays() -> None:
    server = handshaken("2025-03-26")
    assert code(ask(server, "initialize", initialize_params("2024-11-05"))) == -32600
    assert isinstance(send(server, [request("ping")]), list)


@pytest.mark.parametrize(
    "flaw",
    [
        {"protocolVersion": None},
        {"protocolVersion": 20250618},
        {"capabilities": None},
        {"clientInfo": "tests"},
        {"clientInfo": {"name": "tests"}},
    ],
)
def test_an_incomplete_initialize_is_refused_and_may_be_tried_again(flaw: dict[str, Any]) -> None:
    server = Server()
    assert code(ask(server, "initialize", initialize_params() | flaw)) == -32602
    assert code(ask(server, "tools/list")) == -32600
    assert "result" in ask(server, "initialize", initialize_params())


# -- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"p\xff"}',
        b"\xff\xfe",
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
        b"[" * 200_000,
        b"Content-Length: 50\r",
    ],
    ids=lambda line: repr(line[:24]),
)
def test_an_unparsable_line_is_a_parse_error_and_life_goes_on(line: bytes) -> None:
    server = handshaken()
    answer = json.loads(server.receive(line) or b"null")
    assert (answer["id"], code(answer)) == (None, -32700)
    assert ask(server, "ping")["result"] == {}


@pytest.mark.parametrize("line", [b"", b" ", b"\r", b"\t \r"])
def test_a_blank_line_is_not_answered(line: bytes) -> None:
    assert Server().receive(line) is None


def test_a_carriage_return_at_the_end_of_a_line_is_tolerated() -> None:
    assert Server().receive(b'{"jsonrpc":"2.0","id":"a","method":"ping"}\r') == (
        b'{"jsonrpc":"2.0","id":"a","result":{}}'
    )


@pytest.mark.parametrize(
    ("message", "answered_id"),
    [
        (5, None),
        ("ping", None),
        (None, None),
        ({}, None),
        ({"jsonrpc": "2.0", "id": 3}, 3),
        ({"id": 3, "method": "ping"}, 3),
        ({"jsonrpc": "1.0", "id": "x", "method": "ping"}, "x"),
        ({"jsonrpc": "2.0", "id": 3, "method": 4}, 3),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, None),
    ],
)
def test_what_is_no_request_is_invalid(message: Any, answered_id: Any) -> None:
    answer = send(handshaken(), message)
    assert (answer["id"], code(answer)) == (answered_id, -32600)


@pytest.mark.parametrize("params", [[], [1], "x", 0, False])
def test_parameters_are_an_object(params: Any) -> None:
    assert code(ask(handshaken(), "ping", params)) == -32602


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/no-such"},
        {"jsonrpc": "2.0", "method": "ping"},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "no-such"}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": []},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "no"}},
    ],
)
def test_notifications_and_responses_are_never_answered(message: Any) -> None:
    assert send(Server(), message) is None
    assert send(handshaken(), message) is None


@pytest.mark.parametrize("method", ["resources/list", "server/discover", "", "tools/call "])
def test_an_unknown_method_is_not_found(method: str) -> None:
    assert code(ask(handshaken(), method)) == -32601


@given(st.one_of(st.integers(), st.text(st.characters(exclude_categories=()))), st.text())
def test_an_answer_carries_the_id_and_the_payload_of_its_request(
    request_id: int | str, payload: str
) -> None:
    params = {"name": "echo", "arguments": {"payload": payload}}
    answer = send(handshaken(), request("tools/call", params, request_id))
    assert answer["id"] == request_id
    assert answer["result"]["content"] == [{"type": "text", "text": payload}]


# -- batches -------------------------------------------------------------------------------------


def test_a_batch_of_2025_03_26_is_answered_by_an_array_of_the_answers_that_are_due() -> None:
    batch = [
        request("ping", request_id=1),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request("tools/call", NOOP, 2),
        request("initialize", initialize_params(), 3),
        5,
    ]
    answers = send(handshaken("2025-03-26"), batch)
    assert [answer["id"] for answer in answers] == [1, 2, 3, None]
    assert [answer.get("error", {}).get("code") for answer in answers] == [
        None,
        None,
        -32600,
        -32600,
    ]


@pytest.mark.parametrize(
    "batch",
    [
        [{"jsonrpc": "2.0", "method": "notifications/initialized"}],
        [{"jsonrpc": "2.0", "id": 1, "result": {}}],
    ],
)
def test_a_batch_that_asks_nothing_is_not_answered(batch: Any) -> None:
    assert send(handshaken("2025-03-26"), batch) is None


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_batch_is_invalid_in_other_revisions(revision: str) -> None:
    assert code(send(handshaken(revision), [request("ping")])) == -32600


@pytest.mark.parametrize("batch", [[], [request("initialize", initialize_params("2025-03-26"))]])
def test_an_empty_batch_and_a_batch_before_initialize_are_invalid(batch: Any) -> None:
    assert code(send(Server(), batch)) == -32600
    assert code(send(handshaken("2025-03-26"), [])) == -32600


# -- tools ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, len(TOOLS), 100, None])
def test_pages_of_any_size_hold_every_tool_once_and_in_order(size: int | None) -> None:
    server = handshaken(page_size=size)
    names, params = [], {}
    while True:
        page = ask(server, "tools/list", params)["result"]
        assert 0 < len(page["tools"]) <= (size or len(TOOLS))
        names += [tool["name"] for tool in page["tools"]]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    assert names == list(TOOLS)


@pytest.mark.parametrize("cursor", ["", "1", "no-such", None, 2, ["a"]])
def test_a_cursor_of_no_page_is_refused(cursor: Any) -> None:
    assert code(ask(handshaken(page_size=2), "tools/list", {"cursor": cursor})) == -32602


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 5},
        {"name": "no-such"},
        {"name": "noop", "arguments": {"x": 1}},
        {"name": "noop", "arguments": []},
        {"name": "noop", "arguments": None},
        {"name": "echo"},
        {"name": "echo", "arguments": {"payload": 5}},
        {"name": "sleep", "arguments": {"duration_ms": -1}},
        {"name": "get_ticket", "arguments": {"id": True}},
        {"name": "search_tickets", "arguments": {"query": "refund", "status": "lost"}},
    ],
)
def test_an_unknown_tool_and_bad_arguments_are_errors_of_the_protocol(params: Any) -> None:
    assert code(ask(handshaken(), "tools/call", params)) == -32602


def test_a_tool_that_fails_answers_a_result_that_is_marked_as_an_error() -> None:
    params = {"name": "search_tickets", "arguments": {"query": "?!"}}
    result = ask(handshaken(), "tools/call", params)["result"]
    assert result["isError"] is True
    assert "word" in result["content"][0]["text"]


def test_a_tool_that_crashes_costs_its_own_call_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash() -> str:
        raise ZeroDivisionError("inner matters")

    monkeypatch.setitem(TOOLS, "crash", Tool("crash", "", {"properties": {}}, crash))
    server = handshaken()
    answer = ask(server, "tools/call", {"name": "crash"})
    assert code(answer) == -32603
    assert "inner matters" not in answer["error"]["message"]
    assert ask(server, "ping")["result"] == {}


# -- the stateless era ---------------------------------------------------------------------------


def stateless() -> Server:
    server = Server()
    ask(server, "server/discover", {"_meta": META})
    return server


def test_discover_answers_without_a_handshake() -> None:
    result = ask(Server(), "server/discover", {"_meta": META})["result"]
    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["capabilities"] == {"tools": {}}
    assert result.keys() >= {"ttlMs", "cacheScope"}


@pytest.mark.parametrize(
    ("method", "params"),
    [("server/discover", {}), ("tools/list", {}), ("tools/call", NOOP)],
)
def test_every_stateless_result_is_complete_and_names_the_server(
    method: str, params: dict[str, Any]
) -> None:
    result = ask(Server(), method, params | {"_meta": META})["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"] == minimal.SERVER_INFO
    assert ("ttlMs" in result) == ("cacheScope" in result) == (method != "tools/call")


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call", "no/such"])
@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
        {"io.modelcontextprotocol/clientCapabilities": {}},
        META | {"io.modelcontextprotocol/protocolVersion": 20260728},
        META | {"io.modelcontextprotocol/clientCapabilities": None},
    ],
)
def test_every_stateless_request_needs_the_whole_envelope(method: str, meta: Any) -> None:
    params = NOOP if meta is None else NOOP | {"_meta": meta}
    assert code(ask(stateless(), method, params)) == -32602


@pytest.mark.parametrize("version", ["2025-11-25", "2027-01-01", ""])
def test_an_unsupported_version_names_the_supported_ones(version: str) -> None:
    meta = META | {"io.modelcontextprotocol/protocolVersion": version}
    answer = ask(Server(), "tools/list", {"_meta": meta})
    assert code(answer) == -32022
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": version}


@pytest.mark.parametrize("method", ["ping", "initialize", "resources/list"])
def test_methods_of_the_handshake_are_gone_from_the_stateless_era(method: str) -> None:
    assert code(ask(stateless(), method, initialize_params() | {"_meta": META})) == -32601


def test_a_late_initialize_without_an_envelope_learns_the_supported_versions() -> None:
    answer = ask(stateless(), "initialize", initialize_params())
    assert code(answer) == -32601
    assert answer["error"]["data"] == {"supported": ["2026-07-28"]}


def test_stateless_errors_of_tools_use_the_same_codes() -> None:
    assert code(ask(stateless(), "tools/call", {"name": "no-such", "_meta": META})) == -32602
    assert code(ask(stateless(), "tools/list", {"cursor": "x", "_meta": META})) == -32602
    assert code(send(stateless(), [request("tools/list", {"_meta": META})])) == -32600


@pytest.mark.parametrize(
    ("first", "params"),
    [
        ("initialize", initialize_params()),
        ("initialize", initialize_params() | {"_meta": META}),
        ("ping", {}),
        ("server/discover", {}),
        ("tools/list", {"_meta": {"progressToken": 1}}),
    ],
)
def test_a_first_request_without_the_envelope_opens_the_handshake_era(
    first: str, params: dict[str, Any]
) -> None:
    server = Server()
    ask(server, first, params)
    assert code(ask(server, "tools/list", {"_meta": META})) == -32600
    assert ask(server, "ping")["result"] == {}


def test_notifications_and_noise_do_not_decide_the_era() -> None:
    server = Server()
    send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    server.receive(b"noise")
    send(server, {"jsonrpc": "1.0", "id": 1, "method": "ping"})
    assert "result" in ask(server, "tools/list", {"_meta": META})
