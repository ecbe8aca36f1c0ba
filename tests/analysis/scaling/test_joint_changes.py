"""A change at a value of one of several parameters, in all forms of a study."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.synthetic.scaling_grids import AXES, cross

from hindmost.analysis.readers.experiment import Experiment, KernelSeries
from hindmost.analysis.readers.read import read_experiment
from hindmost.analysis.scaling.figures import scaling_chart
from hindmost.analysis.scaling.study import ScalingStudy, study_scaling
from hindmost.analysis.scaling.study_json import study_json
from hindmost.analysis.scaling.tables import kernel_lines, models_text
from hindmost.analysis.verbs.scale import print_tables
from hindmost.cli import main
from hindmost.output import strict_json

POINTS = [(p, n) for p in (2, 4, 8, 16, 32) for n in (10, 20, 40, 80, 160, 320)]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ScalingStudy:
    random = np.random.default_rng(1)
    lines = []
    for p, n in POINTS:
        truth = {"cache": (1.0 if n <= 40 else 4.0) * (1.0 + 0.1 * p * n), "one": 2.0 + 0.1 * p * n}
        for kernel, value in truth.items():
            entry = {"params": {"p": p, "n": n}, "callpath": kernel, "metric": "time"}
            value = value * np.exp(0.02 * random.standard_normal())
            lines.append(json.dumps({**entry, "value": value}))
    path = tmp_path_factory.mktemp("joint") / "e.jsonl"
    path.write_text("\n".join(lines))
    return study_scaling(read_experiment(path))


def test_the_change_is_told(study: ScalingStudy) -> None:
    (metric,) = study.metrics
    standings = {each.series.kernel: each for each in metric.at_target(metric.order)}
    changed, one = standings["cache"], standings["one"]
    (line,) = [line for line in kernel_lines(metric, [changed]) if "cache" in line]
    assert line.startswith("cache: changes between n = 40 and 80")
    assert "n from 80" in models_text(changed.kernel, study.target.at)
    assert changed.kernel.segmentation.segmented
    assert not one.kernel.segmentation.segmented
    truth = 4.0 * (1.0 + 0.1 * study.target.at[0] * study.target.at[1])
    assert changed.predicted == pytest.approx(truth, rel=0.1)
    assert changed.low < changed.predicted < changed.high


def test_the_verb_says_what_is_searched_for(
    study: ScalingStudy, capsys: pytest.CaptureFixture[str]
) -> None:
    print_tables(study, 5)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "2 parameters" in line]
    assert line.startswith("The models use 2 parameters: p, n.")


def test_json_names_the_parameter_and_both_sides(study: ScalingStudy) -> None:
    models = json.loads(strict_json(study_json(study)))["models"]
    changed = next(model for model in models if model["kernel"] == "cache")
    assert changed["segmented"]
    assert changed["change"] == [40.0, 80.0]
    assert changed["changes"][0]["parameter"] == "n"
    ranges = [each["range"] for each in changed["segments"]]
    assert ranges == [[[2.0, 32.0], [10.0, 40.0]], [[2.0, 32.0], [80.0, 320.0]]]
    assert not next(model for model in models if model["kernel"] == "one")["segmented"]


def test_figures_have_the_side_that_is_drawn(study: ScalingStudy, tmp_path: Path) -> None:
    (metric,) = study.metrics
    standings = {each.series.kernel: each for each in metric.at_target(metric.order)}
    changed = standings["cache"]
    last = changed.kernel.segments[-1].model
    assert last is not None
    chart = scaling_chart(changed, study.target)
    assert any(last.expression() in part.name for part in chart.series)


def test_intervals_beyond_the_points_are_as_wide_as_held_out_points_need() -> None:
    """A step between the last two values, which nothing before it foretells."""
    random = np.random.default_rng(2)
    points = np.array([(p, n) for p in (2, 4, 8, 16, 32) for n in (10, 20, 40, 80, 160)], float)
    values = np.where(points[:, :1] > 16, 3.0, 1.0) * points.prod(axis=1, keepdims=True)
    values = values * np.exp(0.02 * random.standard_normal(values.shape))
    series = KernelSeries(kernel="k", metric="time", unit="s", points=points, values=values)
    experiment = Experiment(source="x", parameters=("p", "n"), series=(series,), warnings=())
    for at, wider in (("p=16,n=80", False), ("p=64,n=160", True)):
        study = study_scaling(experiment, at=at)
        (kernel,) = study.metrics[0].at_target(study.metrics[0].order)
        low, high = replace(kernel.kernel, held_out=None).interval(np.array([study.target.at]))
        assert bool(kernel.high > 1.5 * high[0]) is wider
        assert bool(kernel.low < low[0] / 1.5) is wider
    (told,) = study_json(study)["held_out"]
    assert (told["points"], told["kernels"]) == (9, 1)
    assert told["wider"] > 1.5


def test_lines_of_three_parameters_give_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One point of 14 shows how they act together; nor is growth worse than expected certain."""
    path = tmp_path / "e.jsonl"
    entries = [
        {"params": dict(zip("pnq", map(int, point), strict=True)), "callpath": "k", "metric": "t"}
        | {"value": float(1.0 + point.prod())}
        for point in cross(*AXES[:3])
    ]
    path.write_text("\n".join(map(json.dumps, entries)))
    assert main(["scale", str(path), "--expect", "1", "--json"]) == 0
    told, warned = capsys.readouterr()
    document = json.loads(told)
    assert document["models"][0]["interval"] is None
    assert document["findings"] == []
    assert "1 kernel may grow worse than expected" in warned
    (doubt,) = document["models"][0]["doubts"]
    assert doubt.startswith("no interval: the points lie on lines")
    assert "p and n and q act together; measure 3 more" in doubt
    assert main(["scale", str(path), "--figure", str(tmp_path / "f.png")]) == 0
    assert " none " in capsys.readouterr().out
    assert main(["scale", str(path), "--at", "p=64,n=50,q=10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"][0]["interval"] is not None
