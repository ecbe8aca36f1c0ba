"""Studies of known functions: terms, ranking, growth, shares, what is left out."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.scaling.experiments import POWERS, TRUTH, figure_1, write_text

from hindmost.analysis.readers.experiment import Experiment, KernelSeries
from hindmost.analysis.readers.read import read_experiment
from hindmost.analysis.scaling.batches import ScalingOptions
from hindmost.analysis.scaling.expected_growth import find_worse, read_expectation
from hindmost.analysis.scaling.study import MetricStudy, callers_of, rank, study_scaling
from hindmost.analysis.scaling.study_json import study_json
from hindmost.errors import DataError, UsageError
from hindmost.models.pmnf import fit_segments
from hindmost.output import strict_json

LEADING = {
    "main->fast": (0.0, 1.0),
    "main->linear": (1.0, 0.0),
    "main->bug": (2.0, 0.0),
    "main->shared": (-1.0, 0.0),
}


def metric_of(path: Path, at: str | None = None, **options: object) -> MetricStudy:
    experiment = read_experiment(path)
    return study_scaling(experiment, ScalingOptions(**options), at=at).metrics[0]  # type: ignore[arg-type]


def test_known_functions_are_found_and_ranked_by_growth(tmp_path: Path) -> None:
    path = write_text(tmp_path / "e.txt", TRUTH, noise=0.02, repetitions=3)
    metric = metric_of(path, at="16384")
    standings = {each.series.kernel: each for each in metric.at_target(metric.order)}
    assert list(standings)[:2] == ["main->bug", "main->linear"]
    assert list(standings)[-1] == "main->shared"
    for kernel, exponents in LEADING.items():
        leading = standings[kernel].kernel.whole.form.leading[0]
        assert tuple(map(float, leading)) == exponents
    ahead = {kernel: float(function(np.array([16384.0]))[0]) for kernel, function in TRUTH.items()}
    total = sum(ahead.values())
    for kernel, standing in standings.items():
        assert standing.predicted == pytest.approx(ahead[kernel], rel=0.08)
        assert standing.low <= standing.predicted <= standing.high
        assert standing.share == pytest.approx(ahead[kernel] / total, abs=0.01)
        largest = float(TRUTH[kernel](np.array([1024.0]))[0])
        assert standing.growth == pytest.approx(ahead[kernel] / largest, rel=0.08)


def test_batched_predictions_and_intervals_are_those_of_single_kernels(tmp_path: Path) -> None:
    truth = {
        **TRUTH,
        "main->changed": lambda p: np.where(p < 60.0, 3.0 + 0.05 * p**1.5, 900.0 + 2.0 * p),
    }
    path = write_text(tmp_path / "e.txt", truth, noise=0.02, repetitions=3)
    lines = path.read_text().splitlines()
    lines[lines.index("REGION main->linear") + 3] = "DATA"  # a point that was not measured
    path.write_text("\n".join(lines))
    for at in ("4096", "20"):
        metric = metric_of(path, at=at)
        assert len(metric.batches) == 1
        for standing in metric.at_target(metric.order):
            kernel = standing.kernel
            assert kernel.segmentation.segmented == (standing.series.kernel == "main->changed")
            series = standing.series
            alone = fit_segments(series.points[:, 0], series.values[None], noise="multiplicative")[
                0
            ]
            targets = np.array([float(at)])
            assert float(kernel.evaluate(targets)[0]) == pytest.approx(
                float(alone.evaluate(targets)[0])
            )
            assert standing.low <= standing.predicted <= standing.high
            # Beyond the points a model predicts kernels that grow as it says from first to last.
            if standing.weights:
                assert at == "4096"
                continue
            assert standing.predicted == float(kernel.evaluate(targets)[0])
            low, high = alone.interval(targets)
            assert (standing.low, standing.high) == pytest.approx(
                (float(low[0]), float(high[0])), rel=1e-6
            )


def test_python_predicts_as_the_command_does(tmp_path: Path) -> None:
    """Of all kernels of a metric together: between the points, beyond them, and after a change."""
    truth = {
        **TRUTH,
        "main->changed": lambda p: np.where(p < 60.0, 3.0 + 0.05 * p**1.5, 900.0 + 2.0 * p),
    }
    path = write_text(tmp_path / "e.txt", truth, noise=0.02, repetitions=3)
    series = read_experiment(path).series
    models = fit_segments(series[0].points[:, 0], np.stack([each.values for each in series]))
    assert models.changed
    for at in (20.0, 4096.0):
        found = models.predict(at)
        assert found.by_model.all() == (at == 20.0)
        metric = metric_of(path, at=f"{at:g}")
        for number, each in enumerate(metric.at_target(np.arange(len(metric)))):
            assert each.series.kernel == series[number].kernel
            assert (each.predicted, each.low, each.high) == (
                found.predicted[number],
                found.low[number],
                found.high[number],
            )


def test_no_measured_value_below_0_gives_no_prediction_below_0() -> None:
    values = np.array([[1.0, 2.0, 0.0, 3.0, 2.0, 1.0], [6.0, 5.0, 4.0, 2.0, 1.0, 0.0]])
    for at in (3.0, 4096.0):
        found = fit_segments(np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0]), values).predict(at)
        assert min(found.predicted.min(), found.low.min()) >= 0.0
        assert (found.predicted <= found.high).all()


def test_figure_1_of_the_paper(tmp_path: Path) -> None:
    points = np.arange(1.0, 11.0)
    path = write_text(tmp_path / "e.txt", {"f": figure_1}, points=points)
    metric = metric_of(path, method="paper")
    kernel = metric.at_target(metric.order)[0].kernel
    assert kernel.whole.expression() == "1.649 + 3.971 * log2(p)^2"
    assert kernel.segmentation.pattern == "001110"
    assert [(change.low, change.high) for change in kernel.changes] == [(6.0, 6.0)]
    assert [segment.model.expression() for segment in kernel.segments if segment.model] == [
        "1 * p^2",
        "30 + 1 * p",
    ]
    assert float(metric.predicted[0]) == pytest.approx(30.0 + 40.0)
    # An error of almost 62 % at p = 1024, beside 30 + p.
    off = float(kernel.whole.predict(1024.0)[0]) / (30.0 + 1024.0) - 1.0
    assert abs(off) == pytest.approx(0.62, abs=0.01)


@pytest.mark.parametrize(("least", "doubtful"), [(1000.0, True), (64.0, False)])
def test_a_target_far_beyond_a_narrow_range_is_doubted(
    tmp_path: Path, least: float, doubtful: bool
) -> None:
    points = np.linspace(least, least + 64.0, 8)
    path = write_text(
        tmp_path / "e.txt", {"f": lambda p: 0.01 * p}, points=points, noise=0.01, repetitions=3
    )
    (model,) = json.loads(strict_json(study_json(study_scaling(read_experiment(path)))))["models"]
    said = [each for each in model["doubts"] if "the points span a factor of 1.06 in p" in each]
    assert bool(said) == doubtful


def test_a_prediction_beyond_the_points_is_foretold_and_says_where_from(tmp_path: Path) -> None:
    """What happened at the last points counts; among the points the model predicts."""
    ends = {"f": lambda p: 5.0 + 0.01 * p + np.where(p > 500.0, 300.0, 0.0)}
    path = write_text(tmp_path / "e.txt", {**TRUTH, **ends}, noise=0.02, repetitions=3)
    study = study_scaling(read_experiment(path), at="4096")
    for model in json.loads(strict_json(study_json(study)))["models"]:
        assert sum(each["weight"] for each in model["prediction_from"]) == pytest.approx(1.0)
        assert model["prediction_from"][0]["source"] != "the model"
    for asked, method in (("512", "likelihood"), ("4096", "paper")):
        within = study_scaling(read_experiment(path), ScalingOptions(method=method), at=asked)
        for model in json.loads(strict_json(study_json(within)))["models"]:
            assert model["prediction_from"] == [{"source": "the model", "weight": 1.0}]


def test_the_default_finds_the_same_change(tmp_path: Path) -> None:
    path = write_text(tmp_path / "e.txt", {"f": figure_1}, points=np.arange(1.0, 11.0))
    metric = metric_of(path)
    kernel = metric.at_target(metric.order)[0].kernel
    assert kernel.segmentation.segmented
    # At 6 the two functions meet, so that the change may lie on either side of it.
    assert {kernel.changes[0].low, kernel.changes[0].high} & {6.0}
    (standing,) = metric.at_target(metric.order)
    assert standing.predicted == pytest.approx(70.0, rel=0.15)
    assert standing.low < 70.0 < standing.high
    assert float(kernel.evaluate(40.0)[0]) == pytest.approx(70.0)


def test_kernels_of_too_few_values_of_a_parameter_are_left_out(tmp_path: Path) -> None:
    """One of them is no reason to refuse the others."""
    rows = ["p,n,kernel,time [s]"]
    for p in (2, 4, 8, 16, 32):
        for n in (10, 20, 30, 40, 50):
            rows += [f"{p},{n},whole,{3 + p * n}"] + [f"{p},{n},part,{n}"] * (p > 8)
    path = tmp_path / "e.csv"
    path.write_text("\n".join(rows))
    study = study_scaling(read_experiment(path))
    assert study.metrics[0].names() == ["whole"]
    assert "part (time) has 2 values of p, and a model needs 5; left out; measure at 3 more." in (
        study.warnings
    )


def test_kernels_of_too_few_points_are_left_out_and_say_what_to_measure(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    rows = [f"{p:g},long,{3 + p}" for p in POWERS] + [f"{p:g},short,{p}" for p in POWERS[:3]]
    path.write_text("\n".join(["p,kernel,value", *rows]) + "\n")
    study = study_scaling(read_experiment(path))
    assert [len(metric) for metric in study.metrics] == [1]
    said = [warning for warning in study.warnings if "short" in warning and "left out" in warning]
    assert len(said) == 1
    assert "3 points" in said[0]
    assert "measure p = 16, 32" in said[0]
    path.write_text("\n".join(["p,kernel,value", *rows[-3:]]) + "\n")
    with pytest.raises(DataError, match="measure p = 16, 32"):
        study_scaling(read_experiment(path))


def test_kernels_that_lack_points_are_modelled_with_the_others(tmp_path: Path) -> None:
    lacking = {f"k{at}": TRUTH["main->linear"] for at in range(22)}
    path = write_text(tmp_path / "e.txt", lacking, noise=0.02)
    lines = path.read_text().splitlines()
    lines[lines.index("REGION k3") + 2] = "DATA"
    path.write_text("\n".join(lines))
    metric = metric_of(path)
    assert [len(batch) for batch in metric.batches] == [22]
    assert metric.batches[0].noise.known  # the 21 others tell it
    assert len(metric_of(path, method="paper").batches) == 2


def test_metrics_stand_apart(tmp_path: Path) -> None:
    path = write_text(tmp_path / "e.txt", TRUTH)
    visits = write_text(tmp_path / "v.txt", {"main->bug": lambda p: 7.0 * p}, metric="visits")
    study = study_scaling(read_experiment([path, visits]))
    assert [(metric.metric, len(metric)) for metric in study.metrics] == [
        ("time", 5),
        ("visits", 1),
    ]
    assert float(study.metrics[1].share[0]) == 1.0


@pytest.mark.parametrize(
    ("text", "at"),
    [(None, 4096.0), ("100", 100.0), ("p=100", 100.0), (" p = 1e5 ", 1e5)],
)
def test_targets(tmp_path: Path, text: str | None, at: float) -> None:
    path = write_text(tmp_path / "e.txt", {"k": TRUTH["main->linear"]})
    assert study_scaling(read_experiment(path), at=text).target.at == (at,)


@pytest.mark.parametrize("text", ["n=3", "0", "-1", "nan", "", "p=", "1,2", "p=inf"])
def test_targets_that_there_are_not(tmp_path: Path, text: str) -> None:
    path = write_text(tmp_path / "e.txt", {"k": TRUTH["main->linear"]})
    with pytest.raises(UsageError, match="--at"):
        study_scaling(read_experiment(path), at=text)


def two_parameters(folder: Path) -> Experiment:
    rows = [f"{p},{n},{p * n}" for p in (1, 2, 4, 8, 16) for n in (10, 20, 40, 80, 160)]
    path = folder / "e.csv"
    path.write_text("\n".join(["p,n,time", *rows]) + "\n")
    return read_experiment(path, parameters=["p", "n"])


def test_the_papers_rule_knows_one_parameter(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--method paper supports one parameter"):
        study_scaling(two_parameters(tmp_path), ScalingOptions(method="paper"))


def test_several_parameters_are_modelled_together(tmp_path: Path) -> None:
    study = study_scaling(two_parameters(tmp_path), at="p=64")
    assert study.target.at == (64.0, 160.0)  # what is not named stays at its largest
    assert study.metrics[0].predicted == pytest.approx([64.0 * 160.0])
    assert study.metrics[0].growth == pytest.approx([4.0])
    both = study_scaling(two_parameters(tmp_path))
    for text, parameters in (
        ("p*n", None),
        ("p + n", ("p and n",)),
        ("p*log2(n)", ("n", "p and n")),
    ):
        found = find_worse(both.metrics[0], [read_expectation(text, both)])
        assert [finding.parameters for finding in found] == ([parameters] if parameters else [])


def test_ranking_puts_growth_first_and_what_does_not_matter_last() -> None:
    growth = np.array([4.0, 16.0, 16.01, 1.0, 64.0, np.nan, 0.3])
    share = np.array([0.5, 0.1, 0.2, 0.15, 1e-4, 0.02, 0.03])
    order = rank(growth, growth, share).tolist()
    assert order == [2, 1, 0, 4, 3, 6, 5]


def test_what_is_not_shown_to_grow_comes_last() -> None:
    """Kernel 1 is predicted to grow most, and its interval includes a fall; 3 has no interval."""
    growth = np.array([2.0, 90.0, 3.0, 5.0, 1.0])
    grown = np.array([1.8, 0.4, 1.2, np.nan, 0.99])
    order = rank(growth, grown, np.full(5, 0.2)).tolist()
    assert order == [0, 2, 1, 3, 4]


def test_model_far_off_at_the_last_point_does_not_predict(tmp_path: Path) -> None:
    """What grows exponentially is no constant of 1.8 s, and its points foretell little."""
    random = np.random.default_rng(5)
    rows = ["p,kernel,time [s]"]
    for p in (10, 50, 100, 200, 300, 400, 500, 600, 800, 1000):
        for value in np.exp(p / 100.0) * random.uniform(0.99, 1.01, 3):
            rows.append(f"{p},k,{value}")
    path = tmp_path / "e.csv"
    path.write_text("\n".join(rows) + "\n")
    metric = metric_of(path, at="2000")
    (standing,) = metric.at_target(metric.order)
    assert standing.weights
    told = [doubt for doubt in standing.doubts() if "off by a factor of" in doubt]
    assert len(told) == 1
    assert standing.missed > 2.0


@pytest.mark.parametrize("known", [True, False, None])
def test_shares_of_inclusive_values_are_of_the_root(known: bool | None) -> None:
    """main calls solve and output, solve calls halo; each value includes its callees."""
    points = 2.0 ** np.arange(1, 8)
    own = {"main": 1.0, "main->solve": 4.0, "main->solve->halo": 2.0, "main->output": 3.0}
    whole = {
        path: sum(each for other, each in own.items() if (other + "->").startswith(path + "->"))
        for path in own
    }
    for values, inclusive in ((whole, True), (own, False)):
        study = study_scaling(
            Experiment(
                source="made",
                parameters=("p",),
                series=tuple(
                    KernelSeries(
                        kernel=path,
                        metric="time",
                        unit="s",
                        points=points[:, None],
                        values=np.full((points.size, 1), value),
                    )
                    for path, value in values.items()
                ),
                warnings=(),
                inclusive=None if known is None else inclusive,
            )
        )
        (metric,) = study.metrics
        assert metric.inclusive == inclusive
        shares = dict(zip(metric.names(), metric.share, strict=True))
        total = sum(own.values())
        for path, value in values.items():
            assert shares[path] == pytest.approx(value / total)


def test_callers_are_the_nearest_ones_that_are_there() -> None:
    names = ["a->b->c", "a", "a->b2", "a->b, n = 4", "a, n = 4", "ab", "a->b->c->d->e"]
    series = [
        KernelSeries(
            kernel=name, metric="", unit="", points=np.ones((1, 1)), values=np.ones((1, 1))
        )
        for name in names
    ]
    assert callers_of(series) == [1, None, 1, 4, None, None, 0]


def made(values: dict[str, list[float]], points: list[float], parameter: str) -> Experiment:
    """Return an experiment of times in seconds."""
    return Experiment(
        source="made",
        parameters=(parameter,),
        series=tuple(
            KernelSeries(
                kernel=kernel,
                metric="time",
                unit="s",
                points=np.array(points)[:, None],
                values=np.array(each)[:, None],
            )
            for kernel, each in values.items()
        ),
        warnings=(),
    )


@pytest.mark.parametrize(
    ("parameter", "budget", "at", "cost"),
    [
        # 100 s of all ranks at every point, and of one size: 8 points cost 800.
        ("ranks", 1.0, 512.0, 1.0 / 8.0),
        ("ranks", 0.1, None, None),
        # By size, a point costs 100 / x s; the largest affordable one is the same.
        ("size", 1.0, 512.0, (100.0 / 512.0) / (100.0 * (2.0 - 1.0 / 128.0))),
    ],
)
def test_the_next_point_is_the_farthest_that_is_affordable(
    parameter: str, budget: float, at: float | None, cost: float | None
) -> None:
    """Ideal strong scaling with 3 % of noise, whose costs are known."""
    points = (2.0 ** np.arange(8)).tolist()
    noise = np.exp(0.03 * np.random.default_rng(3).normal(size=24)[16:])
    experiment = made(
        {"a": [100.0 / x * off for x, off in zip(points, noise, strict=True)]}, points, parameter
    )
    (metric,) = study_scaling(experiment, at="1024", budget=budget).metrics
    if at is None:
        assert metric.next is None
        assert metric.where_next() == ""
        return
    assert metric.next is not None
    assert metric.next.at == (at,)
    assert metric.next.cost == pytest.approx(cost, rel=0.15)
    assert metric.next.then[0] < metric.next.spans[0]
    assert metric.where_next().startswith(f"Measure {parameter} = 512 next, for ")


def test_the_interval_with_the_next_point_is_that_of_a_step_as_long() -> None:
    points = (2.0 ** np.arange(8)).tolist()
    random = np.random.default_rng(3)
    values = {
        name: (scale * np.array(points) ** 0.7 * np.exp(0.05 * random.normal(size=8))).tolist()
        for name, scale in (("a", 1.0), ("b", 20.0))
    }
    (metric,) = study_scaling(made(values, points, "n"), at="1024", budget=2.0).metrics
    (near,) = study_scaling(made(values, points, "n"), at="256").metrics
    assert metric.next is not None
    assert metric.next.at == (512.0,)
    spans = near.predictions.high / near.predictions.low
    np.testing.assert_allclose(metric.next.then, spans)
    (standing,) = metric.at_target(np.array([1]))
    assert standing.span_then == pytest.approx(spans[1])
