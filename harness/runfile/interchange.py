"""Runs as the objects of other libraries: xarray and pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hindmost.extras import imported

if TYPE_CHECKING:
    from hindmost.harness.runfile.reader import Run


def as_dataset(run: Run) -> Any:
    """Return all variables of a run, read into memory: xarray.Dataset.

    Raises
    ------
    MissingError
        xarray or h5netcdf is not installed.
    DamagedFileError
        The file has changed since it was verified.
    """
    imported("h5netcdf", what="Datasets", extra="notebook")
    xarray = imported("xarray", what="Datasets", extra="notebook")
    with run.reading():
        return xarray.load_dataset(run.path, engine="h5netcdf")


def as_frame(run: Run) -> Any:
    """Return a row for each body and rank: pandas.DataFrame.

    The index has the levels ``iteration`` and ``rank``, the number of the rank in its job. The
    columns are ``start`` and ``duration``, and one for each phase, in seconds.

    Raises
    ------
    MissingError
        pandas is not installed.
    """
    pandas = imported("pandas", what="Frames", extra="notebook")
    index = pandas.MultiIndex.from_product(
        [range(run.bodies), run.kept_ranks], names=["iteration", "rank"]
    )
    phases = run.variable("phase_duration")
    columns = {"start": run.starts.ravel(), "duration": run.durations.ravel()}
    for at, name in enumerate(run.phases):
        columns[f"{name} (phase)" if name in columns else name] = phases[:, :, at].ravel()
    return pandas.DataFrame(columns, index=index)
