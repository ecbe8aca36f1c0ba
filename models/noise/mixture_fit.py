"""Fit of a mixture to the excesses of a rank's iterations.

Families of detours are added one after another while the BIC falls and their lengths can be told
apart. All parameters are those of greatest likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

from hindmost.models.noise.mixtures import Family, FamilyKind, FloatArray, Mixture, lengths

CLEAR = 5.0
"""Jitters that a detour must last to be told from jitter."""
MOST_FAMILIES = 4
MOST_OTHERS = 0.05
MOST_WEIGHT: Mapping[FamilyKind, float] = {"exponential": 20.0, "fixed": 9.0}
"""Iterations with a detour, over those without: detours of one length in more would be work."""
LEAST_SPREAD = 0.015
"""Of a fixed length, over the length: half of what a bin is wide."""
APART = 3.0
"""Factor between the lengths of two exponential families that can be told apart."""
NARROW = 0.15
"""Spread of a fixed length, over the length: with more it is no one length."""
WORTH = 12.0
"""By how much a further family must lower the BIC."""
LEAST_MEMBERS = 4.0
"""Detours of a family, at the least."""
BINS = 240
BIN_WIDTH = 0.04
ROUNDS = 40
"""Of expectation and maximisation, which find where the search for a family begins."""
BASE = 4
"""Parameters without families: base, jitter, skew, others."""


def best_mixture(excess_s: FloatArray, quantile: float) -> Mixture:
    """Fit mixtures of more and more families, and return that of the smallest BIC.

    Parameters
    ----------
    excess_s : float64 array, shape (iteration,), seconds
    quantile : float
        That stands for no excess.
    """
    value, weight = binned(excess_s)
    low = np.quantile(excess_s, (0.1 * quantile, quantile))
    scale = max(float(low[1] - low[0]), 1e-4 * float(np.ptp(excess_s)), 1e-12)
    most = max(float(excess_s.max()), 10.0 * scale)
    first = Mixture(base_s=0.0, normal_s=scale, skew_s=0.4 * scale, others=0.0134, most_s=most)
    found = fitted(first, value, weight, scale)
    for number in range(MOST_FAMILIES):
        # Detours squeeze what is skew of the jitter as long as they have no family of their own.
        plain = found if number else fitted(first_cut(found, value, weight), value, weight, scale)
        begins = [found] if plain is found else [found, plain]
        tried = [
            fitted(each, value, weight, scale)
            for begin in begins
            for each in proposals(begin, value, weight)
        ]
        kept = [each for each in tried if is_clear(each, float(weight.sum()))]
        best = min(kept, key=lambda each: each.score, default=None)
        if best is None or best.score > found.score - (WORTH if number else 0.0):
            break
        found = best
    return fitted(found, value, weight, scale)


def first_cut(found: Mixture, value: FloatArray, weight: FloatArray) -> Mixture:
    """Return a mixture whose jitter is that of the shorter half, without a tail."""
    order = np.cumsum(weight) / weight.sum()
    low, middle = np.interp([0.1, 0.4], order, value)
    spread = max(float(middle - low), 1e-3 * found.jitter_s, 1e-13)
    return Mixture(
        base_s=float(low),
        normal_s=spread,
        skew_s=0.4 * spread,
        others=found.others,
        most_s=found.most_s,
    )


def is_clear(mixture: Mixture, count: float) -> bool:
    """Tell whether the families are longer than jitter, large enough, and unlike each other."""
    sizes = mixture.sizes(count)
    means = sorted(each.mean_s for each in mixture.families if each.kind == "exponential")
    return (
        all(each.mean_s > CLEAR * mixture.jitter_s for each in mixture.families)
        and min(sizes) >= LEAST_MEMBERS
        and all(b > APART * a for a, b in pairwise(means))
        and all(each.spread_s < NARROW * each.mean_s for each in mixture.families)
    )


# Where the search for a further family begins.


def proposals(found: Mixture, value: FloatArray, weight: FloatArray) -> list[Mixture]:
    """Return a mixture with one more exponential family, and one with one more fixed length."""
    over = value - found.base_s - found.skew_s
    longest = float(over.max())
    least = CLEAR * found.jitter_s
    if not longest > least:
        return []
    now = found.log_density(value)
    grid = np.geomspace(least, longest, 9)[:-1] * 1.2
    begins: list[Family] = [
        Family(kind="exponential", mean_s=float(each), weight=0.05) for each in grid
    ]
    begins += [
        Family(kind="fixed", mean_s=at, weight=0.02, spread_s=0.03 * at + 0.5 * found.jitter_s)
        for at in peaks(found, over, weight, least)
    ]
    best: dict[FamilyKind, tuple[float, Family]] = {}
    for begin in begins:
        score, family = raised(found, begin, over, weight, now)
        if family.kind not in best or score > best[family.kind][0]:
            best[family.kind] = (score, family)
    return [
        Mixture(
            base_s=found.base_s,
            normal_s=found.normal_s,
            skew_s=found.skew_s,
            others=found.others,
            most_s=found.most_s,
            families=(*found.families, family),
        )
        for _, family in best.values()
    ]


def peaks(found: Mixture, over: FloatArray, weight: FloatArray, least: float) -> list[float]:
    """Return lengths at which there are more detours than a mixture expects, the clearest first."""
    centres = np.unique(over[over > least])
    if centres.size > BINS // 2:
        centres = centres[:: math.ceil(centres.size / (BINS // 2))]
    below = np.concatenate(([0.0], np.cumsum(weight)))
    scores = []
    for half in (0.02, 0.08):
        wide = np.maximum(half * centres, found.jitter_s)
        seen = (
            below[np.searchsorted(over, centres + wide, "right")]
            - below[np.searchsorted(over, centres - wide)]
        )
        points = centres[:, None] + wide[:, None] * np.linspace(-1.0, 1.0, 9)
        density = np.exp(found.log_density((points + found.base_s + found.skew_s).ravel()))
        expected = 2.0 * wide * density.reshape(points.shape).mean(axis=1) * weight.sum() + 1e-9
        scores.append(np.where(seen > expected, seen * np.log(seen / expected) - seen, 0.0))
    order = np.argsort(-np.max(scores, axis=0), kind="stable")
    chosen: list[float] = []
    for at in centres[order].tolist():
        if all(abs(at - each) > 0.2 * each for each in chosen):
            chosen.append(at)
        if len(chosen) == 4:
            break
    return chosen


def raised(
    found: Mixture, family: Family, over: FloatArray, weight: FloatArray, now: FloatArray
) -> tuple[float, Family]:
    """Return one more family, fitted with all else fixed, and its log likelihood."""
    share, mean, spread = 0.02, family.mean_s, family.spread_s
    total = weight.sum()
    score = -math.inf
    for _ in range(ROUNDS):
        tried = Family(kind=family.kind, mean_s=mean, weight=1.0, spread_s=spread)
        detour = lengths(over, found.jitter_s, tried) + math.log(share)
        both = np.logaddexp(now + math.log1p(-share), detour)
        score = float(weight @ np.maximum(both, -700.0))
        member = weight * np.exp(detour - both)
        count = float(member.sum())
        if count < 1.0:
            break
        share = min(max(count / total, 1e-5), 0.9)
        mean = max(float(member @ over) / count, found.jitter_s)
        if family.kind == "fixed":
            variance = float(member @ (over - mean) ** 2) / count - found.jitter_s**2
            spread = math.sqrt(max(variance, (LEAST_SPREAD * mean) ** 2))
    clean = (1.0 - share) / (1.0 + sum(each.weight for each in found.families))
    return score, Family(kind=family.kind, mean_s=mean, weight=share / clean, spread_s=spread)


# The fit.


def binned(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and counts of sorted neighbours, single values at both ends.

    A bin in the tail is no wider than `BIN_WIDTH` of the distance from the middle, so that lengths
    of detours keep apart.
    """
    ordered = np.sort(values)
    if ordered.size <= 2 * BINS:
        return ordered, np.ones(ordered.size)
    ends = BINS // 4  # single values, where the tails are
    cuts = np.linspace(ends, ordered.size - ends, BINS).astype(np.int64)
    middle = float(ordered[ordered.size // 2])
    over = ordered[-1] - middle
    least = 2.0 * (middle - float(ordered[ordered.size // 50]))
    if over > least > 0.0:
        steps = int(math.log(over / least) / BIN_WIDTH) + 2
        edges = middle + np.geomspace(least, over, min(steps, BINS))
        cuts = np.append(cuts, np.searchsorted(ordered, edges))
    cuts = np.unique(np.clip(cuts, ends, ordered.size - ends))
    begins = np.concatenate((np.arange(ends), cuts[:-1], np.arange(cuts[-1], ordered.size)))
    counts = np.diff(np.append(begins, ordered.size)).astype(np.float64)
    return np.add.reduceat(ordered, begins) / counts, counts


def fitted(begin: Mixture, value: FloatArray, weight: FloatArray, scale: float) -> Mixture:
    """Return the mixture of greatest likelihood with the kinds of families of another.

    Parameters
    ----------
    value, weight : float64 array, shape (bin,)
        Excesses in seconds, and how many they are.
    scale : float
        A first guess of the jitter, seconds: the unit of the search.
    """
    kinds = tuple(each.kind for each in begin.families)
    total = float(weight.sum())

    def misfit(parameters: FloatArray) -> float:
        logs = mixture_of(parameters, kinds, scale, begin.most_s).log_density(value)
        return -float(weight @ np.maximum(logs + math.log(scale), -700.0)) / total

    first, bounds = parameters_of(begin, scale)
    answer = minimize(misfit, first, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
    best = mixture_of(np.asarray(answer.x), kinds, scale, begin.most_s)
    bic = 2.0 * total * float(answer.fun) + first.size * math.log(total)
    return Mixture(
        base_s=best.base_s,
        normal_s=best.normal_s,
        skew_s=best.skew_s,
        others=best.others,
        most_s=best.most_s,
        families=best.families,
        score=bic,
    )


def parameters_of(mixture: Mixture, scale: float) -> tuple[FloatArray, list[tuple[float, float]]]:
    """Return a mixture as parameters of the search, and the bounds of these."""
    share = min(max(mixture.others / MOST_OTHERS, 1e-6), 1.0 - 1e-6)
    values = [
        mixture.base_s / scale,
        math.log(mixture.normal_s / scale),
        math.log(mixture.skew_s / scale),
        math.log(share / (1.0 - share)),
    ]
    # Jitter of no width at all would make a single time infinitely probable.
    bounds = [(-1e6, 1e6), (-4.0, 20.0), (-12.0, 20.0), (-20.0, 20.0)]
    for each in mixture.families:
        values += [math.log(each.mean_s / scale), math.log(each.weight)]
        bounds += [(-3.0, 40.0), (-16.0, math.log(MOST_WEIGHT[each.kind]))]
        if each.kind == "fixed":
            values.append(math.log(max(each.spread_s / each.mean_s, LEAST_SPREAD)))
            bounds.append((math.log(LEAST_SPREAD), 0.0))
    low, high = np.array(bounds).T
    return np.clip(np.array(values), low, high), bounds


def mixture_of(
    parameters: FloatArray, kinds: tuple[FamilyKind, ...], scale: float, most_s: float
) -> Mixture:
    """Return the mixture of parameters of the search."""
    base, jitter, skew, others = parameters[:BASE].tolist()
    left = parameters[BASE:].tolist()
    families = []
    for kind in kinds:
        length, weight = left[:2]
        spread = scale * math.exp(length + left[2]) if kind == "fixed" else 0.0
        left = left[3 if kind == "fixed" else 2 :]
        families.append(
            Family(
                kind=kind,
                mean_s=scale * math.exp(length),
                weight=math.exp(weight),
                spread_s=spread,
            )
        )
    return Mixture(
        base_s=base * scale,
        normal_s=scale * math.exp(jitter),
        skew_s=scale * math.exp(skew),
        others=MOST_OTHERS / (1.0 + math.exp(-others)),
        most_s=most_s,
        families=tuple(families),
    )
