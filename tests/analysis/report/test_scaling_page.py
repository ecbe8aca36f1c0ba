"""The page on scaling experiments: what matters at the target leads, over what drives it."""

import re
from itertools import count

import numpy as np
import pytest

from hindmost.analysis.readers.experiment import Experiment, KernelSeries
from hindmost.analysis.report.scaling_page import by_share, scaling_page
from hindmost.analysis.scaling.figures import scaling_chart
from hindmost.analysis.scaling.study import ScalingStudy, study_scaling


@pytest.fixture(scope="module")
def study() -> ScalingStudy:
    """Return kernels that grow with n only, with p only, and not at all."""
    random = np.random.default_rng(2)
    points = np.array([(p, n) for p in (2, 4, 8, 16, 32) for n in (10, 20, 40, 80, 160)], float)
    p, n = points.T
    truth = {"solve": 3e-3 * n**2, "halo": 0.5 * np.log2(p), "io": np.full(p.size, 2.0)}
    series = tuple(
        KernelSeries(
            kernel=name,
            metric="time",
            unit="s",
            points=points,
            values=(values * np.exp(0.01 * random.standard_normal(values.shape)))[:, None],
        )
        for name, values in truth.items()
    )
    experiment = Experiment(source="x.txt", parameters=("p", "n"), series=series, warnings=())
    return study_scaling(experiment, at="p=64,n=640")


def test_each_chart_has_the_parameter_that_drives_its_kernel(study: ScalingStudy) -> None:
    (metric,) = study.metrics
    order = by_share(metric)
    kernels = [metric.series[each].kernel for each in order]
    assert kernels[0] == "solve"  # 3e-3 * 640**2 s of all
    charts = [scaling_chart(each, metric.target) for each in metric.at_target(order)]
    of = dict(zip(kernels, charts, strict=True))
    assert (of["solve"].x.text, of["halo"].x.text) == ("n", "p")
    points = next(each for each in of["solve"].series if each.look == "points")
    assert sorted(set(points.x.tolist())) == [10, 20, 40, 80, 160]
    assert of["solve"].note == "p = 32"


def test_the_first_screen_draws_the_kernel_with_the_largest_share(study: ScalingStudy) -> None:
    page = scaling_page([study], count(1))
    (picture,) = page.pictures
    assert "time over n: x.txt" in picture.html
    assert re.search(r"solve \(\d+ % at the target\)", picture.html)
    assert "halo (" not in picture.html  # over another parameter
    assert '["target",' in picture.html
    assert page.conclusions[0].quantity == "Growth of solve"
