"""The prediction: the weighted median of what the candidates say.

A candidate's loss is the logarithm of its error at held-out points: a few large errors, as at every
change of behaviour, do not decide. The losses of a kernel are few, so its own are joined with what
is expected of the candidate: from the experience of other experiments with kernels that grew alike,
then from all other kernels of this experiment, then from those of them that grew alike. Weights
fall exponentially with the expected loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.foretell.candidates import (
    FALL_TO_ZERO,
    FORMS,
    LONG,
    OF_LONG,
    OF_SHORT,
    REACH,
    SAME,
)
from hindmost.models.foretell.experience import AHEAD, REGIMES, Experience
from hindmost.models.foretell.held_out import Trials

FLOOR = 0.02
"""Error, as a difference of logarithms, below which candidates count as equally good ..."""
EXACT = 1e-6
"""... unless the kernel's own errors are smaller: at most this sharp."""
LARGEST_ERROR = 1.5
"""Error beyond which it does not matter how wrong a candidate is."""
AGEING = 0.7
"""Weight of a held-out point over that of its successor."""
OTHER_DISTANCE = 0.5
"""Power of the ratio of distances by which a held-out point at another distance weighs less."""
MOST_OF_ONE = 1.0
"""Held-out points that a kernel adds to what is known of the experiment."""
EXPERIENCED, ALIKE, EXPECTED = 2.0, 3.0, 4.0
"""Held-out points that the experience, the experiment and all expectation together count as."""
SHARPNESS = 2.0
LEAST_WEIGHT = 0.01
"""Share of the largest weight, below which a candidate is left out."""
LIKELY, TRUSTED = 0.35, 0.5
"""Weights of normal forms in the mean of all kernels: from the latter, more than all others have
together, the models of all kernels predict; from the former, of those with `CLEAR` weight."""
CLEAR, NOT_REFUTED = 0.7, 0.1
"""Weights of normal forms of one kernel: that its own points ask for if its experiment does not,
and that they must leave if it does. A short series, or a short last behaviour, must reach `TRUSTED`
there. Where measured series came between, their models predicted worse, and their intervals were
too narrow; drawn ones of one growth mostly reach both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Weighted candidates.

    Attributes
    ----------
    predicted : float64 array, shape (kernel,)
        Logarithm of the value at the target.
    weights : float64 array, shape (kernel, candidate)
        Their sum is 1.
    known : array, shape (kernel,)
        Points that each kernel is foretold from.
    missed : float64 array, shape (kernel,)
        Logarithm of what the same weights foretell the last point to be from those before it, over
        what was measured.
    """

    predicted: NDArray[np.float64]
    weights: NDArray[np.float64]
    known: NDArray[np.float64]
    missed: NDArray[np.float64]

    def follows_model(self) -> NDArray[np.bool_]:
        """Say which kernels grow as models do: one growth and noise, (kernel,)."""
        share = self.weights @ FORMS
        mean = share.mean()
        of_all = np.where(self.known >= LONG, NOT_REFUTED, TRUSTED)
        least = of_all if mean >= TRUSTED else CLEAR
        return np.asarray((mean >= LIKELY) & (share >= least))


def stack_candidates(trials: Trials, experience: Experience) -> Stack:
    """Weigh the candidates of all kernels of an experiment, and join them.

    Parameters
    ----------
    trials : Trials
    experience : Experience
    """
    regime = np.searchsorted(REGIMES, trials.slope)
    weights = origin_weights(trials)
    total = weights.sum(axis=1)
    losses = np.einsum("ko,koc->kc", weights, loss(trials.errors, FLOOR))
    # What each kernel adds to the expectation for the others: at most one held-out point.
    share = np.minimum(total, MOST_OF_ONE) / np.maximum(total, np.finfo(float).tiny)
    added, count = losses * share[:, None], total * share
    expected = expected_losses(trials, regime, experience)
    expected = joined(EXPERIENCED, expected, added.sum(axis=0) - added, count.sum() - count)
    alike, number = np.zeros((REGIMES.size + 1, losses.shape[1])), np.zeros(REGIMES.size + 1)
    np.add.at(alike, regime, added)
    np.add.at(number, regime, count)
    expected = joined(ALIKE, expected, alike[regime] - added, number[regime] - count)
    own = np.einsum("ko,koc->kc", weights, loss(trials.errors, own_floor(trials, weights)))
    told = EXPECTED * expected + own
    # After a change, what was measured before it says nothing: those that need it are left out.
    told = np.where(trials.recent[:, None] < REACH, np.inf, told)
    told = np.where(np.where((trials.known < LONG)[:, None], OF_LONG, OF_SHORT), np.inf, told)
    # A function that falls to zero before the target says nothing of it.
    lowest = trials.predicted[:, SAME] - FALL_TO_ZERO[0] * trials.ahead - FALL_TO_ZERO[1]
    told = np.where(np.abs(trials.predicted - lowest[:, None]) < EXACT, np.inf, told)
    odds = np.exp(-SHARPNESS * (told - told.min(axis=1, keepdims=True)))
    odds[odds < LEAST_WEIGHT] = 0.0
    odds /= odds.sum(axis=1, keepdims=True)
    predicted = weighted_median(trials.predicted, odds)
    missed = weighted_median(np.where(odds > 0.0, trials.errors[:, 0], 0.0), odds)
    return Stack(predicted=predicted, weights=odds, known=trials.known, missed=missed)


