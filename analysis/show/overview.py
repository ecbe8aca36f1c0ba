"""The first screen of a page as values, and its HTML: a headline, bars, and ranked statements.

It knows no topic. Nothing on it is told by colour alone: grades have a mark, segments a pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from hindmost.analysis.show.facts import Fact
from hindmost.analysis.show.page import Widget
from hindmost.analysis.show.templates import rendered

Grade = Literal["good", "fair", "poor"]
GRADES: tuple[Grade, ...] = ("good", "fair", "poor")
MARKS: dict[Grade, str] = {"good": "✓", "fair": "!", "poor": "✕"}
MAX_SHOWN = 6
"""Statements that are not folded, and bars."""
MIN_SHARE = 0.0005
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


def overview_widget(
    headline: str,
    *,
    ran: Sequence[str],
    data: Sequence[Judgement],
    statements: Mapping[str, Sequence[Fact]],
    further: str = "",
    parts: Mapping[str, str] = MappingProxyType({}),
    opening: Sequence[Widget] = (),
    bars: Sequence[Bar] = (),
    pictures: Sequence[Widget] = (),
    pictured: str = "",
    folded: str = "",
    nothing: str = "",
) -> Widget:
    """Return the first screen as a part of a page.

    Parameters
    ----------
    headline, further : str
        The most important sentence, and what else is among the most important.
    ran : sequence of str
        What the page is about.
    data : sequence of Judgement
        Whether the data of each kind are good enough.
    statements : mapping of str to sequence of Fact
        By what they are about, as amounts of two kinds do not compare; the most important first.
    parts : mapping of str to str
        All parts that a bar may have, in their order, and what each is.
    opening : sequence of Widget
        What shows the headline, before the bars: small charts side by side.
    pictures : sequence of Widget
        What shows the finding; before the statements.
    pictured : str
        Which of several configurations they show.
    folded : str
        Under which words all statements are folded; empty to show them.
    nothing : str
        What is said if there is no statement.
    """
    shown = bars[:MAX_SHOWN]
    html = rendered(
        "show/overview.html",
        "overview",
        headline,
        further,
        ran,
        data,
        marks=MARKS,
        opening=opening,
        bars=shown,
        more_bars=len(bars) - len(shown),
        parts=list(parts),
        seen={
            name: meaning
            for name, meaning in parts.items()
            if any(bar.shares.get(name, 0.0) >= MIN_SHARE for bar in shown)
        },
        longest_s=max((bar.whole_s for bar in shown), default=0.0),
        pictured=pictured,
        pictures=pictures,
        groups={name: found for name, found in statements.items() if found},
        folded=folded,
        nothing=nothing,
        most=MAX_SHOWN,
    )
    return Widget(anchor="overview", begins="Overview", html=html, inner=[*opening, *pictures])
