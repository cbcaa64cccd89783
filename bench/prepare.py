"""What has to be there before anything is timed: the ticket database, certificates, packages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.errors import SuiteError
from bench.suite import TICKET_TOOLS, Cell, Suite
from bench.target import IN_PROCESS_LABEL, TICKETS_VARIABLE, ticket_environment


def without_missing(suite: Suite) -> tuple[Suite, list[str]]:
    """Return the suite without the cells whose parts are not installed, and a line for each."""
    lines = [f"skipped: {cell.name}: {cell.target.missing}" for cell in suite.cells if _lacks(cell)]
    kept = tuple(cell for cell in suite.cells if not _lacks(cell))
    if not kept:
        raise SuiteError(
            "; ".join(dict.fromkeys(cell.target.missing or "" for cell in suite.cells))
        )
    return replace(suite, cells=kept), lines


def with_tickets(suite: Suite) -> Suite:
    """Fill the ticket database where a shipped server needs it; tell the servers where it is."""
    shipped = [cell for cell in suite.cells if _is_shipped(cell)]
    if not any(cell.handler in TICKET_TOOLS for cell in shipped):
        return suite
    variables = ticket_environment()
    cells = tuple(
        replace(cell, target=replace(cell.target, provided={**cell.target.provided, **variables}))
        if _is_shipped(cell) and TICKETS_VARIABLE not in cell.target.passed
        else cell
        for cell in suite.cells
    )
    return replace(suite, cells=cells)


@contextmanager
def certificates(suite: Suite) -> Iterator[Suite]:
    """Give the cells under TLS a certificate of a throw-away authority, gone with the run."""
    if not any("{cert}" in cell.target.argv for cell in suite.cells):
        yield suite
        return
    import trustme

    with TemporaryDirectory(prefix="mcp-latency-") as folder:
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1", "localhost")
        paths = {name: str(Path(folder, f"{name}.pem")) for name in ("ca", "cert", "key")}
        authority.cert_pem.write_to_path(paths["ca"])
        issued.cert_chain_pems[0].write_to_path(paths["cert"])
        issued.private_key_pem.write_to_path(paths["key"])
        cells = tuple(_certified(cell, paths) for cell in suite.cells)
        yield replace(suite, cells=cells)


def _certified(cell: Cell, paths: dict[str, str]) -> Cell:
    if "{cert}" not in cell.target.argv:
        return cell
    filled = {"{cert}": paths["cert"], "{key}": paths["key"]}
    argv = tuple(filled.get(word, word) for word in cell.target.argv)
    return replace(cell, target=replace(cell.target, argv=argv, ca_file=paths["ca"]))


def _lacks(cell: Cell) -> bool:
    return cell.target.missing is not None


def _is_shipped(cell: Cell) -> bool:
    return cell.target.label.startswith("serve ") or cell.target.label == IN_PROCESS_LABEL
