"""Learn what `hindmost.models.foretell` carries as experience, and write it as a module.

    python -m benchmarks.scaling_experience [FILE] [MORE ...]

Learns from the measured experiments that are not set aside (`real_series`; FILE, or the folder in
HINDMOST_EVALUATION_DATA), from all experiments of MORE files, and from simulated ones: the losses
of every candidate by how kernels grow at their last points, one, two and four points ahead, of
short and of long series, and the widths below and above the prediction that 98 % of the errors to
that side keep to. For the latter each fold of machines is predicted with the experience of the
others. The coverage of each group, on stderr, is that of other folds' machines as well.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.real_series import EVERYTHING, RealSeries, data_file, read_series, read_slices
from benchmarks.scaling_intervals import factorisations
from numpy.typing import NDArray

from hindmost.models.foretell import experience as carried
from hindmost.models.foretell.candidates import COUNT, LONG, Candidate
from hindmost.models.foretell.experience import AHEAD, REGIMES, Experience
from hindmost.models.foretell.forecast import joint_trials
from hindmost.models.foretell.held_out import Trials, hold_out
from hindmost.models.foretell.stacking import FLOOR, loss, shares_of_distances, stack_candidates
from hindmost.models.foretell.width import LEAST_ERROR, width_features
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import FAMILIES, measured

FOLDS = 5
SHRINK = 2.0
"""Held-out points that the mean of all regimes and distances counts as, for each of them."""
WHOLE = ("IMB", "applications", "over sizes")
IMPORTANT = 3.0
"""Weight of groups of whole experiments over that of parts of them and of simulated ones."""
KEEPS_TO = 0.98
"""Share of errors that are below the high end, and above the low end: more than 95 %, as unknown
machines make larger errors."""
LEAST = 4
SIMULATED_SETS = 40
KERNELS = 5
GRIDS = (2.0 ** np.arange(8), 16.0 * 2.0 ** np.arange(7), 100.0 * np.arange(1.0, 10.0))
NOISES = (0.01, 0.05, 0.12)
FAR_GRIDS = (*GRIDS[:1], np.arange(1.0, 11.0), 2.0 ** np.arange(1, 11), 100.0 * np.arange(1.0, 7.0))
FAR, FAR_SETS = 4.0, 2
"""Times the largest point, and sets of each kind that are foretold there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A series whose last point is to be foretold.

    Attributes
    ----------
    experiment, group : str
    points, values : float64 array, shape (point,)
    at, truth : float
    ahead : int
        Points from the last known one to the target.
    """

    experiment: str
    group: str
    points: NDArray[np.float64]
    values: NDArray[np.float64]
    at: float
    truth: float
    ahead: int


def main() -> None:
    """Learn and print the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("more", nargs="*", type=Path)
    asked = parser.parse_args()
    more = [case for path in asked.more for case in further_cases(path)]
    cases = [*real_cases(data_file(asked.file)), *more, *simulated_cases(), *far_cases()]
    trials = joint_trials([hold_out(each.points, each.values[None], each.at) for each in cases])
    learner = Learner(cases, trials)
    widths = learner.widths(learner.features())
    experience = Experience(losses=learner.losses(np.ones(len(cases), bool)), widths=widths)
    MODULE.write_text(module_text(experience), encoding="utf-8")


def real_cases(path: Path) -> Iterator[Case]:
    """Yield measured series without their last points."""
    for series in read_series(path, "development"):
        yield from cases_of(series, 5)
        if "strong" in series.group:
            yield from cases_of(series, LEAST, whole=False)
    for series in read_slices(path, "development"):
        yield from cases_of(series, LEAST)


def further_cases(path: Path) -> Iterator[Case]:
    """Yield all measured series of a file without their last points, and their beginnings."""
    for series in read_series(path, EVERYTHING):
        yield from cases_of(series, 5)
        yield from cases_of(series, LEAST, whole=False)


def cases_of(series: RealSeries, least: int, *, whole: bool = True) -> Iterator[Case]:
    """Yield a series without its last points; if not whole, all its beginnings but the far ones."""
    medians = series.medians
    for end, ahead in product(range(len(medians) - 1, 0, -1), (1, 2, 4)):
        known = end - ahead + 1
        last = end == len(medians) - 1
        if known < least or whole != last or (ahead == 4 and (not whole or known < 5)):
            continue
        yield Case(
            experiment=series.experiment,
            group=series.group if whole else f"beginnings of {series.experiment.split()[0]}",
            points=series.points[:known],
            values=medians[:known],
            at=float(series.points[end]),
            truth=float(medians[end]),
            ahead=ahead,
        )


