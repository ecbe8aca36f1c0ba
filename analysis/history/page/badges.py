"""The verdicts on a page: those of the study, and a badge for acknowledged changes."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from markupsafe import Markup

from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.readers.history import SeriesName
from hindmost.analysis.show.templates import rendered
from hindmost.models.changepoint.changes import Finding, more_and_less
from hindmost.models.changepoint.detection import FAIL, OPEN, PASS, UNKNOWN, WARN
from hindmost.text import factor

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
    return "/".join(quote(part, safe="!*'()") for part in (name.machine, name.case, name.timer))


def factor_words(judged: JudgedSeries, before: float, after: float) -> str:
    """Write a change as a factor: ``1.17x slower``, or ``larger`` if it is not a time."""
    ratio = max(before, after) / min(before, after)
    pair = more_and_less(judged.series.unit)
    return f"{factor(ratio)}x {pair[0] if after > before else pair[1]}"


def badge_html(badge: str) -> Markup:
    """Return a verdict as a coloured badge."""
    return rendered(SECTIONS, "badge", badge, MEANINGS[badge])


def link_html(name: SeriesName, text: str) -> Markup:
    """Return a link that selects a series on the page."""
    return rendered(SECTIONS, "link", address_of(name), text)
