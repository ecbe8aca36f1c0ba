"""What is left out of an experiment, what is asked of it, and what is said."""

import numpy as np
import pytest

from hindmost.analysis.readers.experiment import ExperimentGathering
from hindmost.analysis.readers.remarks import SHOWN, Remarks
from hindmost.errors import DataError, UsageError


@pytest.fixture
def gathering() -> ExperimentGathering:
    made = ExperimentGathering()
    made.declare(["p", "n"], "here")
    return made


def test_a_series_of_zeros_is_skipped_with_one_sentence(gathering: ExperimentGathering) -> None:
    for p in (2, 4, 8):
        gathering.add(("a", "bytes"), (p, 1), [0.0, 0.0], f"line {p}")
        gathering.add(("a", "time"), (p, 1), [1.0], f"line {p}")
    experiment = gathering.experiment("it")
    assert [series.metric for series in experiment.series] == ["time"]
    assert experiment.warnings == ("line 2: a (bytes) is zero at every point; skipped.",)


def test_nothing_left_is_an_error_with_the_reasons(gathering: ExperimentGathering) -> None:
    gathering.add(("a", "time"), (2, 1), [0.0], "line 7")
    with pytest.raises(DataError, match=r"it contains no measurement.*line 7: a .time. is zero"):
        gathering.experiment("it")


def test_all_values_of_a_metric_get_its_first_unit(gathering: ExperimentGathering) -> None:
    written = (("a", "ms", 1e3), ("b", "", 1e3), ("c", "s", 1.0), ("d", "us", 1e6))
    for kernel, unit, factor in written:
        for p in (2, 4):
            gathering.add((kernel, "time"), (p, 1), [factor * p, factor], f"{kernel} {p}", unit)
    experiment = gathering.experiment("it")
    assert {series.unit for series in experiment.series} == {"ms"}
    for series in experiment.series:
        np.testing.assert_allclose(series.values, [[2e3, 1e3], [4e3, 1e3]], rtol=1e-12)
    gathering.add(("a", "size"), (2, 1), [1.0], "line 1", "KiB")
    with pytest.raises(DataError, match="line 2: size has the unit 'ms' here and 'KiB' before"):
        gathering.add(("b", "size"), (2, 1), [1.0], "line 2", "ms")


def test_missing_points_are_told_by_group_of_kernels(gathering: ExperimentGathering) -> None:
    for kernel, ranks in (("a", (2, 4, 8)), ("b", (2, 4)), ("c", (2, 4)), ("d", (8,))):
        for p in ranks:
            gathering.add((kernel, "time"), (p, 1), [1.0], "here")
    warnings = gathering.experiment("it").warnings
    assert warnings[0].startswith("No value of time at p = 8, n = 1 for b, c: modelled from")
    assert warnings[1].startswith("No value of time at p = 2, n = 1; p = 4, n = 1 for d:")
    assert len(warnings) == 2


def test_a_parameter_that_is_not_asked_for_tells_kernels_apart(
    gathering: ExperimentGathering,
) -> None:
    for p in (2, 4):
        for n in (10, 20):
            gathering.add(("a", "time"), (p, n), [float(p * n)], "here", "sec")
    experiment = gathering.experiment("it", parameters=["p"])
    assert experiment.parameters == ("p",)
    assert [series.kernel for series in experiment.series] == ["a, n = 10", "a, n = 20"]
    assert experiment.series[1].values.ravel().tolist() == [40, 80]
    assert {series.unit for series in experiment.series} == {"s"}
    swapped = gathering.experiment("it", parameters=["n", "p"])
    assert swapped.series[0].points.tolist() == [[10, 2], [10, 4], [20, 2], [20, 4]]


def test_a_constant_parameter_that_is_not_asked_for_goes() -> None:
    gathering = ExperimentGathering()
    gathering.declare(["p", "seed"], "here")
    gathering.add(("a", "time"), (2, 0), [1.0], "here")
    gathering.add(("a", "time"), (4, 0), [2.0], "here")
    with pytest.raises(DataError, match="here: seed = 0; a parameter must be above zero"):
        gathering.experiment("it")
    (series,) = gathering.experiment("it", parameters=["p"]).series
    assert series.kernel == "a"


def test_files_may_order_their_parameters_as_they_like(gathering: ExperimentGathering) -> None:
    gathering.add(("a", "time"), (2, 10), [1.0], "one")
    gathering.declare(["n", "p"], "two")
    gathering.add(("a", "time"), (10, 4), [2.0], "two")
    assert gathering.experiment("it").series[0].points.tolist() == [[2, 10], [4, 10]]
    with pytest.raises(DataError, match=r"three: the parameters are p, but p, n in here"):
        gathering.declare(["p"], "three")


def test_what_is_asked_for_is_found_or_the_choices_are_listed(
    gathering: ExperimentGathering,
) -> None:
    for kernel in ("main", "main->io", "main->io->write", "x[1]"):
        for metric in ("time", "bytes"):
            gathering.add((kernel, metric), (2, 1), [1.0], "here")
    assert len(gathering.experiment("it", metrics=["time"]).series) == 4
    assert [s.kernel for s in gathering.experiment("it", ["time"], "main->*").series] == [
        "main->io",
        "main->io->write",
    ]
    assert [s.kernel for s in gathering.experiment("it", ["time"], "x[1]").series] == ["x[1]"]
    with pytest.raises(UsageError, match="No metric 'flops' in it; choose time or bytes"):
        gathering.experiment("it", metrics=["flops"])
    with pytest.raises(UsageError, match="No kernel 'min' in it; choose main, main->io, "):
        gathering.experiment("it", kernel="min")
    with pytest.raises(UsageError, match=r"No parameter 'q' in it.*choose p or n"):
        gathering.experiment("it", parameters=["q"])


def test_many_remarks_of_a_sort_are_counted() -> None:
    remarks = Remarks()
    for number in range(1000):
        remarks.add("odd lines", f"line {number} is odd.")
    remarks.add("other", "One more.")
    said = remarks.sentences()
    assert len(said) == SHOWN + 2
    assert said[SHOWN] == f"{1000 - SHOWN} more of this sort: odd lines."
    assert said[-1] == "One more."
