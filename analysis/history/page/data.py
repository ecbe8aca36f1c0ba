"""What a page says of a history: its verdicts, its first screen, and the data of its scripts."""

from __future__ import annotations

import base64
import math
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from hindmost.analysis.history.change_groups import (
    ChangeGroup,
    NightChange,
    group_changes,
    open_before,
    revision_words,
)
from hindmost.analysis.history.commit_ranges import range_words, ranges_of
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of
from hindmost.analysis.history.headline import (
    age_line,
    data_remarks,
    newest_words,
    quiet_words,
    silence_lines,
    unseen_steps,
    verdict_words,
)
from hindmost.analysis.history.judged_series import JudgedSeries, named, timer_name, worse_noun
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.readers.history import SeriesName
from hindmost.analysis.readers.provenance import commits_text, short_commit
from hindmost.analysis.runs.finding import MAX_SHOWN
from hindmost.analysis.show.facts import Link
from hindmost.analysis.show.html_charts import rounded
from hindmost.analysis.show.overview import Judgement
from hindmost.analysis.show.page import Widget
from hindmost.analysis.show.templates import rendered
from hindmost.models.changepoint import ChangePoint, Jump, Regime, Trend
from hindmost.models.changepoint.changes import Finding, more_and_less
from hindmost.models.changepoint.detection import FAIL, OPEN, PASS, UNKNOWN, WARN
from hindmost.printable import page_json
from hindmost.records import to_document
from hindmost.text import capital, counted, factor, p_words, percent, quantity, signed_percent

SECTIONS = "history/page/sections.html"
KNOWN = "known"
BADGES = (FAIL, WARN, OPEN, KNOWN, PASS, UNKNOWN)
"""The worst first."""
MEANINGS: Mapping[str, str] = {
    FAIL: "a confirmed change for the worse",
    WARN: "a change for the worse that is seen, not confirmed; a drift, a failed run, or silence",
    OPEN: "an older change for the worse that is still there, not acknowledged",
    KNOWN: "an acknowledged change",
    PASS: "no change, one for the better, or one that has recovered",
    UNKNOWN: "too few nights to judge, or no result in the last days",
}


def change_badge(judged: JudgedSeries, change: Finding, since: float) -> str:
    """Return the verdict on a change; one before a time that is still there is open."""
    if judged.acknowledgement(change):
        return KNOWN
    return OPEN if change in judged.open_before(since) else judged.verdict_on(change)


def series_badge(judged: JudgedSeries, since: float) -> str:
    """Return the verdict on a series by its changes after a time (seconds since 1970, UTC)."""
    verdict = judged.status(since)
    if verdict == PASS and any(judged.acknowledgement(change) for change in judged.recent(since)):
        return KNOWN
    return verdict


def address_of(name: SeriesName) -> str:
    """Return the fragment of the page's address that selects a series, without ``#``."""
    # As JavaScript's encodeURIComponent writes it.
    return "/".join(quote(part, safe="!*'()") for part in name.parts)


def factor_words(judged: JudgedSeries, before: float, after: float) -> str:
    """Write a change as a factor: ``1.17x slower``, or ``larger`` if it is not a time."""
    ratio = max(before, after) / min(before, after)
    pair = more_and_less(judged.series.unit)
    return f"{factor(ratio)}x {pair[0] if after > before else pair[1]}"


def badge_html(badge: str) -> Markup:
    """Return a verdict as a coloured badge."""
    return rendered(SECTIONS, "badge", badge, MEANINGS[badge])


SECONDS_A_MINUTE = 60.0
UNKNOWN_COMMITS = "unknown commits"
SIGNS = {FAIL: "┃", WARN: "┇", OPEN: "╏", "known": "┆", PASS: "│"}
"""Of the lines of changes, in the legend."""
DARKEST = 9
GAP_DAYS, GAP_TIMES = 14.0, 5.0
"""Nothing was measured for so long, and for so many times the usual step."""


