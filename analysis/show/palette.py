"""The colours and dashes of every figure, on paper and on pages.

Lines differ in lightness and dashes as well as hue, and fills in lightness, so that one can
distinguish them in grey and without colour vision.
"""

from __future__ import annotations

from collections.abc import Sequence

INK = "#1b2a41"
LINES = ("#1b2a41", "#c2570c", "#4c93ab", "#7b2d6b", "#b58900", "#6b7280")
DARK_LINES = ("#e8edf3", "#ff9d5c", "#4a9fbb", "#d58ac6", "#e6c04d", "#9aa4b2")
DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (5.0, 2.0),
    (7.0, 2.0, 1.5, 2.0),
    (1.5, 1.5),
    (10.0, 3.0),
    (4.0, 1.5, 1.5, 1.5, 1.5, 1.5),
)
"""Lengths on and off, in widths of the line; empty for a line without gaps."""
FILLS = ("#c9d2dc", "#93aebd", "#3c687f", "#6b2408", "#fff4cc", "#c86e32")
DARK_FILLS = ("#2f3b4a", "#4f7286", "#89b6cc", "#ffd0ad", "#241c08", "#d9733a")
FILL_OF = {
    "local": 0,
    "post": 1,
    "halo": 2,
    "wait": 3,
    "waiting": 3,
    "unclassified": 4,
    "injected": 5,
    "difference": 2,
}
"""Fills of names that have the same one in every chart; others take those that are left."""
COLOUR_MAP = "cividis"
"""Grows in lightness only, so that it reads the same without colour vision and in grey."""


def fills_of(names: Sequence[str]) -> list[int]:
    """Return the number of the fill of every name of a chart."""
    taken = {FILL_OF[name] for name in names if name in FILL_OF}
    left = [at for at in range(len(FILLS)) if at not in taken] or list(range(len(FILLS)))
    others = [name for name in names if name not in FILL_OF]
    return [
        FILL_OF[name] if name in FILL_OF else left[others.index(name) % len(left)] for name in names
    ]
