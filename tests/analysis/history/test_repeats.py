"""Two single results with few repeats: intervals cover as often as they say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special, stats

from hindmost.analysis.history.compare import compare_histories
from hindmost.analysis.history.ratio import Estimate, ratio_of, welch_freedom
from hindmost.analysis.readers.read import read_history
from hindmost.analysis.readers.repetitions import OF_FEW, summarise

TRIALS = 3000
NOISE = 0.02
LEVEL = "hindmost.analysis.history.ratio.LEVEL"


def covered(repeats: tuple[int, int], noises: tuple[float, float], level: float) -> float:
    """Return how often the interval holds the ratio of 1.1 of lognormal repeats."""
    draw = np.random.default_rng([*repeats, round(1000 * level)])
    held = 0
    for _ in range(TRIALS):
        each = [
            summarise(np.exp(draw.normal(middle, noise, count)).tolist())
            for middle, noise, count in zip((0.0, math.log(1.1)), noises, repeats, strict=True)
        ]
        (first, one), (second, other) = each
        assert one is not None
        assert other is not None
        sides = ((first, one), (second, other))
        ratio = ratio_of(
            *(Estimate(math.log(at), each.error / at, each.freedom) for at, each in sides)
        )
        assert ratio.interval is not None
        held += ratio.interval[0] <= 1.1 <= ratio.interval[1]
    return held / TRIALS


@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_intervals_of_few_repeats_cover_as_often_as_they_say(
    repeats: int, level: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LEVEL, level)
    tolerance = 3.0 * math.sqrt(level * (1.0 - level) / TRIALS)
    share = covered((repeats, repeats), (NOISE, NOISE), level)
    assert share >= level - tolerance
    # Welch's test is careful where both sides are as noisy (Wang, JASA 66 (1971)): by 2.6 % of 95.
    assert share <= level + 0.03 + tolerance


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_one_certain_side_leaves_the_law_of_the_other(
    level: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LEVEL, level)
    # Two repeats against what is known well: exactly Student's law of one degree of freedom.
    tolerance = 3.0 * math.sqrt(level * (1.0 - level) / TRIALS)
    assert abs(covered((2, 2), (NOISE, 1e-9), level) - level) < tolerance


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_the_error_of_a_median_of_few_is_that_of_its_order_statistic(count: int) -> None:
    def joint(y: float, x: float, low: int) -> float:  # of two order statistics next to each other
        log = (
            math.lgamma(count + 1)
            - math.lgamma(low)
            - math.lgamma(count - low)
            + (low - 1) * special.log_ndtr(x)
            + (count - low - 1) * special.log_ndtr(-y)
        )
        density = math.exp(log - 0.5 * (x**2 + y**2)) / (2.0 * math.pi)
        return float(0.25 * (x + y) ** 2 * density)

    if count % 2:
        middle = (count + 1) // 2
        law = stats.beta(middle, middle)
        variance = integrate.quad(lambda u: stats.norm.ppf(u) ** 2 * law.pdf(u), 0.0, 1.0)[0]
    else:
        low = count // 2
        variance = integrate.dblquad(joint, -8, 8, lambda x: x, 8, args=(low,), epsabs=1e-6)[0]
    assert OF_FEW[count - 1] == pytest.approx(math.sqrt(count * variance), abs=1e-4)


def test_freedom_is_welchs() -> None:
    first, second = np.array([10.0, 10.4, 9.9]), np.array([11.0, 11.9, 10.2, 11.1])
    errors = [float(each.std(ddof=1) / math.sqrt(each.size)) for each in (first, second)]
    expected = stats.ttest_ind(first, second, equal_var=False).df

    def freedom(errors: list[float], freedoms: tuple[float, float]) -> float:
        pairs = zip(errors, freedoms, strict=True)
        return welch_freedom([Estimate(0.0, *each) for each in pairs])

    assert freedom(errors, (2.0, 3.0)) == pytest.approx(expected)
    assert freedom([1.0, 1.0], (math.inf, math.inf)) == math.inf
    assert freedom([1e-90, 0.0], (2.0, 3.0)) == pytest.approx(2.0)


def test_two_runs_of_a_command_are_no_certainty(tmp_path: Path) -> None:
    for name, times in (("a", [1.00, 1.02]), ("b", [1.10, 1.13])):
        result = {"command": "solve", "median": sum(times) / 2, "times": times}
        (tmp_path / f"{name}-2021-01-24.json").write_text(json.dumps({"results": [result]}))
    histories = [read_history(tmp_path / f"{name}-2021-01-24.json") for name in "ab"]
    (each,) = compare_histories(histories[0], histories[1]).series
    test = stats.ttest_ind(np.log([1.10, 1.13]), np.log([1.00, 1.02]), equal_var=False)
    assert each.ratio.freedom == pytest.approx(test.df, rel=1e-3)
    assert each.ratio.p_value == pytest.approx(test.pvalue, rel=1e-2)
    assert each.words().endswith("few repetitions")
