from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError, UnknownSchemaError, UsageError
from hindmost.models.changepoint import Event, Watch, detect
from hindmost.models.synthetic.nightly import draw_nightly


def fed(values: NDArray[np.float64], watch: Watch | None = None) -> Watch:
    watch = Watch() if watch is None else watch
    for value in values:
        watch, _ = watch.add(float(value))
    return watch


def level(nights: int, seed: int = 0) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.exp(np.random.default_rng(seed).normal(0.0, 0.01, nights))
    return values


def standing(log: tuple[Event, ...]) -> list[int]:
    """Replay a log: what it leaves standing."""
    places: list[int] = []
    for event in log:
        if event.kind == "seen":
            places.append(event.index)
        elif event.kind == "moved":
            assert event.was is not None
            places[places.index(event.was)] = event.index
        elif event.kind == "withdrawn":
            places.remove(event.index)
    return sorted(places)


@pytest.mark.parametrize("kind", ["shifts", "short segments", "double outliers", "drift"])
@pytest.mark.parametrize("seed", [21, 22, 23])
def test_the_log_leads_to_the_verdicts_of_one_pass(kind: str, seed: int) -> None:
    values = draw_nightly(kind, seed).values
    watch = fed(values)
    found = [change.index for change in detect(values).changes]
    assert [verdict.index for verdict in watch.verdicts] == found
    assert standing(watch.log) == found
    assert all(event.reason for event in watch.log)


def test_a_saved_watch_goes_on_as_if_it_had_not_stopped() -> None:
    values = draw_nightly("shifts", 30).values
    watch = fed(values[:40])
    for value in values[40:]:
        watch, _ = Watch.from_json(json.loads(json.dumps(watch.to_json()))).add(float(value))
    assert watch == fed(values)


def test_a_change_is_seen_then_confirmed() -> None:
    watch = fed(level(30))
    assert not watch.log
    told = []
    for value in 1.3 * level(5, seed=1):
        watch, events = watch.add(float(value))
        told.append([event.kind for event in events])
    assert told == [[], [], ["seen"], [], ["confirmed"]]
    (verdict,) = watch.verdicts
    assert (verdict.index, verdict.since, verdict.confirmed) == (30, 32, True)


def test_a_run_that_comes_back_is_withdrawn_with_the_reason() -> None:
    values = level(40)
    values[30:33] *= 1.3
    watch = fed(values)
    assert not watch.verdicts
    kinds = [event.kind for event in watch.log]
    assert kinds[0] == "seen"
    assert kinds[-1] == "withdrawn"
    last = watch.log[-1]
    assert last.revises
    assert "30 to 32 are now an outlier run" in last.reason
    assert "withdrawn" in last.explain()


def test_a_drift_that_looked_like_a_step_is_withdrawn_as_a_trend() -> None:
    random = np.random.default_rng(5)
    watch = fed(np.exp(np.linspace(0.0, 0.5, 150) + random.normal(0.0, 0.02, 150)))
    assert not watch.verdicts
    reasons = [event.reason for event in watch.log if event.kind == "withdrawn"]
    assert reasons
    assert any("straight line" in reason for reason in reasons)


def test_what_is_there_already_is_judged_in_one_pass() -> None:
    values = level(60)
    values[30:] *= 1.2
    days = np.arange(60) + 738_000.0
    watch = Watch.start(values, times=days, commits=[f"c{i // 2}" for i in range(60)])
    assert [verdict.index for verdict in watch.verdicts] == [30]
    assert {event.at for event in watch.log} == {59}
    longer, events = watch.add(1.2, time=738_060.0, commit="c30")
    assert not events
    assert len(watch.values) == 60
    assert longer.detection().times[-1] == 738_060.0


def test_the_report_s_method_never_takes_back() -> None:
    values = draw_nightly("shifts", 40).values
    watch = fed(values, Watch(method="report"))
    assert watch.verdicts
    assert not any(event.kind in ("withdrawn", "moved") for event in watch.log)


def test_observations_that_do_not_fit_are_refused() -> None:
    watch = Watch.start(level(10), times=np.arange(10.0))
    with pytest.raises(UsageError, match="times"):
        watch.add(1.0)
    with pytest.raises(UsageError, match="commits"):
        watch.add(1.0, time=10.0, commit="c")
    with pytest.raises(DataError, match="not sorted"):
        watch.add(1.0, time=3.0)
    with pytest.raises(DataError, match="positive"):
        watch.add(-1.0, time=10.0)


def test_foreign_states_are_refused() -> None:
    with pytest.raises(DataError, match="no version"):
        Watch.from_json({"values": []})
    with pytest.raises(UnknownSchemaError, match="newer"):
        Watch.from_json({"version": 99})
    with pytest.raises(DataError, match="incomplete"):
        Watch.from_json({"version": 1, "method": "robust"})
