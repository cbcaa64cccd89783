"""The arrows between the rooms: who may import what, and who may read a clock."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bench

ROOT = Path(bench.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
HEAVY = (
    "numpy",
    "pyperf",
    "matplotlib",
    "click",
    "rich",
    "msgspec",
    "psutil",
    "mcp",
    "asyncio",
    "jinja2",
    "nbclient",
    "nbconvert",
    "zmq",
)

# Folder or module -> what it must not import. The reason stands in the docstring of the room.
FORBIDDEN = {
    "protocol": {
        "time", "os", "socket", "select", "subprocess", "threading", "asyncio", "logging",
        "bench.transports", "bench.clients", "bench.clock", "bench.session",
    },
    "transports": {"bench.clients", "bench.session", "bench.results", "bench.protocol.mcp"},
    "clients": {"bench.session", "bench.results", "bench.runner"},
    "probes": {"bench.session", "bench.results", "bench.runner", "bench.clients"},
    "stats.py": {"bench"},
    "phases.py": {"numpy", "bench.results"},
    "plan.py": {"time", "os", "bench.runner", "bench.suite"},
    "results.py": {"os", "time", "pyperf", "bench.storage", "bench.runner", "bench.session"},
    "records.py": {"os", "time", "bench.runner", "bench.session"},
    "subjects.py": {"os", "time", "bench.storage", "bench.runner", "bench.accounts"},
    "matching.py": {"os", "time", "numpy", "bench.storage", "bench.runner"},
    "comparison.py": {"os", "time", "numpy", "matplotlib", "bench.storage", "bench.runner"},
    "adaptive.py": {"os", "time", "numpy", "bench.storage", "bench.runner", "bench.measure"},
    "noise_floor.py": {"time", "numpy", "bench.runner", "bench.measure"},
    "run_flags.py": {"click", "bench.runner", "bench.storage", "bench.render"},
    "gate_syntax.py": {"os", "time", "numpy", "bench.results", "bench.comparison"},
    "gates.py": {"os", "time", "numpy", "matplotlib", "bench.storage", "bench.runner"},
    "figures.py": {"os", "time", "numpy", "matplotlib", "bench.storage", "bench.runner"},
    "exports": {"time", "numpy", "matplotlib", "click", "bench.runner", "bench.storage"},
    "accounts.py": {"os", "time", "matplotlib", "bench.storage", "bench.runner"},
    "cost_of_calls.py": {"os", "time", "matplotlib", "bench.storage", "bench.runner"},
    "detect.py": {
        "os", "time", "scipy", "matplotlib", "bench.results", "bench.phases", "bench.accounts",
        "bench.checks", "bench.render",
    },
    "checks.py": {
        "os", "time", "scipy", "matplotlib", "bench.accounts", "bench.storage", "bench.runner",
        "bench.session", "bench.render.report", "bench.render.tables", "bench.render.formats",
    },
    "tail.py": {"os", "time", "matplotlib", "bench.render", "bench.storage", "bench.runner"},
    "tidy.py": {"os", "time", "matplotlib", "bench.storage", "bench.runner", "bench.render"},
    "ask.py": {"os", "time", "click", "bench.runner", "bench.results", "bench.storage"},
    "api.py": {"click", "matplotlib", "bench.runner", "bench.measure"},
    "run_function.py": {"matplotlib", "bench.cli", "bench.run_command"},
    "render": {"matplotlib", "bench.runner", "bench.session", "bench.storage"},
    "charts": {"bench.runner", "bench.session", "bench.storage"},
    "publish": {"matplotlib", "click", "bench.runner", "bench.session", "bench.cli"},
    "proofs.py": {"time", "matplotlib", "click", "bench.runner", "bench.storage", "bench.charts"},
    "page": {"matplotlib", "bench.runner", "bench.session", "bench.cli"},
    "atomic.py": {"bench"},
    "runner.py": {"numpy", "bench.results", "bench.stats", "bench.storage"},
}  # fmt: skip


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_room_imports_what_lies_above_it(path: Path) -> None:
    banned = FORBIDDEN.get(room(path), set())
    for name in imports(path):
        if name in ("bench.__version__", "bench.errors"):
            continue
        hits = [word for word in banned if name == word or name.startswith(f"{word}.")]
        assert not hits, f"{path.name} imports {name}"


def test_only_the_clock_reads_the_clock() -> None:
    readers = {
        path.name
        for path in MODULES
        if "perf_counter" in path.read_text("utf-8") and path.name != "environment.py"
    }
    # marks.py is read by servers too, and must stand alone.
    assert readers == {"clock.py", "marks.py"}


def test_only_charts_draw() -> None:
    for path in MODULES:
        if room(path) != "charts":
            assert not any(name.startswith("matplotlib") for name in imports(path)), path


@pytest.mark.parametrize("module", ["bench", "bench.worker", "bench.marks", "bench.__main__"])
def test_nothing_heavy_is_imported_at_start_up_or_in_the_worker(module: str) -> None:
    program = f"import sys, {module}; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []


def test_no_printing_outside_the_command_line_and_the_reports() -> None:
    allowed = {"cli.py", "run_command.py", "show_progress.py", "report.py", "doctor.py"}
    allowed |= {"formats.py", "compare_command.py", "show_command.py", "conclusion.py"}
    for path in MODULES:
        if path.name not in allowed:
            text = path.read_text("utf-8")
            assert "print(" not in text, path
            assert "click.echo" not in text, path


def test_no_test_sleeps_to_wait_for_something() -> None:
    for path in Path(__file__).parent.rglob("test_*.py"):
        if path != Path(__file__):
            assert "time.sleep(" not in path.read_text("utf-8"), path
