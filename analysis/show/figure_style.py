"""The style of matplotlib figures, and how they are made and saved."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hindmost.analysis.show.palette import INK
from hindmost.errors import UsageError
from hindmost.extras import imported
from hindmost.files import replacing
from hindmost.printable import one_line, printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

WIDTHS_INCHES = {"full": 7.0, "half": 3.4}
"""The text block of a journal, and one of its two columns."""
FORMATS = ("png", "pdf", "svg")
PNG_DPI = 200
MAX_TICKS = 16
"""Number of things up to which an axis numbers each."""
PAD_INCHES = 0.04
"""Around a picture."""
MIN_PART = 0.1
"""Of the size of a picture, of which its axes take so much at least."""
INCHES_A_LETTER = 0.0071
"""Mean width of a letter per point of font size, a little too large to break lines early."""

SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "legend.handlelength": 2.6,
    "lines.scale_dashes": True,
    "savefig.bbox": "tight",
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}
HALF_SETTINGS: Any = {
    **SETTINGS,
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "legend.fontsize": 7.0,
    "legend.handlelength": 2.2,
}


@contextmanager
def new_figure(
    height_inches: float, width: str = "full", *, dpi: int | None = None
) -> Iterator[tuple[Figure, Axes]]:
    """Make a figure with one pair of axes in hindmost's style.

    Parameters
    ----------
    width : str
        A key of `WIDTHS_INCHES`. A figure for one column is laid out for it, not shrunk.
    dpi : int, optional
        Of a picture that `write_picture` writes. Other figures are laid out by matplotlib, which
        draws all words three times.

    Raises
    ------
    MissingError
        matplotlib is not installed.
    """
    mpl = imported("matplotlib", what="Figures", extra="plot")
    with warnings.catch_warnings():
        # Two matplotlibs, of pip and of the distribution, share the name of the package for three
        # dimensions, in which nothing is drawn here.
        warnings.filterwarnings("ignore", "Unable to import Axes3D", UserWarning)
        from matplotlib.figure import Figure  # pyplot, which takes longer, is for windows

    size = (WIDTHS_INCHES[width], height_inches)
    with mpl.rc_context(HALF_SETTINGS if width == "half" else SETTINGS):
        figure = Figure(figsize=size, dpi=dpi, layout="constrained" if dpi is None else None)
        yield figure, figure.subplots()


def save(figure: Figure, path: Path) -> Path:
    """Save a figure in the format that its name asks for."""
    if path.suffix[1:] not in FORMATS:
        raise UsageError(f"{path}: use one of the suffixes {', '.join(FORMATS)}.")
    try:
        with replacing(path) as file:
            write_figure(figure, file, path.suffix[1:], PNG_DPI)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def write_figure(figure: Figure, file: BinaryIO, kind: str, dpi: int) -> None:
    """Write a figure to an open file; the one place where figures are drawn."""
    show_names_as_they_are(figure)
    with warnings.catch_warnings():
        # Letters that the font lacks are drawn as boxes; SVG keeps them as text.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.savefig(file, format=kind, dpi=dpi)


FEW_COLOURS = 64
"""Of a picture on a page: a third of the bytes, with no difference to the eye."""


def write_picture(figure: Figure, file: BinaryIO) -> None:
    """Write a figure of a given resolution as PNG, laid out by one look at its words."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox
    from PIL import Image

    show_names_as_they_are(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        canvas: Any = FigureCanvasAgg(figure)
        renderer = canvas.get_renderer()
        boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]
        words = Bbox.union([box for box in boxes if box is not None])
        legends = [legend.get_window_extent(renderer).height for legend in figure.legends]
        room, (width, height) = PAD_INCHES * figure.dpi, figure.bbox.size
        now, below = figure.subplotpars, max(legends, default=0.0)
        left = now.left + (room - words.x0) / width
        bottom = now.bottom + (room + below - words.y0) / height
        figure.subplots_adjust(
            left=left,
            bottom=bottom,
            right=max(now.right + (width - room - words.x1) / width, left + MIN_PART),
            top=max(now.top + (height - room - words.y1) / height, bottom + MIN_PART),
        )
        canvas.draw()
        drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        drawn.quantize(FEW_COLOURS, Image.Quantize.FASTOCTREE).save(file, "PNG")


def show_names_as_they_are(figure: Figure) -> None:
    """Disable formulas in all text of a figure, and escape characters that XML forbids.

    Tick labels and the factor of an axis keep formulas, as matplotlib writes powers of ten with
    them; `name_places` escapes names there.
    """
    for text in words_in(figure):
        text.set_parse_math(False)
        text.set_text(printable(text.get_text()))


def words_in(artist: Artist) -> Iterator[Text]:
    """Yield the texts of a figure, but not those of ticks: to ask for these makes them all."""
    from matplotlib.axis import Axis
    from matplotlib.text import Text

    for child in artist.get_children():
        if isinstance(child, Axis):
            yield child.label
        elif isinstance(child, Text):
            yield child
        else:
            yield from words_in(child)


def put_words(axes: Axes, *, title: str, x_label: str, y_label: str) -> None:
    """Set title and labels, broken into lines that fit the figure."""
    width, height = size_inches(axes)
    for text, put, inches in (
        (title, axes.set_title, 0.8 * width),
        (x_label, axes.set_xlabel, 0.8 * width),
        (y_label, axes.set_ylabel, 0.8 * height),
    ):
        size = float(put("").get_fontsize())
        letters = max(12, int(inches / (INCHES_A_LETTER * size)))
        put("\n".join(textwrap.wrap(text, letters)))


def size_inches(axes: Axes) -> tuple[float, float]:
    """Return width and height of the figure that axes stand in."""
    figure = axes.figure
    width, height = figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi
    return float(width), float(height)


def name_places(axis: Axis, names: Sequence[str], room: int) -> None:
    """Write names instead of numbers at the integer places of an axis, as many as fit.

    Parameters
    ----------
    axis : matplotlib.axis.Axis
    names : sequence of str
        Of the places from 0 on.
    room : int
        Number of names that fit next to each other.
    """
    every = -(-len(names) // max(room, 1))
    shown = [one_line(name).replace("$", r"\$") for name in names[::every]]
    axis.set_ticks(range(0, len(names), every), labels=shown)
