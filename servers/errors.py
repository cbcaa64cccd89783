"""The two ways in which a tool call goes wrong, one exception for each channel of the protocol."""

from __future__ import annotations


class ToolError(Exception):
    """The tool ran and could not do its work: a result with ``isError: true``.

    The text is one sentence for the model that called: what is wrong and what it can do next.
    """


class BadArguments(Exception):
    """The call does not fit the tool's schema: the JSON-RPC error ``-32602``; no tool ran."""
