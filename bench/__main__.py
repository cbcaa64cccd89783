"""``python -m bench`` and the command ``mcp-latency``."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line."""
    try:
        from bench.cli import cli
    except KeyboardInterrupt:
        sys.exit(130)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that knows fewer characters than the tables have is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="mcp-latency")


if __name__ == "__main__":
    main()
