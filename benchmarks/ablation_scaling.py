"""What each part of the scaling forecasts brings: a row for each, switched off alone.

    python -m benchmarks.ablation_scaling [FILE or FOLDER] [--learn]

Files, by default in the folder that HINDMOST_EVALUATION_DATA names, are described in `real_series`.
The largest point of each series is left out, then the two largest, and the last one
is foretold from the others by `hindmost.models.pmnf.forecast`. Prints the error in percent of the
measured value (median / 90th percentile), what 90 % intervals hold and how wide they are; beside
that, what changes in the mean loss (logarithm of the error, in hundredths: about percent) with its
standard error. All programs count alike (a machine's MPI library, or an application); errors are
paired by series and clustered by program. Widths of intervals are learnt from all other programs.
Peers are four simple laws.

``--learn`` prints `WIDTHS` as learnt from all programs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.ablation import Mechanism
from benchmarks.real_series import (
    EVERYTHING,
    RealSeries,
    clustered,
    data_files,
    loss,
    program_of,
    read_series,
    shares_of,
    sizes,
)
from numpy.typing import NDArray

from hindmost.models.pmnf.forecast import candidates, kernels
from hindmost.models.pmnf.forecast.candidates import Candidate, Trials, hold_out
from hindmost.models.pmnf.forecast.kernels import (
    LARGEST_ERROR,
    MIN_ERROR,
    OF_ERROR,
    Weighed,
    joint_trials,
    weigh,
    width_features,
)

MIN_LEFT = 5
"""Points that a series must have left."""
AHEAD = (1, 2)
SIDE = 0.965
"""Share of the errors on each side of a prediction that the width to that side holds."""
LAWS = ("the last value", "power law of 2", "line of 2", "power law of 3")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """Series of one experiment with the same target.

    Attributes
    ----------
    trials : Trials
    truth : float64 array, shape (series,)
        Logarithms of the values that were left out.
    laws : float64 array, shape (series, law)
        Logarithms of what `LAWS` predict.
    groups : tuple of str
    program : str
    """

    trials: Trials
    truth: NDArray[np.float64]
    laws: NDArray[np.float64]
    groups: tuple[str, ...]
    program: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What a variant foretells.

    Attributes
    ----------
    errors : float64 array, shape (series,)
        Predicted less measured logarithm.
    features : float64 array, shape (series, 3)
        What widths depend on.
    """

    errors: NDArray[np.float64]
    features: NDArray[np.float64]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, help="measured experiments")
    parser.add_argument("--learn", action="store_true", help="print the widths of intervals")
    asked = parser.parse_args()
    series = read_series(data_files(asked.file))
    pools = {ahead: list(pools_of(series, ahead)) for ahead in AHEAD}
    if asked.learn:
        both = [*pools[1], *pools[2]]
        # Both distances count alike.
        kinds = [f"{name} {ahead}" for ahead in AHEAD for name in programs_of(pools[ahead])]
        found = learn_widths(foretell_pools(both), np.array(kinds), [])
        say(np.array2string(found, precision=3, separator=", "))
        return
    for ahead in AHEAD:
        print_table(series, pools[ahead], ahead)


def pools_of(series: Sequence[RealSeries], ahead: int) -> Iterator[Pool]:
    """Yield the series that have points enough without the last ones."""
    members: dict[tuple[str, str, float], list[RealSeries]] = defaultdict(list)
    for each in series:
        if each.points.size >= MIN_LEFT + ahead:
            members[each.experiment, each.metric, float(each.points[-1])].append(each)
    for (experiment, _, at), those in members.items():
        known = [(each.points[:-ahead], each.medians[None, :-ahead]) for each in those]
        yield Pool(
            trials=joint_trials([hold_out(*each, at) for each in known]),
            truth=np.log([each.medians[-1] for each in those]),
            laws=np.array([simple_laws(*each, at) for each in known]),
            groups=tuple(each.group for each in those),
            program=program_of(experiment),
        )


def simple_laws(
    points: NDArray[np.float64], values: NDArray[np.float64], at: float
) -> tuple[float, ...]:
    """Return the logarithms of what `LAWS` predict."""
    x, y = np.log(points), np.log(values[0])
    of_two, of_three = (np.polyval(np.polyfit(x[-n:], y[-n:], 1), np.log(at)) for n in (2, 3))
    line = np.polyval(np.polyfit(points[-2:], values[0, -2:], 1), at)
    lowest = y[-1] - LARGEST_ERROR  # where the line falls to zero
    return y[-1], float(of_two), float(np.log(line)) if line > 0.0 else lowest, float(of_three)


OF_WEIGHTS = (
    Mechanism(name="pooling over kernels", patches=((kernels, "POOLED", 0.0),)),
    Mechanism(name="weights: median of all", patches=((kernels, "SHARPNESS", 1e-9),)),
    Mechanism(name="densities as they are: squared", patches=((kernels, "SHARPNESS", 2.0),)),
    Mechanism(name="others than the best candidate", patches=((kernels, "SHARPNESS", 100.0),)),
    Mechanism(name="the form of exact growth", patches=((kernels, "MIN_EXACT", 1000),)),
)
OF_TRIALS = (
    Mechanism(name="the last 10 held-out points", patches=((candidates, "MAX_ORIGINS", 1000),)),
)
"""Mechanisms of `forecast_kernels`; those of trials change what is weighed."""


