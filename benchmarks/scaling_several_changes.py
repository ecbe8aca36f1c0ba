"""Changes of behaviour in one of several parameters, found in drawn data of known truth.

Run as ``python -m benchmarks.scaling_several_changes``. Functions of one behaviour are those of
`benchmarks.scaling_several`; of two, the function changes to another one of the same family at a
value of a parameter, half way along it, with at least a factor of 2 between the two there. Each
set of 10 kernels is judged alone, so that its kind of noise is not known.
"""

from __future__ import annotations

import argparse

import numpy as np
from benchmarks.scaling_several import say
from benchmarks.synthetic.scaling_grids import AXES, FAMILIES, balanced, draw, grid
from numpy.typing import NDArray

from hindmost.models.pmnf.kernels import KernelModel
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import measured
from hindmost.models.pmnf.several import find_joint_changes, fit_parameters

DESIGNS = {"5 x 5": grid(*AXES[:2]), "8 x 8": grid(*(tuple(2.0 ** np.arange(8)),) * 2)}
LEVELS = (
    (0.0, "multiplicative"),
    (0.05, "multiplicative"),
    (0.15, "multiplicative"),
    (0.05, "additive"),
)
TOGETHER = 10
NAMES = ("p", "n")
APART = 2.0


def judged(points: NDArray[np.float64], values: NDArray[np.float64]) -> list[KernelModel | None]:
    """Return the change of each kernel, None where there is none."""
    found: list[KernelModel | None] = []
    for begin in range(0, len(values), TOGETHER):
        some = values[begin : begin + TOGETHER]
        changes = find_joint_changes(fit_parameters(points, some, parameters=NAMES))
        found += [changes.get(kernel) for kernel in range(len(some))]
    return found


def noisy(
    random: np.random.Generator, truth: NDArray[np.float64], noise: float, kind: str
) -> NDArray[np.float64]:
    """Return one measurement a point, above 0."""
    values = measured(random, truth, noise=noise, kind=NoiseKind(kind))[..., 0]
    return np.asarray(np.maximum(values, 1e-3 * values.mean(axis=1, keepdims=True)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200, help="functions of each family")
    asked = parser.parse_args()
    random = np.random.default_rng(20261122)
    say("false positives (%), of the worst family; found, and found at the right place (%)")
    for name, points in DESIGNS.items():
        for noise, kind in LEVELS:
            false, found, right = [], [], []
            for family in FAMILIES:
                first, second = (
                    balanced(random, draw(random, family, asked.sets), points)(points)
                    for _ in range(2)
                )
                told = judged(points, noisy(random, first, noise, kind))
                false.append(np.mean([each is not None for each in told]))
                axis = random.integers(2)
                values = np.unique(points[:, axis])
                place = values.size // 2
                beyond = points[:, axis] >= values[place]
                border = points[:, axis] == values[place]
                ratio = (second / first)[:, border].mean(axis=1, keepdims=True)
                second = second / ratio * APART ** random.choice([-1.0, 1.0], ratio.shape)
                told = judged(points, noisy(random, np.where(beyond, second, first), noise, kind))
                found.append(np.mean([each is not None for each in told]))
                right.append(
                    np.mean(
                        [
                            each is not None
                            and (each.axis, each.changes[0].high) == (axis, values[place])
                            for each in told
                        ]
                    )
                )
            say(
                f"{name}  {100 * noise:3.0f} % {kind:15} {100 * max(false):5.1f} "
                f"{100 * float(np.mean(found)):6.1f} {100 * float(np.mean(right)):6.1f}"
            )


if __name__ == "__main__":
    main()
