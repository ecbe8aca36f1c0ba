"""What the forecasts cost on drawn series of one growth, which their models describe.

    python -m benchmarks.scaling_far --sets 50

Prints for experiments of `--kernels` drawn functions, at 4 times the largest of 10 points, the
median error in percent of what `hindmost scale` predicts and of what the models say, and how many
new measurements the 90 % intervals hold.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from benchmarks.scaling_models import GRIDS, KINDS, say
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import Experiment, KernelSeries
from hindmost.analysis.scaling.study import study_scaling
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import FAMILIES, measured

DRAWN = ("inside", "two-terms", "outside", "strong")
LEVELS = (0.01, 0.05, 0.15)
AHEAD = 4.0


def main() -> None:
    """Print a line for each design, family and noise."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", type=int, default=50, help="experiments of each kind")
    options.add_argument("--kernels", type=int, default=10)
    options.add_argument("--seed", type=int, default=4)
    asked = options.parse_args()
    random = np.random.default_rng(asked.seed)
    for (name, points), family, kind in product(GRIDS.items(), DRAWN, KINDS):
        words = []
        for level in LEVELS:
            rows = [
                row
                for _ in range(asked.sets)
                for row in foretold(random, points, family, kind, level, asked.kernels)
            ]
            error, of_model, within = np.array(rows).T
            words.append(
                f"{100 * level:.0f} %: {100 * np.median(error):.1f} "
                f"({100 * np.nanmedian(of_model):.1f}) "
                f"{100 * within.mean():.0f} %"
            )
        say(f"x = {name:8} {family:9} {kind:15} " + "   ".join(words))


def foretold(
    random: np.random.Generator,
    points: NDArray[np.float64],
    family: str,
    kind: NoiseKind,
    level: float,
    kernels: int,
) -> list[tuple[float, float, bool]]:
    """Return errors of prediction and model, and whether the interval holds.

    One entry for each kernel of an experiment whose values are all above 0.
    """
    at = AHEAD * points[-1]
    truth = FAMILIES[family](random, np.append(points, at), kernels)
    values = measured(random, truth[:, :-1], noise=level, kind=kind)
    sizes = truth[:, :-1].mean(axis=1) if kind is NoiseKind.ADDITIVE else truth[:, -1]
    new = truth[:, -1] + sizes * level * random.uniform(-1.0, 1.0, kernels)
    drawn = np.flatnonzero((values > 0.0).all(axis=(1, 2)) & (new > 0.0))
    if not drawn.size:
        return []
    series = tuple(
        KernelSeries(
            kernel=str(number),
            metric="time",
            unit="",
            points=points[:, None],
            values=values[number].reshape(points.size, -1),
        )
        for number in drawn.tolist()
    )
    experiment = Experiment(source="drawn", parameters=("p",), series=series, warnings=())
    metric = study_scaling(experiment, at=f"{at:.12g}").metrics[0]
    found = []
    for standing in metric.at_target(metric.order):
        number = int(standing.series.kernel)
        aim = truth[number, -1]
        found.append(
            (
                abs(standing.predicted / aim - 1.0),
                abs(float(standing.kernel.evaluate(at)[0]) / aim - 1.0),
                standing.low <= new[number] <= standing.high,
            )
        )
    return found


if __name__ == "__main__":
    main()