class Calendars:
    """Nights and their commits, which the timers of a case mostly share."""

    def __init__(self) -> None:
        self.commits: dict[str, int] = {}
        self.numbers: dict[tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]], int] = {}

    def number(self, judged: JudgedSeries) -> int:
        """Return the number of a series' nights."""
        series = judged.series
        minutes = np.rint(series.times / SECONDS_A_MINUTE).astype(np.int64)
        steps = np.diff(minutes, prepend=0)
        texts = (commits_text(parts) or UNKNOWN_COMMITS for parts in series.commit_parts)
        codes = [self.commits.setdefault(text, len(self.commits)) for text in texts]
        key = (tuple(steps.tolist()), tuple(codes), judged.labels)
        return self.numbers.setdefault(key, len(self.numbers))

    def data(self) -> dict[str, Any]:
        """Return all nights: steps in minutes since 1970, dates, commits by number, and gaps."""
        return {
            "commits": list(self.commits),
            "calendars": [
                {"steps": steps, "commits": codes, "labels": labels, "gaps": gaps_in(steps)}
                for steps, codes, labels in self.numbers
            ],
        }


def gaps_in(steps: tuple[int, ...]) -> list[tuple[float, float, str]]:
    """Return where nothing was measured for weeks, far longer than usual: days, and words.

    Parameters
    ----------
    steps : tuple of int
        Minutes since the night before, of the first one since 1970.
    """
    days = np.cumsum(steps) / (SECONDS_A_DAY / SECONDS_A_MINUTE)
    between = np.diff(days)
    if not between.size:
        return []
    long = np.flatnonzero(between >= max(GAP_DAYS, GAP_TIMES * float(np.median(between))))
    return [
        (days[at], days[at + 1], f"no result for {counted(round(between[at]), 'day')}")
        for at in long.tolist()
    ]


def history_data(study: HistoryStudy) -> dict[str, Any]:
    """Return the data that the scripts need."""
    calendars = Calendars()
    failed: dict[tuple[str, str], list[float]] = {}
    for run in study.history.failures:
        days = round(run.time / SECONDS_A_DAY, 3)
        failed.setdefault((run.machine, run.case), []).append(days)
    series = [
        {
            **to_document(judged.series.name),
            "calendar": calendars.number(judged),
            **series_data(judged, study.level, study.since),
            "failed": failed.get(judged.series.name.place, []),
        }
        for judged in study.judged
    ]
    return {**calendars.data(), "series": series}


def series_data(judged: JudgedSeries, level: float, since: float) -> dict[str, Any]:
    """Return the values of a series and what was found in it, with all words."""
    series, found, name = judged.series, judged.detection, judged.series.name
    jump = [each for each in judged.recent(since) if isinstance(each, Jump)]
    steps = [*found.changes, *jump]
    text = " · ".join(filter(None, (name.machine, name.case, timer_name(name.timer))))
    badges = [change_badge(judged, change, since) for change in steps]
    newest = date_of(float(series.times[-1]))
    return {
        "text": text,
        "address": address_of(name),
        "badge": series_badge(judged, since),
        "unit": series.unit,
        "axis": f"{timer_name(name.timer)}{series.unit and f', {series.unit}'}",
        "summary": f"{text}, {counted(series.values.size, 'night')}, "
        f"{counted(len(steps), 'change')}",
        "legend": legend_of(judged, badges, level),
        "values": rounded(series.values),
        "worse": "".join(map(str, how_much_worse(judged).tolist())),
        "changes": [
            change_data(judged, change, badge, level)
            for change, badge in zip(steps, badges, strict=True)
        ],
        "none": f"Too short to judge: at least {found.too_short} nights are needed."
        if found.too_short
        else f"No step up to {newest}.",
        "regimes": [regime_data(judged, regime, level) for regime in found.regimes],
        "outliers": [[run.start, run.stop] for run in found.outliers],
        "remarks": [
            *(drift_words(judged, trend) for trend in found.trends),
            *(revision_words(event) for event in judged.log if event.revises),
        ],
    }


