import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.synthetic.cycles import CycleLaw, Cycles, draw_cycles

from hindmost.errors import UsageError
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.predictor import Predictor
from hindmost.models.adaptive.predictors import PREDICTORS, IterationForecast, Online, make
from hindmost.models.adaptive.work import Spent, Work, iterations_done

Model = Callable[..., OfflineModel]

LAWS = {
    "hydro": CycleLaw(iterations=(0, 0)),
    "heat": CycleLaw(),
    "hydro on two ranks": CycleLaw(
        iterations=(0, 0), message_s=5e-6, noise=0.02, phase_noise=0.02, spikes=0.05
    ),
    "heat on two ranks": CycleLaw(
        message_s=5e-6, noise=0.03, phase_noise=0.02, spikes=0.06, steps=8
    ),
    "drifting": CycleLaw(drift=0.4, growth=4.0, wander=0.005),
    "loaded": CycleLaw(noise=0.05, phase_noise=0.03, spikes=0.1, spike=0.3),
}


def of_all(model: OfflineModel | None) -> Predictor:
    """Return the predictor by every method that there is without or with probes."""
    return Predictor(
        *(predictor for predictor in PREDICTORS if predictor != "offline" or model), model=model
    )


def filled(predictor: Predictor, cycles: Cycles) -> Predictor:
    for work, spent in zip(cycles.work, cycles.spent, strict=True):
        predictor.observe(spent, work)
    return predictor


@pytest.mark.parametrize(("window", "back"), [(None, 99), (10, 10), (3, 3), (1, 1)])
def test_online_is_the_paper_s_quotient_of_sums(window: int | None, back: int) -> None:
    random = np.random.default_rng(1)
    seconds, cells = random.uniform(1, 2, 40), random.uniform(1e3, 1e4, 40)
    predictor = Online(window)
    assert math.isnan(predictor.predict_s(Work(cells=1.0)))
    for k in range(40):
        if k:
            first = max(0, k - back)
            expected = seconds[first:k].sum() / cells[first:k].sum() * cells[k]
            assert predictor.predict_s(Work(cells=cells[k])) == pytest.approx(expected)
        predictor.observe(Spent(seconds=seconds[k]), Work(cells=cells[k]))


def test_predictors_are_made_by_name(model_of: Model) -> None:
    model = model_of(CycleLaw())
    for name in (*PREDICTORS, "online-37"):
        assert make(name, model).name == name
    with pytest.raises(UsageError, match=f"choose {', '.join(PREDICTORS)}"):
        make("oracle")
    with pytest.raises(UsageError, match="hindmost probe"):
        make("offline")
    with pytest.raises(UsageError, match="Unknown predictor 'online-0'"):
        make("online-0")


def test_a_true_0_of_iterations_is_not_unknown(model_of: Model) -> None:
    expected = Work(cells=4096.0, steps=20, iterations=50.0)
    assert iterations_done(Spent(seconds=1.0), expected) == 50.0
    assert iterations_done(Spent(seconds=1.0, iterations=0.0), expected) == 0.0
    assert iterations_done(Spent(seconds=1.0), replace(expected, iterations=math.nan)) == 0.0
    model = model_of(CycleLaw())
    hydro_s = model.phases_s(expected, 0.0)
    predictor = Predictor(model=model)
    for _ in range(12):  # what was expected to solve did not: the time of hydro alone is as usual
        spent = Spent(seconds=sum(hydro_s), phases_s=hydro_s, iterations=0.0)
        assert predictor.observe(spent, expected).factor == pytest.approx(1.0)
    assert predictor.predict(expected).seconds == pytest.approx(sum(hydro_s))


