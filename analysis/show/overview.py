"""The first screen of a page as values, and its HTML: a headline, bars, and ranked statements.

It knows no topic. Nothing on it is told by colour alone: grades have a mark, segments a pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hindmost.analysis.show.conclusion import Conclusion
from hindmost.analysis.show.page import Widget
from hindmost.analysis.show.templates import rendered

Grade = Literal["good", "fair", "poor"]
GRADES: tuple[Grade, ...] = ("good", "fair", "poor")
MARKS: dict[Grade, str] = {"good": "✓", "fair": "!", "poor": "✕"}
MOST_SHOWN = 6
"""Statements that are not folded, and bars."""
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
    statements : mapping of str to sequence of Conclusion
        By what they are about, as amounts of two kinds do not compare; the most important first.
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
    statements: Mapping[str, Sequence[Conclusion]] = field(default_factory=dict)
    folded: str = ""
    nothing: str = ""


def overview_widget(overview: Overview) -> Widget:
    """Return the first screen as a part of a page."""
    bars = overview.bars[:MOST_SHOWN]
    seen = [
        part
        for part in overview.parts
        if any(bar.shares.get(part, 0.0) >= LEAST_SHARE for bar in bars)
    ]
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
            groups={name: found for name, found in overview.statements.items() if found},
            most=MOST_SHOWN,
        ),
        inner=overview.pictures,
    )