def loss(errors: NDArray[np.float64], floor: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the losses of errors, which are differences of logarithms."""
    return np.asarray(np.log(np.minimum(np.abs(errors), LARGEST_ERROR) + floor))


def origin_weights(trials: Trials) -> NDArray[np.float64]:
    """Return what each held-out point counts: shape (kernel, origin), 0 where there is none."""
    unlike = np.abs(np.log(trials.distance / trials.ahead[:, None]))
    there = np.isfinite(trials.age)
    age = np.where(there, trials.age, 0.0)
    return np.where(there, AGEING**age * np.exp(-OTHER_DISTANCE * unlike), 0.0)


def own_floor(trials: Trials, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the floor of each kernel's own losses, (kernel, 1, 1): what its best error tells."""
    sizes = np.minimum(np.abs(trials.errors), LARGEST_ERROR)
    mean = np.einsum("ko,koc->kc", weights, sizes)
    mean /= np.maximum(weights.sum(axis=1), np.finfo(float).tiny)[:, None]
    return np.asarray(np.clip(mean.min(axis=1), EXACT, FLOOR)[:, None, None])


def expected_losses(
    trials: Trials, regime: NDArray[np.intp], experience: Experience
) -> NDArray[np.float64]:
    """Return the losses that experience expects, (kernel, candidate): between its distances."""
    shares = shares_of_distances(trials.steps)
    long = (trials.known >= LONG).astype(np.intp)
    return np.asarray(np.einsum("kd,dkc->kc", shares, experience.losses[:, long, regime]))


def shares_of_distances(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each distance of `AHEAD` counts for: shape (kernel, distance)."""
    at, known = np.log(steps), np.log(AHEAD)
    return np.column_stack([np.interp(at, known, one) for one in np.eye(known.size)])


def joined(
    counts_as: float,
    expected: NDArray[np.float64],
    losses: NDArray[np.float64],
    number: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the mean of an expectation and of losses, of which there are `number`."""
    return np.asarray((counts_as * expected + losses) / (counts_as + number)[:, None])


def weighted_median(
    values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weighted median of the last axis, linear between values.

    Parameters
    ----------
    values, weights : float64 array, shape (..., candidate)
        Weights of 0 take no part; their sum is 1.
    """
    # What takes no part stands behind the others and is no neighbour to interpolate to.
    order = np.argsort(np.where(weights > 0.0, values, np.inf), axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, -1)
    mass = np.take_along_axis(weights, order, -1)
    middle = np.cumsum(mass, axis=-1) - 0.5 * mass
    last = (mass > 0.0).sum(axis=-1) - 1
    above = np.minimum((middle < 0.5).sum(axis=-1), last)[..., None]
    below = np.maximum(above - 1, 0)
    low, high = np.take_along_axis(middle, below, -1), np.take_along_axis(middle, above, -1)
    gap = np.where(high > low, high - low, 1.0)
    share = np.clip(np.where(high > low, (0.5 - low) / gap, 1.0), 0.0, 1.0)
    ends = np.take_along_axis(ordered, below, -1), np.take_along_axis(ordered, above, -1)
    return np.asarray(((1.0 - share) * ends[0] + share * ends[1])[..., 0])
