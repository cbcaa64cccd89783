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
UNKNOWN_REVISION = "1900-01-01"
"""Never a revision: who agrees to it repeats whatever is asked for."""
OFFERS = REVISIONS | {UNKNOWN_REVISION: Revision(UNKNOWN_REVISION, Era.HANDSHAKE)}
"""What may be asked for; only what is in :data:`REVISIONS` can be agreed on."""
DEFAULT_REVISION = "2025-11-25"
STATELESS_REVISION = "2026-07-28"
AUTO = "auto"
"""In place of a revision: the client asks first which era the server speaks."""


def era(revision: str) -> Era:
    """Return how a connection of this revision opens; ``auto`` opens with the stateless probe."""
    return Era.STATELESS if revision == AUTO else OFFERS[revision].era
