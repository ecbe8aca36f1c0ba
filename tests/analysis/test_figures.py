from __future__ import annotations

import numpy as np
import pytest

from hindmost.analysis.figures.heat_map import draw_heat_map, pool_maximum
from hindmost.analysis.figures.histogram import draw_histogram
from hindmost.analysis.figures.style import new_figure
from hindmost.analysis.tables.terminal import seconds
from hindmost.models.stochastic.johnsonsu import fit_johnsonsu


@pytest.mark.parametrize("length", [1, 7, 100, 1001])
@pytest.mark.parametrize("most", [1, 10, 2000])
def test_pooling_keeps_every_maximum(length: int, most: int) -> None:
    times = np.random.default_rng(length).random((length, 3))
    pooled = pool_maximum(times, most, axis=0)
    assert pooled.shape[0] <= most or pooled.shape[0] == length <= most
    np.testing.assert_array_equal(pooled.max(axis=0), times.max(axis=0))
    factor = -(-length // most)
    expected = [times[i : i + factor].max(axis=0) for i in range(0, length, factor)]
    np.testing.assert_array_equal(pooled, expected)


def test_a_single_detour_stays_in_the_map() -> None:
    times = np.full((12_000, 5), 1e-4)
    times[7777, 3] = 1e-2
    with new_figure(3.0) as (_, axes):
        draw_heat_map(axes, times, "map")
        drawn = axes.images[0].get_array()
        assert drawn is not None
        assert drawn.shape == (5, 1200)
        assert drawn[3].max() == pytest.approx(1e4)
        assert "slowest of 10" in axes.get_xlabel()
        assert axes.get_ylabel() == "rank"


def test_histogram_counts_what_lies_beyond_its_axis() -> None:
    times = np.random.default_rng(0).gamma(9.0, 1e-5, 4000)
    times[:5] = 1.0
    with new_figure(3.0) as (_, axes):
        draw_histogram(axes, times, fit_johnsonsu(times[5:]), "times")
        assert "20 of 4000 lie beyond, up to 1000000 us" in axes.get_xlabel()
        steps = axes.patches[0]
        area = float(np.sum(steps.get_data().values * np.diff(steps.get_data().edges)))  # type: ignore[attr-defined]
        assert area == pytest.approx(3980 / 4000)
        legend = axes.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()][1] == "Johnson SU"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.23456, "1.235 s"),
        (0.4712, "471.2 ms"),
        (4.5e-5, "45.00 us"),
        (1e-9, "1.000 ns"),
        (123.4, "123.4 s"),
        (0.0, "0.000 ns"),
    ],
)
def test_seconds_in_words(value: float, text: str) -> None:
    assert seconds(value) == text
