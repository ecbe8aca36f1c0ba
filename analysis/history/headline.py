"""Sentences on a whole history: its verdict, its scope, and what could not be judged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of, newest
from hindmost.analysis.history.judged_series import FEW, named, worse_noun
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.readers.remarks import few
from hindmost.models.changepoint import ChangePoint, Trend
from hindmost.models.changepoint.detection import FAIL, OPEN, PASS, WARN
from hindmost.printable import shell_word
from hindmost.text import counted, first_of, plural, quantity, signed_percent


def headline(study: HistoryStudy) -> str:
    """Return the verdict on a history in one line."""
    return f"{study.status()}: {verdict_words(study)}"


def verdict_words(study: HistoryStudy) -> str:
    """Return what the verdict of a history comes of."""
    found = [(each, one) for each in study.judged for one in each.recent(study.since)]
    failing = [case for case, badge in study.by_case().items() if badge == FAIL]

    def worse(badge: str, how: str) -> str:
        units = [
            each.series.unit
            for each, one in found
            if isinstance(one, ChangePoint) and each.verdict_on(one) == badge
        ]
        return f"{len(units)} {worse_noun(set(units))[len(units) > 1]} {how}" if units else ""

    phrases = [
        worse(FAIL, f"confirmed in {counted(len(failing), 'case')}"),
        worse(WARN, "seen, not confirmed"),
    ]
    drifts = sum(isinstance(one, Trend) and each.is_open(one) for each, one in found)
    if drifts:
        phrases.append(f"{counted(drifts, 'drift')} for the worse")
    failed = study.failed_cases()
    if failed:
        runs = counted(failed.total(), "failed run")
        phrases.append(f"{runs} in {counted(len(failed), 'case')}")
    for kind, noun, others in (
        (ChangePoint, "change", "change for the better or recovered"),
        (Trend, "drift", "other drift"),
    ):
        closed = [
            each.is_known(one)
            for each, one in found
            if isinstance(one, kind) and not each.is_open(one)
        ]
        if not all(closed):
            words = f"{closed.count(False)} {others}"
            phrases.append(
                words if closed.count(False) == 1 else words.replace(noun, f"{noun}s", 1)
            )
        if any(closed):
            phrases.append(f"{sum(closed)} acknowledged {plural(sum(closed), noun)}")
    phrases = list(filter(None, phrases))
    if not phrases:
        phrases += [*still_open(study), *quiet_words(study)]
    phrases += [*fell_silent(study), *not_judged(study)]
    return ", ".join(phrases) or "no series"


def still_open(study: HistoryStudy) -> Iterator[str]:
    """Yield how many older changes for the worse are still open."""
    units = [each.series.unit for each in study.judged for _ in each.open_before(study.since)]
    if units:
        yield f"{len(units)} older {worse_noun(set(units))[len(units) > 1]} still open"


def quiet_words(study: HistoryStudy) -> Iterator[str]:
    """Yield in how many series no change was found lately, and what could not be seen."""
    quiet = [each for each in study.judged if each.status(study.since) in (PASS, OPEN)]
    if quiet:
        days = f"the last {study.last_days:.3g} days"
        words = f"no change found in {days} in {counted(len(quiet), 'series')}"
        unseen = unseen_steps([each.visible_step(study.since) for each in quiet])
        yield f"{words} ({unseen})" if unseen else words


def unseen_steps(steps: Sequence[float]) -> str:
    """Say which steps could not be seen, given the smallest visible one of each series."""
    known = np.sort([step for step in steps if not math.isnan(step)])
    finite, words = known[np.isfinite(known)], []
    if finite.size:
        low, high = (f"{100.0 * end:.2g}" for end in (finite[0], finite[-1]))
        below = low if low == high else f"{low} to {high}"
        words.append(f"a step below about {below} % could not be seen")
        if low != high:
            words.append(f"median {100.0 * float(np.median(finite)):.2g} %")
    if blind := known.size - finite.size:
        words.append(f"too few nights to see any in {counted(blind, 'series')}")
    return "; ".join(words)


def fell_silent(study: HistoryStudy) -> Iterator[str]:
    """Yield how many machines, and cases of others, fell silent in the last days."""
    machines = study.silent_machines()
    if machines:
        yield f"{counted(len(machines), 'silent machine')}"
    cases = [last for last in study.silent_cases().values() if last > study.since]
    if cases:
        yield f"{counted(len(cases), 'silent case')}"


def not_judged(study: HistoryStudy) -> Iterator[str]:
    """Yield how many series have no verdict, or not a full one, and why."""
    if study.unjudged():
        few = "with too few nights or too many outliers to judge"
        yield f"{counted(len(study.unjudged()), 'series')} {few}"
    if study.silent():
        days = f"{study.last_days:.3g} days"
        yield f"{counted(len(study.silent()), 'series')} without a result in the last {days}"
    if study.refused:
        yield f"{counted(len(study.refused), 'series')} that cannot be judged"


def scope(study: HistoryStudy) -> str:
    """Return what was judged: machines, series, cases and nights."""
    names = [each.series.name for each in study.judged]
    machines = sorted({name.machine for name in names})
    if machines[:1] == [""]:  # nothing to say where no machine has a name
        machines = [*machines[1:], "the unnamed machine"] if machines[1:] else []
    cases = {name.place for name in names}
    nights = {label[:10] for each in study.judged for label in each.labels}
    first = min(nights, default=date_of(study.until))
    return (
        f"{', '.join(machines) or study.history.source}: {counted(len(names), 'series')} of "
        f"{counted(len(cases), 'case')}, {counted(len(nights), 'night')} from {first} to "
        f"{date_of(study.until)}; the last {study.last_days:.3g} days:"
    )


def age_line(study: HistoryStudy, now: float) -> str:
    """Return a warning that the newest night is old, or dated in the future; else nothing.

    Parameters
    ----------
    study : HistoryStudy
    now : float
        Seconds since 1970, UTC.
    """
    latest = newest(study.history)
    if latest > now + SECONDS_A_DAY:
        return (
            f"A result is dated {date_of(latest)}, in the future. Correct its date: the last "
            f"{study.last_days:.3g} days are counted back from {date_of(study.until)}."
        )
    days = (now - study.until) / SECONDS_A_DAY
    if days > 3.0:
        return (
            f"The newest result is {days:.0f} days old ({date_of(study.until)}); the last "
            f"{study.last_days:.3g} days are counted back from it."
        )
    return ""


def data_remarks(study: HistoryStudy) -> list[str]:
    """Return remarks on the data, such as files that cannot be read."""
    refused = [f"{name} is not judged: {why}" for name, why in study.refused.items()]
    return few([*study.history.warnings, *refused], FEW)


def failure_line(study: HistoryStudy) -> str:
    """Return which runs failed in the last days; empty if none did."""
    failed = study.failed_cases()
    if not failed:
        return ""
    total = failed.total()
    names = [
        f"{', '.join(part for part in case if part)} ({count})"
        for case, count in failed.most_common()
    ]
    days = f"in the last {study.last_days:.3g} days"
    return f"{counted(total, 'run')} failed {days}: {first_of(names, '; ')}"


def silence_lines(study: HistoryStudy) -> Iterator[str]:
    """Yield the machines that went silent, the silent cases of others, and the new cases.

    A case that went silent before another began, at the same levels, was perhaps renamed.
    """
    for machine, time in sorted(study.silent_machines().items()):
        name = machine or "the unnamed machine"
        yield f"silent: {name} has no result since {date_of(time)}"
    cases = sorted(study.silent_cases().items(), key=lambda item: (-item[1], item[0]))
    for case, time in cases[:FEW]:
        now = renamed(study, case)
        yield f"silent: {case_words(case)} has no result since {date_of(time)}{now}"
    if len(cases) > FEW:
        yield f"silent: {counted(len(cases) - FEW, 'more case')}"
    begun = sorted(study.new_cases().items(), key=lambda item: (-item[1], item[0]))
    for case, time in begun[:FEW]:
        yield f"new: {case_words(case)} began on {date_of(time)}"
    if len(begun) > FEW:
        yield f"new: {counted(len(begun) - FEW, 'more case')}"


def case_words(case: tuple[str, str]) -> str:
    """Name a case of a machine."""
    return ", ".join(part for part in case if part) or "the unnamed case"


def renamed(study: HistoryStudy, case: tuple[str, str]) -> str:
    """Say which later case of the machine has the levels of a silent one; empty if none has."""
    old = {each.series.name.timer: each.series for each in study.of_case(case)}
    last = max(each.times[-1] for each in old.values())
    for later, times in study.results().items():
        new = {each.series.name.timer: each.series for each in study.of_case(later)}
        if later[0] != case[0] or times.min() <= last or not old.keys() & new.keys():
            continue
        ratios = [
            np.median(new[timer].values) / np.median(old[timer].values[-10:])
            for timer in old.keys() & new.keys()
        ]
        # Within ten percent one may be the other.
        if abs(math.log(float(np.median(ratios)))) < 0.1:
            return (
                f"; perhaps renamed to {later[1]}: same level "
                f"(--renamed {shell_word(f'{case[1]}={later[1]}')} makes them one)"
            )
    return ""


def newest_line(study: HistoryStudy) -> str:
    """Say on a line of its own that newest results are outliers; empty if none is."""
    words = newest_words(study)
    return f"newest: {words}" if words else ""


def newest_words(study: HistoryStudy) -> str:
    """Return which series end with an outlier, and the largest; empty if none does.

    A change is first seen after some nights: until then this is all that is known of it. A jump for
    the worse is among the findings.
    """
    rows = []
    for each in study.judged:
        found = each.detection
        runs = found.outliers
        ends = bool(runs) and runs[-1].stop == found.observations
        told = found.jump is not None and found.jump in each.recent(study.since)
        if ends and not told and not each.is_silent(study.since):
            level, value = each.detection.level_now, float(each.series.values[-1])
            rows.append((each, value, value / level - 1.0))
    if not rows:
        return ""
    each, value, effect = max(rows, key=lambda row: abs(math.log1p(row[2])))
    one, unit = len(rows) == 1, each.series.unit
    return (
        f"the last result of {counted(len(rows), 'series')} is an outlier so far, which "
        f"does not affect the verdict{': ' if one else '; the largest: '}"
        f"{named(each.series.name)}: {quantity(value, unit)} on {each.labels[-1]}, "
        f"{signed_percent(effect)} from its level of "
        f"{quantity(each.detection.level_now, unit)}"
    )
