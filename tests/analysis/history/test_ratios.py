"""Ratios of paired series: found by the library, the same in the command, JSON, gate and page."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import (
    TOTAL,
    day,
    history,
    noise,
    series,
    stepped,
)

from hindmost.analysis.history.compare import compare_histories
from hindmost.analysis.history.pairing import pair_series
from hindmost.analysis.history.ratio import paired_ratio
from hindmost.analysis.history.ratio_history import ratio_history
from hindmost.records import to_document

LONG, STEP, BY = 90, 60, 0.05


def weather() -> NDArray[np.float64]:
    """Return noise that two cases share: it hides small changes of either."""
    steps = np.random.default_rng(3).normal(0.0, 0.06, LONG)
    return np.asarray(np.exp(np.cumsum(steps)), np.float64)


def cases() -> dict[str, dict[str, NDArray[np.float64]]]:
    return {
        "gmres": {TOTAL: stepped(1, nights=LONG, step=STEP, by=BY) * weather()},
        "pgmres": {TOTAL: noise(2, LONG, 8.0) * weather()},
    }


def test_a_change_of_the_ratio_alone_is_found() -> None:
    first, second = (series(values[TOTAL], case=case) for case, values in reversed(cases().items()))
    found = ratio_history(pair_series(first, second))
    assert found.since == day(STEP)
    before, after = found.ratios
    assert after.value / before.value == pytest.approx(1.0 + BY, abs=0.01)
    plain = found.plain[STEP:]
    expected = paired_ratio(first.values[STEP:][plain], second.values[STEP:][plain])
    assert expected.interval is not None
    assert found.ratios[-1].interval == pytest.approx(expected.interval)
    assert found.ratios[-1].p_value == pytest.approx(expected.p_value)


def test_both_directions_have_the_same_changes() -> None:
    for seed in range(10):
        values = stepped(seed, nights=LONG, step=STEP, by=0.04) * weather()
        values[[7, 40]] *= 2.0
        first, second = series(values), series(noise(seed + 50, LONG) * weather(), case="b")
        there, back = (
            ratio_history(pair_series(*pair)) for pair in ((first, second), (second, first))
        )
        (one,), (other,) = there.changes, back.changes
        assert abs(one.index - other.index) <= 1
        assert there.plain.tolist() == back.plain.tolist()
        assert there.ratios[-1].value == pytest.approx(1.0 / back.ratios[-1].value, rel=2e-3)


def test_ratios_of_noise_alone_hardly_ever_change() -> None:
    changed = 0
    for seed in range(40):
        first, second = series(noise(seed, LONG)), series(noise(seed + 100, LONG), case="b")
        changed += bool(ratio_history(pair_series(first, second)).changes)
    assert changed <= 1


def test_compare_gives_the_ratio_since_its_last_change() -> None:
    (slow, quick) = (series(values[TOTAL]) for values in cases().values())
    (each,) = compare_histories(history(quick), history(slow)).series
    assert each.history is not None
    assert each.ratio == each.history.ratios[-1]
    assert f"; since {day(STEP)}, 1.2" in each.words()
    record = to_document(each)
    assert record["since"] == day(STEP)
    (change,) = record["ratio_changes"]
    assert change["date"] == day(STEP)
    assert change["after"] == record["ratio"]
    assert len(compare_histories(history(quick), history(slow)).beyond(0.28)) == 1
    over_all = paired_ratio(quick.values, slow.values).value
    assert over_all < 1.28 < each.ratio.value
