"""What simulating thresholds costs: `hindmost scale` on points that are new to the machine.

    python -m benchmarks.scaling_new_points [--experiments 6]

Experiments of 60 kernels of one growth, of two, and of two functions that change at any point, at
12, 20 and 40 points. Each is modelled twice, by a process that has no thresholds yet and by one
that finds those of the first in the user's cache. Printed by points: the median and the range of
the processor seconds that the first one takes longer, and the median of the second one.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.segments.one_behaviour import inside, measured, outside, two_terms
from hindmost.models.synthetic.scaling import two_functions

KERNELS = 60
GRIDS = (
    (np.arange(1.0, 13.0), 2.0 ** np.arange(1, 13)),
    (4.0 * np.arange(1.0, 21.0), np.unique(np.round(np.geomspace(8.0, 4096.0, 20)))),
    (np.arange(1.0, 41.0), np.unique(np.round(np.geomspace(16.0, 1e6, 40)))),
)
"""Two sets of points for each number of them."""
CHANGING, REPETITIONS = (5, 20, 10), (1, 3, 5)
"""Kernels of two functions, and repetitions, of one experiment after the other."""
NOISE = 0.05


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=6, help="of each number of points")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    random = np.random.default_rng(asked.seed)
    processor_times(
        experiment_text(GRIDS[0][0], kernels(random, GRIDS[0][0], 0)), ([],)
    )  # compiles
    write("points   longer on new points, CPU-seconds   with thresholds from the cache")
    for grids in GRIDS:
        longer, again = [], []
        for number in range(asked.experiments):
            points = grids[number % len(grids)]
            text = experiment_text(points, kernels(random, points, number))
            first, second = processor_times(text, ([], []))
            longer.append(first - second)
            again.append(second)
        write(
            f"{grids[0].size:6}   {np.median(longer):.2f} ({min(longer):.2f} to {max(longer):.2f})"
            f"{np.median(again):28.2f}"
        )


def write(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def kernels(
    random: np.random.Generator, points: NDArray[np.float64], number: int
) -> NDArray[np.float64]:
    """Draw the measurements of one experiment: shape (kernel, point, repetition)."""
    changing = CHANGING[number % len(CHANGING)]
    each = (KERNELS - changing) // 3
    truth = [family(random, points, each) for family in (outside, two_terms)]
    truth.append(inside(random, points, KERNELS - changing - 2 * each))
    truth.extend(
        two_functions(random, points, 1, first=int(random.integers(3, points.size - 2)))
        for _ in range(changing)
    )
    repetitions = REPETITIONS[number % len(REPETITIONS)]
    return measured(random, np.concatenate(truth), noise=NOISE, repetitions=repetitions)


def experiment_text(points: NDArray[np.float64], values: NDArray[np.float64]) -> str:
    """Return an experiment as a text file has it.

    Parameters
    ----------
    points : float64 array, shape (point,)
    values : float64 array, shape (kernel, point, repetition)
    """
    lines = ["PARAMETER p", "POINTS " + " ".join(f"{point:g}" for point in points), "METRIC time"]
    for number, kernel in enumerate(values):
        lines.append(f"REGION kernel-{number}")
        lines += ["DATA " + " ".join(f"{value:.6g}" for value in point) for point in kernel]
    return "\n".join(lines) + "\n"


def processor_times(text: str, runs: Sequence[list[str]]) -> list[float]:
    """Return the processor seconds of `hindmost scale` on an experiment, start included.

    The first run has no thresholds yet, the others those that it kept.

    Parameters
    ----------
    text : str
        The experiment.
    runs : sequence of list of str
        Options of one run after the other.
    """
    times = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "experiment.txt"
        file.write_text(text)
        command = [sys.executable, "-m", "hindmost", "scale", str(file)]
        kept = {**os.environ, "XDG_CACHE_HOME": folder}
        for more in runs:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL, env=kept)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return times


if __name__ == "__main__":
    main()
