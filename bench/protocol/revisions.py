"""The revisions of the protocol, and what differs between them, as one table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Era(Enum):
    """How a connection opens: with a handshake, or with a description in every request."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"


@dataclass(frozen=True, slots=True)
class Revision:
    """One dated revision. ``batches``: whether a receiver must take JSON-RPC batches."""

    date: str
    era: Era
    batches: bool = False


REVISIONS = {
    revision.date: revision
    for revision in (
        Revision("2024-11-05", Era.HANDSHAKE),
        Revision("2025-03-26", Era.HANDSHAKE, batches=True),
        Revision("2025-06-18", Era.HANDSHAKE),
        Revision("2025-11-25", Era.HANDSHAKE),
        Revision("2026-07-28", Era.STATELESS),
    )
}
DEFAULT_REVISION = "2025-11-25"
STATELESS_REVISION = "2026-07-28"
AUTO = "auto"
"""In place of a revision: the client asks first which era the server speaks."""


def era(revision: str) -> Era:
    """Return how a connection of this revision opens; ``auto`` opens with the stateless probe."""
    return Era.STATELESS if revision == AUTO else REVISIONS[revision].era