def regime_data(judged: JudgedSeries, regime: Regime, level: float) -> dict[str, Any]:
    """Return a regime: its levels at both ends, its interval as factors of them, and all words."""
    low, high = regime.interval
    outside = sum(run.stop - run.start for run in judged.detection.outliers
                  if regime.start <= run.start < regime.stop)  # fmt: skip
    inside, unit = regime.stop - regime.start - outside, judged.series.unit
    nights = counted(inside, "night")
    others = f" and {counted(outside, 'outlier')}" if outside else ""
    kind = " (switches between two levels)" if regime.switching else ""
    return {
        "start": regime.start,
        "stop": regime.stop,
        "trend": int(regime.trend),
        "ends": short(ends_of(judged, regime)),
        "interval": short([low / regime.mean, high / regime.mean]),
        "title": f"{dates_text(judged, regime.start, regime.stop - 1)}"
        f"{' (trend)' if regime.trend else kind}",
        "text": f"mean {quantity(regime.mean, unit)}, {percent(level, None)} interval "
        f"{quantity(low, unit)} to {quantity(high, unit)}; noise {percent(regime.deviation)}, "
        f"{f'level of {regime.n} of {nights}' if regime.n < inside else nights}"
        f"{others}",
    }


def ends_of(judged: JudgedSeries, regime: Regime) -> tuple[float, float]:
    """Return the level at the first and the last night; a trend is a line of the logarithm."""
    for trend in judged.detection.trends if regime.trend else ():
        if trend.start <= regime.start < trend.stop and trend.stop - trend.start > 1:
            nights = regime.stop - 1 - regime.start
            reach = 0.5 * nights * math.log1p(trend.effect) / (trend.stop - 1 - trend.start)
            return regime.mean * math.exp(-reach), regime.mean * math.exp(reach)
    return regime.mean, regime.mean


def short(values: Sequence[float]) -> list[float | None]:
    """Round numbers to the digits that are visible."""
    return rounded(np.array(values))


def dates_text(judged: JudgedSeries, first: int, last: int) -> str:
    """Write from which night to which."""
    begin, end = (judged.labels[at] for at in (first, last))
    return begin if begin == end else f"{begin} to {end}"


def drift_words(judged: JudgedSeries, trend: Trend) -> str:
    """Say how a series drifts."""
    return (
        f"Drifts by {signed_percent(trend.effect, trend.effect_interval)} in "
        f"{dates_text(judged, trend.start, trend.stop - 1)}, {p_words(trend.p_anywhere)}."
    )


def legend_of(judged: JudgedSeries, badges: list[str], level: float) -> list[tuple[str, str, str]]:
    """Return the signs of the chart of a series with their meanings, those that are there."""
    name, found = judged.series.name, judged.detection
    axis = f"{timer_name(name.timer)}{judged.series.unit and f', {judged.series.unit}'}:"
    entries = [("", axis, "axis"), ("●", "night", "night")]
    if found.outliers:
        entries.append(("○", "outlier", "outlier"))
    entries.append(("▬", f"level and {percent(level, None)} interval of its mean", "level"))
    if found.trends:
        entries.append(("┅", "trend", "trend"))
    there = [badge for badge in BADGES if badge in badges and badge in SIGNS]
    entries += [(SIGNS[badge], f"change: {badge}", badge) for badge in there]
    if there:
        entries.append(("▒", f"interval of dates ({percent(level, None)})", "border"))
    return entries


def levels_of(judged: JudgedSeries) -> NDArray[np.float64]:
    """Return the level of a series at every night; its value where it has none."""
    levels = np.array(judged.series.values, np.float64)
    for regime in judged.detection.regimes:
        first, last = ends_of(judged, regime)
        levels[regime.start : regime.stop] = np.geomspace(first, last, regime.stop - regime.start)
    return levels


