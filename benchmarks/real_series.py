"""Measured scaling experiments for evaluation, and which of them nobody may learn from.

The data are not part of the project. A file is a gzipped JSON list of experiments, each ``{"name",
"group", "params", "series": [{"kernel", "metric", "rows": [[coordinates], [values]]}]}``.
An experiment is set aside if the SHA-256 of its name, as a number, is a multiple of three.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DATA = "HINDMOST_EVALUATION_DATA"
FILE = "scaling-real.json.gz"
EVERYTHING = "all"
PARTS = ("development", "aside", EVERYTHING)
EVERY = 3
"""One experiment of so many is set aside."""
LEAST_KNOWN = 5
"""Points of a series that are left to learn from."""


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
        return np.array([float(np.median(each)) for each in self.values])


def data_file(path: Path | None) -> Path:
    """Return the file of a path that a person gives, or in that folder, else in the environment's.

    Raises
    ------
    SystemExit
        There is no such file.
    """
    named = os.environ.get(DATA)
    found = path or (Path(named) if named else None)
    if found is not None and found.is_dir():
        found /= FILE
    if found is None or not found.is_file():
        raise SystemExit(
            f"{found or 'No file'}: name a file of measured experiments, or set {DATA} to a folder "
            f"with {FILE}."
        )
    return found


def is_aside(experiment: str) -> bool:
    """Say whether an experiment is set aside for the final judgement."""
    return int(hashlib.sha256(experiment.encode()).hexdigest(), 16) % EVERY == 0


def read_series(path: Path, part: str) -> list[RealSeries]:
    """Read the series over one parameter of a part of the experiments."""
    found = []
    for experiment in read_experiments(path, part):
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


def read_experiments(path: Path, part: str) -> Iterator[dict[str, Any]]:
    """Yield the experiments of a part."""
    with gzip.open(path, "rt") as file:
        for experiment in json.load(file):
            if part == EVERYTHING or is_aside(experiment["name"]) == (part == "aside"):
                yield experiment


def series_of(
    experiment: dict[str, Any],
    parameter: str,
    series: dict[str, Any],
    rows: Sequence[tuple[float, list[float]]],
) -> RealSeries:
    """Return a series as arrays."""
    return RealSeries(
        experiment=experiment["name"],
        group=experiment["group"],
        parameter=parameter,
        kernel=series["kernel"],
        metric=series["metric"],
        points=np.array([place for place, _ in rows]),
        values=tuple(np.array(values) for _, values in rows),
    )
