"""Two results or histories side by side: the ratio of every timer that both have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from hindmost.analysis.history.judged_series import direction_word
from hindmost.analysis.history.ratio_history import FEWEST, RatioHistory, pair_series, ratio_history
from hindmost.analysis.readers.history import History, NightlySeries, SeriesName, joined
from hindmost.errors import DataError
from hindmost.models.changepoint.changes import more_and_less
from hindmost.models.inference import (
    LEVEL,
    Estimate,
    Ratio,
    holm,
    paired_ratio,
    ratio_of,
    ratio_of_samples,
)
from hindmost.text import MIN_P, counted, factor, first_of, p_number, p_words

ALPHA = 0.05
CHOICE = " To compare one case of each, whatever its name, select it: --case, --machine."
"""What to do where only cases or machines differ."""
WIDE = 2.0
"""Factor from which on results of one side differ widely, and an interval decides nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSeries:
    """A timer that both histories have.

    Attributes
    ----------
    first, second : NightlySeries
    paired_by : str
        "nights", "commits", "order" or "none".
    pairs : (int, int)
        Observations, or pairs, on either side.
    ratio : Ratio
        Second over first.
    p_adjusted : float or None
        For the number of series compared, by Holm's procedure.
    comparisons : int
        That number.
    history : RatioHistory or None
        The ratio over time, of series that are paired by nights or commits. ``ratio`` is then that
        since its last change, or at the end of an ongoing drift.
    """

    first: NightlySeries
    second: NightlySeries
    paired_by: str
    pairs: tuple[int, int]
    ratio: Ratio
    p_adjusted: float | None = None
    comparisons: int = 1
    history: RatioHistory | None = None

    JSON = (
        "**first.name second=second.name unit=first.unit "
        "smaller_is_better=first.smaller_is_better observations=pairs paired_by "
        "ratio=ratio.value interval=ratio.interval level p_value=ratio.p_value "
        "p_adjusted significant=is_significant correlation=ratio.correlation words "
        "since=history.since drift ratio_changes outliers"
    )

    @property
    def name_parts(self) -> list[str]:
        """Machine, case and timer; where the two differ, both."""
        return [
            one if one == other else f"{one or '?'} | {other or '?'}"
            for one, other in zip(self.first.name.parts, self.second.name.parts, strict=True)
        ]

    @property
    def name(self) -> str:
        """What is compared."""
        return ", ".join(filter(None, self.name_parts))

    @property
    def level(self) -> float:
        """Of the interval."""
        return LEVEL

    @property
    def sides(self) -> tuple[NightlySeries, NightlySeries]:
        """A and B."""
        return self.first, self.second

    @property
    def by_spread(self) -> bool:
        """Whether single results are compared by the standard errors in their files."""
        return self.pairs == (1, 1) and self.ratio.interval is not None

    @property
    def is_significant(self) -> bool:
        """Whether the two differ, at 5 % for all series together."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA

    @property
    def is_undecided(self) -> bool:
        """Whether the test finds no difference, but the interval has large ones or not 1.

        An interval at 90 % without 1 leaves the test at 5 % undecided, as a wide one does.
        """
        interval, p_value = self.ratio.interval, self.ratio.p_value
        if self.is_significant or interval is None or p_value is None or p_value < ALPHA:
            return False
        low, high = interval
        return not 1.0 / WIDE <= low <= 1.0 <= high <= WIDE

    @property
    def worse_by(self) -> float:
        """By what share the second is worse; negative if it is better.

        A share of the times: of a rate, by how much longer the same amount takes.
        """
        return self.worse_share(self.ratio)

    def worse_share(self, ratio: Ratio) -> float:
        """Return what `worse_by` is for another ratio."""
        value = ratio.value
        return (value if self.first.smaller_is_better else 1.0 / value) - 1.0

    def is_confirmed_beyond(self, share: float) -> bool:
        """Tell whether it was also worse by more than a share before any unconfirmed change."""
        history = self.history
        if history is None or history.confirmed is self.ratio:
            return True
        ratio = history.confirmed
        p_value = 1.0 if ratio.p_value is None else ratio.p_value * self.comparisons
        return p_value < ALPHA and self.worse_share(ratio) > share

    def ratio_words(self, value: float) -> str:
        """Write a ratio as ``1.17x slower``."""
        larger, smaller = more_and_less(self.first.unit)
        ratio = value if value >= 1.0 else 1.0 / value
        if ratio < 1.0005:
            return "the same" if ratio == 1.0 else "the same within 0.1 %"
        return f"{factor(ratio)}x {larger if value >= 1.0 else smaller}"

    def words(self) -> str:
        """Return the comparison as ``1.17x slower (1.12 to 1.22), p = 0.002``."""
        ratio = self.ratio
        sentence = self.ratio_words(ratio.value)
        if differ_in_work(self.first, self.second):
            works = (" or ".join(sorted(side.work)) for side in self.sides)
            return f"{sentence} for {' and '.join(works)}: not judged"
        if ratio.interval is None or ratio.p_value is None:
            return f"{sentence}; too few data for an interval: add repetitions"
        low, high = ratio.interval
        if ratio.value < 1.0:
            low, high = 1.0 / high, 1.0 / low
        sentence += f" ({factor(low)} to {factor(high)})"
        if self.is_significant or ratio.p_value >= ALPHA:
            sentence += f", {p_words(ratio.p_value)}"
        if not self.is_significant and ratio.p_value >= ALPHA:
            equal = "undecided" if self.is_undecided else "no significant difference"
            sentence = f"{equal}: {sentence}"
        elif not self.is_significant:
            sentence = (
                f"not significant among {self.comparisons} comparisons ({p_words(ratio.p_value)}, "
                f"{p_number(self.p_adjusted or 1.0)} adjusted): {sentence}"
            )
        if self.by_spread and ratio.freedom < FEWEST - 1:
            sentence += "; few repetitions"
        if min(self.pairs) < FEWEST and not self.by_spread:
            sentence += f"; few data ({self.pairs[0]} and {self.pairs[1]})"
        return sentence + self.changed_words()

    def changed_words(self) -> str:
        """Return when the ratio changed, and what it was before; empty if it never changed."""
        history = self.history
        if history is None:
            return ""
        words = ""
        if history.changes:
            change, before = history.changes[-1], history.ratios[-2]
            start = history.changes[-2].index if history.changes[1:] else 0
            first, last = history.dates(change)
            when = f"since {first}" if first == last else f"changed between {first} and {last}"
            words = f"; {when}, {self.ratio_words(before.value)} "
            words += f"from {history.labels[start]} until then" if start else "before"
            if not change.confirmed:
                words += "; not yet confirmed"
        if self.drift is not None:
            words += (
                f"; it drifts from {factor(self.drift['from'])}x to {factor(self.drift['to'])}x"
            )
        elif history.drifted_until is not None:
            words += f"; it drifted until {history.drifted_until}"
        left_out = len(outliers_of(history))
        if left_out:
            words += f"; {counted(left_out, 'outlier')} left out"
            words += "" if history.plain[-1] else f", the last on {history.labels[-1]}"
        return words

    @property
    def drift(self) -> dict[str, float] | None:
        """The ratios at both ends of a drift that goes on."""
        if self.history is None or self.history.drifts_from is None:
            return None
        return {"from": self.history.drifts_from, "to": self.ratio.value}

    @property
    def ratio_changes(self) -> list[RatioChange]:
        """The changes of the ratio."""
        history = self.history
        if history is None:
            return []
        return [
            RatioChange(
                date=history.labels[change.index],
                dates=history.dates(change),
                before=before.value,
                after=after.value,
                p_value=change.p_value,
                confirmed=change.confirmed,
            )
            for change, (before, after) in zip(
                history.changes, pairwise(history.ratios), strict=True
            )
        ]

    @property
    def outliers(self) -> list[str]:
        """The labels of the pairs that the ratios leave out."""
        return [] if self.history is None else outliers_of(self.history)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioChange:
    """A change of a ratio, with the ratios on both sides."""

    date: str
    dates: tuple[str, str]
    before: float
    after: float
    p_value: float
    confirmed: bool


def differ_in_work(first: NightlySeries, second: NightlySeries) -> bool:
    """Tell whether two series are times of different work."""
    return bool(first.work and second.work and first.work != second.work)


def outliers_of(history: RatioHistory) -> list[str]:
    """Return the labels of the pairs that the ratios leave out."""
    return [history.labels[place] for place in np.flatnonzero(~history.plain)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two histories side by side.

    Attributes
    ----------
    first, second : History
    series : tuple of ComparedSeries
        In the order of the first's series.
    only_first, only_second : tuple of SeriesName
        What the other does not have.
    other_units : tuple of (SeriesName, str, str)
        What both have in units that do not match, first and second: not compared.
    """

    first: History
    second: History
    series: tuple[ComparedSeries, ...]
    only_first: tuple[SeriesName, ...]
    only_second: tuple[SeriesName, ...]
    other_units: tuple[tuple[SeriesName, str, str], ...] = ()

    def ranked(self) -> tuple[ComparedSeries, ...]:
        """Return all series, the most significant difference first, and of equals the largest.

        Timers that are part of no other come before their parts: a part may differ much and matter
        little.
        """
        return tuple(
            sorted(
                self.series,
                key=lambda each: (
                    not self.is_whole(each),
                    not each.is_significant,
                    2.0 if each.ratio.p_value is None else max(each.ratio.p_value, MIN_P),
                    -abs(float(np.log(each.ratio.value))),
                    each.name,
                ),
            )
        )

    def is_whole(self, series: ComparedSeries) -> bool:
        """Tell whether a timer is part of no other."""
        return series.first.name.timer not in self.first.parents

    def summary(self) -> str:
        """Return in one line how many series differ, and which differs most."""
        differing = [each for each in self.series if each.is_significant]
        without = [each for each in self.series if each.ratio.p_value is None]
        unlike = [each for each in without if differ_in_work(*each.sides)]
        unknown = [each for each in without if each not in unlike]
        phrases = []
        for worse in (True, False):
            way = [each for each in differing if (each.worse_by > 0.0) == worse]
            if not way:
                continue
            lead = [each for each in way if self.is_whole(each)] or way
            most = max(lead, key=lambda each: abs(float(np.log(each.ratio.value))))
            word = direction_word({each.first.unit for each in way}, worse=worse)
            by = most.ratio_words(most.ratio.value)
            named = "most" if len(lead) == len(way) else "the whole"
            phrases.append(f"{len(way)} significantly {word} in B ({named} {by}: {most.name})")
        undecided = sum(each.is_undecided for each in self.series)
        same = len(self.series) - len(differing) - len(without) - undecided
        if same:
            phrases.append(f"{same} without a significant difference")
        if undecided:
            phrases.append(f"{undecided} undecided")
        if unknown:
            phrases.append(f"{len(unknown)} with too few data")
        if unlike:
            phrases.append(f"{len(unlike)} of different work")
        alone = "; single results, whose repeats may differ by more" if self.alone else ""
        return f"{counted(len(self.series), 'timer')} compared: {', '.join(phrases)}{alone}"

    @property
    def alone(self) -> bool:
        """Whether a difference rests on the scatter within single results."""
        return any(each.is_significant and each.by_spread for each in self.series)

    def beyond(self, share: float) -> tuple[ComparedSeries, ...]:
        """Return what is significantly worse by more than a share, and confirmed."""
        return tuple(each for each in self.worse(share) if each.is_confirmed_beyond(share))

    def unconfirmed(self, share: float) -> tuple[ComparedSeries, ...]:
        """Return what only an unconfirmed change keeps out of `beyond`."""
        return tuple(each for each in self.worse(share) if not each.is_confirmed_beyond(share))

    def worse(self, share: float) -> tuple[ComparedSeries, ...]:
        """Return what is significantly worse by more than a share now, confirmed or not."""
        return tuple(each for each in self.series if each.is_significant and each.worse_by > share)

    def not_judged(self) -> tuple[ComparedSeries, ...]:
        """Return what has too few data to be judged."""
        return tuple(each for each in self.series if each.p_adjusted is None)


