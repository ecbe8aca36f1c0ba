"""Charts drawn by matplotlib."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.matplotlib_charts import draw_chart


def test_ticks_count_what_is_there() -> None:
    area = Series(name="local", look="area", x=np.array([-0.5, 0.5, 1.5]), y=np.array([1.0, 2.0]))
    axis = Quantity("rank")
    chart = Chart(
        title="two ranks",
        x=axis,
        y=axis,
        series=(area,),
        y_limits=(0.0, 3.0),
        marks={},
        counted=True,
    )
    axes = draw_chart(chart, Figure().subplots())
    assert list(axes.get_xticks()) == [0, 1]
    assert axes.get_xlim() == (-0.5, 1.5)
