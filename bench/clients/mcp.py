"""The steps of an MCP session, seen by the raw client: handshake, tool list, calls, probes.

Each step waits for the answer of the one before it.
"""

from __future__ import annotations

from bench.clients.raw import RawClient
from bench.clock import Watch, now_ns
from bench.errors import PeerClosed, SessionError, TimedOut
from bench.exchange import Exchange, Kind, Outcome
from bench.notices import Notices, plain
from bench.phases import Phase, Timeline
from bench.probes.first_read import FirstRead, await_first_read
from bench.progress import Progress
from bench.protocol.jsonrpc import Message, Response, Template
from bench.protocol.mcp import Connection, page
from bench.protocol.revisions import Era
from bench.spec import SessionSpec
from bench.transports.stdio import StdioTransport

PAGE_LIMIT = 1000
"""Pages of tools/list after which a server is taken to have no last one."""
MAX_TIMEOUTS_IN_A_ROW = 3
UNKNOWN_TOOL = "mcp-latency-no-such-tool"


class McpPeer:
    """One MCP server over stdio, from spawn to its last call."""

    def __init__(
        self,
        spec: SessionSpec,
        transport: StdioTransport,
        watch: Watch,
        notices: Notices,
        progress: Progress,
    ) -> None:
        self.connection = Connection(spec.revision)
        self.client = RawClient(self.connection, transport, watch, notices)
        self.facts: dict[str, int | str] = {}
        self._spec = spec
        self._transport = transport
        self._notices = notices
        self._progress = progress
        self._timeouts_in_a_row = 0

    def open(self) -> Timeline:
        """Start the server and set the session up; return its phases."""
        self._progress.step(Phase.SPAWN)
        timeline = self._transport.open()
        if self.connection.offered.era is Era.HANDSHAKE:
            self._handshake(timeline)
        self._list_tools(timeline)
        self._prepare_calls()
        return timeline

    def exchange(self, kind: Kind) -> Exchange:
        """Make one call or one probe. Raises SessionError after three time-outs in a row."""
        done, answer = self.client.exchange(self._templates[kind], kind)
        if done.outcome is Outcome.TIMEOUT:
            self._after_timeout()
            return done
        self._timeouts_in_a_row = 0
        if kind in (Kind.CALL, Kind.WARMUP) and not self._carries_echo(answer):
            self._notices.add("echo_mismatch")
            done.outcome = Outcome.TRANSPORT_ERROR
        return done

    def _handshake(self, timeline: Timeline) -> None:
        template = self.connection.initialize()
        done, answer = self._first_exchange(template, timeline, Phase.INITIALIZE)
        self.connection.accept_initialize(answer)
        timeline.end(Phase.INITIALIZE, done.decoded_ns)
        self._progress.step(Phase.INITIALIZED)
        self.client.notify(self.connection.initialized())
        timeline.end(Phase.INITIALIZED, now_ns())

    def _first_exchange(
        self, template: Template, timeline: Timeline, phase: Phase
    ) -> tuple[Exchange, Message]:
        """Exchange the first request of the connection, seeing where ``boot`` ends."""

        def watch_boot() -> None:
            self._end_boot(await_first_read(self._transport), timeline, phase)

        self._progress.step(Phase.BOOT)
        return self._answered(*self.client.exchange(template, Kind.WARMUP, watch_boot))

    def _end_boot(self, first_read: FirstRead | None, timeline: Timeline, phase: Phase) -> None:
        self._progress.step(phase)
        if first_read is None:
            self._notices.add("boot_not_seen", phase=phase.value)
            return
        timeline.end(Phase.BOOT, first_read.at_ns)
        self.facts["boot_uncertainty_ns"] = first_read.uncertainty_ns

    def _list_tools(self, timeline: Timeline) -> None:
        tools: set[str] = set()
        cursors: set[str] = set()
        page_ends: list[int] = []
        cursor: str | None = None
        while True:
            template = self.connection.template(
                "tools/list", {} if cursor is None else {"cursor": cursor}
            )
            if self.client.messages_sent:
                self._progress.step(Phase.TOOLS_LIST)
                done, answer = self._answered(*self.client.exchange(template, Kind.WARMUP))
            else:
                done, answer = self._first_exchange(template, timeline, Phase.TOOLS_LIST)
            page_ends.append(done.decoded_ns)
            listed, cursor = page(answer)
            tools.update(str(tool.get("name")) for tool in listed)
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

    def _check_tools(self, tools: set[str]) -> None:
        if self._spec.tool not in tools:
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
            raise ValueError("the answer cannot be used")
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
