"""The raw HTTP client as the official conformance suite starts it, with the URL as last word.

The environment says which scenario it is and under which revision. Each call that a scenario wants
is a session of its own through the path that measures (:mod:`bench.session`). Exit code 1 with a
sentence where a session fails or does not speak the revision that is asked for.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.errors import SessionError
from bench.progress import Progress
from bench.protocol.revisions import AUTO, STATELESS_REVISION
from bench.session import Record, run
from bench.spec import SessionSpec

NO_CALL = ""
TIMEOUT_S = 5.0
CALLS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "initialize": ((NO_CALL, {}),),
    "tools_call": (("add_numbers", {"a": 5, "b": 3}),),
    "elicitation-sep1034-client-defaults": (("test_client_elicitation_defaults", {}),),
    "sse-retry": (("test_reconnection", {}),),
    "request-metadata": ((NO_CALL, {}),),
    "http-standard-headers": (("test_headers", {}), ("my-hyphenated-tool", {})),
    "json-schema-ref-no-deref": ((NO_CALL, {}),),
    "sep-2322-client-request-state": (
        ("test_mrtr_echo_state", {}),
        ("test_mrtr_unrelated", {}),
        ("test_mrtr_no_state", {}),
        ("test_mrtr_no_result_type", {}),
    ),
}
"""Scenario -> tool and arguments of each call; the suite itself names those of http-custom-headers.
"""
BROKEN_TOOLS = (
    "invalid_empty_header",
    "invalid_object_header",
    "invalid_array_header",
    "invalid_null_header",
    "invalid_number_header",
    "invalid_duplicate_same_case",
    "invalid_duplicate_diff_case",
    "invalid_space_in_name",
    "invalid_colon_in_name",
    "invalid_non_ascii_name",
    "invalid_control_char_name",
)
"""The tools of http-invalid-tool-headers that a client must not call, however it is asked to."""


def session(url: str, revision: str, tool: str, arguments: dict[str, Any]) -> Record:
    """Run one session; raises SessionError where it fails."""
    stateless = revision == STATELESS_REVISION
    spec = SessionSpec(
        argv=(),
        url=url,
        transport="http",
        # As a user would who does not know the server: with the probe of the stateless era first.
        revision=AUTO if stateless else revision,
        tool=tool,
        arguments=arguments,
        calls=0 if tool == NO_CALL else 1,
        capabilities=("elicitation",),
        answer_input=True,
        timeout_s=TIMEOUT_S,
    )
    with tempfile.TemporaryDirectory() as folder:
        record = run(spec, Progress(Path(folder) / "progress"))
    agreed = record.facts["agreed_revision"]
    if agreed != revision:
        raise SessionError("initialize", "protocol_error", f"{agreed} was agreed, not {revision}")
    return record


FAILURES = ("tool_error", "rpc_error", "refused", "broken_answer")
"""Findings that say that a call came to nothing."""


def call(url: str, revision: str, tool: str, arguments: dict[str, Any]) -> None:
    """Make one call that has to succeed."""
    record = session(url, revision, tool, arguments)
    findings = [notice.text for notice in record.notices if notice.code in FAILURES]
    if findings:
        raise SessionError("calls", "protocol_error", f"{tool}: {'; '.join(findings)}")


def main() -> None:
    """Make the calls of the scenario."""
    url, scenario = sys.argv[1], os.environ["MCP_CONFORMANCE_SCENARIO"]
    revision = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    try:
        for tool, arguments in CALLS.get(scenario, ()):
            call(url, revision, tool, arguments)
        for named in context.get("toolCalls", ()):
            call(url, revision, named["name"], named["arguments"])
        if scenario == "http-invalid-tool-headers":
            try_broken_tools(url, revision)
    except SessionError as error:
        sys.exit(f"{error.phase}: {error.text}")


def try_broken_tools(url: str, revision: str) -> None:
    """Ask for calls that the client has to refuse, and for one beside them that it has to make."""
    call(url, revision, "valid_tool", {"region": "us-west1"})
    for tool in BROKEN_TOOLS:
        try:
            session(url, revision, tool, {})
        except SessionError as error:
            if "must not be called" not in error.text:
                raise
        else:
            sys.exit(f"{tool} was called, though its schema is broken")


if __name__ == "__main__":
    main()
