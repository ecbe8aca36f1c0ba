"""Measured scaling experiments for evaluation, and errors in which each program counts alike.

The data are not part of the project. A file is a gzipped JSON list of experiments, each ``{"name",
"group", "params", "series": [{"kernel", "metric", "rows": [[coordinates], [values]]}]}``.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DATA = "HINDMOST_EVALUATION_DATA"
FILES = "scaling-real*.json.gz"
EVERYTHING = "all"
GROUPS = {
    "IMB over bytes": "bytes",
    "IMB over ranks": "ranks",
    "applications, strong scaling": "strong",
    "applications, weak scaling": "weak",
    "relearn": "sizes",
}
"""Groups by what is varied, where a file names them otherwise."""
RESAMPLED = 1000
"""Draws of programs from which the standard error of a mean is computed."""
FLOOR, LARGEST = 0.02, 1.5
"""Errors, as differences of logarithms, below which and above which they count alike."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RealSeries:
    """One metric of one kernel.

    Attributes
    ----------
    experiment, group, parameter, kernel, metric : str
    points : float64 array, shape (point,)
    values : tuple of float64 array, shape (repetition,)
        For each point, above 0.
    """

    experiment: str
    group: str
    parameter: str
    kernel: str
    metric: str
    points: NDArray[np.float64]
    values: tuple[NDArray[np.float64], ...]

    @property
    def medians(self) -> NDArray[np.float64]:
        """The median of each point's repetitions: shape (point,)."""
        return np.array([float(np.median(value)) for value in self.values])


def data_files(path: Path | None) -> list[Path]:
    """Return the file that a person names, or those in that folder, else in the environment's.

    Raises
    ------
    SystemExit
        There is no such file.
    """
    named = os.environ.get(DATA)
    place = path or (Path(named) if named else None)
    found = [] if place is None else [place] if place.is_file() else sorted(place.glob(FILES))
    if not found:
        raise SystemExit(
            f"{place or 'No file'}: name a file of measured experiments, or set {DATA} to a folder "
            f"with {FILES}."
        )
    return found


def program_of(experiment: str) -> str:
    """Return the program of an experiment; of MPI benchmarks the machine and its library."""
    words = experiment.replace("/", " ").split()
    if words[0] == "IMB":
        return " ".join(words[:2])
    name, bracket, _ = experiment.partition(" (")
    return name.split(",")[0] if bracket else words[0]


def read_series(paths: Sequence[Path]) -> list[RealSeries]:
    """Read the series over one parameter."""
    found = []
    for experiment in (experiment for path in paths for experiment in read_experiments(path)):
        if len(experiment["params"]) != 1:
            continue
        for series in experiment["series"]:
            rows = sorted(
                (place[0], [value for value in values if value == value])
                for place, values in series["rows"]
                if place[0] > 0
            )
            rows = [(place, values) for place, values in rows if values]
            if not rows or any(value <= 0 for _, values in rows for value in values):
                continue
            found.append(series_of(experiment, experiment["params"][0], series, rows))
    return found


def read_experiments(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the experiments of a file."""
    with gzip.open(path, "rt") as file:
        yield from json.load(file)


def series_of(
    experiment: dict[str, Any],
    parameter: str,
    series: dict[str, Any],
    rows: Sequence[tuple[float, list[float]]],
) -> RealSeries:
    """Return a series as arrays."""
    return RealSeries(
        experiment=experiment["name"],
        group=GROUPS.get(experiment["group"], experiment["group"]),
        parameter=parameter,
        kernel=series["kernel"],
        metric=series["metric"],
        points=np.array([place for place, _ in rows]),
        values=tuple(np.array(values) for _, values in rows),
    )


def loss(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of errors, which are differences of logarithms."""
    return np.asarray(np.log(np.minimum(np.abs(errors), LARGEST) + FLOOR))


def shares_of(programs: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return what each series counts, so that all programs count alike; the sum is 1."""
    _, number, count = np.unique(programs, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / (count[number] * count.size))


def clustered(values: NDArray[np.float64], programs: NDArray[np.str_]) -> tuple[float, float]:
    """Return the mean over programs and its standard error, from programs drawn again."""
    _, number = np.unique(programs, return_inverse=True)
    means = np.bincount(number, values) / np.bincount(number)
    drawn = np.random.default_rng(1).integers(means.size, size=(RESAMPLED, means.size))
    return float(means.mean()), float(means[drawn].mean(axis=1).std())


def sizes(errors: NDArray[np.float64], programs: NDArray[np.str_]) -> str:
    """Write the median and the 90th percentile of errors, in percent of the measured value."""
    off = 100.0 * np.abs(np.expm1(errors))
    order, share = np.argsort(off), shares_of(programs)
    below = np.cumsum(share[order]) - 0.5 * share[order]
    middle, far = np.interp((0.5, 0.9), below, off[order])
    return f"{middle:.1f} / {far:.0f}"
