from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import hindmost
from hindmost.errors import MissingError


def test_a_run_as_a_dataset_and_as_a_frame(run_file: Path) -> None:
    run = hindmost.open(run_file)
    dataset = run.to_xarray()
    assert dataset["duration"].dims == ("iteration", "rank")
    assert dataset["duration"].attrs["units"] == "s"
    np.testing.assert_array_equal(dataset["duration"], run.durations)
    frame = run.to_pandas()
    assert list(frame.columns) == ["start", "duration", *run.phases]
    np.testing.assert_array_equal(frame["wait"].unstack("rank"), run.phase("wait"))
    np.testing.assert_array_equal(frame["start"].unstack("rank"), run.starts)
    assert list(frame.loc[7].index) == list(range(run.columns))


@pytest.mark.parametrize(
    ("lacking", "method"),
    [("h5netcdf", "to_xarray"), ("xarray", "to_xarray"), ("pandas", "to_pandas")],
)
def test_what_is_not_installed_is_named(
    run_file: Path, monkeypatch: pytest.MonkeyPatch, lacking: str, method: str
) -> None:
    run = hindmost.open(run_file)
    monkeypatch.setitem(sys.modules, lacking, None)
    with pytest.raises(
        MissingError, match=rf"need {lacking}, .*pip install 'hindmost\[notebook\]'"
    ):
        getattr(run, method)()
