"""JSON, Python and LaTeX forms of a study."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.scaling.experiments import TRUTH, Function, figure_1, write_text

from hindmost.analysis.readers.read import read_experiment
from hindmost.analysis.report.runs_overview import grown_headline, judge_experiment
from hindmost.analysis.scaling.batches import ScalingOptions
from hindmost.analysis.scaling.figures import scaling_chart
from hindmost.analysis.scaling.study import ScalingStudy, study_scaling
from hindmost.analysis.scaling.study_json import study_json
from hindmost.analysis.scaling.tables import kernel_lines, scaling_table
from hindmost.output import strict_json

MIXED: dict[str, Function] = {
    **TRUTH,
    "main->changed": lambda p: np.where(p < 60.0, 3.0 + 0.05 * p**1.5, 900.0 + 2.0 * p),
    'operator()(int&, "100 %") \\ {x}': lambda p: 2.0 + p,
    "operator() int 100 x": lambda p: 3.0 + p,
    "class": lambda p: 4.0 + p,
    "log2": lambda p: 5.0 + p,
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ScalingStudy:
    folder = tmp_path_factory.mktemp("forms")
    path = write_text(folder / "e.txt", MIXED, noise=0.01, repetitions=3)
    return study_scaling(read_experiment(path))


def keys_and_types(model: dict[str, Any]) -> None:
    assert isinstance(model["kernel"], str)
    assert isinstance(model["metric"], str)
    assert isinstance(model["segmented"], bool)
    assert model["change"] is None or [type(end) for end in model["change"]] == [float, float]
    assert model["segments"]
    for segment in model["segments"]:
        assert [type(end) for end in segment["range"]] == [float, float]
        assert segment["expression"] is None or isinstance(segment["expression"], str)
        for term in segment["terms"]:
            assert isinstance(term["coefficient"], float)
            assert [type(each) for each in term["exponents"]["p"]] == [float, float]
    assert isinstance(model["scores"]["smape"], float)
    assert isinstance(model["scores"]["adjusted_r2"], float)
    assert model["interval"][0] <= model["predicted"] <= model["interval"][1]


def test_json_has_what_is_promised(study: ScalingStudy) -> None:
    answer = json.loads(strict_json(study_json(study)))
    assert answer["version"] == 1
    assert answer["target"] == {"p": 4096.0}
    assert {model["kernel"] for model in answer["models"]} == MIXED.keys()
    for model in answer["models"]:
        keys_and_types(model)
    changed = next(model for model in answer["models"] if model["kernel"] == "main->changed")
    assert changed["segmented"]
    assert changed["verdict"] == "segmented"
    assert changed["change"] == [32.0, 64.0]
    assert [segment["range"] for segment in changed["segments"]] == [[2.0, 32.0], [64.0, 1024.0]]
    (term,) = changed["segments"][0]["terms"]
    assert term["exponents"] == {"p": [1.5, 0.0]}
    assert term["coefficient"] == pytest.approx(0.05, rel=0.05)
    assert len(study_json(study, top=3)["models"]) == 3


def test_json_of_the_paper_has_no_nan(tmp_path: Path) -> None:
    points = np.arange(1.0, 11.0)
    path = write_text(tmp_path / "e.txt", {"f": figure_1}, points=points)
    study = study_scaling(read_experiment(path), ScalingOptions(method="paper"))
    assert "NaN" not in strict_json(study_json(study))


def test_a_side_of_two_points_has_a_provisional_constant(tmp_path: Path) -> None:
    values = {"f": lambda p: np.where(p < 500.0, p, 1e5)}
    path = write_text(tmp_path / "e.txt", values, noise=0.001, repetitions=3)
    (model,) = json.loads(strict_json(study_json(study_scaling(read_experiment(path)))))["models"]
    assert model["change"] == [256.0, 512.0]
    short = model["segments"][1]
    assert (short["provisional"], short["points"], short["terms"]) == (True, 2, [])
    assert short["constant"] == pytest.approx(1e5, rel=0.01)
    assert 1e5 < model["predicted"] < 4e5  # from that constant to growth in proportion
    assert "measure" in model["advice"]


def test_a_side_of_two_points_far_apart_has_no_model(tmp_path: Path) -> None:
    """A transpose out of cache: a constant would be the mean of what grows."""
    sizes = np.array([64.0, 128.0, 192.0, 256.0, 384.0, 512.0, 768.0, 1024.0])
    values = {"transpose": lambda n: np.where(n < 768.0, 1e-9, 6e-9) * n**2}
    path = write_text(tmp_path / "e.txt", values, points=sizes, noise=0.01, repetitions=3)
    study = study_scaling(read_experiment(path))
    (model,) = json.loads(strict_json(study_json(study)))["models"]
    assert model["change"] == [512.0, 768.0]
    assert model["segments"][1]["expression"] is None
    (kernel,) = study.metrics[0].at_target(study.metrics[0].order)
    assert kernel.doubts() == []
    assert "only 2 points from 768 to 1024: no model" in "".join(
        kernel_lines(study.metrics[0], [kernel])
    )
    # The model of all points is none of this side: no figure comes from it.
    last = float(np.median(kernel.series.values[-1]))
    assert kernel.growth == pytest.approx(kernel.predicted / last, rel=1e-12)
    (row,) = scaling_table(study.metrics[0], [kernel]).rows
    assert row[5:8] == ["", "", ""]
    chart = scaling_chart(kernel, study.target)
    line = next(each for each in chart.series if "768 to 1024: no model" in each.name)
    assert np.isnan(line.y[line.x > 700.0]).all()
    assert np.isfinite(line.y[line.x < 600.0]).all()
    assert judge_experiment(study).text.endswith("no model fits transpose at the target.")


def test_a_kernel_that_falls_is_not_said_to_grow(tmp_path: Path) -> None:
    path = write_text(tmp_path / "e.txt", {"f": lambda p: 100.0 / p}, noise=0.01, repetitions=3)
    study = study_scaling(read_experiment(path))
    (standing,) = study.metrics[0].at_target(study.metrics[0].order)
    said = grown_headline(standing)
    assert re.match(r"f is predicted to fall to 0\.2\d*x at p = 4096 \(90 % interval 0\.2", said)
