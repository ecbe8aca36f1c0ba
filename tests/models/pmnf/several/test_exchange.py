"""What other exponents leave unexplained is known without a fit."""

import numpy as np

from hindmost.models.pmnf.criterion import MOST_PRODUCTS
from hindmost.models.pmnf.several.exchange import least_residuals
from hindmost.models.pmnf.several.fit import with_steeper_falls
from hindmost.models.pmnf.several.hypothesis import aim
from hindmost.models.pmnf.space import PAPER, tabulate
from hindmost.models.synthetic.scaling_grids import AXES, grid


def test_least_residuals_are_those_of_least_squares() -> None:
    """For every exponent of either parameter, in a term beside another one."""
    random = np.random.default_rng(4)
    points = grid(*AXES[:2])
    axes = tabulate(with_steeper_falls(PAPER), points)
    axes /= np.abs(axes).max(axis=2, keepdims=True)
    many, base, count = axes.shape
    values = random.uniform(1.0, 9.0, count)
    weight = random.uniform(0.5, 2.0, count)
    target = aim(values, weight, np.zeros(base, np.bool_))
    beside, exchanged = 5 + 2 * base, 7 + 11 * base
    least = np.empty((many, base))
    least_residuals(
        np.array([0, 0, beside, exchanged]),
        3,
        axes,
        np.ascontiguousarray(axes.transpose(0, 2, 1)),
        target,
        np.empty((2 * MOST_PRODUCTS + 1, count)),
        least,
    )
    known = 0
    root = np.sqrt(target[0])
    for axis in range(many):
        for number in range(base):
            own = [7, 11]
            own[axis] = number
            term = axes[0, own[0]] * axes[1, own[1]]
            columns = np.stack([np.ones(count), axes[0, 5] * axes[1, 2], term], axis=1)
            rest = np.linalg.lstsq(root[:, None] * columns, root * values, rcond=None)[1]
            if least[axis, number] > 0.0:
                known += 1
                assert rest[0] * (1 - 1e-5) <= least[axis, number] <= rest[0] * (1 + 1e-12)
    assert known >= 0.8 * many * base
