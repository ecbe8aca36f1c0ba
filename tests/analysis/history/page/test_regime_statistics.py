"""Intervals of the mean of a regime."""

import base64
import json
import math
import zlib

import numpy as np
import pytest
from tests.analysis.history.page.planted import series_of

from hindmost.analysis.history.page.data import history_data, packed
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.history import History
from hindmost.models.changepoint import Regime, detect
from hindmost.models.changepoint.robust.fits import Fit
from hindmost.models.changepoint.robust.method import LEVEL
from hindmost.models.changepoint.robust.segments import Segment, with_shared_noise

TRIALS = 1000
TRUNCATED = 0.008
"""What nights beyond three standard deviations cost, which are left out as outliers."""


def regimes(nights: int, rho: float) -> list[Regime]:
    """Return the regimes of series around 1 in which no change was found."""
    draw = np.random.default_rng([nights, round(10 * rho)])
    noise = draw.normal(0.0, 1.0, (TRIALS, nights))
    noise[:, 1:] *= math.sqrt(1.0 - rho**2)
    for night in range(1, nights):
        noise[:, night] += rho * noise[:, night - 1]
    found = [detect(values) for values in np.exp(0.02 * noise)]
    return [each.regimes[0] for each in found if len(each.regimes) == 1 and not each.trends]


@pytest.mark.parametrize(
    ("nights", "rho", "estimated"),
    [pytest.param(12, 0.0, 0.0, marks=pytest.mark.slow), (60, 0.5, 0.04)],
)
def test_intervals_cover_as_often_as_they_say(nights: int, rho: float, estimated: float) -> None:
    # How much nights resemble the last is estimated, from below: that costs a little more.
    found = regimes(nights, rho)
    assert len(found) > 0.9 * TRIALS
    covered = sum(low <= 1.0 <= high for low, high in (each.interval for each in found)) / len(
        found
    )
    tolerance = 3.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / len(found)) + TRUNCATED
    assert LEVEL - tolerance - estimated < covered < LEVEL + tolerance + 0.01


def segments(*counts: int, rho: float = 0.0) -> list[Segment]:
    return [
        Segment(fit=Fit(0, count, 0.0, 0.0, 1.0, count), sigma=1.0, rho=rho) for count in counts
    ]


def freedoms(segments: list[Segment]) -> list[float]:
    return [each.freedom for each in with_shared_noise(segments)]


def test_no_level_is_known_better_than_all_nights_tell() -> None:
    # The noise counts as 40 nights in the variance of a segment.
    assert freedoms(segments(10, 12)) == [20.0, 20.0]
    assert freedoms(segments(10, 200)) == [49.0, 208.0]
    assert freedoms(segments(10, 200, rho=0.5)) == pytest.approx([29.4, 124.8])


def test_changes_by_1e200_have_a_page() -> None:
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal((3, 60)))
    steps = np.repeat([[1.0, 1e-200], [1.0, 1.0], [1.0, 1e200]], 30, axis=1)
    series = [
        series_of("blake", case, "Total", values)
        for case, values in zip(("down", "level", "up"), noise * steps, strict=True)
    ]
    history = History(source="x", series=tuple(series), failures=(), parents={}, warnings=())
    text = zlib.decompress(base64.b64decode(packed(history_data(judge_history(history)))))
    data = json.loads(text, parse_constant=pytest.fail)
    for each in data["series"]:
        for regime in each["regimes"]:
            low, high = regime["interval"]
            assert 0.0 < low < 1.0 < high < math.inf
    assert [len(each["changes"]) for each in data["series"]] == [1, 0, 1]