def simulated_cases() -> Iterator[Case]:
    """Yield series of known functions with noise."""
    random = np.random.default_rng(3)
    draws = {**FAMILIES, "factorisation": factorisations}
    for (name, draw), noise, grid in product(draws.items(), NOISES, GRIDS):
        for number in range(SIMULATED_SETS // 8):
            truth = draw(random, grid, KERNELS)
            values = measured(random, truth, noise=noise, kind=NoiseKind.MULTIPLICATIVE)[..., 0]
            for kernel, ahead in product(values, (1, 2)):
                yield Case(
                    experiment=f"simulated {name} {noise} {grid[1]} {number}",
                    group=f"simulated {name}",
                    points=grid[:-ahead],
                    values=kernel[:-ahead],
                    at=float(grid[-1]),
                    truth=float(kernel[-1]),
                    ahead=ahead,
                )


def far_cases() -> Iterator[Case]:
    """Yield series of known functions with both kinds of noise, and their value far ahead."""
    random = np.random.default_rng(5)
    draws = {**FAMILIES, "factorisation": factorisations}
    for (name, draw), noise, grid, kind in product(
        draws.items(), NOISES, FAR_GRIDS, (NoiseKind.MULTIPLICATIVE, NoiseKind.ADDITIVE)
    ):
        for number in range(FAR_SETS):
            at = FAR * grid[-1]
            truth = draw(random, np.append(grid, at), KERNELS)
            values = measured(random, truth[:, :-1], noise=noise, kind=kind)[..., 0]
            for kernel, aim in zip(values, truth[:, -1], strict=True):
                if (kernel > 0.0).all() and aim > 0.0:
                    yield Case(
                        experiment=f"simulated {name} far {noise} {kind} {grid[:2]} {number}",
                        group=f"simulated {name}, far",
                        points=grid,
                        values=kernel,
                        at=float(at),
                        truth=float(aim),
                        ahead=4,
                    )


class Learner:
    """Learns from cases, of which folds by machine are kept apart."""

    def __init__(self, cases: Sequence[Case], trials: Trials) -> None:
        self.trials = trials
        self.groups = [each.group for each in cases]
        self.ahead = np.array([each.ahead for each in cases])
        self.fold = np.array([fold_of(each.experiment) for each in cases])
        self.truth = np.log([each.truth for each in cases])
        counts: dict[tuple[str, int], int] = defaultdict(int)
        for case in cases:
            counts[case.group, case.ahead] += 1
        self.weight = np.array(
            [
                (IMPORTANT if each.group.startswith(WHOLE) else 1.0)
                / np.sqrt(counts[each.group, each.ahead])
                for each in cases
            ]
        )
        pools: dict[tuple[str, int, float], list[int]] = defaultdict(list)
        for number, case in enumerate(cases):
            pools[case.experiment, case.ahead, case.at].append(number)
        self.pools = [np.array(each) for each in pools.values()]
        self.regime = np.searchsorted(REGIMES, trials.slope)
        self.long = (trials.known >= LONG).astype(np.intp)

    def losses(self, known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return mean losses: shape (distance, short and long, regime, candidate)."""
        every = loss(self.trials.predicted[known] - self.truth[known, None], FLOOR)
        shares = shares_of_distances(self.trials.steps[known]) * self.weight[known, None]
        total = np.zeros((AHEAD.size, 2, REGIMES.size + 1, COUNT))
        number = np.zeros((*total.shape[:-1], 1))
        at = (self.long[known], self.regime[known])
        for distance, weight in enumerate(shares.T):
            np.add.at(total[distance], at, weight[:, None] * every)
            np.add.at(number[distance], at, weight[:, None])
        # What is thin leans on the mean of its distance and regime, and these on theirs.
        mean = total.sum(axis=(0, 1, 2)) / number.sum(axis=(0, 1, 2))
        for axes in ((1, 2), (1,), ()):
            sums = total.sum(axis=axes, keepdims=True), number.sum(axis=axes, keepdims=True)
            mean = (sums[0] + SHRINK * mean) / (sums[1] + SHRINK)
        return np.asarray(mean)

    def features(self) -> NDArray[np.float64]:
        """Predict each fold with the experience of the others; return what widths depend on.

        The last column is the error, measured less predicted logarithm.
        """
        found = np.empty((len(self.groups), 4))
        without = [
            Experience(losses=self.losses(self.fold != fold), widths=np.zeros((2, 3)))
            for fold in range(FOLDS)
        ]
        for pool in self.pools:
            own = rows(self.trials, pool)
            stack = stack_candidates(own, without[self.fold[pool[0]]])
            found[pool, :-1] = width_features(own, stack)
            found[pool, -1] = self.truth[pool] - stack.predicted
        return found

    def widths(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients of the widths, and report the coverage of other folds."""
        asked, errors = features[:, :-1], features[:, -1]
        sides = np.maximum([-errors, errors], 0.0)
        within = np.empty(len(errors), bool)
        for fold in range(FOLDS):
            other = self.fold != fold
            learnt = self.sides(asked[other], sides[:, other], self.weight[other])
            own = ~other
            within[own] = (sides[:, own] <= np.exp(learnt @ asked[own].T)).all(axis=0)
        for group, ahead in product(dict.fromkeys(self.groups), (1, 2, 4)):
            some = (np.array(self.groups) == group) & (self.ahead == ahead)
            if some.any():
                sizes = 100.0 * np.expm1(np.abs(errors[some]))
                median, most = np.percentile(sizes, [50, 90])
                inside = 100.0 * within[some].mean()
                sys.stderr.write(
                    f"{ahead} {group}: {some.sum()} cases, {median:.1f} / {most:.0f} %, "
                    f"within {inside:.0f} %\n"
                )
        return self.sides(asked, sides, self.weight)

    @staticmethod
    def sides(
        features: NDArray[np.float64], sides: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the coefficients of both widths from the errors to either side: shape (2, 3)."""
        return np.array([quantile_regression(features, each, weight) for each in sides])


def fold_of(experiment: str) -> int:
    """Return the fold of an experiment: that of its machine, or program if it tells no machine."""
    words = experiment.replace("/", " ").split()
    place = {"OpenSBLI": 2, "CASTEP": 2, "simulated": 1, "IMB": 1, "kdtree": 1}.get(words[0], 0)
    return int(hashlib.sha256(words[place].encode()).hexdigest(), 16) % FOLDS


def rows(trials: Trials, pool: NDArray[np.intp]) -> Trials:
    """Return the trials of some kernels."""
    return Trials(
        predicted=trials.predicted[pool],
        errors=trials.errors[pool],
        age=trials.age[pool],
        distance=trials.distance[pool],
        ahead=trials.ahead[pool],
        steps=trials.steps[pool],
        slope=trials.slope[pool],
        recent=trials.recent[pool],
        known=trials.known[pool],
    )


def quantile_regression(
    features: NDArray[np.float64], sizes: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return coefficients of the logarithm of a width that a share of the errors keeps to."""
    wanted = np.log(sizes + LEAST_ERROR)
    found = np.zeros(features.shape[1])
    factor = weight
    for _ in range(200):
        normal = features.T @ (features * factor[:, None])
        normal += 1e-4 * weight.sum() * np.diag([0.0, *[1.0] * (len(found) - 1)])
        found = np.linalg.solve(normal, features.T @ (wanted * factor))
        rest = wanted - features @ found
        factor = weight * np.where(rest > 0.0, KEEPS_TO, 1.0 - KEEPS_TO)
        factor = factor / np.maximum(np.abs(rest), 0.02)
    return found


MODULE = Path(carried.__file__)
LEARNT = """\
LOSSES = \"\"\"
{losses}
\"\"\"
\"\"\"In hundredths, a line for each regime, a column for each candidate; written, not edited.\"\"\"
LEARNT = Experience(
    losses=np.array(LOSSES.split(), float).reshape({shape}) / 100.0,
    widths=np.array([{widths}]).reshape({sides}),
)
"""


def module_text(experience: Experience) -> str:
    """Return the module of the experience, with this one in place of the one it has."""
    kept, _, _ = MODULE.read_text(encoding="utf-8").partition("LOSSES = ")
    lines = np.rint(100.0 * experience.losses.reshape(-1, COUNT)).astype(int)
    return kept + LEARNT.format(
        losses="\n".join(" ".join(map(str, line)) for line in lines),
        shape=", ".join(map(str, experience.losses.shape)),
        widths=", ".join(f"{each:.3f}" for each in experience.widths.ravel()),
        sides=", ".join(map(str, experience.widths.shape)),
    )


if __name__ == "__main__":
    assert len(Candidate) == COUNT
    main()
