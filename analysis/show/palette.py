"""The colours and dashes of every figure, on paper and on pages.

Lines differ in lightness and dashes as well as hue, and fills in lightness, so that one can
distinguish them in grey and without colour vision.
"""

from __future__ import annotations

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
FILLS = ("#c9d2dc", "#93aebd", "#46748d", "#6b2408", "#fff4cc")
DARK_FILLS = ("#2f3b4a", "#4f7286", "#78a6bd", "#ffd0ad", "#241c08")
MOST_LINES = len(LINES)
COLOUR_MAP = "cividis"
"""Grows in lightness only, so that it reads the same without colour vision and in grey."""
