"""The steps of an MCP session, seen by the raw client: handshake, tool list, calls, probes.

Each step waits for the answer of the one before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.clients.base import Context, TransportPeer
from bench.clients.raw import RawClient
from bench.clock import now_ns
from bench.errors import PeerClosed, SessionError, TimedOut
from bench.exchange import Exchange, Kind, Outcome
from bench.notices import plain
from bench.phases import Phase, Timeline
from bench.probes.first_read import FirstRead
from bench.protocol.binding import Binding, LineBinding
from bench.protocol.jsonrpc import Malformed, Message, Response, Template
from bench.protocol.mcp import Connection, error_text, lacks_result_type, page
from bench.protocol.revisions import AUTO, DEFAULT_REVISION, STATELESS_REVISION, Era
from bench.transports.base import Ending, Transport

PAGE_LIMIT = 1000
"""Pages of tools/list after which a server is taken to have no last one."""
MAX_TIMEOUTS_IN_A_ROW = 3
INPUT_ROUNDS = 10
"""How often a server may ask within one call; the official SDK's client allows the same."""
SHOWN_CHARACTERS = 300
UNKNOWN_TOOL = "mcp-latency-no-such-tool"


class McpPeer(TransportPeer):
    """One MCP server, from its start to its last call, over any transport that carries MCP.

    ``first_read`` sees the end of ``boot`` once the first request is written; None where the
    transport has seen it already.
    """

    def __init__(
        self,
        context: Context,
        transport: Transport,
        first_read: Callable[[], FirstRead | None] | None = None,
        binding: Binding | None = None,
    ) -> None:
        super().__init__(context, transport)
        self._spec = context.spec
        self.connection = self._connection(context.spec.revision)
        self.binding = binding or LineBinding()
        self.client = RawClient(
            self.connection, transport, context.watch, context.notices, self.binding
        )
        self._first_read = first_read
        self._notices = context.notices
        self._timeouts_in_a_row = 0

    def open(self) -> Timeline:
        """Start the server and set the session up; return its phases."""
        timeline = self.transport.open(self.context.step)
        if self._spec.revision == AUTO and not self._discover(timeline):
            self.change_connection(DEFAULT_REVISION)
        if self.connection.offered.era is Era.HANDSHAKE:
            self._handshake(timeline)
        self._list_tools(timeline)
        self._prepare_calls()
        self.facts["setup_messages_sent"] = self.client.messages_sent
        self.facts["setup_messages_received"] = self.client.messages_received
        return timeline

    def exchange(self, kind: Kind) -> Exchange:
        """Make one call or one probe. Raises SessionError after three time-outs in a row."""
        done, answer = self.make_call(kind)
        if done.outcome is Outcome.INPUT_REQUIRED and self._spec.answer_input and answer:
            done, answer = self._with_input(kind, done, answer)
        if done.outcome is Outcome.TIMEOUT:
            self._after_timeout()
            return done
        self._timeouts_in_a_row = 0
        if kind in (Kind.CALL, Kind.WARMUP):
            self._look_at_answer(done, answer)
        return done

    def make_call(self, kind: Kind) -> tuple[Exchange, Message | None]:
        """Make the exchange itself; a transport that reopens does so here."""
        return self.client.exchange(self.requests[kind], kind)

    def _with_input(
        self, kind: Kind, first: Exchange, answer: Message | None
    ) -> tuple[Exchange, Message | None]:
        """Give the server what it asks for, round by round; all rounds are one call."""
        done = first
        for _ in range(INPUT_ROUNDS):
            template = self.connection.with_input(self._templates[kind], answer) if answer else None
            if template is None:
                break
            self.facts["input_rounds"] = int(self.facts.get("input_rounds", 0)) + 1
            done, answer = self.client.exchange(self.binding.request(template), kind)
            first.request_bytes += done.request_bytes
            first.response_bytes += done.response_bytes
        first.outcome, first.received_ns = done.outcome, done.received_ns
        first.decoded_ns = done.decoded_ns
        return first, answer

    def _connection(self, revision: str) -> Connection:
        asked = STATELESS_REVISION if revision == AUTO else revision
        return Connection(asked, self._spec.capabilities)

    def change_connection(self, revision: str) -> None:
        """Start over under a revision; ids go on, so that none is used twice."""
        last_id = self.connection.last_id
        self.connection = self.client.connection = self._connection(revision)
        self.connection.last_id = last_id
        self.binding.offer(revision)

    def _discover(self, timeline: Timeline) -> bool:
        """Ask which era the server speaks; True for the stateless one."""
        template = self.connection.template("server/discover")
        done, answer = self._setup_exchange(template, timeline, Phase.DISCOVER)
        timeline.end(Phase.DISCOVER, done.decoded_ns)
        return answer is not None and self.connection.accept_discover(answer)

    def close(self) -> Ending:
        """End the session; what still arrives is counted, never credited."""
        ending = super().close()
        self.facts.update(self.client.account(ending.late))
        return ending

    def _handshake(self, timeline: Timeline) -> None:
        template = self.connection.initialize()
        done, answer = self._answered(*self._setup_exchange(template, timeline, Phase.INITIALIZE))
        self._agree(answer)
        timeline.end(Phase.INITIALIZE, done.decoded_ns)
        self.context.step(Phase.INITIALIZED)
        self.client.notify(self.connection.initialized())
        timeline.end(Phase.INITIALIZED, now_ns())

    def handshake_again(self) -> None:
        """Open another session with the same server."""
        self.change_connection(self.connection.offered.date)
        bound = self.binding.request(self.connection.initialize())
        _, answer = self._answered(*self.client.exchange(bound, Kind.WARMUP))
        self._agree(answer)
        self.client.notify(self.connection.initialized())
        self._bind_calls()

    def _agree(self, answer: Message) -> None:
        self.connection.accept_initialize(answer)
        assert self.connection.agreed is not None
        self.binding.agree(self.connection.agreed.date)

    def _setup_exchange(
        self, template: Template, timeline: Timeline, phase: Phase
    ) -> tuple[Exchange, Message | None]:
        """Exchange one request of setup; with the first one, see where ``boot`` ends."""
        bound = self.binding.request(template)
        first_read = self._first_read
        if first_read is None or self.client.messages_sent:
            self.context.step(phase)
            return self.client.exchange(bound, Kind.WARMUP)

        def watch_boot() -> None:
            seen = first_read()
            self.context.progress.step(phase)
            self.end_boot(seen, timeline, phase.value)

        self.context.step(Phase.BOOT)
        return self.client.exchange(bound, Kind.WARMUP, watch_boot)

    def _list_tools(self, timeline: Timeline) -> None:
        tools: dict[str, dict[str, Any]] = {}
        cursors: set[str] = set()
        page_ends: list[int] = []
        cursor: str | None = None
        while True:
            template = self.connection.template(
                "tools/list", {} if cursor is None else {"cursor": cursor}
            )
            done, answer = self._answered(
                *self._setup_exchange(template, timeline, Phase.TOOLS_LIST)
            )
            page_ends.append(done.decoded_ns)
            listed, cursor = page(answer)
            tools.update((str(tool.get("name")), tool) for tool in listed)
            if not self._more_pages(cursor, cursors, len(page_ends)):
                break
        starts = [timeline.end_ns, *page_ends]
        timeline.end(Phase.TOOLS_LIST, page_ends[-1])
        self.facts["pages"] = len(page_ends)
        self.facts["tools"] = len(tools)
        self.facts["page_ns"] = " ".join(
            str(end - start) for start, end in zip(starts, page_ends, strict=False)
        )
        self._check_tools(tools)

    def _more_pages(self, cursor: str | None, seen: set[str], pages: int) -> bool:
        if cursor is None:
            return False
        if cursor in seen:
            self._notices.add("cursor_repeated", pages=pages)
            return False
        if pages >= PAGE_LIMIT:
            self._notices.add("page_limit", pages=pages)
            return False
        seen.add(cursor)
        return True

    def _check_tools(self, tools: dict[str, dict[str, Any]]) -> None:
        tool = tools.get(self._spec.tool)
        if tool is not None:
            self.binding.listed(tool)
        else:
            self._notices.add("tool_not_listed", tool=self._spec.tool, count=len(tools))
        handshake = self.connection.offered.era is Era.HANDSHAKE
        if handshake and tools and "tools" not in self.connection.capabilities:
            self._notices.add("no_tools_capability")

    def _prepare_calls(self) -> None:
        connection, spec = self.connection, self._spec
        call = connection.template("tools/call", {"name": spec.tool, "arguments": spec.arguments})
        unknown = connection.template("tools/call", {"name": UNKNOWN_TOOL, "arguments": {}})
        self._templates = {
            Kind.WARMUP: call,
            Kind.CALL: call,
            Kind.PROTOCOL_PROBE: connection.protocol_probe(),
            Kind.DISPATCH_PROBE: unknown,
        }
        self._bind_calls()
        assert connection.agreed is not None
        self.facts["agreed_revision"] = connection.agreed.date
        self.facts["server_info"] = plain(
            " ".join(
                str(connection.server_info[key])
                for key in ("name", "version")
                if key in connection.server_info
            )
        )
        payload = spec.arguments.get("payload")
        self._echo = payload if spec.tool == "echo" and isinstance(payload, str) else None

    def _bind_calls(self) -> None:
        bind = self.binding.request
        self.requests = {kind: bind(template) for kind, template in self._templates.items()}

    def _look_at_answer(self, done: Exchange, answer: Message | None) -> None:
        if done.outcome in (Outcome.TOOL_ERROR, Outcome.RPC_ERROR) and answer is not None:
            self._notices.add(done.outcome.label, text=error_text(answer)[:SHOWN_CHARACTERS])
        if not self._carries_echo(answer):
            self._notices.add("echo_mismatch")
            done.outcome = Outcome.TRANSPORT_ERROR
        stateless = self.connection.offered.era is Era.STATELESS
        if stateless and isinstance(answer, Response) and lacks_result_type(answer):
            self._notices.add("result_type_missing")

    def _carries_echo(self, answer: Message | None) -> bool:
        if self._echo is None or not isinstance(answer, Response):
            return True
        try:
            return bool(answer.result["content"][0]["text"] == self._echo)
        except (KeyError, IndexError, TypeError):
            return False

    def _answered(self, done: Exchange, answer: Message | None) -> tuple[Exchange, Message]:
        if answer is None:
            raise TimedOut
        if done.outcome is Outcome.TRANSPORT_ERROR:
            reason = answer.reason if isinstance(answer, Malformed) else "the answer cannot be used"
            raise ValueError(reason)
        return done, answer

    def _after_timeout(self) -> None:
        """Withdraw the request; give the session up when the server has gone silent."""
        self._timeouts_in_a_row += 1
        if self._timeouts_in_a_row >= MAX_TIMEOUTS_IN_A_ROW:
            raise SessionError(
                "calls",
                "timeout",
                f"no answer to {self._timeouts_in_a_row} requests in a row, "
                f"each within {self._spec.timeout_s:g} s",
            )
        given_up = self.connection.last_id
        try:
            self.client.notify(self.connection.cancelled(given_up, "time limit"))
        except (PeerClosed, TimedOut):
            return
