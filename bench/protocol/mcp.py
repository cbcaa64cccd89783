"""The client's side of an MCP connection: what may be said when, and what the answers mean.

The rule of this room: state and bytes only. Each step gates the next (specification,
basic/lifecycle): the table :data:`ALLOWED` says what may be sent in which state, and a step that
runs ahead is a :class:`~bench.errors.LocalProtocolError`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from bench import __version__
from bench.errors import LocalProtocolError
from bench.protocol.jsonrpc import (
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    ErrorResponse,
    Id,
    Message,
    Request,
    Response,
    Template,
    encode,
    notification,
)
from bench.protocol.revisions import OFFERS, REVISIONS, Era, Revision

CLIENT_INFO = {"name": "mcp-latency", "version": __version__}
META = "io.modelcontextprotocol/"
SMALLEST_RESULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "roots/list": ("roots", {"roots": []}),
    "sampling/createMessage": (
        "sampling",
        {
            "role": "assistant",
            "model": "none",
            "content": {"type": "text", "text": "ok"},
            "stopReason": "endTurn",
        },
    ),
    "elicitation/create": ("elicitation", {"action": "decline"}),
}
"""What a server may ask: the capability it needs, and the smallest legal result."""


class State(Enum):
    """Where a connection stands."""

    NEW = "new"  # nothing was sent
    OFFERED = "offered"  # initialize was sent, not answered
    AGREED = "agreed"  # initialize was answered with a revision that we speak
    READY = "ready"  # initialized was sent, or the era has no handshake
    REFUSED = "refused"  # no common revision: disconnect


ALLOWED: dict[State, frozenset[str]] = {
    State.NEW: frozenset({"initialize", "ping"}),
    State.OFFERED: frozenset({"ping"}),
    State.AGREED: frozenset({"ping", "notifications/initialized"}),
    State.REFUSED: frozenset(),
}
"""What may be sent before a connection is ready; a ready one takes everything but initialize."""


class NegotiationError(Exception):
    """The answer to initialize leaves no revision that both sides speak; it was ``answered``."""

    def __init__(self, text: str, answered: object = None) -> None:
        super().__init__(text)
        self.answered = answered


class Connection:
    """State of one peer pair, seen by the client.

    ``offered`` is the revision we ask for; ``agreed`` the one in force after initialize.
    Build a request with :meth:`template` or a method named after it, send its bytes, and hand
    each message that arrives to :meth:`is_answer`, :meth:`answer` or ``accept_*``.
    """

    def __init__(self, revision: str, capabilities: Iterable[str] = ()) -> None:
        self.declared: dict[str, Any] = {name: {} for name in capabilities}
        self.offered: Revision = OFFERS[revision]
        self.agreed: Revision | None = None
        self.state = State.NEW
        self.server_info: dict[str, Any] = {}
        self.capabilities: dict[str, Any] = {}
        self.last_id = 0
        if self.offered.era is Era.STATELESS:
            self.agreed = self.offered
            self.state = State.READY

    def next_id(self) -> int:
        """Return an id that was never used on this connection."""
        self.last_id += 1
        return self.last_id

    def template(self, method: str, params: dict[str, Any] | None = None) -> Template:
        """Return a request to be sent many times, with what the era wants in each."""
        self._allow(method)
        if self.offered.era is Era.STATELESS:
            params = {**(params or {}), "_meta": self._meta()}
        return Template(method, params)

    def initialize(self) -> Template:
        """Open the handshake era. Next: :meth:`accept_initialize` with the answer."""
        self._allow("initialize")
        self.state = State.OFFERED
        return Template(
            "initialize",
            {
                "protocolVersion": self.offered.date,
                "capabilities": self.declared,
                "clientInfo": CLIENT_INFO,
            },
        )

    def accept_initialize(self, answer: Message) -> None:
        """Take the answer to initialize. Next: send :meth:`initialized`.

        Raises :class:`NegotiationError` where the two sides have no revision in common
        (specification, basic/lifecycle, version negotiation: the client disconnects).
        """
        if isinstance(answer, ErrorResponse):
            self.state = State.REFUSED
            raise NegotiationError(f"initialize refused: error {answer.code} {answer.message}")
        result = answer.result if isinstance(answer, Response) else None
        version = result.get("protocolVersion") if isinstance(result, dict) else None
        known = REVISIONS.get(version) if isinstance(version, str) else None
        if result is None or known is None or known.era is not Era.HANDSHAKE:
            self.state = State.REFUSED
            raise NegotiationError(
                f"asked for revision {self.offered.date}, the server answered {version!r}, "
                f"which this client does not speak after initialize",
                version,
            )
        self.agreed = known
        self.server_info = _object(result.get("serverInfo"))
        self.capabilities = _object(result.get("capabilities"))
        self.state = State.AGREED

    def initialized(self) -> bytes:
        """Return the notification that ends the handshake."""
        self._allow("notifications/initialized")
        self.state = State.READY
        return notification("notifications/initialized")

    def cancelled(self, request_id: Id, reason: str) -> bytes:
        """Tell the server that the answer to ``request_id`` is no longer awaited."""
        self._allow("notifications/cancelled")
        return notification("notifications/cancelled", {"requestId": request_id, "reason": reason})

    def answer(self, request: Request) -> bytes:
        """Return the smallest legal answer to a request of the server.

        What needs a capability that was not declared is "method not found".
        """
        result = self.smallest_result(request.method)
        if result is not None:
            return encode({"jsonrpc": "2.0", "id": request.id, "result": result})
        error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
        return encode({"jsonrpc": "2.0", "id": request.id, "error": error})

    def smallest_result(self, method: str) -> dict[str, Any] | None:
        """Return the smallest legal result for what a server may ask; None if it may not ask it."""
        if method == "ping":
            return {}
        capability, result = SMALLEST_RESULTS.get(method, ("", {}))
        return result if capability in self.declared else None

    def with_input(self, template: Template, answer: Message) -> Template | None:
        """Return the call again, with what the server asked for (2026-07-28, input_required).

        None where the answer asks for nothing, or for what was not declared.
        """
        result = answer.result if isinstance(answer, Response) else None
        if not isinstance(result, dict) or result.get("resultType") != "input_required":
            return None
        responses = {}
        for key, asked in _object(result.get("inputRequests")).items():
            given = self.smallest_result(str(_object(asked).get("method")))
            if given is None:
                return None
            responses[key] = given
        params = {**template.params, "inputResponses": responses}
        params.pop("requestState", None)
        if "requestState" in result:
            params["requestState"] = result["requestState"]
        return Template(template.method, params)

    def accept_discover(self, answer: Message) -> bool:
        """Take the answer to the era probe; whether the server speaks the stateless era.

        Any error but "unsupported version" means the handshake era (2026-07-28, versioning: never
        key on one code); silence does too, which is for the caller to see.
        """
        if isinstance(answer, ErrorResponse):
            supported = _object(answer.data).get("supported")
            return answer.code == UNSUPPORTED_VERSION and self.offered.date in (supported or ())
        result = answer.result if isinstance(answer, Response) else None
        versions = _object(result).get("supportedVersions")
        if not isinstance(versions, list) or self.offered.date not in versions:
            return False
        self.capabilities = _object(_object(result).get("capabilities"))
        self.server_info = _object(_object(_object(result).get("_meta")).get(f"{META}serverInfo"))
        return True

    def protocol_probe(self) -> Template:
        """Return a request that the server answers without touching a tool."""
        if self.offered.era is Era.STATELESS:
            return self.template("server/discover")
        return self.template("ping")

    def _allow(self, method: str) -> None:
        if self.state is State.READY:
            allowed = method != "initialize"
        else:
            allowed = method in ALLOWED[self.state]
        if not allowed:
            raise LocalProtocolError(f"{method} must not be sent in state {self.state.value!r}")

    def _meta(self) -> dict[str, Any]:
        return {
            f"{META}protocolVersion": self.offered.date,
            f"{META}clientCapabilities": self.declared,
            f"{META}clientInfo": CLIENT_INFO,
        }


def page(answer: Message) -> tuple[list[dict[str, Any]], str | None]:
    """Return the tools and the next cursor of one answer to tools/list.

    Raises :class:`ValueError` with a sentence where the answer is not such a page.
    """
    if isinstance(answer, ErrorResponse):
        raise ValueError(f"tools/list answered with error {answer.code}: {answer.message}")
    result = answer.result if isinstance(answer, Response) else None
    tools = result.get("tools") if isinstance(result, dict) else None
    if result is None or not isinstance(tools, list):
        raise ValueError("the answer to tools/list holds no list of tools")
    cursor = result.get("nextCursor")
    if cursor is not None and not isinstance(cursor, str):
        raise ValueError(f"nextCursor must be a string, got {cursor!r}")
    return [tool for tool in tools if isinstance(tool, dict)], cursor


def lacks_result_type(answer: Response) -> bool:
    """Whether a result does not say of which type it is (2026-07-28 requires it)."""
    return "resultType" not in _object(answer.result)


def error_text(answer: Message) -> str:
    """Return what an answer that is an error says, for people."""
    if isinstance(answer, ErrorResponse):
        return f"{answer.code} {answer.message}"
    content = _object(answer.result).get("content") if isinstance(answer, Response) else None
    parts = content if isinstance(content, list) else []
    return " ".join(str(_object(part).get("text", "")) for part in parts).strip() or "(no text)"


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
