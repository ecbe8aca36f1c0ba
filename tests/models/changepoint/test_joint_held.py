"""Joint changes that are held until the series that showed them refute them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.changepoint.joint import JointChange, Leftover
from hindmost.models.changepoint.joint_held import (
    HELD_AFTER,
    TOLD,
    WATCHED,
    PanelSeries,
    ReviewedPanel,
)

SERIES, STEP, SHIFT = 6, 40, 0.03


def panel(
    nights: int, back: int | None = None, own: Sequence[int] = (), shift: float = SHIFT
) -> list[PanelSeries]:
    """Return series that step on one night, and back on another, with changes of their own."""
    random = np.random.default_rng(3)
    series = []
    for number in range(SERIES):
        logs: NDArray[np.float64] = random.normal(0.0, 0.002, nights)
        logs[STEP : nights if back is None else back] += shift
        days = np.arange(nights)
        rest = Leftover(
            nights=days,
            logs=logs - logs.mean(),
            noise=np.full(nights, 0.02),
            changes=np.array(own, np.int64),
            correlation=0.0,
        )
        series.append(PanelSeries(name=f"case {number}", nights=days, logs=logs, rest=rest))
    return series


def change(night: int = STEP, shift: float = SHIFT, confirmed: bool = True) -> JointChange:
    """Return a joint change of all but the first of the series."""
    return JointChange(
        night=night,
        interval=(night - 1, night + 1),
        effect=shift,
        effect_interval=(0.5 * shift, 1.5 * shift) if shift > 0.0 else (1.5 * shift, 0.5 * shift),
        p_value=1e-8,
        confirmed=confirmed,
        undone=False,
        members=tuple(range(1, SERIES)),
        shifts=(shift,) * (SERIES - 1),
        own=(),
        measured=SERIES,
    )


def held(nights: int = STEP + HELD_AFTER) -> ReviewedPanel:
    return ReviewedPanel().review(panel(nights), [change()], nights - 1)


def test_it_is_held_when_it_is_old_enough_and_confirmed() -> None:
    nights = STEP + HELD_AFTER
    (one,) = held().held
    assert one.members == tuple(f"case {number}" for number in range(1, SERIES))
    assert one.since == nights - 1
    assert one.shift == pytest.approx(SHIFT)
    assert not ReviewedPanel().review(panel(nights - 1), [change()], nights - 2).held
    unconfirmed = change(confirmed=False)
    assert not ReviewedPanel().review(panel(nights), [unconfirmed], nights - 1).held
    flat = panel(nights, shift=0.4 * SHIFT)
    assert not ReviewedPanel().review(flat, [change()], nights - 1).held
    late = STEP + WATCHED
    assert not ReviewedPanel().review(panel(late + 1), [change()], late).held


def test_it_stays_held_once_however_it_moves() -> None:
    now = held()
    for moved in (STEP - 3, STEP, STEP + 4):
        now = now.review(panel(STEP + 20), [change(moved)], STEP + 19)
    assert now == held()
    fall = STEP + 15
    both = now.review(panel(STEP + 30, fall), [change(), change(fall, -SHIFT)], STEP + 29)
    assert len(both.held) == 2


def test_it_stays_where_no_reading_finds_it_while_its_series_show_it() -> None:
    nights = STEP + 30
    now = held().review(panel(nights), (), nights - 1)
    assert now == held()
    (told,) = now.all_of(panel(nights), ())
    assert not told.found
    assert told.since == STEP + HELD_AFTER - 1
    assert told.now == pytest.approx(SHIFT, abs=0.003)
    assert told.members == tuple(range(1, SERIES))
    assert not told.undone
    (found,) = now.all_of(panel(nights), [change()])
    assert found.found
    assert found.since == told.since
    (new,) = ReviewedPanel().all_of(panel(nights), [change()])
    assert new.since is None


def test_later_nights_withdraw_it_with_the_reason() -> None:
    nights = STEP + 30
    now = held().review(panel(nights, back=STEP + 8), (), nights - 1)
    assert not now.held
    (gone,) = now.withdrawn
    assert gone.at == nights - 1
    assert "in the median of the 5 series that showed it; when it was found, by +3" in gone.reason
    assert now.all_of(panel(nights), ()) == ()
    # Told for some time, and then forgotten.
    assert now.review(panel(nights), (), nights + 10).withdrawn == (gone,)
    assert not now.review(panel(nights), (), gone.at + TOLD).withdrawn


@pytest.mark.parametrize("how", ["own", "joint"])
def test_what_another_change_undoes_is_recovered_and_not_refuted(how: str) -> None:
    nights, back = STEP + 40, STEP + 15
    series = panel(nights, back, own=(back,) if how == "own" else ())
    found = [change(back, -SHIFT)] if how == "joint" else []
    now = held().review(series, found, nights - 1)
    assert held().held[0] in now.held
    told = next(each for each in now.all_of(series, found) if each.night == STEP)
    assert told.undone


def test_a_panel_without_its_series_holds_nothing() -> None:
    others = [each for each in panel(STEP + 30) if each.name == "case 0"]
    (gone,) = held().review(others, (), STEP + 29).withdrawn
    assert gone.reason == "its series have no results any more"
    assert held().all_of(others, ()) == ()
