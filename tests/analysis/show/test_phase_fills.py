"""Phases have one fill in every chart."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.html_charts import colour_of
from hindmost.analysis.show.palette import FILLS


def colours(*names: str) -> dict[str, str]:
    """Return the colours of a chart of areas."""
    series = tuple(
        Series(name=name, look="area", x=np.array([0.0, 1.0]), y=np.array([1.0])) for name in names
    )
    chart = Chart(
        title="", x=Quantity("x"), y=Quantity("y"), series=series, y_limits=(0.0, 1.0), marks={}
    )
    return dict(zip(names, colour_of(chart), strict=True))


def test_a_phase_has_the_same_fill_in_every_chart_and_none_that_another_has() -> None:
    phases = ("local", "post", "unclassified", "halo", "wait", "injected")
    every = colours(*phases)
    assert len(set(every.values())) == len(phases) == len(FILLS)
    few = colours("local", "injected", "waiting")
    assert few["injected"] == every["injected"]
    assert few["waiting"] == every["wait"]
    own = colours("assembly", "local", "output")
    assert len(set(own.values())) == 3
    assert own["local"] == every["local"]
