"""The one style, light and dark: a colour per phase, inks and grounds, settings of matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl

from bench.phases import Phase

WIDTH_IN = 7.2
FONT = 8.5

# Okabe & Ito (2008), safe for colour-blind readers, with neighbours in a stack apart in lightness
# so that they stay apart in grey print; none drowns in a light or in a dark ground.
COLOURS: dict[Phase, str] = {
    Phase.SPAWN: "#5a5a5a",
    Phase.BOOT: "#9ecae9",
    Phase.RESOLVE: "#8c6d31",
    Phase.CONNECT: "#cc79a7",
    Phase.TLS: "#7a4fa3",
    Phase.DISCOVER: "#b0b0b0",
    Phase.INITIALIZE: "#0072b2",
    Phase.INITIALIZED: "#f0e442",
    Phase.TOOLS_LIST: "#d55e00",
    Phase.REOPEN: "#b2182b",
    Phase.ENCODE: "#5a5a5a",
    Phase.REQUEST: "#9ecae9",
    Phase.DISPATCH: "#0072b2",
    Phase.HANDLER: "#f0a830",
    Phase.REPLY: "#00795a",
    Phase.RESPONSE: "#8fd6bd",
    Phase.DECODE: "#777777",
    Phase.SERVER: "#cc79a7",
    Phase.CLOSE: "#bbbbbb",
}
_DASHES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Palette:
    """What differs between light and dark; ``lines`` tell cells apart."""

    ink: str
    muted: str
    grid: str
    ground: str
    lines: tuple[str, ...]

    def line(self, place: int) -> dict[str, Any]:
        """Return the look of the line in a place: neighbours differ also in grey.

        Colours and dashes make 32; the next 32 are thicker.
        """
        turn = place // len(self.lines)
        return {
            "color": self.lines[place % len(self.lines)],
            "linestyle": _DASHES[(place + turn) % len(_DASHES)],
            "linewidth": 1.4 + 0.9 * (turn // len(_DASHES)),
        }


LIGHT = Palette(
    ink="#222222",
    muted="#666666",
    grid="#dddddd",
    ground="#ffffff",
    lines=(
        "#0072b2", "#d55e00", "#00795a", "#cc79a7", "#c58a00", "#333333", "#56b4e9", "#7a4fa3",
    ),
)  # fmt: skip
DARK = Palette(
    ink="#e8e8e8",
    muted="#a6a6a6",
    grid="#363b40",
    ground="#14171a",
    lines=(
        "#4aa3e0", "#f07f35", "#2fae89", "#e39cc5", "#e0ac38", "#d0d0d0", "#9ad4f5", "#b08fd6",
    ),
)  # fmt: skip

_current: ContextVar[Palette] = ContextVar("palette", default=LIGHT)


@contextmanager
def style(dark: bool | None = None) -> Iterator[None]:
    """Draw in the project's style inside; matplotlib's own settings are as before outside.

    Light unless ``dark`` says otherwise or an outer ``style`` has said so.
    """
    chosen = palette() if dark is None else DARK if dark else LIGHT
    token = _current.set(chosen)
    try:
        with mpl.rc_context(_settings(chosen)):
            yield
    finally:
        _current.reset(token)


def palette() -> Palette:
    """Return the palette in force."""
    return _current.get()


def _settings(palette: Palette) -> dict[Any, Any]:
    return {
        "font.size": FONT,
        "font.family": "DejaVu Sans",
        "text.color": palette.ink,
        "axes.facecolor": palette.ground,
        "axes.edgecolor": palette.muted,
        "axes.labelcolor": palette.ink,
        "axes.titlesize": FONT + 1.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": palette.grid,
        "grid.linewidth": 0.6,
        "xtick.color": palette.ink,
        "ytick.color": palette.ink,
        # A name is a name, also one with dollar signs in it.
        "text.parse_math": False,
        "legend.frameon": False,
        "legend.fontsize": FONT - 0.5,
        "figure.facecolor": palette.ground,
        # The colour that the figure was made with, whichever style it is saved under.
        "savefig.facecolor": "auto",
        "svg.fonttype": "none",
        "svg.hashsalt": "mcp-latency",
        "pdf.fonttype": 42,
    }