def compare_histories(first: History, second: History) -> Comparison:
    """Compare every timer that two histories have in common.

    Machines may differ if each history has only one, and so may cases.

    Parameters
    ----------
    first, second : History

    Raises
    ------
    DataError
        They have no timer in common.
    """
    free = [
        key
        for key in ("machine", "case")
        if all(
            len({getattr(series.name, key) for series in each.series}) == 1
            for each in (first, second)
        )
    ]
    mine, theirs = (keyed(each.series, free) for each in (first, second))
    both = [key for key in mine if key in theirs]
    shared = [key for key in both if mine[key].unit == theirs[key].unit]
    other_units = tuple(
        (mine[key].name, mine[key].unit, theirs[key].unit) for key in both if key not in shared
    )
    if not shared:
        names = [
            first_of([str(each.name) for each in side.values()], "; ") for side in (mine, theirs)
        ]
        timers = [{each.name.timer for each in side.series} for side in (first, second)]
        raise DataError(
            f"{first.source} and {second.source} have no timer in common: A has "
            f"{names[0]}; B has {names[1]}.{failed_words(first, second)}"
            f"{''.join(f' {words}' for words in unit_words(other_units))}"
            f"{CHOICE if timers[0] & timers[1] else ''}"
        )
    found = [compare_series(mine[key], theirs[key]) for key in shared]
    known = [place for place, each in enumerate(found) if each.ratio.p_value is not None]
    adjusted = holm([found[place].ratio.p_value or 0.0 for place in known])
    for place, p_adjusted in zip(known, adjusted, strict=True):
        found[place] = replace(found[place], p_adjusted=p_adjusted, comparisons=len(known))
    return Comparison(
        first=first,
        second=second,
        series=tuple(found),
        only_first=tuple(series.name for key, series in mine.items() if key not in both),
        only_second=tuple(series.name for key, series in theirs.items() if key not in both),
        other_units=other_units,
    )


