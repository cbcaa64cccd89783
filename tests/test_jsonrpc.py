"""JSON-RPC messages: bytes to values by the presence of ``method``, never by id or place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.protocol import jsonrpc
from bench.protocol.jsonrpc import (
    ErrorResponse,
    Malformed,
    Notification,
    Request,
    Response,
    Template,
    parse,
    same_id,
)

MESSAGES = [
    (b'{"jsonrpc":"2.0","id":1,"result":{}}', Response(1, {})),
    (b'{"result":{"a":1},"jsonrpc":"2.0","id":"x"}\r\n', Response("x", {"a": 1})),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(1, "ping", {})),
    (b'{"jsonrpc":"2.0","method":"n","params":{"a":1}}', Notification("n", {"a": 1})),
    (
        b'{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}',
        ErrorResponse(2, -32601, "no"),
    ),
    (b'{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}', ErrorResponse(None, -32700, "")),
]

BROKEN = [
    (b"", "blank"),
    (b"  \t", "blank"),
    (b"Server ready", "not_json"),
    (b"Content-Length: 20", "not_json"),
    (b"\xef\xbb\xbf{}", "not_json"),
    (b"{", "not_json"),
    (b'{"a":"\xb0\xa1"}', "not_utf8"),
    (b"[]", "batch"),
    (b"5", "not_jsonrpc"),
    (b"{}", "not_jsonrpc"),
    (b'{"id":1,"result":{},"error":{"code":1}}', "not_jsonrpc"),
    (b'{"id":1}', "not_jsonrpc"),
    (b'{"id":1,"error":"no"}', "not_jsonrpc"),
    (b'{"method":5}', "not_jsonrpc"),
    (b'{"method":"m","params":[1]}', "not_jsonrpc"),
]


@pytest.mark.parametrize(("line", "expected"), MESSAGES)
def test_a_message_becomes_the_value_that_it_is(line: bytes, expected: object) -> None:
    assert parse(line) == expected


@pytest.mark.parametrize(("line", "kind"), BROKEN)
def test_what_is_no_message_is_named_and_never_raises(line: bytes, kind: str) -> None:
    message = parse(line)
    assert isinstance(message, Malformed)
    assert message.kind == kind


@given(st.binary(max_size=200))
def test_no_bytes_make_the_parser_raise(line: bytes) -> None:
    parse(line)


def test_deep_nesting_does_not_raise() -> None:
    assert isinstance(parse(b"[" * 100_000), Malformed)


def test_a_broken_answer_keeps_the_id_that_it_can_be_credited_to() -> None:
    message = parse(b'{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":""}}')
    assert isinstance(message, Malformed)
    assert message.id == 7


@pytest.mark.parametrize(
    ("sent", "got", "same"),
    [
        (7, 7, True),
        (7, 7.0, True),
        (7, "7", False),
        (1, True, False),
        ("7", 7, False),
        ("7", "7", True),
        (7, None, False),
    ],
)
def test_ids_of_another_type_are_other_ids(sent: int | str, got: object, same: bool) -> None:
    assert same_id(sent, got) is same


@given(st.integers(min_value=0, max_value=2**53), st.text(max_size=20))
def test_a_template_writes_what_the_encoder_would(request_id: int, text: str) -> None:
    params = {"name": text, "arguments": {"id": 0, "q": text}}
    line = Template("tools/call", params).encode(request_id)
    assert line == jsonrpc.request(request_id, "tools/call", params)
    assert line.count(b"\n") == 1
    assert json.loads(line)["id"] == request_id
