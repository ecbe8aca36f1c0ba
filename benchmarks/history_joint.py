"""How often joint changes are found in noise, and how small a step of many series may be.

Run by ``make bench-history-joint``, in some minutes. Panels of 20 series of 200 nights are drawn:
lognormal noise of 1 to 3 %, a share of whose variance all series of a night have in common, with
AR(1) correlation of both parts; 3 % outliers of 1.3 to 2 times; one night in ten is missing. Each
series is judged by the robust method, and what is left of it goes into the panel, as in
``hindmost history``. Printed are

- joint changes found where there is none, in 1000 nights of a panel, with the upper end of the
  exact 95 % interval of Poisson's law;
- the share of steps in 40 or 100 % of the series that are found within 2 nights as a joint change,
  and the share of the stepped series in which `detect` finds one.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from hindmost.models.changepoint import detect
from hindmost.models.changepoint.joint import JointChange, find_joint_changes, leftover

SERIES, NIGHTS = 20, 200
NOISE = (0.01, 0.03)
OUTLIERS, FACTOR = 0.03, (1.3, 2.0)
MISSING = 0.1
MARGIN, NEAR = 20, 2
NOISES = ((0.0, 0.0), (0.0, 0.3), (0.25, 0.0), (0.25, 0.3), (0.5, 0.3), (0.5, 0.6))
"""Common share of the variance, and AR(1) coefficient."""
SHARES, STEPS = (0.4, 1.0), (0.01, 0.02, 0.03)


def correlated(random: np.random.Generator, series: int, rho: float) -> NDArray[np.float64]:
    """Return AR(1) noise of variance 1, shape (series, night)."""
    noise = random.normal(size=(series, NIGHTS))
    for night in range(1, NIGHTS):
        noise[:, night] = rho * noise[:, night - 1] + np.sqrt(1.0 - rho**2) * noise[:, night]
    return noise


def draw(
    random: np.random.Generator, common: float, rho: float, share: float, step: float
) -> tuple[NDArray[np.float64], int, int]:
    """Return logarithms, shape (series, night), the night of a step, and the stepped series."""
    own, both = correlated(random, SERIES, rho), correlated(random, 1, rho)
    sigma = random.uniform(*NOISE, (SERIES, 1))
    logs = sigma * (np.sqrt(1.0 - common) * own + np.sqrt(common) * both)
    outlying = random.random(logs.shape) < OUTLIERS
    logs += outlying * np.log(random.uniform(*FACTOR, logs.shape))
    place, stepped = int(random.integers(MARGIN, NIGHTS - MARGIN)), round(share * SERIES)
    logs[:stepped, place:] += step
    return logs, place, stepped


def judge(
    random: np.random.Generator, logs: NDArray[np.float64], place: int, stepped: int
) -> tuple[tuple[JointChange, ...], int]:
    """Return the joint changes, and how many of the stepped series show the step alone."""
    panel, alone = [], 0
    for row, values in enumerate(logs):
        nights = np.flatnonzero(random.random(NIGHTS) >= MISSING)
        found = detect(np.exp(values[nights]))
        near = any(abs(nights[change.index] - place) <= NEAR for change in found.changes)
        alone += near and row < stepped
        panel.append(leftover(values[nights], nights, found))
    return find_joint_changes(panel), alone


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=7000)
    parser.add_argument("--panels", type=int, default=100)
    parser.add_argument("--stepped", type=int, default=20, help="panels with a step, of each kind")
    chosen = parser.parse_args()
    print("common  AR(1)  found in 1000 nights  at most (95 %)")  # noqa: T201
    for kind, (common, rho) in enumerate(NOISES):
        count = 0
        for panel in range(chosen.panels):
            random = np.random.default_rng([chosen.seed, kind, panel])
            count += len(judge(random, *draw(random, common, rho, 0.0, 0.0))[0])
        nights = 0.001 * chosen.panels * NIGHTS
        most = 0.5 * float(chi2.ppf(0.975, 2 * count + 2)) / nights
        print(f"{common:6.2f}{rho:7.2f}{count / nights:23.3f}{most:16.3f}", flush=True)  # noqa: T201
    print("\ncommon  AR(1)  series   step  joint  alone")  # noqa: T201
    for common, rho in NOISES:
        for share in SHARES:
            for step in STEPS:
                hits = singles = 0
                for panel in range(chosen.stepped):
                    random = np.random.default_rng([chosen.seed, 100, panel])
                    logs, place, stepped = draw(random, common, rho, share, step)
                    joint, alone = judge(random, logs, place, stepped)
                    hits += any(abs(each.night - place) <= NEAR for each in joint)
                    singles += alone
                found = singles / (chosen.stepped * stepped)
                print(  # noqa: T201
                    f"{common:6.2f}{rho:7.2f}{share:8.0%}{step:7.0%}{hits / chosen.stepped:7.0%}"
                    f"{found:7.0%}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
