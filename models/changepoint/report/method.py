"""The report's algorithms, from checked observations to a detection."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import special

from hindmost.errors import UsageError
from hindmost.models.changepoint.changes import ChangePoint, Regime, relative
from hindmost.models.changepoint.detection import Detection
from hindmost.models.changepoint.observations import CheckedSeries, check_probability
from hindmost.models.changepoint.report.variants import VARIANTS, Variant
from hindmost.text import choose

ALPHA = 0.005
LARGEST_STEPS = 10
CONFIRMATIONS = 3
WINDOW = 30
LEVEL = 0.95
FEWEST = 3
SIGNIFICANT = 0.05
"""Largest p-value at which a change between two regimes is reported."""


def detect_as_report(
    series: CheckedSeries,
    *,
    algorithm: int = 3,
    variant: str = "published",
    test: str = "student",
    alpha: float = ALPHA,
    k: int = LARGEST_STEPS,
    confirmations: int = CONFIRMATIONS,
    window: int = WINDOW,
    level: float = LEVEL,
) -> Detection:
    """Find changes by algorithm 1, 2 or 3 of the report.

    Parameters
    ----------
    series : CheckedSeries
    algorithm : int
        1 looks for one change in the whole series, 2 for several, night by night, and 3 for several
        among outliers.
    variant : str
        One of `VARIANTS`: what was published, what the text says, or what the pseudocode does.
    test : str
        "student", or "welch" for unequal variances, as section 5.1 proposes.
    alpha : float
        Before it is divided by the number of tests.
    k : int
        Largest first differences that are candidates.
    confirmations : int
        m of algorithm 3: consecutive detections that make a change.
    window : int
        w of algorithm 3: observations to look back.
    level : float
        Of the intervals, which are an addition to the report.

    Returns
    -------
    Detection
        The algorithm tests a place within its window. Where the two complete regimes do not differ
        (p > 0.05, or the interval of the effect contains zero), the place is in ``insignificant``
        and its regimes are merged; ``changes`` and ``insignificant`` together are the result of the
        algorithm.

    Raises
    ------
    UsageError
        A setting is out of range.
    """
    check_settings(algorithm, variant, test, alpha, k, confirmations, window, level)
    times = tuple(series.times.tolist())
    if series.size < FEWEST:
        return Detection(method="report", observations=series.size, times=times, too_short=FEWEST)
    from hindmost.models.changepoint.report import loops

    rules = rules_of(VARIANTS[variant], trims=algorithm == 3)
    welch = test == "welch"
    suspects: tuple[int, ...] = ()
    if algorithm == 1:
        statistic = np.empty(series.size)
        loops.run_single(series.logs, series.may_change, alpha, k, rules, welch, statistic)
        places = [int(np.argmax(statistic))] if statistic.max() > 0.0 else []
    else:
        last = VARIANTS[variant].extra + window if algorithm == 3 else series.size
        votes = confirmations if algorithm == 3 else 1
        places, _, suspected = loops.several(
            series.logs, series.may_change, alpha, k, votes, last, rules, welch
        )
        suspects = tuple(int(place) for place in np.flatnonzero(suspected))
    # The loops test a place within their window; the complete regimes may differ less.
    insignificant: list[ChangePoint] = []
    while True:
        bounds = [0, *places, series.size]
        moments = [side_moments(series, a, b, rules) for a, b in pairwise(bounds)]
        changes = [
            change_of(series, bounds[i : i + 3], moments[i : i + 2], welch, level, confirmations)
            for i in range(len(places))
        ]
        failing = [change for change in changes if not is_significant(change)]
        if not failing:
            break
        worst = max(failing, key=lambda change: change.p_value)
        insignificant.append(worst)
        places.remove(worst.index)
    return Detection(
        method="report",
        observations=series.size,
        times=times,
        changes=tuple(changes),
        regimes=tuple(
            regime_of(bounds[i], bounds[i + 1], moments[i], level) for i in range(len(moments))
        ),
        suspects=suspects,
        insignificant=tuple(sorted(insignificant, key=lambda change: change.index)),
    )


def is_significant(change: ChangePoint) -> bool:
    """Tell whether the levels on both sides of a change differ, by the test and the interval."""
    low, high = change.effect_interval
    return change.p_value <= SIGNIFICANT and not low <= 0.0 <= high


def check_settings(
    algorithm: int,
    variant: str,
    test: str,
    alpha: float,
    k: int,
    confirmations: int,
    window: int,
    level: float,
) -> None:
    """Refuse settings that are out of range, or that the algorithm does not use."""
    if algorithm not in (1, 2, 3):
        raise UsageError(f"The report has no algorithm {algorithm}: choose 1, 2 or 3.")
    for name, count, usual in (
        ("confirmations", confirmations, CONFIRMATIONS),
        ("window", window, WINDOW),
    ):
        if algorithm != 3 and count != usual:
            raise UsageError(
                f"{name} = {count} is a setting of algorithm 3, and algorithm = {algorithm} does "
                "not use it: leave it out."
            )
    if variant not in VARIANTS:
        raise UsageError(f"Unknown variant {variant!r}; {choose(VARIANTS)}.")
    if test not in ("student", "welch"):
        raise UsageError(f"Unknown test {test!r}; choose student or welch.")
    check_probability("alpha", alpha)
    check_probability("level", level)
    for name, count, least in (("k", k, 1), ("confirmations", confirmations, 1)):
        if count < least:
            raise UsageError(f"{name} = {count} must be {least} or more.")
    if window < FEWEST:
        raise UsageError(f"window = {window}: a test needs at least {FEWEST} observations.")


def rules_of(variant: Variant, *, trims: bool) -> tuple[bool, int, int, bool, bool, int]:
    """Return a variant as the tuple that the loops read; algorithms 1 and 2 trim nothing."""
    return (
        variant.tested == "all",
        ("k", "tested", "larger").index(variant.divisor),
        variant.trims_from if trims else np.iinfo(np.int64).max,
        variant.share_of == "both",
        variant.keeps_count,
        variant.less,
    )


def side_moments(
    series: CheckedSeries, begin: int, end: int, rules: tuple[bool, int, int, bool, bool, int]
) -> tuple[float, float, int]:
    """Return the trimmed mean and variance of a regime, and its count."""
    from hindmost.models.changepoint.report import loops

    mean, variance, count = loops.trimmed(
        series.logs[begin:end], rules[2], (end - begin) // 10, rules[5]
    )
    return float(mean), float(variance), end - begin if rules[4] else int(count)


def change_of(
    series: CheckedSeries,
    bounds: list[int],
    moments: list[tuple[float, float, int]],
    welch: bool,
    level: float,
    needed: int,
) -> ChangePoint:
    """Describe a change between two neighbouring regimes."""
    from hindmost.models.changepoint.report import loops
    from hindmost.models.changepoint.robust.placement import place_interval

    begin, index, end = bounds
    (before, a, n), (after, b, m) = moments
    statistic, p = loops.t_test(moments[0], moments[1], welch)
    difference = after - before
    error = abs(difference) / statistic if 0.0 < statistic < np.inf else 0.0
    freedom = float(max(n + m - 2, 1))
    if welch and min(n, m) > 1 and a + b > 0.0:
        freedom = (a / n + b / m) ** 2 / ((a / n) ** 2 / (n - 1) + (b / m) ** 2 / (m - 1))
    reach = float(special.stdtrit(freedom, 0.5 + 0.5 * level)) * error
    pooled = np.sqrt(max((n * a + m * b) / (n + m), 1e-12))
    sigma = np.full(series.size, pooled)
    interval = place_interval(
        series.logs, (begin, index, end), (before, after), sigma, series.may_change, level
    )
    return ChangePoint(
        index=index,
        time=float(series.times[index]),
        interval=interval,
        level=level,
        before=float(np.exp(before)),
        after=float(np.exp(after)),
        effect=relative(difference),
        effect_interval=(relative(difference - reach), relative(difference + reach)),
        p_value=float(p),
        p_anywhere=min(1.0, float(p) * int(series.may_change[1:].sum())),
        seen=needed,
        needed=needed,
    )


def regime_of(begin: int, end: int, moments: tuple[float, float, int], level: float) -> Regime:
    """Describe a regime by its trimmed mean; the interval of one observation has no width."""
    mean, variance, count = moments
    reach = 0.0
    if count > 1:
        reach = float(special.stdtrit(count - 1, 0.5 + 0.5 * level)) * np.sqrt(variance / count)
    return Regime(
        start=begin,
        stop=end,
        mean=float(np.exp(mean)),
        interval=(float(np.exp(mean - reach)), float(np.exp(mean + reach))),
        n=count,
        freedom=max(count - 1.0, 1.0),
        deviation=relative(float(np.sqrt(variance))),
    )
