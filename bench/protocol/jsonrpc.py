"""JSON-RPC 2.0 messages: bytes to frozen values, and the bytes of ours.

A message is classified by the presence of ``method``, never by its id or its place in the
stream: both sides number their requests independently (specification, basic/index).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

Id = int | str

METHOD_NOT_FOUND = -32601
UNSUPPORTED_VERSION = -32022


@dataclass(frozen=True, slots=True)
class Request:
    """The peer asks something and waits for an answer."""

    id: Id
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Notification:
    """The peer tells something."""

    method: str
    params: dict[str, Any]


class Response(NamedTuple):
    """The result of a request. A tuple because one is built inside every timed call."""

    id: object
    result: Any


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """The failure of a request; ``id`` is None where the peer could not tell which."""

    id: object
    code: int
    message: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """Bytes that are no JSON-RPC message. ``kind`` is a stable word, ``reason`` a sentence.

    Kinds: ``blank``, ``not_utf8``, ``not_json``, ``batch``, ``not_jsonrpc``, ``oversized``.
    ``id`` is set where the broken message can still be credited to a request.
    """

    kind: str
    reason: str
    id: object = None


_SCAN = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # not in its stubs
Message = Request | Notification | Response | ErrorResponse | Malformed


def parse(line: bytes) -> Message:
    """Turn the bytes of one message into a value; never raises."""
    try:
        message = _decode(line.decode())
    except UnicodeDecodeError as error:
        return Malformed("not_utf8", f"invalid UTF-8 at byte {error.start}")
    except ValueError as error:
        return _unparsable(line, error)
    except RecursionError:
        return Malformed("not_json", "JSON nested too deeply")
    if type(message) is not dict:
        return _not_an_object(message)
    return classify(message)


def _decode(text: str) -> Any:
    """Return what ``json.loads`` returns and raise what it raises, without its detours.

    It looks for blanks before and after with a regular expression; mostly there are none, or the
    line's end.
    """
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        return json.loads(text)
    rest = text[end:]
    return value if not rest or rest == "\n" else json.loads(text)


def classify(message: dict[str, Any]) -> Message:
    """Turn a decoded JSON object into a value; never raises."""
    method = message.get("method")
    if method is not None:
        params = message.get("params") or {}
        if not isinstance(method, str) or not isinstance(params, dict):
            return Malformed("not_jsonrpc", "method must be a string and params an object")
        if "id" in message:
            return Request(message["id"], method, params)
        return Notification(method, params)
    has_result = "result" in message
    if has_result == ("error" in message):
        if "id" not in message:
            return Malformed("not_jsonrpc", "an object with neither method, result nor error")
        what = "both result and error" if has_result else "neither result nor error"
        return Malformed("not_jsonrpc", f"an answer with {what}", message["id"])
    if has_result:
        return Response(message.get("id"), message["result"])
    error = message["error"]
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return Malformed("not_jsonrpc", "an error without an integer code", message.get("id"))
    return ErrorResponse(
        message.get("id"), error["code"], str(error.get("message", "")), error.get("data")
    )


def wrong_framing(line: bytes) -> str | None:
    """Say how a line shows that its writer frames messages in another way than MCP; else None."""
    if line.startswith(b"\xef\xbb\xbf{"):
        return "a byte-order mark stands before the message"
    if line[:15].lower() == b"content-length:":
        return "Content-Length framing (LSP) on stdio, where MCP has one message per line"
    if line.strip() in (b"{", b"["):
        return "a message spans lines (pretty-printed JSON), where MCP has one message per line"
    return None


def same_id(sent: Id, got: object) -> bool:
    """Whether an answer belongs to a request: 7 and 7.0 are one id, 7, "7" and True are three."""
    return (
        sent == got
        and isinstance(got, bool) is False
        and isinstance(got, str) == isinstance(sent, str)
    )


def encode(message: dict[str, Any]) -> bytes:
    """Return one line of compact UTF-8 JSON, with its line end."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def request(id: Id, method: str, params: dict[str, Any] | None = None) -> bytes:  # noqa: A002
    """Return the line of a request."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    return encode(message)


def notification(method: str, params: dict[str, Any] | None = None) -> bytes:
    """Return the line of a notification."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return encode(message)


class Template:
    """A request that is sent many times: only the id is built at each call."""

    __slots__ = ("_after", "_before", "method", "name", "params")

    def __init__(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.method = method
        self.params = params or {}
        name = self.params.get("name")
        self.name: str | None = name if isinstance(name, str) else None
        rest = request(0, method, params)
        opening = b'{"jsonrpc":"2.0","id":'
        self._before = opening
        self._after = rest[len(opening) + 1 :]

    def encode(self, id: int) -> bytes:  # noqa: A002
        """Return the line of the request with this id."""
        return b"%b%d%b" % (self._before, id, self._after)


def _unparsable(line: bytes, error: ValueError) -> Malformed:
    if not line.strip():
        return Malformed("blank", "a blank line")
    return Malformed("not_json", wrong_framing(line) or f"not JSON ({error})")


def _not_an_object(message: object) -> Malformed:
    if isinstance(message, list):
        return Malformed("batch", "a JSON array (batch answer)")
    return Malformed("not_jsonrpc", f"a JSON {type(message).__name__}, not an object")