def how_much_worse(judged: JudgedSeries) -> NDArray[np.int64]:
    """Return how much worse every night is than the best level until then: 0 to `DARKEST`.

    An improvement does not colour the nights before it.
    """
    values, levels = judged.series.values, levels_of(judged)
    less = judged.series.smaller_is_better
    best = (np.minimum if less else np.maximum).accumulate(levels)
    worse = np.log(values / best) * (1.0 if less else -1.0)
    # A night is as dark as can be from a ratio of 1.35 on.
    darkness: NDArray[np.int64] = np.rint(DARKEST * np.clip(worse / 0.3, 0.0, 1.0)).astype(np.int64)
    return darkness


def change_data(
    judged: JudgedSeries, change: ChangePoint, badge: str, level: float
) -> dict[str, Any]:
    """Return a change: where it is, its caption in the chart, and its sentence."""
    note = judged.acknowledgement(change)
    full = range_words(ranges_of(judged, change))
    commits = short_commit(full) or UNKNOWN_COMMITS
    effect = signed_percent(change.effect, change.effect_interval)
    factor = factor_words(judged, change.before, change.after)
    date, dates = judged.labels[change.index], dates_text(judged, *change.interval)
    state = "confirmed" if change.confirmed else f"seen, not confirmed: {change.progress}"
    known = "" if note is None else f", acknowledged: {note.reason}"
    caption = ": ".join(filter(None, (signed_percent(change.effect), short_commit(full))))
    return {
        "index": change.index,
        "interval": change.interval,
        "badge": badge,
        "caption": caption if badge in (FAIL, WARN, OPEN) else "",
        "text": f"From {date} on {factor}: {effect}, {p_words(change.p_anywhere)}, {state}{known}. "
        f"Interval of dates: {dates} ({percent(level, None)}); commits to inspect: {commits}",
    }


