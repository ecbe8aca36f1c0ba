"""The settings of the robust method, and on what they were chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LATE = 15
"""Nights after which a detected change has nearly always been detected before."""


class RobustSettings(NamedTuple):
    """The settings of the robust method; a tuple, because compiled loops read it.

    The defaults were chosen on simulated series, 150 to 600 of each kind, and on one half of the
    cases of one real machine; ``benchmarks/changepoints.py`` uses other series and the other half.

    Attributes
    ----------
    above, below : float
        Standard deviations from a level beyond which a slower or a faster night costs no more.
    penalty : float
        Cost of a segment, in squared standard deviations. Above the larger one of ``above`` and
        ``below`` squared, three nights are needed for a change and two are outliers.
    shortest : int
        Least number of nights of a segment.
    first : int
        Least number of nights of the first segment: until then, the noise is unknown.
    alpha : float
        Significance level of the test of each change.
    least : float
        Smallest change of the logarithm that is reported.
    noise_floor : float
        Lower limit of the noise: a standard deviation of the logarithm.
    prior_nights, prior_segment : float
        Nights that the variance of all nights counts as in the test, and in the variance of a
        segment.
    wander : float
        Standard deviations by which a level may wander without a change.
    slope_penalty : float
        Additional cost of the slope of a trend.
    shortest_trend : int
        Least number of nights of a trend.
    longest_run : int
        Largest number of nights of an outlier run between equal levels.
    certain_run : int
        Largest number of nights of a segment that is always an outlier run between equal levels.
    scatter : float
        Standard deviations; a longer segment that scatters by more is an outlier run, because a
        level does not.
    equal : float
        Two levels are equal if they differ by less than this share of the run's height.
    switches : int
        Number of consecutive changes between two levels that makes them the modes of one regime.
    switches_of_held : int
        The same number where some of these changes are held.
    same : float
        A share as `equal`: levels that differ by less need one switch less, although changes are
        held.
    visited : float
        Share of the nights of a new level that are at the old one from which it is only visited.
    held_after : int
        Nights at the new level after which a change is held: later nights must refute it.
    held_least : float
        Smallest change of the logarithm that is held.
    held_alpha : float
        Largest p-value of a change that is held.
    refuted : float
        p-value of the test of a held change above which it is withdrawn.
    returned : float
        Largest p-value at which a change that was withdrawn is held again.
    held_near : int
        Nights on both sides of a held change that decide whether it stays.
    fineness : float
        Distance of the levels that are tried, in standard deviations.
    passes : int
        Number of times that levels and noise are estimated from each other.
    """

    above: float = 3.0
    below: float = 3.5
    penalty: float = 12.0
    shortest: int = 3
    first: int = 5
    alpha: float = 1e-3
    least: float = 0.028
    noise_floor: float = 0.003
    prior_nights: float = 40.0
    prior_segment: float = 10.0
    wander: float = 0.2
    slope_penalty: float = 2.0
    shortest_trend: int = 30
    longest_run: int = 6
    certain_run: int = 3
    scatter: float = 2.0
    equal: float = 0.33
    switches: int = 4
    switches_of_held: int = 6
    same: float = 0.1
    visited: float = 0.3
    held_after: int = 7
    held_least: float = 0.17
    held_alpha: float = 1e-3
    refuted: float = 0.05
    returned: float = 1e-6
    held_near: int = 30
    fineness: float = 0.3
    passes: int = 2


DEFAULTS = RobustSettings()
REALS, WHOLES, FLAGS = np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.bool_)
"""Examples of the arrays that the loops are compiled for."""
