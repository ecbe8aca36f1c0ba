"""The one style of all figures, and how they are made and saved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost.errors import MissingError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 7.0
COLOUR_MAP = "cividis"
"""Grows in lightness only, so that it reads the same without colour vision and in grey."""
INK = "#1b2a41"
ACCENT = "#c2570c"
SECOND = "#0b7285"
FORMATS = ("png", "pdf", "svg")
PNG_DPI = 160

SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}


@contextmanager
def new_figure(height_inches: float) -> Iterator[tuple[Figure, Axes]]:
    """Make a figure with one pair of axes in hindmost's style; it is closed afterwards.

    Raises
    ------
    MissingError
        matplotlib is not installed.
    """
    try:
        import matplotlib as mpl

        mpl.use("Agg", force=False)
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingError(
            "Figures need matplotlib, which is not installed: pip install 'hindmost[plot]'."
        ) from error
    with mpl.rc_context(SETTINGS):
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
        try:
            yield figure, axes
        finally:
            plt.close(figure)


def save(figure: Figure, path: Path) -> Path:
    """Save a figure in the format that its name asks for."""
    if path.suffix[1:] not in FORMATS:
        raise UsageError(f"{path}: figures are saved as {', '.join(FORMATS)}.")
    try:
        figure.savefig(path, dpi=PNG_DPI)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    return path
