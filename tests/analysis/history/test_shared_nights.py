"""What the other cases of a machine say about a night: shared nights, and changes of one case."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.shared_nights import ALONE, night_odds
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.history import History, NightlySeries, SeriesName

NIGHTS = 60
CHANGE = 40
SEED = 56
"""Of noise with which the step of `weak` has a p-value of 2e-4."""


def series(case: str, logs: NDArray[np.float64]) -> NightlySeries:
    return NightlySeries(
        name=SeriesName(machine="blake", case=case, timer="total"),
        unit="s",
        smaller_is_better=True,
        times=1.6e9 + 86400.0 * np.arange(logs.size),
        values=np.exp(logs),
        commits=("",) * logs.size,
        commit_parts=({},) * logs.size,
        spread=None,
    )


def cases(number: int, step: float) -> list[NightlySeries]:
    """Return cases of a machine that all change by so much on one night."""
    made = []
    for case in range(number):
        logs = np.random.default_rng(100 + case).normal(0.0, 0.02, NIGHTS)
        logs[CHANGE:] += step
        made.append(series(f"case {case}", logs))
    return made


def weak() -> NightlySeries:
    """Return a case with a step whose p-value lies between both significance levels."""
    logs = np.random.default_rng(SEED).normal(0.0, 0.02, NIGHTS)
    logs[CHANGE:] += 0.042
    return series("weak", logs)


def found(every: list[NightlySeries]) -> list[int]:
    study = judge_history(
        History(source="planted", series=tuple(every), parents={}, failures=(), warnings=())
    )
    judged = next(each for each in study.judged if each.series.name.case == "weak")
    return [change.index for change in judged.detection.changes]


def test_a_night_is_shared_where_other_cases_change() -> None:
    odds = night_odds(cases(8, step=0.2))
    for each in odds.values():
        assert each[CHANGE] == 1.0
        assert (each[5:30] == ALONE).mean() > 0.9


def test_few_cases_say_nothing() -> None:
    assert not night_odds(cases(4, step=0.2))
    odds = night_odds(cases(8, step=0.0))
    # The newest nights have no nights after them that could be compared.
    assert all(each[-1] == 1.0 for each in odds.values())


def test_a_weak_change_needs_other_cases_or_more_evidence() -> None:
    assert found([weak()])
    assert found([weak(), *cases(8, step=0.2)])
    assert not found([weak(), *cases(8, step=0.0)])
