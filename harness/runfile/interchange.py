"""Run files as the objects of other libraries: xarray and pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hindmost.extras import imported


def dataset_of(path: Path) -> Any:
    """Return all variables of a run file, read into memory: xarray.Dataset."""
    imported("h5netcdf", what="Datasets", extra="notebook")
    xarray = imported("xarray", what="Datasets", extra="notebook")
    return xarray.load_dataset(path, engine="h5netcdf")


def frame_of(columns: Mapping[str, NDArray[Any]], **levels: Iterable[int]) -> Any:
    """Return columns, with a row for each combination of the levels: pandas.DataFrame."""
    pandas = imported("pandas", what="Frames", extra="notebook")
    index = pandas.MultiIndex.from_product(levels.values(), names=list(levels))
    return pandas.DataFrame(columns, index=index)
