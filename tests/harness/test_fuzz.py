"""Run files that were damaged in every way: never a wrong number, a crash or a hang."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import PREDICTORS, cycle_values, run_values

import hindmost
from hindmost.analysis.fits.study import FitOptions, fit_groups
from hindmost.analysis.runs.configuration import group_runs
from hindmost.errors import HindmostError
from hindmost.harness.runfile.checksum import TRAILER_LENGTH, append_checksum
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.schema import VARIABLES
from hindmost.harness.runfile.writer import write_whole

SAME_FILE = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
WHOLE = {*cycle_values(run_values(iterations=3, ranks=2, restart=2, seed=0), ranks=2), "event_kind"}
WHOLE |= {"event_work", "event_duration"}
NAMES = [variable.name for variable in VARIABLES if variable.name in WHOLE]
"""Variables of a file with full records of all ranks."""


@pytest.fixture
def run_file(tmp_path: Path, header: Header, values: dict[str, object]) -> Path:
    """Return a file that has every variable."""
    everything = {**values, **cycle_values(values, ranks=header.ranks)}
    return write_whole(tmp_path, header, everything, predictors=PREDICTORS)


def damaged(path: Path, data: bytes) -> Path:
    broken = path.with_name("broken.h5")
    broken.write_bytes(data)
    return broken


@SAME_FILE
@given(share=st.floats(0, 1, exclude_max=True))
def test_truncation_anywhere(run_file: Path, share: float) -> None:
    data = run_file.read_bytes()
    with pytest.raises(HindmostError):
        hindmost.open(damaged(run_file, data[: int(len(data) * share)]))


@SAME_FILE
@given(share=st.floats(0, 1, exclude_max=True), bits=st.integers(1, 255))
def test_flipped_bytes_anywhere(run_file: Path, share: float, bits: int) -> None:
    data = bytearray(run_file.read_bytes())
    data[int(len(data) * share)] ^= bits
    with pytest.raises(HindmostError):
        hindmost.open(damaged(run_file, bytes(data)))


def resealed(path: Path, change: Callable[[h5py.File], None]) -> Path:
    """Change a copy of a file and give it a right checksum: what another writer might make."""
    broken = damaged(path, path.read_bytes()[:-TRAILER_LENGTH])
    with h5py.File(broken, "r+") as file:
        change(file)
    append_checksum(broken)
    return broken


@settings(SAME_FILE, max_examples=60)
@given(
    name=st.sampled_from(NAMES),
    shape=st.lists(st.integers(0, 50), min_size=0, max_size=4),
    kind=st.sampled_from(["f8", "f4", "i4", "i8", "u1", "S3"]),
)
def test_wrong_shapes_and_types(run_file: Path, name: str, shape: list[int], kind: str) -> None:
    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = np.zeros(shape, kind)

    whole = hindmost.open(run_file)
    before = whole.variable(name)
    if before.shape == tuple(shape) and before.dtype == np.dtype(kind):
        return
    with pytest.raises(HindmostError, match=name):
        hindmost.open(resealed(run_file, change))


@settings(SAME_FILE, max_examples=60)
@given(
    name=st.sampled_from(["duration", "phase_duration", "solve_time", "restart_duration"]),
    value=st.sampled_from([np.nan, np.inf, -np.inf, -1e-6]),
    place=st.integers(0, 10**6),
)
def test_numbers_that_cannot_be(run_file: Path, name: str, value: float, place: int) -> None:
    def change(file: h5py.File) -> None:
        numbers = file[name][...]
        numbers.ravel()[place % numbers.size] = value
        file[name][...] = numbers

    with pytest.raises(HindmostError):
        fit_groups(
            group_runs([hindmost.open(resealed(run_file, change))]), FitOptions(families=False)
        )


POSSIBLE = [("solver", text) for text in ("{", "[]", "word")] + [("lag", 2**40)]
"""Any text may name a solver, and a lag may be of any length."""


@settings(SAME_FILE, max_examples=40)
@given(name=st.sampled_from(["schema_version", "ranks", "spec", "environment", "solver", "lag"]))
def test_attributes_that_are_missing_or_of_another_sort(run_file: Path, name: str) -> None:
    for value in (None, -1, 2**40, "{", "[]", "word", np.array([1.5, 2.5])):

        def change(file: h5py.File, value: object = value) -> None:
            del file.attrs[name]
            if value is not None:
                file.attrs[name] = value

        if not isinstance(value, np.ndarray) and (name, value) in POSSIBLE:
            continue
        with pytest.raises(HindmostError):
            hindmost.open(resealed(run_file, change))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("edge_source", 50_000_000),
        ("edge_target", 3),
        ("edge_target", -1),
        ("position", -1),
        ("position", 2_000_000_000),
        ("event_kind", 200),
        ("event_work", np.nan),
    ],
)
def test_numbers_that_would_lead_astray(run_file: Path, name: str, value: float) -> None:
    def change(file: h5py.File) -> None:
        numbers = file[name][...]
        numbers.ravel()[0] = value
        file[name][...] = numbers

    broken = resealed(run_file, change)
    with pytest.raises(HindmostError, match=name):
        hindmost.open(broken).verify()
