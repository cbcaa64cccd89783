from __future__ import annotations

from typing import Any

import pytest

from bench.protocol.http import HttpBinding, Url
from bench.protocol.mcp import Connection
from bench.protocol.tool_headers import mirrored, values


def schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def annotated(name: object, kind: str = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def test_arguments_that_are_annotated_go_into_headers_wherever_properties_lead() -> None:
    nested = schema(
        region=annotated("Region"),
        urgent=annotated("Urgent", "boolean"),
        page=schema(size=annotated("Size", "integer")),
        query={"type": "string"},
    )
    arguments = {"region": "eu", "urgent": False, "page": {"size": 5}, "query": "no"}
    assert dict(values(mirrored(nested), arguments)) == {
        "Mcp-Param-Region": "eu",
        "Mcp-Param-Urgent": "false",
        "Mcp-Param-Size": "5",
    }


@pytest.mark.parametrize("arguments", [{}, {"region": None}, None, {"region": {}}])
def test_what_is_null_or_absent_or_of_another_type_has_no_header(arguments: object) -> None:
    assert not dict(values(mirrored(schema(region=annotated("Region"))), arguments))


@pytest.mark.parametrize(
    "broken",
    [
        schema(a=annotated("")),
        schema(a=annotated("My Region")),
        schema(a=annotated("Region:Primary")),
        schema(a=annotated("Région")),
        schema(a=annotated("Region\n")),
        schema(a=annotated(True)),
        schema(a=annotated("Score", "number")),
        schema(a=annotated("Data", "object")),
        schema(a={"x-mcp-header": "Untyped"}),
        schema(a=annotated("Region"), b=annotated("region")),
        schema(a={"type": "array", "items": annotated("Item")}),
        {"type": "object", "anyOf": [schema(a=annotated("Region"))]},
        annotated("Root"),
    ],
)
def test_a_broken_annotation_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="x-mcp-header"):
        mirrored(broken)


@pytest.mark.parametrize("plain", [None, [], schema(a={"type": "string"})])
def test_schemas_without_annotations_ask_for_nothing(plain: object) -> None:
    assert mirrored(plain) == {}


def test_an_annotation_among_values_of_an_argument_is_only_a_value() -> None:
    assert mirrored(schema(a={"type": "object", "default": {"x-mcp-header": "Region"}})) == {}


def head(revision: str, tool: dict[str, Any], arguments: dict[str, Any]) -> str:
    binding = HttpBinding(Url.parse("http://127.0.0.1:1/mcp"), {}, revision)
    binding.listed(tool)
    connection = Connection("2026-07-28")
    params = {"name": tool["name"], "arguments": arguments}
    template = connection.template("tools/call", params)
    return binding.request(template).encode(1).partition(b"\r\n\r\n")[0].decode("ascii")


def test_the_stateless_era_sends_them_in_base64_where_they_are_not_safe() -> None:
    tool = {"name": "t", "inputSchema": schema(region=annotated("Region"))}
    assert "\r\nMcp-Param-Region: eu\r\n" in head("2026-07-28", tool, {"region": "eu"})
    unsafe = head("2026-07-28", tool, {"region": "a\r\nX: y"})
    assert "\r\nMcp-Param-Region: =?base64?YQ0KWDogeQ==?=\r\n" in unsafe


def test_the_handshake_era_knows_no_such_headers_and_no_broken_ones() -> None:
    tool = {"name": "t", "inputSchema": schema(region=annotated(""))}
    assert "Mcp-Param" not in head("2025-11-25", tool, {"region": "eu"})


def test_a_broken_tool_must_not_be_called() -> None:
    tool = {"name": "t", "inputSchema": schema(region=annotated(""))}
    with pytest.raises(ValueError, match="the tool t must not be called"):
        head("2026-07-28", tool, {"region": "eu"})
