"""The settings of the robust method, and on what they were chosen."""

from __future__ import annotations

from typing import NamedTuple


class RobustSettings(NamedTuple):
    """What the robust method can be told; a tuple, because compiled loops take it.

    The defaults were chosen on simulated series, 150 to 600 a kind, and on one half of the cases of
    one real machine; ``benchmarks/changepoints.py`` draws other series and takes the other half.

    Attributes
    ----------
    above, below : float
        Standard deviations from a level beyond which a slower or a faster night costs no more.
    penalty : float
        What a segment costs, in squared standard deviations. Above the larger one of ``above`` and
        ``below`` squared, three nights are needed for a change and two are outliers.
    shortest : int
        Nights that a segment has at least.
    first : int
        Nights that the first segment has at least: before, the noise is not known.
    alpha : float
        Level of the test that each change has to pass.
    least : float
        Least change, of the logarithm.
    noise_floor : float
        Standard deviation, of the logarithm, below which noise is not believed.
    prior_nights, prior_segment : float
        Nights that the variance of all counts for in the test, and in a segment's own variance.
    wander : float
        Standard deviations by which a level may wander without a change.
    slope_penalty : float
        What the slope of a trend costs beside its segment.
    shortest_trend : int
        Nights that a trend lasts at least.
    longest_run : int
        Nights that an outlier run between equal levels lasts at most.
    certain_run : int
        Nights up to which a segment between equal levels is an outlier run in any case.
    scatter : float
        Longer ones are outlier runs if they scatter by so many standard deviations: a level does
        not.
    equal : float
        Levels are equal when they differ by less than this share of the run's height.
    switches : int
        Changes in a row between the same two levels from which on they are the modes of one regime.
    fineness : float
        Standard deviations between the levels that are tried.
    passes : int
        How often levels and noise are estimated from each other.
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
    fineness: float = 0.3
    passes: int = 2


DEFAULTS = RobustSettings()