def packed(data: dict[str, Any]) -> str:
    """Deflate data into text for a page."""
    text = page_json(data, allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


HINT = "Point at a night or a change; drag to zoom. Keyboard: ← → nights, ↑ ↓ changes, + - 0 zoom."


def leading_charts(study: HistoryStudy) -> list[Widget]:
    """Return the charts of the one or two series that changed most: that of the headline first."""
    recent = [finding for group in group_changes(study) for finding in group.findings]
    older = [finding for group in open_before(study) for finding in group.findings]
    changed = sorted(
        worst_of(recent) or older, key=lambda each: -abs(math.log1p(each.change.effect))
    )
    first = most_costly(recent)
    series = dict.fromkeys(
        each.judged.series.name for each in [*([first] if first else []), *changed]
    )
    return [
        Widget(html=rendered(SECTIONS, "leading", number, address_of(name), named(name), HINT))
        for number, name in enumerate(list(series)[:MAX_SHOWN])
    ]


def worst_of(recent: Sequence[NightChange]) -> list[NightChange]:
    """Return the confirmed changes for the worse; without any, those seen and the drifts."""
    return [each for each in recent if each.badge == FAIL] or [
        each for each in recent if each.judged.is_open(each.change)
    ]


def most_costly(recent: Sequence[NightChange]) -> NightChange | None:
    """Return the change for the worse that costs most: in seconds, where some are times."""
    worst = [each for each in worst_of(recent) if each.open]
    timed = [each for each in worst if each.judged.series.unit == "s"]
    return max(
        timed or worst,
        key=lambda each: abs(each.difference) if timed else abs(math.log1p(each.change.effect)),
        default=None,
    )


def history_sentences(study: HistoryStudy) -> list[str]:
    """Return what changed most, the verdict, and what is still open, the most important first."""
    status = study.status()
    said = f"{capital(verdict_words(study))} ({status})."
    older = still_open_words(study)
    if status == OPEN:
        said = f"{capital(', '.join(quiet_words(study)))} ({status})."
    in_order = (older, said) if status in (PASS, OPEN) else (worst_change(study), said, older)
    return list(filter(None, in_order))


def worst_change(study: HistoryStudy) -> str:
    """Say what changed or drifted most for the worse, and since when; empty if nothing did."""
    worst = most_costly([finding for group in group_changes(study) for finding in group.findings])
    if worst is None:
        return ""
    change, unit = worst.change, worst.judged.series.unit
    drift = isinstance(change, Trend)
    since = f"in a drift since {worst.dates[0]}" if drift else f"since {worst.date}"
    seen = isinstance(change, ChangePoint) and not change.confirmed
    name, cause = worst.judged.series.name, worst.cause
    subject, why = named(name), "" if cause is None else f"; cause: {cause.text}"
    if cause is not None and cause.own and cause.subject:
        # A stretch has its name by its place, which the cause says with lines.
        subject, why = capital(cause.subject), ""
    return (
        f"{subject} is {percent(abs(change.effect))} "
        f"{'slower' if unit == 's' else 'worse'} "
        f"({quantity(change.before, unit)} -> {quantity(change.after, unit)}) "
        f"{since}{', seen, not confirmed' if seen else ''}{why}."
    )


def still_open_words(study: HistoryStudy) -> str:
    """Say that older changes for the worse are still there, with the largest; empty if none is."""
    found = [finding for group in open_before(study) for finding in group.findings]
    if not found:
        return ""
    most = max(found, key=lambda each: abs(math.log1p(each.change.effect)))
    series, date = most.judged.series, most.judged.labels[most.change.last]
    noun = worse_noun({each.judged.series.unit for each in found})[len(found) > 1]
    which = "" if len(found) == 1 else "the largest, "
    verb = "is" if len(found) == 1 else "are"
    return (
        f"{len(found)} older {noun} {verb} still there ({which}{named(series.name)}: "
        f"{signed_percent(most.change.effect)} since {date[:10]})."
    )


def judge_nights(study: HistoryStudy) -> Judgement:
    """Return whether the nights are good enough to conclude from."""
    old = age_line(study, time.time())
    said = [*([old] if old else []), *silence_lines(study), *data_remarks(study)]
    if not said:
        return Judgement(grade="good", text="The data are good: every series can be judged.")
    first, more = capital(said[0].rstrip(".")), len(said) - 1
    left = f"; {more} more" if more else ""
    return Judgement(grade="fair", text=f"The data are usable with care. {first}{left}.")


def history_conclusions(study: HistoryStudy) -> list[NightChange]:
    """Return the changes of the last days, those of the highest timers only."""
    return [
        with_links(finding, group, study.since)
        for group in group_changes(study)
        for finding in group.findings
    ]


def no_change(study: HistoryStudy) -> str:
    """Say that no change was found, and what could not have been seen."""
    steps = [each.visible_step(study.since) for each in study.judged]
    unseen = unseen_steps(steps)
    newest = newest_words(study)
    words = [
        f"No change was found in the last {study.last_days:.3g} days",
        *([capital(unseen)] if unseen else []),
        *([capital(newest)] if newest else []),
    ]
    return f"{'. '.join(words)}."


def with_links(finding: NightChange, group: ChangeGroup, since: float) -> NightChange:
    """Return a change as the page has it: with its verdict, its commits and its chart."""
    judged, change = finding.judged, finding.change
    seen = "drift"
    if isinstance(change, ChangePoint):
        seen = "confirmed" if change.confirmed else f"seen, not confirmed: {change.progress}"
    badge = change_badge(judged, change, since)
    return replace(
        finding,
        remedy=f"Commits to inspect: {group.commits}." if group.commits else "",
        basis=f"verdict {badge}; {p_words(change.p_anywhere, 1)}; {seen}",
        links=(Link(anchor=address_of(judged.series.name), text="The series"),),
    )