def compare_series(first: NightlySeries, second: NightlySeries) -> ComparedSeries:
    """Compare two series; the p-value is not yet adjusted for their number."""
    pairs = pair_series(first, second)
    a, b, sides = pairs.first, pairs.second, (first, second)
    history = None
    if differ_in_work(first, second):
        ratio = ratio_of(*(Estimate(np.log(side.values).mean(), 0.0, 0.0) for side in sides))
    elif pairs.labels:
        history = ratio_history(pairs)
        ratio = history.ratios[-1]
    elif pairs.by != "none":
        ratio = paired_ratio(a, b)
    elif a.size == b.size == 1 and max(map(spread_of, sides)) > 0.0:
        ratio = ratio_of(*map(single_of, sides))
    else:
        ratio = ratio_of_samples(a, b)
    return ComparedSeries(
        first=first,
        second=second,
        paired_by=pairs.by,
        pairs=(int(a.size), int(b.size)),
        ratio=ratio,
        history=history,
    )


def single_of(series: NightlySeries) -> Estimate:
    """Return a single result with the standard error that its file gives."""
    value, error = float(series.values[0]), spread_of(series)
    freedom = math.inf if series.freedom is None else float(series.freedom[0])
    return Estimate(math.log(value), error / value, freedom if math.isfinite(error) else 0.0)