def test_a_drift_of_iterations_is_followed() -> None:
    forecast = IterationForecast()
    assert forecast.predict(12.0) == 12.0
    counts = np.linspace(17.0, 63.0, 200)
    errors = []
    for count in counts:
        errors.append(forecast.predict(count) - count)
        forecast.observe(count)
    assert np.max(np.abs(errors[30:])) < 0.1  # the last count alone would be 0.23 behind
    assert forecast.predict(0.0) == 0.0


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("probed", [False, True])
def test_shape_times_level_is_near_the_floor(law: CycleLaw, probed: bool, model_of: Model) -> None:
    raw, floor, clean, online = [], [], [], []
    for seed in range(3):
        cycles = draw_cycles(law, seed)
        # A machine file whose pace is off by a tenth, as another state of load makes it.
        panel = filled(of_all(model_of(law, pace=1.1) if probed else None), cycles)
        errors = panel.errors_percent(5)
        raw.append(errors["shape-level"])
        online.append(min(errors[name] for name in ("online-all", "online-1")))
        truth, seconds = cycles.denoised[5:], cycles.seconds[5:]
        floor.append(100 * np.mean(np.abs(truth - seconds) / seconds))
        guess = panel.predicted[5:, panel.names.index("shape-level")]
        clean.append(100 * np.mean(np.abs(guess - truth) / truth))
    # Knowing the law itself would give the floor; the level's own noise and lag come on top.
    assert np.mean(raw) < 1.2 * np.mean(floor) + 0.5
    assert np.mean(clean) < 2.5
    assert np.mean(raw) < 0.7 * np.mean(online)


def test_without_phases_cycles_with_adaption_stand_apart(model_of: Model) -> None:
    law = CycleLaw(iterations=(0, 0), spikes=0.0, growth=1.2)
    cycles = draw_cycles(law, 3)
    whole = Cycles(
        work=cycles.work,
        spent=tuple(Spent(seconds=each.seconds) for each in cycles.spent),
        denoised=cycles.denoised,
    )
    for model in (None, model_of(law, pace=1.1)):
        errors = filled(of_all(model), whole).errors_percent(10)
        assert errors["shape-level"] < 3.0
        assert errors["online-all"] > 8.0


def test_an_offline_model_that_is_right_predicts_the_first_cycle(model_of: Model) -> None:
    law = CycleLaw(noise=0.0, phase_noise=0.0, spikes=0.0, drift=0.0, wander=0.0)
    cycles = draw_cycles(law, 0)
    panel = of_all(model_of(law))
    row = panel.row(cycles.work[0])
    for name in ("offline", "shape-level"):
        assert row[panel.names.index(name)] == pytest.approx(cycles.denoised[0], rel=1e-9)
    assert math.isnan(row[panel.names.index("online-all")])


def test_rows_are_predictions_before_their_cycles() -> None:
    predictor = Predictor("online-all", "online-1", level=0.8)
    for seconds in (1.0, 3.0, 2.0):
        row, forecast = predictor.row(10.0), predictor.predict(10.0)
        predictor.observe(seconds, 10.0)
        np.testing.assert_array_equal(predictor.predicted[-1], row)
    assert forecast.seconds == row[0] == pytest.approx(2.0)
    assert forecast.low_s < 2.0 < forecast.high_s
    assert len(predictor.ratios) == 2  # the first cycle was not predicted
    assert predictor.errors_percent() == pytest.approx({"online-all": 100 / 3, "online-1": 175 / 3})
    assert (predictor.decides, Predictor("online-1", "shape-level").decides) == (
        "online-all",
        "shape-level",
    )


@pytest.mark.parametrize("probed", [False, True])
@pytest.mark.parametrize("name", ["hydro", "heat"])
def test_predictors_recover_within_three_cycles(name: str, probed: bool, model_of: Model) -> None:
    law = replace(LAWS[name], growth=1.3, adapts_every=0, iterations=(20.0, 24.0))
    slowdown = np.ones(law.cycles)
    for begin in (50, 100, 150):
        slowdown[begin : begin + 25] = 2.0
    errors: dict[str, list[float]] = {}
    kinds: list[str] = []
    for seed in range(8):
        cycles = draw_cycles(law, seed, slowdown=slowdown)
        panel = of_all(model_of(law) if probed else None)
        verdicts = [panel.observe(*each) for each in zip(cycles.spent, cycles.work, strict=True)]
        kinds += [str(verdict.kind) for verdict in verdicts if verdict.change]
        for k, column in enumerate(panel.names):
            if column in ("online-1", "shape-level"):
                off = np.abs(panel.predicted[:, k] - cycles.denoised) / cycles.denoised
                for change in (50, 75, 100, 125, 150, 175):
                    errors.setdefault(column, []).append(100 * off[change + 2])
    assert kinds == ["machine slower", "machine faster"] * 24
    for column, after in errors.items():
        # The third cycle after a change; one spike in the two before may spoil a few of them.
        assert np.median(after) < 5.0, column
        assert np.mean(np.array(after) < 5.0) > 0.8, column
