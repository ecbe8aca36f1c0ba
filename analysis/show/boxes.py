"""Boxes in rows along one axis, as numbers: flames of stacks, and lanes of threads.

The matplotlib renderer and pages draw them; a box says at the pointer what it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from hindmost.analysis.show.chart import Quantity
from hindmost.analysis.show.csv_file import Columns
from hindmost.analysis.show.figure_style import INCHES_A_LETTER, put_words, size_inches
from hindmost.analysis.show.palette import INK
from hindmost.analysis.show.templates import rendered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MORE, SAME, LESS = "#c2452d", "#e4e1da", "#2f6ea8"
"""Colours of what takes longer than elsewhere, as long, and less."""
SMALL, LARGE = 0.62, 1.0
"""Sizes of words, in those of the axis."""
LIGHT = 0.45
"""Lightness up to which a box has white words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    """Boxes in rows along one axis.

    Attributes
    ----------
    title : str
    x : Quantity
    row : int64 array, shape (box,)
        Upwards from 0.
    begin, width : float64 array, shape (box,)
    text, detail : tuple of str
        In each box, where there is room, and at the pointer.
    colour : tuple of str
        Of each box.
    large : bool array, shape (box,)
        Whether its words matter most.
    rows : tuple of str
        Names of the rows; empty if they have none.
    legend : tuple of (str, str)
        Colours and what they mean.
    """

    title: str
    x: Quantity
    row: NDArray[np.int64]
    begin: NDArray[np.float64]
    width: NDArray[np.float64]
    text: tuple[str, ...]
    detail: tuple[str, ...]
    colour: tuple[str, ...]
    large: NDArray[np.bool_]
    rows: tuple[str, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()

    @property
    def end(self) -> float:
        """Where the last box ends."""
        return float((self.begin + self.width).max())

    @property
    def height(self) -> int:
        """How many rows there are."""
        return max(int(self.row.max()) + 1, len(self.rows))

    def columns(self) -> Columns:
        """Return the numbers that are drawn, one row a box."""
        return {
            "row": self.row,
            "box": np.array(self.detail, dtype=object),
            self.x.column: self.begin,
            f"{self.x.column}_to": self.begin + self.width,
        }


def tone(part: float) -> str:
    """Return a colour between `LESS` (-1), `SAME` (0) and `MORE` (1)."""
    end = MORE if part > 0.0 else LESS
    mixed = [
        round(same + min(abs(part), 1.0) * (other - same))
        for same, other in zip(channels(SAME), channels(end), strict=True)
    ]
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def channels(colour: str) -> list[int]:
    """Return red, green and blue of a colour, 0 to 255."""
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def ink_on(colour: str) -> str:
    """Return the colour of words on a box."""
    red, green, blue = channels(colour)
    is_dark = (0.3 * red + 0.59 * green + 0.11 * blue) / 255.0 < LIGHT
    return "#ffffff" if is_dark else INK


def draw_boxes(boxes: Boxes, axes: Axes) -> Axes:
    """Draw on matplotlib's axes and return them."""
    inches = size_inches(axes)[0] / boxes.end
    size = float(axes.xaxis.label.get_fontsize())
    for row, begin, width, text, colour, large in zip(
        boxes.row, boxes.begin, boxes.width, boxes.text, boxes.colour, boxes.large, strict=True
    ):
        axes.barh(row, width, 0.94, left=begin, color=colour, ec="white", lw=0.5)
        own_size = size * (LARGE if large else SMALL) * 1.1
        room = int(0.85 * width * inches / (INCHES_A_LETTER * own_size))
        if room >= min(len(text), 4):
            axes.text(
                begin + 0.5 * width,
                row,
                text if len(text) <= room else f"{text[: room - 1]}…",
                ha="center",
                va="center",
                fontsize=own_size,
                fontweight="bold" if large else "normal",
                color=ink_on(colour),
                clip_on=True,
            )
    axes.set_xlim(0.0, boxes.end)
    axes.set_ylim(-0.5, boxes.height - 0.5)
    axes.set_yticks(range(len(boxes.rows)), boxes.rows)
    axes.spines["left"].set_visible(False)
    put_words(axes, title=boxes.title, x_label=boxes.x.label, y_label="")
    for colour, text in boxes.legend:
        axes.bar(0.0, 0.0, color=colour, label=text)
    axes.figure.legend(loc="outside lower left", ncols=max(len(boxes.legend), 1))
    return axes


def boxes_html(boxes: Boxes, anchor: str, heading: str, caption: str) -> Markup:
    """Return the boxes as a figure of a page, which needs no script."""
    drawn = [
        {
            "left": f"{100.0 * begin / boxes.end:.3f}%",
            "width": f"{100.0 * width / boxes.end:.3f}%",
            "bottom": f"{100.0 * row / boxes.height:.3f}%",
            "height": f"{100.0 / boxes.height:.3f}%",
            "colour": colour,
            "ink": ink_on(colour),
            "large": bool(large),
            "text": text,
            "detail": detail,
        }
        for row, begin, width, text, detail, colour, large in zip(
            boxes.row,
            boxes.begin,
            boxes.width,
            boxes.text,
            boxes.detail,
            boxes.colour,
            boxes.large,
            strict=True,
        )
    ]
    return rendered(
        "show/charts.html",
        "boxes",
        id=anchor,
        heading=heading,
        chart=boxes,
        end=f"{boxes.end:.3g}",
        boxes=drawn,
        caption=caption,
    )
