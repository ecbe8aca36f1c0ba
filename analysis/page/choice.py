"""A chart of which one can choose what it shows: the timelines of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.chart import Chart
from hindmost.analysis.page.charts import LiveChart, curve_data, curve_legend, packed


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceChart(LiveChart):
    """Charts with the same axes and series, of which one is shown; ``content`` is the first.

    Attributes
    ----------
    charts : mapping of str to Chart
        By a short key, ``#chart-NUMBER=KEY`` in an address.
    labels : mapping of str to str
        What each is called where it is chosen.
    what : str
        What is chosen.
    """

    charts: Mapping[str, Chart]
    labels: Mapping[str, str]
    what: str

    def data(self) -> dict[str, Any]:
        """Return the first chart, and the heights of all: (chart, series, step)."""
        heights = np.array([heights_of(chart) for chart in self.charts.values()])
        first = next(iter(self.charts.values()))
        return {
            **curve_data(first),
            "kind": "choice",
            "keys": list(self.charts),
            **packed(heights),
        }

    def legend(self) -> str:
        """Return the chooser over the legend that all have in common."""
        options = "".join(
            f'<option value="{escape(key)}">{escape(self.labels[key])}</option>'
            for key in self.charts
        )
        return (
            f"<label>{escape(self.what)} <select>{options}</select></label>"
            f"{curve_legend(next(iter(self.charts.values())))}"
        )


def heights_of(chart: Chart) -> NDArray[np.float64]:
    """Return how high every series is at every step, areas from where they stand.

    Returns
    -------
    float64 array, shape (series, step)
    """
    return np.array([each.y if each.base is None else each.y - each.base for each in chart.series])
