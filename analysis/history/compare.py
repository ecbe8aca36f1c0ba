"""Two results or histories side by side: the ratio of every timer that both have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.compared_series import ComparedSeries, differ_in_work
from hindmost.analysis.history.pairing import pair_series
from hindmost.analysis.history.ratio_history import ratio_history
from hindmost.analysis.history.terms import direction_word
from hindmost.analysis.readers.history import History, NightlySeries, SeriesName
from hindmost.errors import DataError
from hindmost.models.inference import Estimate, holm, paired_ratio, ratio_of, ratio_of_samples
from hindmost.text import MIN_P, counted, first_of


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
        raise DataError(
            f"{first.source} and {second.source} have no timer in common: A has "
            f"{names[0]}; B has {names[1]}.{failed_words(first, second)}"
            f"{''.join(f' {words}' for words in unit_words(other_units))}"
            f"{choice_words(first, second)}"
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


def choice_words(first: History, second: History) -> str:
    """Return what to select where only cases or machines differ; empty if timers do."""
    timers = [{series.name.timer for series in each.series} for each in (first, second)]
    if not timers[0] & timers[1]:
        return ""
    return " To compare one case of each, whatever its name, select it: --case, --machine."


def with_cases(history: History, cases: Mapping[str, str]) -> History:
    """Return a history with other names of its cases; what then has one name is one series."""
    found: dict[SeriesName, list[NightlySeries]] = {}
    for series in history.series:
        name = replace(series.name, case=cases[series.name.case])
        found.setdefault(name, []).append(replace(series, name=name))
    return replace(history, series=tuple(joined(each) for each in found.values()))


def joined(series: Sequence[NightlySeries]) -> NightlySeries:
    """Return several series as one, in the order of time."""
    first = series[0]
    if len(series) == 1:
        return first
    order = np.argsort(np.concatenate([each.times for each in series]), kind="stable")

    def in_order(parts: Sequence[NDArray[np.float64] | None]) -> NDArray[np.float64]:
        filled = [
            np.full(each.times.size, np.nan) if part is None else part
            for each, part in zip(series, parts, strict=True)
        ]
        return np.asarray(np.concatenate(filled)[order])

    commits = [text for each in series for text in each.commits]
    parts = [part for each in series for part in each.commit_parts]
    known = any(each.spread is not None for each in series)
    return replace(
        first,
        times=in_order([each.times for each in series]),
        values=in_order([each.values for each in series]),
        commits=tuple(commits[place] for place in order),
        commit_parts=tuple(parts[place] for place in order),
        spread=in_order([each.spread for each in series]) if known else None,
        freedom=in_order([each.freedom for each in series]) if known else None,
        work=frozenset().union(*(each.work for each in series)),
    )
