"""Charts and maps with the picture that stands in for them where no script runs."""

from __future__ import annotations

import io
from collections.abc import Iterator

from hindmost.analysis.figures.chart import Chart
from hindmost.analysis.figures.heat_map import HeatMap
from hindmost.analysis.figures.style import new_figure
from hindmost.analysis.page.charts import LiveChart, Opens

PICTURE_DPI = 110
"""Of pictures that stand where no script runs."""


def live_chart(
    content: Chart | HeatMap,
    heading: str,
    caption: str,
    numbers: Iterator[int],
    *,
    height: float,
    opens: Opens | None = None,
) -> LiveChart:
    """Return a chart with its picture, for a height of that in inches."""
    return LiveChart(
        number=next(numbers),
        content=content,
        heading=heading,
        caption=caption,
        png=drawn(content, height),
        opens=opens,
    )


def drawn(content: Chart | HeatMap, height: float) -> bytes:
    """Return the picture of a chart or map as PNG."""
    import matplotlib as mpl

    with new_figure(height) as (canvas, axes):
        content.draw(axes)
        sink = io.BytesIO()
        # What stands in needs no cut to its very edges, for which it would be drawn twice.
        with mpl.rc_context({"savefig.bbox": "standard"}):
            canvas.savefig(sink, format="png", dpi=PICTURE_DPI)
    return sink.getvalue()
