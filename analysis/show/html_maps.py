"""Heat maps on a page: their times packed for the script, and their legend."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from hindmost.analysis.show.heat_map import PERCENT, HeatMap
from hindmost.analysis.show.palette import COLOUR_MAP
from hindmost.analysis.show.templates import rendered

MAX_CELLS = 150_000
"""Times of a map or a timeline on a page, each about a byte and a half."""
MAX_ROWS = 256
FAR_BEYOND = 1.5
"""Times the top of the scale of colours, from which on a cell of a map is marked as well."""
LOG_STEP = 2e-3
"""Times are rounded to 0.1 %, which deflates to about a byte per cell."""
ANCHORS = 33
"""Colours of the map that travel; those between are interpolated."""


def map_data(heat_map: HeatMap) -> dict[str, Any]:
    """Return what the script needs of a map."""
    import matplotlib as mpl

    coarse = coarse_enough(heat_map)
    scale, unit = (PERCENT.per_second, PERCENT.sign) if coarse.in_percent else (1.0, "s")
    times = scale * coarse.times
    callouts = [(callout, coarse.rows_of(callout)) for callout in coarse.callouts]
    colours = mpl.colormaps[COLOUR_MAP](np.linspace(0.0, 1.0, ANCHORS))
    left = float(coarse.bodies[0]) - 0.5 * coarse.stride
    return {
        "kind": "map",
        "x": {
            "label": coarse.x_label,
            "limits": (left, left + coarse.bodies.size * coarse.stride),
            "counted": True,
        },
        "y": {
            "title": "rank",
            "limits": (-0.5, coarse.ranks - 0.5),
            "counted": True,
            "upright": True,
            "names": coarse.names if coarse.numbers is not None else [],
            "kept": [(row, coarse.names[row]) for _, rows in callouts for row in rows[:1]],
        },
        "unit": unit,
        "highest": coarse.highest,
        "first_body": int(coarse.bodies[0]),
        "stride": coarse.stride,
        "bodies": int(coarse.bodies.size),
        "bodies_a_column": coarse.bodies_a_column,
        "columns": times.shape[0],
        "rows": times.shape[1],
        "column_width": coarse.bodies_a_column * coarse.stride,
        "row_height": coarse.ranks_a_row,
        "colour_limits": [scale * limit for limit in coarse.colour_limits_s],
        "colours": [hex_colour(colour) for colour in colours],
        "far_beyond": FAR_BEYOND,
        "callouts": [
            {"text": each.text, "rows": rows, "iterations": each.iterations}
            for each, rows in callouts
            if rows
        ],
        **packed(times),
    }


def packed(times: NDArray[np.float64], plain: NDArray[np.uint16] | None = None) -> dict[str, Any]:
    """Return times as deflated logarithms of two bytes, with what is needed to read them.

    Parameters
    ----------
    times : float64 array, seconds
    plain : uint16 array, optional
        Whole numbers that follow the times as they are.
    """
    positive = times[times > 0.0]
    least = float(positive.min()) if positive.size else 1.0
    codes = np.zeros(times.shape, "<u2")  # 0 is no time at all
    codes[times > 0.0] = 1 + np.rint(np.log(positive / least) / LOG_STEP)
    written = codes.tobytes() + (b"" if plain is None else plain.astype("<u2").tobytes())
    return {
        "least": least,
        "log_step": LOG_STEP,
        "times": base64.b64encode(zlib.compress(written, 9)).decode(),
    }


def coarse_enough(heat_map: HeatMap) -> HeatMap:
    """Pool a map until it is small enough to travel."""
    rows = min(MAX_ROWS, heat_map.times.shape[1])
    return heat_map.coarser(MAX_CELLS // rows, MAX_ROWS)


def hex_colour(colour: NDArray[np.float64]) -> str:
    """Write a colour of matplotlib for the script."""
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in colour[:3].tolist())


def map_legend(heat_map: HeatMap) -> Markup:
    """Return the scale of colours with the times at its ends, and the choice of an order."""
    coarse = coarse_enough(heat_map)
    low, high = map(coarse.written, coarse.colour_limits_s)
    far = float(coarse.times.max()) > FAR_BEYOND * coarse.colour_limits_s[1]
    return rendered(
        "show/charts.html",
        "map_legend",
        axis=f"{coarse.what}, by {coarse.y_label}",
        low=low,
        high=high,
        far=f"{FAR_BEYOND:g}" if far else "",
    )