def spread_of(series: NightlySeries) -> float:
    """Return the standard error of a single result; NaN if its file does not give it."""
    return math.nan if series.spread is None else float(series.spread[0])


def keyed(
    series: Sequence[NightlySeries], free: Sequence[str]
) -> dict[tuple[str, ...], NightlySeries]:
    """Return series by the parts of their names that must agree."""
    return {
        tuple(
            getattr(each.name, key) for key in ("machine", "case", "timer") if key not in free
        ): each
        for each in series
    }


def failed_words(first: History, second: History) -> str:
    """Return why runs of two histories failed, each reason once; empty if none did."""
    words = ""
    for side, history in (("A", first), ("B", second)):
        reasons = dict.fromkeys(failure.reason.rstrip(".") for failure in history.failures)
        if reasons:
            runs = counted(len(history.failures), "run")
            words += f" {runs} of {side} failed: {first_of(list(reasons), '; ')}."
    return words


def unit_words(units: Sequence[tuple[SeriesName, str, str]]) -> Iterator[str]:
    """Yield what is not compared as its units do not match."""
    for name, first, second in units:
        stated = (f"in {unit}" if unit else "without a unit" for unit in (first, second))
        yield f"{name} is not compared: it is {' in A and '.join(stated)} in B."


def with_cases(history: History, cases: Mapping[str, str]) -> History:
    """Return a history with other names of its cases; what then has one name is one series."""
    found: dict[SeriesName, list[NightlySeries]] = {}
    for series in history.series:
        name = replace(series.name, case=cases[series.name.case])
        found.setdefault(name, []).append(replace(series, name=name))
    return replace(history, series=tuple(joined(parts, parts[0]) for parts in found.values()))
