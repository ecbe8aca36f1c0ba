"""The first screen of a page as values, and its HTML: a headline, bars, and ranked statements.

It knows no topic. Nothing on it is told by colour alone: grades have a mark, segments a pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hindmost.analysis.show.page import Widget
from hindmost.printable import escape
from hindmost.text import percent, seconds

Grade = Literal["good", "fair", "poor"]
GRADES: tuple[Grade, ...] = ("good", "fair", "poor")
MARKS: dict[Grade, str] = {"good": "✓", "fair": "!", "poor": "✕"}
MOST_SHOWN = 6
"""Statements that are not folded."""
MOST_BARS = 8
LEAST_SHARE = 0.0005
"""Of a bar, from which on a part is in the legend: less is written as 0.0 %."""
WIDE_ENOUGH = 0.14
"""Share of the longest bar from which on a segment has its name in it."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a page says first.

    Attributes
    ----------
    headline : str
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
    others: Sequence[Judgement] = ()
    parts: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    bars: Sequence[Bar] = ()
    statements: Sequence[Statement] = ()
    folded: str = ""
    nothing: str = ""


def overview_widget(overview: Overview) -> Widget:
    """Return the first screen as a part of a page."""
    judgements = "".join(map(judgement_html, (overview.data, *overview.others)))
    ran = "".join(f"<p>{escape(each)}</p>" for each in overview.ran)
    return Widget(
        anchor="overview",
        begins="Overview",
        html='<section id="overview" class="overview" aria-label="Overview">'
        f'<h1 class="headline">{escape(overview.headline)}</h1>'
        f'<div class="ran">{ran}</div>{judgements}'
        f"{bars_html(overview)}{statements_html(overview)}</section>",
    )


def judgement_html(data: Judgement) -> str:
    """Return the line on the data."""
    more = f' <a href="#{escape(data.anchor)}">All findings</a>' if data.anchor else ""
    advice = f' <span class="advice">{escape(data.advice)}</span>' if data.advice else ""
    return (
        f'<p class="judgement {data.grade}"><span class="mark" aria-hidden="true">'
        f"{MARKS[data.grade]}</span> {escape(data.text)}{advice}{more}</p>"
    )


def bars_html(overview: Overview) -> str:
    """Return the bars with one legend."""
    if not overview.bars:
        return ""
    shown = list(overview.bars[:MOST_BARS])
    longest_s = max(bar.whole_s for bar in shown)
    rows = "".join(bar_html(bar, overview.parts, longest_s) for bar in shown)
    left = len(overview.bars) - len(shown)
    more = f'<p class="quiet">{left} more below.</p>' if left > 0 else ""
    seen = [
        part
        for part in overview.parts
        if any(bar.shares.get(part, 0.0) >= LEAST_SHARE for bar in shown)
    ]
    legend = "".join(
        f'<li><span class="swatch part-{overview.parts.index(part)}"></span>{escape(part)}</li>'
        for part in seen
    )
    meant = "".join(
        f"<li><b>{escape(part)}</b>: {escape(overview.meanings[part])}.</li>"
        for part in seen
        if part in overview.meanings
    )
    if meant:
        meant = f"<details><summary>What the parts are</summary><ul>{meant}</ul></details>"
    return f'<div class="bars">{rows}{more}<ul class="legend">{legend}</ul>{meant}</div>'


def bar_html(bar: Bar, parts: tuple[str, ...], longest_s: float) -> str:
    """Return one bar, as long as its time relative to the longest."""
    name = escape(bar.name)
    if bar.anchor:
        name = f'<a href="#{escape(bar.anchor)}">{name}</a>'
    head = (
        f'<div class="time-bar"{whose(bar.name)}><div class="bar-name">{name} '
        f'<span class="quiet">{seconds(bar.whole_s)}</span></div>'
    )
    if not bar.shares:
        return f'{head}<p class="quiet">{escape(bar.instead)}</p></div>'
    described = ", ".join(f"{part} {percent(share)}" for part, share in bar.shares.items())
    length = max(bar.whole_s / longest_s, 0.08) if longest_s > 0.0 else 1.0
    segments = "".join(
        segment_html(part, parts.index(part), share, share * length >= WIDE_ENOUGH)
        for part, share in bar.shares.items()
    )
    return (
        f'{head}<div class="stack" role="img" aria-label="{escape(described)}" '
        f'style="width: {100.0 * length:.1f}%">{segments}</div>'
        f'<p class="narrow">{escape(described)}</p></div>'
    )


