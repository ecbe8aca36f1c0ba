"""The verdicts of a page on a history: those of the study, and a badge for known changes."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import quote

from hindmost.analysis.history.direction import more_and_less
from hindmost.analysis.history.judged import FAIL, PASS, WARN, Judged
from hindmost.analysis.history.records import SeriesName
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.page.parts import Html
from hindmost.models.changepoint import Change

KNOWN = "known"
LEVEL = 0.95
"""Of a method's intervals where its settings name no other."""
BADGES = (FAIL, WARN, KNOWN, PASS)
"""The worst first."""
MEANINGS: Mapping[str, str] = {
    FAIL: "a confirmed slowdown",
    WARN: "a slowdown that is seen but not yet confirmed, a drift, or a run that failed",
    KNOWN: "someone has noted it as known",
    PASS: "no change, one for the better, or one undone since",
}


def interval_level(study: HistoryStudy) -> float:
    """Return the level of the method's intervals."""
    return float(study.settings.get("level", LEVEL))


def change_badge(judged: Judged, change: Change) -> str:
    """Return the verdict on a change."""
    return KNOWN if judged.acknowledgement(change) else judged.badge(change)


def series_badge(judged: Judged, since: float) -> str:
    """Return the verdict on a series by its changes after a time (seconds since 1970, UTC)."""
    told = judged.status(since)
    if told == PASS and any(judged.acknowledgement(change) for change in judged.recent(since)):
        return KNOWN
    return told


def address_of(name: SeriesName) -> str:
    """Return what in the page's address chooses a series; ``#`` is not in it."""
    return "/".join(quote(part, safe="") for part in (name.machine, name.case, name.timer))


def factor_words(judged: Judged, before: float, after: float) -> str:
    """Write a change as a factor: ``1.17x slower``; ``larger`` of what is no time."""
    factor = max(before, after) / min(before, after)
    pair = more_and_less(judged.series.unit)
    return f"{factor:.3g}x {pair[0] if after > before else pair[1]}"


def badge_html(badge: str) -> Html:
    """Return a verdict as a small coloured word."""
    return Html(f'<span class="badge {badge}" title="{MEANINGS[badge]}">{badge}</span>')


def link_html(name: SeriesName, text: str) -> Html:
    """Return a link that chooses a series on the page."""
    return Html(f'<a href="#{address_of(name)}">{escape(text)}</a>')
