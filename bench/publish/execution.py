"""Notebooks executed in a kernel of their own, which is gone afterwards, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode
from traitlets.config import Config

from bench.errors import PublishError


class _Client(NotebookClient):
    """A client that leaves Ctrl-C to the loop, and ends its kernel in one place.

    nbclient's own answer to Ctrl-C ends the kernel and reports that it died.
    """

    code_cell = 0
    """The number of the code cell that runs, as notebooks show it."""

    @asynccontextmanager
    async def async_setup_kernel(self, **options: Any) -> AsyncIterator[None]:
        """Run the kernel inside."""
        options.pop("cleanup_kc", None)
        self.create_kernel_manager()
        try:
            await self.async_start_new_kernel(**options)
            await self.async_start_new_kernel_client()
            yield
        finally:
            if self.km is not None and self.km.has_kernel:
                await self._async_cleanup_kernel()

    async def async_execute_cell(self, cell: NotebookNode, *place: Any, **how: Any) -> Any:
        """Execute a cell, and remember which."""
        self.code_cell += cell.cell_type == "code"
        return await super().async_execute_cell(cell, *place, **how)


def read(path: Path) -> NotebookNode:
    """Return a notebook. Raises PublishError where the file is none."""
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except OSError as error:
        raise PublishError(f"{path}: cannot be read: {error.strerror}") from None
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise PublishError(f"{path}: not a notebook: {reason}") from None
    return notebook


def execute(path: Path, *, limit_s: float, formats: Sequence[str] = ("png",)) -> NotebookNode:
    """Return a notebook as executed from top to bottom in its own folder.

    ``formats`` are those of its figures, in the words of the inline backend. Raises PublishError
    naming the notebook and the code cell.
    """
    notebook = read(path)
    with tempfile.TemporaryDirectory(prefix="mcp-latency-") as folder:
        _run(_client(notebook, path, folder, formats), path, limit_s)
    return stable(notebook)


def _client(notebook: NotebookNode, path: Path, folder: str, formats: Sequence[str]) -> _Client:
    """Return what will run a notebook; its kernel is talked to through sockets in ``folder``."""
    manager = {"transport": "ipc", "connection_file": f"{folder}/kernel.json"}
    return _Client(
        notebook,
        config=Config({"KernelManager": manager}),
        timeout=None,
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=[f"--InlineBackend.figure_formats={set(formats)!r}"],
    )


def _run(client: _Client, path: Path, limit_s: float) -> None:
    try:
        asyncio.run(_within(limit_s, client))
    except CellExecutionError as error:
        said = f"{error.ename}: {error.evalue}".splitlines()[0]
        raise PublishError(f"{path}: code cell {client.code_cell}: {said}") from None
    except DeadKernelError:
        raise PublishError(
            f"{path}: code cell {client.code_cell}: its Python ended before the cell did"
        ) from None
    except TimeoutError:
        raise PublishError(
            f"{path}: code cell {client.code_cell}: the notebook is not done after {limit_s:g} s; "
            "--time-limit allows more"
        ) from None
    except NoSuchKernel as error:
        raise PublishError(
            f"{path}: there is no kernel named {error.name!r} here; python3 comes with ipykernel"
        ) from None
    except RuntimeError as error:
        raise PublishError(f"{path}: its kernel does not start: {error}") from None


async def _within(limit_s: float, client: _Client) -> None:
    # So that Python's debugger says nothing on stderr about modules that it cannot trace.
    environment = {**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    task = asyncio.create_task(client.async_execute(env=environment))
    try:
        done, _ = await asyncio.wait({task}, timeout=limit_s)
    finally:
        if not task.done():
            task.cancel()
            # To nbclient whatever ends a cell early is a kernel that has died.
            with contextlib.suppress(asyncio.CancelledError, DeadKernelError):
                await task
    if not done:
        raise TimeoutError
    task.result()


def stable(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook without what differs between two executions that show the same."""
    notebook.metadata.language_info = {"name": "python", "pygments_lexer": "ipython3"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook
