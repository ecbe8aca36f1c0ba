"""Ratios of two cases or machines as series of a history, judged like all others.

Disturbances of both, such as other load on a machine, cancel in the ratio, so that smaller changes
are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.history.merging import frozen
from hindmost.analysis.history.name_patterns import fits, suggested
from hindmost.analysis.history.pairing import FEWEST, means, nights
from hindmost.analysis.readers.history import RATIO, History, NightlySeries, SeriesName
from hindmost.errors import UsageError

KEYS = ("machine", "case", "timer")


def with_ratios(history: History, ratios: Sequence[tuple[str, str]]) -> History:
    """Replace the ratios in a history by those of pairs of series.

    Parameters
    ----------
    history : History
    ratios : sequence of (str, str)
        Each is a pair of names of cases, machines or timers, or of whole series ("machine, case,
        timer"); ``*`` and ``?`` are wildcards. Series that agree in all else are paired.

    Raises
    ------
    UsageError
        A name is unknown, or a pair shares no nights.
    """
    plain = tuple(each for each in history.series if not each.name.is_ratio)
    if not ratios:
        return history if len(plain) == len(history.series) else replace(history, series=plain)
    made: dict[SeriesName, NightlySeries] = {}
    for first, second in ratios:
        found = [
            ratio
            for mine, theirs in pairs_of(plain, first, second)
            if (ratio := ratio_of(mine, theirs)) is not None
        ]
        if not found:
            raise UsageError(
                f"--ratio {first!r} {second!r}: no two series differ only in that name and share "
                f"{FEWEST} nights."
            )
        made |= {each.name: each for each in found}
    series = sorted([*plain, *made.values()], key=lambda each: each.name)
    return replace(history, series=tuple(series))


def pairs_of(
    series: Sequence[NightlySeries], first: str, second: str
) -> Iterator[tuple[NightlySeries, NightlySeries]]:
    """Yield the pairs of series that two names match."""
    by_whole = [[each for each in series if fits(word, str(each.name))] for word in (first, second)]
    if all(by_whole):
        yield from ((mine, theirs) for mine in by_whole[0] for theirs in by_whole[1])
        return
    for key in KEYS:
        chosen = [
            [each for each in series if fits(word, getattr(each.name, key))]
            for word in (first, second)
        ]
        if not all(chosen):
            continue
        for mine in chosen[0]:
            for theirs in chosen[1]:
                same = all(
                    getattr(mine.name, other) == getattr(theirs.name, other)
                    for other in KEYS
                    if other != key
                )
                if same and mine.name != theirs.name and mine.unit == theirs.unit:
                    yield mine, theirs
        return
    raise UsageError(no_such(series, first, second))


def no_such(series: Iterable[NightlySeries], first: str, second: str) -> str:
    """Return which of two names is unknown, and which names are near."""
    names = sorted({getattr(each.name, key) for each in series for key in KEYS} - {""})
    for word in (first, second):
        if not any(fits(word, name) for name in names):
            return f"--ratio: no case, machine or timer matches {word!r}. {suggested(word, names)}"
    return f"--ratio {first!r} {second!r}: name two cases, two machines, or two timers."


def ratio_of(first: NightlySeries, second: NightlySeries) -> NightlySeries | None:
    """Return the ratio of the first to the second on common nights; None if they are too few.

    Several runs of a night count as one, by the mean of their logarithms.
    """
    mine, theirs = means(first, "nights"), means(second, "nights")
    shared = [night for night in mine if night in theirs]
    if len(shared) < FEWEST:
        return None
    last = {night: place for place, night in enumerate(nights(first))}
    places = [last[night] for night in shared]
    return NightlySeries(
        name=ratio_name(first.name, second.name),
        unit="",
        smaller_is_better=first.smaller_is_better,
        times=frozen(np.floor(first.times[places] / SECONDS_A_DAY) * SECONDS_A_DAY),
        values=frozen(np.array([mine[night] / theirs[night] for night in shared])),
        commits=tuple(first.commits[place] for place in places),
        commit_parts=tuple(first.commit_parts[place] for place in places),
        spread=None,
    )


def ratio_name(first: SeriesName, second: SeriesName) -> SeriesName:
    """Return the name of a ratio: a part in which both agree is named once."""
    machine, case, timer = (
        one if one == other else f"{one or '?'} / {other or '?'}"
        for one, other in (
            (first.machine, second.machine),
            (first.case, second.case),
            (first.timer.rstrip(": "), second.timer.rstrip(": ")),
        )
    )
    return SeriesName(machine=machine, case=case, timer=timer + RATIO)
