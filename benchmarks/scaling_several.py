"""How true scaling models of several parameters are, beside Extra-P's on the same data.

Run as ``python benchmarks/scaling_several.py [--extrap PYTHON]``, with the interpreter of an
environment that has the package ``extrap``. Functions are additive, multiplicative, mixed, and with
a parameter that does not matter, a quarter each, on grids of 5 values a parameter, one measurement
a point. *Balanced* functions have terms that matter alike; *free* ones have coefficients
log-uniform from 1e-3 to 1e3, which hides many terms below the noise from every method.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from benchmarks.synthetic.scaling_grids import (
    AXES,
    FAMILIES,
    Drawn,
    balanced,
    cross,
    draw,
    grid,
)
from numpy.typing import NDArray

from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import measured
from hindmost.models.pmnf.several import fit_parameters
from hindmost.models.pmnf.space import ABSENT, Exponents

NOISE = (0.0, 0.02, 0.05, 0.10, 0.15)
NAMES = ("p", "n", "q", "r")
PEER = Path(__file__).with_name("peers") / "extrap_several.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Experiments of one kind: the truth and the measurements.

    Attributes
    ----------
    points : float64 array, shape (point, parameter)
    values : float64 array, shape (kernel, point)
    leading : tuple of the true growth of every parameter, one a kernel
    at : float64 array, shape (1, parameter)
        4 times the largest values.
    truth, new : float64 array, shape (kernel,)
        There, without noise and with it.
    """

    points: NDArray[np.float64]
    values: NDArray[np.float64]
    leading: tuple[tuple[Exponents, ...], ...]
    at: NDArray[np.float64]
    truth: NDArray[np.float64]
    new: NDArray[np.float64]


def cell(seed: int, points: NDArray[np.float64], noise: float, count: int, free: bool) -> Cell:
    """Draw experiments, the families in turn, so that the first few are of all of them."""
    random = np.random.default_rng(seed)
    parameters = points.shape[1]
    values, leading, truth, new = [], [], [], []
    at = 4.0 * points.max(axis=0)[None]
    for family in FAMILIES:
        drawn: Drawn = draw(random, family, count // len(FAMILIES), parameters=parameters)
        if not free:
            drawn = balanced(random, drawn, points)
        values.append(measured(random, drawn(points), noise=noise)[..., 0])
        truth.append(drawn(at)[:, 0])
        # A value's own noise, as the mean of its series does not reach so far.
        kind = NoiseKind.MULTIPLICATIVE
        new.append(measured(random, drawn(at), noise=noise, kind=kind)[:, 0, 0])
        leading.append([drawn.leading(k) for k in range(len(drawn))])
    turn = np.arange(count).reshape(len(FAMILIES), -1).T.ravel()
    told = [each for family_s in leading for each in family_s]
    return Cell(
        points=points,
        values=np.concatenate(values)[turn],
        leading=tuple(told[k] for k in turn),
        at=at,
        truth=np.concatenate(truth)[turn],
        new=np.concatenate(new)[turn],
    )


def score(
    found: Sequence[tuple[Exponents, ...]],
    predicted: NDArray[np.float64],
    seconds: float,
    given: Cell,
) -> str:
    """Return the figures of a row: right terms, errors at 4 times, models per CPU-second."""
    count = len(found)
    right = np.mean([a == b for a, b in zip(found, given.leading[:count], strict=True)])
    error = 100.0 * np.abs(predicted / given.truth[:count] - 1.0)
    middle, far = np.quantile(error, (0.5, 0.9))
    return f"{100 * right:6.1f} {middle:8.2f} {far:8.1f} {count / seconds:8.0f}"


def ours(given: Cell, space: str) -> str:
    """Fit all experiments of a cell; return its figures, and what intervals hold and span."""
    names = NAMES[: given.points.shape[1]]
    began = time.process_time()
    models = fit_parameters(given.points, given.values, space=space, parameters=names)
    seconds = time.process_time() - began
    none = (ABSENT,) * len(names)
    found = [models[k].form.leading or none for k in range(len(models))]
    low, high = models.interval(given.at)
    figures = score(found, models.predict(given.at)[:, 0], seconds, given)
    if np.isnan(low).all():
        return f"{figures}   none"
    inside = (low[:, 0] <= given.new) & (given.new <= high[:, 0])
    ratio = np.clip(high[:, 0] / np.maximum(low[:, 0], 1e-3 * given.new), 1.0001, 1e6)
    return f"{figures} {100 * inside.mean():6.1f} {np.log(ratio).mean():6.2f}"


def extrap(given: Cell, python: str, count: int) -> str:
    """Let Extra-P model the first experiments of a cell; return its figures."""
    task = {
        "points": given.points.tolist(),
        "values": given.values[:count].tolist(),
        "at": given.at[0].tolist(),
    }
    done = subprocess.run(
        [python, str(PEER)], input=json.dumps(task), capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    found = [
        tuple((Fraction(power), Fraction(log)) for power, log in leading)
        for leading in told["leading"]
    ]
    return score(found, np.array(told["predicted"]), told["seconds"], given)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400, help="experiments a row")
    parser.add_argument("--extrap", help="the python of an environment that has extrap")
    parser.add_argument("--extrap-sets", type=int, default=40, help="experiments for Extra-P a row")
    parser.add_argument("--designs", default="", help="only those whose names have this in them")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    lines, corners = cross(*AXES[:3]), grid(*((axis[0], axis[2]) for axis in AXES[:3]))
    designs = {
        "2 parameters, grid": grid(*AXES[:2]),
        "3 parameters, grid": grid(*AXES[:3]),
        "2 parameters, lines": cross(*AXES[:2]),
        "3 parameters, lines": lines,
        "3 parameters, lines and corners": np.unique(np.concatenate([lines, corners]), axis=0),
    }
    designs = {name: points for name, points in designs.items() if given.designs in name}
    for points in designs.values():  # compile before the clock runs
        ours(cell(0, points, 0.05, 4, True), "paper")
    say("leading terms of all parameters right (%), median and 90th percentile of the error at 4x")
    say("of all parameters (%), models per CPU-second, coverage of 90 % intervals there (%)")
    say("and the mean logarithm of their high over their low end")
    for name, points in designs.items():
        for free in (False, True):
            say(f"\n{name}, {len(points)} points, {'free' if free else 'balanced'} coefficients")
            for noise in NOISE:
                drawn = cell(given.seed, points, noise, given.sets, free)
                for space in ("paper", "extrap"):
                    say(f"{100 * noise:4.0f} %  hindmost, {space:8}{ours(drawn, space)}")
                if given.extrap:
                    peer = extrap(drawn, given.extrap, given.extrap_sets)
                    say(f"{100 * noise:4.0f} %  Extra-P           {peer}")


if __name__ == "__main__":
    main()