def foretell_pools(pools: Sequence[Pool], *, without: Candidate | None = None) -> Outcome:
    """Foretell all series, perhaps without a candidate."""
    found: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for pool in pools:
        trials = pool.trials if without is None else trials_without(pool.trials, without)
        weighed: Weighed = weigh(trials)
        found.append((weighed.predicted - pool.truth, width_features(trials, weighed)))
    errors, features = zip(*found, strict=True)
    return Outcome(errors=np.concatenate(errors), features=np.concatenate(features))


def trials_without(trials: Trials, candidate: Candidate) -> Trials:
    """Return trials in which a candidate says nothing of the target."""
    predicted = trials.predicted.copy()
    predicted[:, list(Candidate).index(candidate)] = np.nan
    return replace(trials, predicted=predicted)


def programs_of(pools: Sequence[Pool]) -> NDArray[np.str_]:
    """Return the program of each series."""
    return np.array([pool.program for pool in pools for _ in pool.groups])


def widths_of_others(outcome: Outcome, programs: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return the widths of intervals, (2, series), learnt from all other programs."""
    widths = np.empty((2, outcome.errors.size))
    for program in np.unique(programs):
        own = programs == program
        learnt = learn_widths(outcome, programs, [program])
        widths[:, own] = np.exp(learnt @ outcome.features[own].T)
    return widths


def learn_widths(
    outcome: Outcome, programs: NDArray[np.str_], without: Sequence[str]
) -> NDArray[np.float64]:
    """Return `WIDTHS` by quantile regression; all programs count alike."""
    weight = np.where(np.isin(programs, without), 0.0, shares_of(programs))
    sides = np.maximum([outcome.errors, -outcome.errors], 0.0)
    return np.array([quantile_regression(outcome.features, side, weight) for side in sides])


def quantile_regression(
    features: NDArray[np.float64], sizes: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return coefficients of the logarithm of a width that a share `SIDE` of errors keeps to.

    The second one, the power of the error, is given: learnt, widths would hardly depend on it.
    """
    wanted = np.log(sizes + MIN_ERROR) - OF_ERROR * features[:, 1]
    features = features[:, [0, 2]]
    found = np.zeros(features.shape[1])
    factor = weight
    for _ in range(200):  # iteratively reweighted least squares
        normal = features.T @ (features * factor[:, None])
        normal += 1e-4 * weight.sum() * np.diag([0.0, *[1.0] * (len(found) - 1)])
        found = np.linalg.solve(normal, features.T @ (wanted * factor))
        rest = wanted - features @ found
        factor = weight * np.where(rest > 0.0, SIDE, 1.0 - SIDE)
        factor = factor / np.maximum(np.abs(rest), 0.02)
    return np.insert(found, 1, OF_ERROR)


def print_table(series: Sequence[RealSeries], pools: Sequence[Pool], ahead: int) -> None:
    """Print what each variant and each peer reaches, by group."""
    programs = programs_of(pools)
    groups = np.array([group for pool in pools for group in pool.groups])
    laws = np.concatenate([pool.laws - pool.truth[:, None] for pool in pools])
    kinds = [*np.unique(groups).tolist(), EVERYTHING]
    rows = [groups == kind if kind != EVERYTHING else groups != "" for kind in kinds]
    left_out = "the largest point" if ahead == 1 else f"the {ahead} largest points"
    titles = [f"{kind} ({some.sum()})" for kind, some in zip(kinds, rows, strict=True)]
    say(f"Without {left_out}.", "", f"| | {' | '.join(titles)} | seconds |")
    say("|---" * (len(kinds) + 2) + "|")
    begin = time.process_time()
    whole = foretell_pools(pools)
    seconds = time.process_time() - begin
    within = widths_of_others(whole, programs)
    inside = (whole.errors <= within[0]) & (-whole.errors <= within[1])
    cells = [
        f"{sizes(whole.errors[some], programs[some])}, "
        f"{100 * (inside[some] @ shares_of(programs[some])):.0f} % in "
        f"({100 * inside[some].mean():.0f} % of series), "
        f"x {np.exp(np.median(within.sum(axis=0)[some])):.2f}"
        for some in rows
    ]
    say(f"| **hindmost** | {' | '.join(cells)} | {seconds:.1f} |")
    variants: dict[str, Outcome] = {
        f"without {each}": foretell_pools(pools, without=each) for each in list(Candidate)[1:4]
    }
    for mechanism in (*OF_WEIGHTS, *OF_TRIALS):
        with mechanism.off():
            anew = list(pools_of(series, ahead)) if mechanism in OF_TRIALS else pools
            variants[f"without {mechanism.name}"] = foretell_pools(anew)
    for name, outcome in variants.items():
        say(f"| {name} | {changes(outcome.errors, whole.errors, programs, rows)} | |")
    for law, name in enumerate(LAWS):
        say(f"| {name} | {changes(laws[:, law], whole.errors, programs, rows)} | |")
    say("", "")


def changes(
    errors: NDArray[np.float64],
    of_whole: NDArray[np.float64],
    programs: NDArray[np.str_],
    rows: Sequence[NDArray[np.bool_]],
) -> str:
    """Return the cells of a row: errors, and the change of the loss with its standard error."""
    more = 100.0 * (loss(errors) - loss(of_whole))
    cells = []
    for some in rows:
        change, error = clustered(more[some], programs[some])
        cells.append(f"{sizes(errors[some], programs[some])}: {change:+.1f} ± {error:.1f}")
    return " | ".join(cells)


def say(*lines: str) -> None:
    """Write lines."""
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
