"""Recent changes by what may have caused them: nights and commits, then cases, then timers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hindmost.analysis.history.study import SECONDS_A_DAY, HistoryStudy, Judged
from hindmost.models.changepoint import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A change of a series, and its place in the hierarchy of timers.

    Attributes
    ----------
    depth : int
        0 for a timer that no changed timer contains.
    share : float or None
        Of the change of the timer that it is a part of; None at depth 0.
    """

    judged: Judged
    change: Change
    depth: int = 0
    share: float | None = None

    @property
    def span(self) -> tuple[int, int]:
        """The days since 1970 that the change lies in."""
        first, last = (
            int(self.judged.series.times[place] // SECONDS_A_DAY) for place in self.change.interval
        )
        return first, last


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Changes that one night's commits may explain, all of them.

    Attributes
    ----------
    days : (int, int)
        Since 1970: what the changes' intervals have in common.
    told : tuple of Told
        By machine and case, each timer after the one that it is a part of.
    """

    days: tuple[int, int]
    told: tuple[Told, ...]

    @property
    def narrowest(self) -> Told:
        """The change whose date is known best."""
        return min(self.told, key=lambda each: each.span[1] - each.span[0])

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return len({(t.judged.series.name.machine, t.judged.series.name.case) for t in self.told})


def causes(study: HistoryStudy) -> list[Cause]:
    """Group the recent changes by the fewest nights that explain all of them, newest first.

    Each change lies in an interval of dates. Going through the intervals by their ends, the end of
    the first that is not yet explained explains all that hold it, which is the least number of
    nights (the stabbing of intervals).
    """
    waiting = sorted(
        (
            Told(judged=judged, change=change)
            for judged in study.judged
            for change in judged.recent(study.since)
        ),
        key=lambda told: (told.span[1], told.span[0]),
    )
    found = []
    while waiting:
        night = waiting[0].span[1]
        members = [told for told in waiting if told.span[0] <= night]
        waiting = [told for told in waiting if told.span[0] > night]
        found.append(
            Cause(
                days=(max(t.span[0] for t in members), night),
                told=tuple(by_case(members, study.history.parents)),
            )
        )
    return found[::-1]


def by_case(members: Sequence[Told], parents: Mapping[str, str]) -> Iterator[Told]:
    """Put changes in the order of machines and cases, the largest first, and of their timers."""
    cases: dict[tuple[str, str], list[Told]] = {}
    for told in members:
        name = told.judged.series.name
        cases.setdefault((name.machine, name.case), []).append(told)
    largest = sorted(cases.values(), key=lambda each: -max(abs(t.change.effect) for t in each))
    for case in largest:
        yield from hierarchy(case, parents)


def hierarchy(members: Sequence[Told], parents: Mapping[str, str]) -> Iterator[Told]:
    """Put the changes of a case in the order of their timers: each before its parts."""
    changed = {told.judged.series.name.timer: told for told in members}
    parts: dict[str | None, list[Told]] = {}
    for timer, told in changed.items():
        parts.setdefault(changed_parent(timer, changed, parents), []).append(told)

    def below(timer: str | None, depth: int) -> Iterator[Told]:
        for told in sorted(parts.get(timer, []), key=lambda each: -abs(difference(each))):
            share = None if timer is None else difference(told) / difference(changed[timer])
            yield Told(judged=told.judged, change=told.change, depth=depth, share=share)
            yield from below(told.judged.series.name.timer, depth + 1)

    yield from below(None, 0)


def changed_parent(
    timer: str, changed: Mapping[str, Told], parents: Mapping[str, str]
) -> str | None:
    """Return the nearest timer above that changed, too."""
    seen = {timer}
    above = parents.get(timer)
    while above is not None and above not in seen:
        if above in changed:
            return above
        seen.add(above)
        above = parents.get(above)
    return None


def difference(told: Told) -> float:
    """Return a change in the unit of its series."""
    return told.change.after - told.change.before


def explained(cause: Cause, place: int) -> float | None:
    """Return the share of a change that the parts right below it explain; None without parts."""
    top = cause.told[place]
    shares = []
    for told in cause.told[place + 1 :]:
        if told.depth <= top.depth:
            break
        if told.depth == top.depth + 1 and told.share is not None:
            shares.append(told.share)
    return sum(shares) if shares else None
