"""The same experiment in every format is the same experiment."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.readers.experiment_files import SMALL, WRITERS, Written, assert_sound

from hindmost.analysis.readers.formats.csv_experiment import ROLES
from hindmost.analysis.readers.read import read_experiment, recognise
from hindmost.analysis.readers.registry import EXPERIMENT_FORMATS

NUMBERS = st.floats(1e-300, 1e300)
NAMES = st.text("abXY09_->()<>,;:'éß\"\\[] ", min_size=1, max_size=12).filter(
    lambda name: name == " ".join(name.split())
)
PARAMETERS = st.text("abcxyz", min_size=1, max_size=3).filter(lambda name: name not in ROLES)


@st.composite
def experiments(draw: st.DrawFn) -> Written:
    parameters = draw(st.lists(PARAMETERS, min_size=1, max_size=3, unique=True))
    point = st.tuples(*[NUMBERS] * len(parameters))
    points = draw(st.lists(point, min_size=1, max_size=6, unique=True))
    kernels = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    metrics = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    repetitions = st.lists(NUMBERS, min_size=1, max_size=4)
    return Written(
        parameters=tuple(parameters),
        points=tuple(points),
        values={
            (kernel, metric): [draw(repetitions) for _ in points]
            for kernel in kernels
            for metric in metrics
        },
    )


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(written=experiments())
@pytest.mark.parametrize("writer", WRITERS)
def test_what_was_written_is_read(tmp_path: Path, writer: str, written: Written) -> None:
    name, write = WRITERS[writer]
    file = tmp_path / "experiment"
    file.write_text(write(written), encoding="utf-8")
    experiment = read_experiment(file, format=name)
    assert_sound(experiment)
    assert experiment.parameters == written.parameters
    assert experiment.series == written.series()
    assert experiment.warnings == ()


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("writer", WRITERS)
def test_formats_are_found_by_content(tmp_path: Path, writer: str, mark: str, ends: str) -> None:
    name, write = WRITERS[writer]
    file = tmp_path / "experiment.dat"
    file.write_bytes((mark + write(SMALL).replace("\r\n", "\n").replace("\n", ends)).encode())
    found = recognise(file, EXPERIMENT_FORMATS)
    assert found is EXPERIMENT_FORMATS[name]
    assert read_experiment(file).series == SMALL.series()


def test_arrays_cannot_be_changed_by_accident(tmp_path: Path) -> None:
    file = tmp_path / "experiment"
    file.write_text(WRITERS["text"][1](SMALL))
    series = read_experiment(file).series[0]
    for array in (series.points, series.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
