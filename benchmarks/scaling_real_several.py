"""How well models over several parameters foretell real measurements that were left out.

    python -m benchmarks.scaling_real_several [FILE]

FILE is that of `scaling_real`. For every experiment on a grid of three parameters: the error in
percent of the measured value, median / 90th percentile, and what 90 % intervals contain, without
and with the width that the outermost of the known points needed (`held_out`). `hindmost scale` has
the latter beyond the points only.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.real_series import data_files
from numpy.typing import NDArray

from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.several import fit_parameters, foretell_outermost
from hindmost.models.pmnf.several.averaging import widened
from hindmost.models.pmnf.several.fit import fit_part

FIFTHS = 3
"""How many times a random fifth is left out."""


def tables(
    file: Path,
) -> Iterator[tuple[str, tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]]:
    """Yield name, parameters, points (point, parameter) and values (kernel, point, repetition)."""
    with gzip.open(file, "rt") as text:
        experiments = json.load(text)
    for experiment in experiments:
        if len(experiment["params"]) != 3:
            continue
        series = experiment["series"]
        points = sorted({tuple(at) for each in series for at, _ in each["rows"]})
        most = max(len(values) for each in series for _, values in each["rows"])
        values = np.full((len(series), len(points), most), np.nan)
        for kernel, each in enumerate(series):
            for at, measured in each["rows"]:
                values[kernel, points.index(tuple(at)), : len(measured)] = measured
        positive = (np.nanmin(values, axis=2) > 0.0).all(axis=1)
        yield (
            experiment["name"],
            tuple(experiment["params"]),
            np.array(points),
            values[positive],
        )


def left_out(points: NDArray[np.float64]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield what is left out and foretold, and a mask of it: shape (point,)."""
    first = (points == points.min(axis=0)).sum(axis=1)
    last = (points == points.max(axis=0)).sum(axis=1)
    yield "all but three lines", first < 2
    yield "what is largest in two parameters or more", last >= 2
    random = np.random.default_rng(1)
    for number in range(FIFTHS):
        yield f"a random fifth ({number + 1})", random.random(len(points)) < 0.2
    yield "the corner where all are largest", last == 3
    for beyond in (1, 2, 3):
        yield f"beyond the others in {beyond}", last == beyond


def row(
    whole: ScalingModels,
    name: str,
    out: NDArray[np.bool_],
    values: NDArray[np.float64],
) -> str:
    """Return a row of the table."""
    points, medians = whole.observations.table, np.nanmedian(values, axis=2)
    if name.startswith("beyond"):  # what is left has too few values of a parameter for `scale`
        known = ~(points == points.max(axis=0)).any(axis=1)
        kernels = np.flatnonzero(whole.there.all(axis=1))
        models = fit_part(whole, kernels, np.flatnonzero(known), whole.observations.noise.kind)
        medians = medians[kernels]
    else:
        models = fit_parameters(points[~out], values[:, ~out], parameters=whole.parameters)
    at, measured = points[out], medians[:, out]
    predicted, (low, high) = models.predict(at), models.interval(at)
    error = 100.0 * np.abs(predicted / measured - 1.0)
    contained = [100.0 * ((low <= measured) & (measured <= high)).mean()]
    held_out = foretell_outermost(models)
    if held_out is not None:
        beyond = at > models.observations.table.max(axis=0)
        for one in np.unique(beyond, axis=0):  # within the points too, to compare
            here = (beyond == one).all(axis=1)
            wider = held_out.wider_beyond(one) if one.any() else held_out.wider
            low[:, here], high[:, here] = widened(
                predicted[:, here], low[:, here], high[:, here], wider
            )
        contained.append(100.0 * ((low <= measured) & (measured <= high)).mean())
    shares = " | ".join(f"{share:.0f} %" for share in contained)
    middle, far = np.quantile(error, (0.5, 0.9))
    return f"| {name} ({measured.size}) | {middle:.1f} / {far:.0f} | {shares} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="measured experiments")
    given = parser.parse_args()
    experiments = (table for file in data_files(given.file) for table in tables(file))
    for name, parameters, points, values in experiments:
        whole = fit_parameters(points, values, parameters=parameters)
        lines = [f"{name}: {len(values)} kernels, {len(points)} points", ""]
        lines += ["| left out and predicted | error | contained | as wide as held-out |"]
        lines += ["|---|---|---|---|"]
        lines += [row(whole, about, out, values) for about, out in left_out(points)]
        print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()
