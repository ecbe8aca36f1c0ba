"""The first screen of a page as values, and its HTML: a headline, bars, and ranked statements.

It knows no topic. Nothing on it is told by colour alone: grades have a mark, segments a pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hindmost.analysis.show.page import Widget
from hindmost.analysis.show.templates import rendered

Grade = Literal["good", "fair", "poor"]
GRADES: tuple[Grade, ...] = ("good", "fair", "poor")
MARKS: dict[Grade, str] = {"good": "✓", "fair": "!", "poor": "✕"}
MOST_SHOWN = 6
"""Statements that are not folded."""
MOST_BARS = 8
LEAST_SHARE = 0.0005
"""Of a bar, from which on a part is in the legend: less is written as 0.0 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A line with a grade.

    Attributes
    ----------
    grade : str
        ``good``, ``fair`` or ``poor``.
    text, advice : str
    anchor : str
        Where the page says more; may be empty.
    """

    grade: Grade
    text: str
    advice: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A time, divided.

    Attributes
    ----------
    name : str
    whole_s : float
    shares : dict of str to float
        By part; they sum to 1.
    anchor : str
        Where the page says more; may be empty.
    instead : str
        What is said if there are no shares.
    """

    name: str
    whole_s: float
    shares: dict[str, float]
    anchor: str = ""
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence with its size and its certainty.

    Attributes
    ----------
    title, text, remedy : str
        The last may be empty.
    of : str
        What it is about, where there are several; may be empty.
    amount : str
        As a time.
    share : float or None
        Of the whole: negative for a gain.
    share_words : str
        The share as it is written, as a range; by default in percent.
    share_range : (float, float) or None
        The least and the most that the share may be.
    range_words : str
        The range as it is written, below the share; may be empty.
    certainty, basis : str
        A word, and what it rests on.
    sure : bool
        Whether the word may be read without care.
    links : sequence of (str, str)
        Anchor and text.
    group : str
        Statements of one group stand together, under this name; amounts of two do not compare.
    """

    title: str
    text: str
    amount: str
    certainty: str
    basis: str
    sure: bool
    remedy: str = ""
    of: str = ""
    share: float | None = None
    share_words: str = ""
    share_range: tuple[float, float] | None = None
    range_words: str = ""
    links: Sequence[tuple[str, str]] = ()
    group: str = ""

    @property
    def gauge_ends(self) -> tuple[float, float]:
        """The ends of the range of the share, in percent of the gauge."""
        low, high = (100.0 * min(max(end, 0.0), 1.0) for end in self.share_range or (0.0, 0.0))
        return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a page says first.

    Attributes
    ----------
    headline : str
        The most important sentence.
    further : str
        What else is among the most important.
    ran : sequence of str
        What the page is about.
    data : Judgement
        Whether the data are good enough.
    others : sequence of Judgement
        The same of data of other kinds.
    parts : tuple of str
        All parts that a bar may have, in their order.
    meanings : mapping of str to str
        What parts are, for those whose names do not say it.
    bars : sequence of Bar
    pictures : sequence of Widget
        What shows the finding; before the statements.
    pictured : str
        Which of several configurations they show.
    statements : sequence of Statement
        The most important first.
    folded : str
        Under which words all statements are folded; empty to show them.
    nothing : str
        What is said if there is no statement.
    """

    headline: str
    ran: Sequence[str]
    data: Judgement
    further: str = ""
    others: Sequence[Judgement] = ()
    parts: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    bars: Sequence[Bar] = ()
    pictures: Sequence[Widget] = ()
    pictured: str = ""
    statements: Sequence[Statement] = ()
    folded: str = ""
    nothing: str = ""


def overview_widget(overview: Overview) -> Widget:
    """Return the first screen as a part of a page."""
    bars = overview.bars[:MOST_BARS]
    seen = [
        part
        for part in overview.parts
        if any(bar.shares.get(part, 0.0) >= LEAST_SHARE for bar in bars)
    ]
    groups: dict[str, list[Statement]] = {}
    for each in overview.statements:
        groups.setdefault(each.group, []).append(each)
    return Widget(
        anchor="overview",
        begins="Overview",
        html=rendered(
            "show/overview.html",
            "overview",
            overview,
            marks=MARKS,
            bars=bars,
            seen=seen,
            longest_s=max((bar.whole_s for bar in bars), default=0.0),
            groups=groups,
            most=MOST_SHOWN,
        ),
        inner=overview.pictures,
    )
