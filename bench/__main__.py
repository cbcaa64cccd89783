"""``python -m bench`` and the command ``mcp-latency``."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from bench.cli import cli

    cli(prog_name="mcp-latency")


if __name__ == "__main__":
    main()