def whose(name: str) -> str:
    """Return the attribute by which what is left out takes its bars and statements along."""
    return f' data-of="{escape(name)}"' if name else ""


def segment_html(part: str, number: int, share: float, wide: bool) -> str:
    """Return a segment, with its name where there is room."""
    said = f"{part} {percent(share, 0)}"
    text = f"<span>{escape(said)}</span>" if wide else ""
    return (
        f'<div class="part-{number}" title="{escape(said)}" style="width: {100.0 * share:.2f}%">'
        f"{text}</div>"
    )


def statements_html(overview: Overview) -> str:
    """Return the statements, each group under its name."""
    if not overview.statements:
        return f'<p class="nothing">{escape(overview.nothing)}</p>' if overview.nothing else ""
    groups: dict[str, list[Statement]] = {}
    for each in overview.statements:
        groups.setdefault(each.group, []).append(each)
    listed = "".join(
        (f'<h2 class="kind">{escape(name)}</h2>' if len(groups) > 1 else "") + list_html(members)
        for name, members in groups.items()
    )
    if not overview.folded:
        return listed
    return f'<details class="more"><summary>{escape(overview.folded)}</summary>{listed}</details>'


def list_html(statements: Sequence[Statement]) -> str:
    """Return statements of one group; those after the first few are folded."""
    shown, rest = statements[:MOST_SHOWN], statements[MOST_SHOWN:]
    said = f'<ol class="statements">{items(shown)}</ol>'
    if rest:
        said += (
            f'<details class="more"><summary>{len(rest)} smaller ones</summary>'
            f'<ol class="statements" start="{len(shown) + 1}">{items(rest)}</ol></details>'
        )
    return said


def items(statements: Iterable[Statement]) -> str:
    """Return statements as items of a list."""
    return "".join(map(statement_html, statements))


def whisker(each: Statement) -> str:
    """Return the range of the share as a line over its gauge; empty if there is none."""
    if each.share_range is None:
        return ""
    low, high = (100.0 * min(max(end, 0.0), 1.0) for end in each.share_range)
    return f'<b style="left: {low:.1f}%; width: {high - low:.1f}%"></b>'


def statement_html(each: Statement) -> str:
    """Return a statement: its size, what it says, how sure it is, and where it comes from."""
    size = f'<div class="size"><strong>{escape(each.amount)}</strong>'
    if each.share is not None:
        share = abs(each.share)
        size += f' <span class="quiet">{escape(each.share_words or percent(share))}</span>'
        size += f' <span class="quiet">{escape(each.range_words)}</span>' * bool(each.range_words)
        size += (
            f'<div class="gauge" aria-hidden="true">'
            f'<i style="width: {100.0 * min(share, 1.0):.1f}%"></i>{whisker(each)}</div>'
        )
    of = f' <span class="of">{escape(each.of)}</span>' if each.of else ""
    remedy = f' <span class="remedy">{escape(each.remedy)}</span>' if each.remedy else ""
    links = " ".join(f'<a href="#{escape(at)}">{escape(text)}</a>' for at, text in each.links)
    kind = "sure" if each.sure else "unsure"
    return (
        f'<li{whose(each.of)}>{size}</div><div class="said"><h3>{escape(each.title)}{of}</h3>'
        f"<p>{escape(each.text)}{remedy}</p>"
        f'<p class="why"><span class="certainty {kind}">{escape(each.certainty)}</span> '
        f'<span class="quiet">{escape(each.basis)}</span> {links}</p></div></li>'
    )
