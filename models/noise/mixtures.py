"""Mixtures of iterations without and with detours, and their densities.

The excess x of an iteration over the usual time of its place is one of

- without a detour: b + N(0, s) + Exp(t), so that jitter may be skewed;
- with a detour of a family: b + jitter + Exp(m), or b + jitter + L, a length with a small spread;
- with another detour, of any length: uniform in log(x - b), at most one iteration in twenty.

`mixture_fit` fits them to the times of a rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

FamilyKind = Literal["exponential", "fixed"]
FloatArray = NDArray[np.float64]

DEAR = 3.0
"""What one of the other detours costs in likelihood: a law is to explain what it can."""
LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Detours of one law.

    Attributes
    ----------
    kind : str
        ``exponential`` or ``fixed``.
    mean_s : float
        Mean length.
    weight : float
        Iterations that have one, over those without any detour.
    spread_s : float
        Standard deviation of a fixed length; 0 for exponential ones.
    """

    kind: FamilyKind
    mean_s: float
    weight: float
    spread_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """A fitted mixture.

    Attributes
    ----------
    base_s, normal_s, skew_s : float
        Of iterations without a detour: b, s and t.
    others : float
        Share of iterations with another detour.
    most_s : float
        The longest other detour.
    families : tuple of Family
    score : float
        Its BIC.
    """

    base_s: float
    normal_s: float
    skew_s: float
    others: float
    most_s: float
    families: tuple[Family, ...] = ()
    score: float = math.inf

    @property
    def jitter_s(self) -> float:
        """The standard deviation of iterations without detours."""
        return math.hypot(self.normal_s, self.skew_s)

    def parts(self, excess_s: FloatArray) -> FloatArray:
        """Return the log densities of the parts, times their shares.

        Returns
        -------
        float64 array, shape (2 + family, value)
            Without a detour, with another one, and then with one of each family.
        """
        over = excess_s - self.base_s
        whole = 1.0 + sum(each.weight for each in self.families)
        clean = math.log((1.0 - self.others) / whole)
        rows = [
            with_exponential(over, self.normal_s, self.skew_s) + clean,
            uniform_in_log(over, self.jitter_s, self.most_s - self.base_s)
            - DEAR
            + math.log(self.others),
        ]
        rows += [
            self.of_family(over - self.skew_s, each) + clean + math.log(each.weight)
            for each in self.families
        ]
        return np.stack(rows)

    def of_family(self, over_s: FloatArray, family: Family) -> FloatArray:
        """Return the log density of iterations with a detour of a family, shape (value,).

        A fixed length may have a shorter detour of an exponential family beside it.
        """
        logs = lengths(over_s, self.jitter_s, family)
        shorter = [
            each
            for each in self.families
            if each.kind == "exponential" and each.mean_s < family.mean_s
        ]
        if family.kind != "fixed" or not shorter:
            return logs
        deviation = math.hypot(self.jitter_s, family.spread_s)
        for each in shorter:
            beside = with_exponential(over_s - family.mean_s, deviation, each.mean_s)
            logs = np.logaddexp(logs, beside + math.log(each.weight))
        return np.asarray(logs - math.log1p(sum(each.weight for each in shorter)))

    def log_density(self, excess_s: FloatArray) -> FloatArray:
        """Return the logarithm of the density of excesses: shape (value,)."""
        return np.asarray(np.logaddexp.reduce(self.parts(excess_s), axis=0))

    def chances(self, excess_s: FloatArray) -> FloatArray:
        """Return the probabilities of the parts: shape (2 + family, value)."""
        logs = self.parts(excess_s)
        return np.asarray(np.exp(logs - np.logaddexp.reduce(logs, axis=0)))

    def sizes(self, count: float) -> list[float]:
        """Return the expected number of detours of every family among some iterations."""
        whole = 1.0 + sum(each.weight for each in self.families)
        return [count * (1.0 - self.others) * each.weight / whole for each in self.families]


# Densities.


def lengths(x: FloatArray, jitter: float, family: Family) -> FloatArray:
    """Return the log density of jitter and a detour of a family."""
    if family.kind == "exponential":
        return with_exponential(x, jitter, family.mean_s)
    return normal(x - family.mean_s, math.hypot(jitter, family.spread_s))


def normal(x: FloatArray, deviation: float) -> FloatArray:
    """Return the log density of N(0, deviation)."""
    return np.asarray(-0.5 * (x / deviation) ** 2 - math.log(deviation) - 0.5 * LOG_2PI)


def with_exponential(x: FloatArray, deviation: float, mean: float) -> FloatArray:
    """Return the log density of N(0, deviation) + Exp(mean)."""
    ratio = deviation / mean
    if ratio > 30.0:  # too little to be seen, and its parts cancel
        return normal(x - mean, deviation)
    return np.asarray(0.5 * ratio**2 - x / mean - math.log(mean) + log_ndtr(x / deviation - ratio))


def uniform_in_log(x: FloatArray, least: float, most: float) -> FloatArray:
    """Return the log density of a value whose logarithm is uniform from least to most."""
    width = math.log(max(most / least, 1.01))
    inside = (x >= least) & (x <= most * 1.000001)
    return np.where(inside, -np.log(np.maximum(x, least) * width), -np.inf)
