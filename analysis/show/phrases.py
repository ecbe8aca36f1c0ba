"""Facts in words, short and long: the one place of what terminal, page, mail and JSON say of them.

A fact has sentences of several ranks of importance. Where there is room for a number of lines, the
most important sentences of all facts are taken first.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch

from hindmost.analysis.show.facts import (
    ExtraWork,
    Fact,
    GrowingWork,
    InFunction,
    NoCore,
    RecurringWork,
    Stated,
    UnequalThreads,
    UnequalWork,
)
from hindmost.analysis.show.table import WIDTH
from hindmost.models.ranks.attribution import Attribution
from hindmost.models.ranks.culprit import CHANCE, HALF_AS_FAST, Culprit, Doubt
from hindmost.models.ranks.teams import TeamImbalance
from hindmost.models.recurring import Recurring
from hindmost.text import (
    capital,
    counted,
    percent,
    percent_range,
    seconds,
    seconds_range,
    unbroken,
)

PLACES, CALLS, WAITS, OFTEN, OTHERS = 1, 2, 3, 4, 5
"""Importance of what may be left out of a few lines; 0 is what may not."""

WAITING, BLOCKED = 0.5, 0.1
"""Parts of the time without processor time that waiting for a core is, at least, and at most."""
MIN_CPU = 0.01
"""Part of a rank's processor time from which on some more of it is told."""
NEARLY_ALL = 0.99
"""End of an interval above which the whole is meant."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and how dispensable it is: 0 is always said."""

    text: str
    rank: int = 0


@dataclass(frozen=True, slots=True)
class FactEntry:
    """A fact as JSON has it; `text` is what a page and a terminal with room say."""

    fact: Fact

    JSON = (
        "quantity=fact.quantity subject=fact.subject cost_s=fact.cost_s interval_s=fact.interval_s "
        "share=fact.share certainty=fact.certainty doubt=fact.doubt where=fact.where "
        "remedy=fact.remedy text"
    )

    @property
    def text(self) -> str:
        """What it says."""
        return text(self.fact)


# What a fact says.


@singledispatch
def sentences(fact: Fact) -> list[Sentence]:
    """Return what a fact says, in the order in which it is read; a topic may register its own."""
    match fact:
        case UnequalWork():
            return on_unequal_work(fact)
        case NoCore():
            return [Sentence(f"{capital(brief(fact))}.")]
        case RecurringWork():
            more = (
                "The program does this itself, for example as output or a checkpoint; it is no "
                "noise."
            )
            where = f", {fact.where}" if fact.where else ""
            return [
                Sentence(f"{capital(brief(fact))}{where}: {seconds(fact.cost_s)}."),
                *in_function(fact.function, "what these take longer"),
                Sentence(more, OTHERS),
            ]
        case GrowingWork():
            grown = in_function(fact.function, "what is added")
            doubt = [Sentence(fact.doubt)] if fact.doubt else []
            return [Sentence(f"{capital(brief(fact))}."), *grown, *doubt]
        case UnequalThreads():
            shared = (
                f"{counted(fact.threads, 'thread')} of a rank work in OpenMP regions; their "
                f"efficiency is {percent(fact.efficiency, 0)}, and one thread works in "
                f"{percent(fact.serial_share, 0)} of the time that they work."
            )
            if fact.imbalance is None:
                return [Sentence(shared, OTHERS)]
            lost = f"the others lose {percent(fact.share or 0.0)} of the time by it"
            return [Sentence(f"{capital(brief(fact))}; {lost}."), Sentence(shared, OTHERS)]
        case Stated():
            return [Sentence(fact.text)]
    return []


def text(fact: Fact) -> str:
    """Return all that a fact says."""
    return " ".join(sentence.text for sentence in sentences(fact))


def brief(fact: Fact) -> str:
    """Return why a fact is the case, in a few words, as the end of a headline; may be empty."""
    match fact:
        case UnequalWork(culprit=None):
            times = factor(max(fact.most_times, 1.0))
            return f"no rank works over {times} times as long as the others (median)"
        case UnequalWork(culprit=Culprit() as culprit):
            colon = ":" if culprit.node else ""
            return f"{fact.subject}{colon} {times_words(culprit, fact.ranks)}"
        case NoCore():
            if fact.crowd:
                return fact.crowd
            return waited_words(fact.share or 0.0, fact.most, fact.subject, fact.window)
        case RecurringWork():
            rule = fact.recurring.rule.explain(fact.iterations, fact.each)
            return f"{rule} is {longer_words(fact.recurring)} longer on {fact.subject}"
        case GrowingWork():
            where = f" {fact.where}" if fact.where else ""
            perhaps = ", perhaps through a disturbance" if fact.perhaps else ""
            grows = "rises" if fact.since else "grows"
            since = f" at about iteration {fact.since}" if fact.since else ""
            return (
                f"work of {fact.subject}{where} {grows} from {seconds(fact.begin_s)} to "
                f"{seconds(fact.end_s)} an iteration{since}{perhaps}"
            )
        case UnequalThreads(imbalance=TeamImbalance() as imbalance):
            others = "its other thread" if fact.threads == 2 else "its other threads on average"
            return (
                f"{fact.subject}, thread {imbalance.thread} works {factor(imbalance.times)} times "
                f"as long as {others} in {fact.where}"
            )
        case UnequalThreads():
            return f"the efficiency of threads is {percent(fact.efficiency, 0)}"
        case Stated():
            return fact.brief
    return ""


def on_unequal_work(fact: UnequalWork) -> list[Sentence]:
    """Return who the straggler is, what that costs, what it may be, and what repeats say."""
    return [*on_one_run(fact), *(Sentence(repeated.text) for repeated in fact.repeats)]


def on_one_run(fact: UnequalWork) -> list[Sentence]:
    """Return who the straggler of a run is, what that costs, and what it may be; or nobody."""
    culprit = fact.culprit
    if culprit is None:
        over = " over all iterations" if fact.others_recur else ""
        said = [
            Sentence(
                f"No rank is a straggler{over}: the rank with the most time outside MPI works "
                f"{factor(max(fact.most_times, 1.0))} times as long as the others (median); equal "
                f"work would save {percent(fact.share or 0.0)} of the {fact.whole} time."
            )
        ]
        if fact.waiting_shares is not None:
            waiting = percent(fact.waiting_shares[0], 0)
            said.append(
                Sentence(
                    f"Messages and collectives take {waiting} of the ranks' iterations.", WAITS
                )
            )
        return said
    name, works = capital(fact.subject), times_words(culprit, fact.ranks)
    works = works if culprit.node else f"it {works}"
    who = f"{name} is the straggler: {works}"
    if not culprit.sure:
        who = f"No rank is shown to be a straggler. {name}: {works}"
    said = [Sentence(f"{who}; {cost_of_waiting(culprit, upper_limit=fact.upper_limit)}.")]
    if fact.waiting_shares is not None:
        own, others = (percent(share, 0) for share in fact.waiting_shares)
        said.append(
            Sentence(
                f"Messages and collectives take {own} of its time, {others} of the others'.", WAITS
            )
        )
    if fact.where:
        share = percent(fact.where_share, 0)
        place = f"{share} of its extra work lies {fact.where}."
        said.append(Sentence(place))
    if fact.extra is not None:
        said += on_extra_work(fact.extra)
    if fact.iterations > 1 and culprit.last:
        whose = "One of its ranks" if culprit.node else "It"
        often = how_often(culprit.last, fact.iterations)
        said.append(Sentence(f"{whose} is the slowest in {often}.", OFTEN))
    # A larger one proves nothing: the quickest or the recurring iterations did.
    if culprit.sure and culprit.chance is not None and culprit.chance <= CHANCE:
        chance = "under 0.1 %" if culprit.chance < 1e-3 else f"up to {percent(culprit.chance)}"
        said.append(Sentence(f"The probability of this among equal ranks is {chance}.", OFTEN))
    if fact.injected:
        said.append(Sentence("Most of the difference is injected noise."))
    if fact.doubt:
        said.append(Sentence(fact.doubt))
    elif (
        not fact.counts_work
        and culprit.times < HALF_AS_FAST
        and not (fact.extra is not None and fact.extra.decides)
    ):
        said.append(Sentence(WORK_OR_CORE, PLACES))
    return said


def on_extra_work(extra: ExtraWork) -> list[Sentence]:
    """Return what part of extra work is processor time, and in which function that is."""
    if extra.by_processor or extra.is_busy:
        return on_function(extra)
    if extra.extra_cpu_s < MIN_CPU * extra.own_cpu_s:
        words = f"Its processor time is no longer there than the others': it {idle_words(extra)}."
        return [Sentence(words)]
    part = percent(extra.extra_cpu_s / extra.extra_s, 0)
    words = f"Only {part} of that is processor time; else it {idle_words(extra)}."
    return [Sentence(words), *on_function(extra)]


def in_function(function: InFunction | None, what: str) -> list[Sentence]:
    """Return in which function something is, where that is known."""
    if function is None:
        return []
    part, place = share_words(function.attribution), function.place
    if function.blocked:
        return [Sentence(f"In {part[:1].lower()}{part[1:]} of {what} it is blocked in {place}.")]
    return [Sentence(f"{part} of {what} is spent in {place}.")]


def share_words(found: Attribution) -> str:
    """Write a function's share of extra time, with its interval."""
    low, high = found.interval
    share = f"{percent(min(found.share, 1.0), 0)} ({100 * low:.0f} to {100 * high:.0f})"
    return "Nearly all" if low > NEARLY_ALL else share


def idle_words(extra: ExtraWork) -> str:
    """Write what a rank does in time that is no processor time."""
    idle_s = extra.extra_s - extra.extra_cpu_s
    if extra.core_wait_s >= WAITING * idle_s:
        return "waits for a core"
    if extra.blocked:
        return f"is blocked in {extra.blocked}"
    others = ["for its other threads"] if extra.has_team else []
    if not extra.core_wait_s < BLOCKED * idle_s:
        others.insert(0, "for a core")
    waits = f"waits {' or '.join(others)}, or " if others else ""
    return f"{waits}is blocked in the system (a file, a lock, a pause)"


def on_function(extra: ExtraWork) -> list[Sentence]:
    """Return in which function extra processor time is, or what is missing to know it."""
    found = extra.attribution
    if not extra.place:
        return []
    if not found.sure:
        more_s = extra.run_s * (found.needed / max(found.samples, 1) - 1.0)
        more = f", {seconds(more_s)} more of the run" if more_s > 0.0 else ""
        return [
            Sentence(
                "Not enough samples to name the function: it has "
                f"{counted(found.samples, 'sample')} there and needs about {found.needed:,}{more}."
            )
        ]
    if found.is_alike:
        return [Sentence(f"All functions in {extra.place} take longer there.")]
    share = share_words(found)
    said = [Sentence(f"{share} of its extra processor time there is spent in {extra.place}.")]
    if extra.same_core:
        said.append(
            Sentence(
                "What else the rank does takes no longer than on the others, so its core is not "
                "slower."
            )
        )
    return said


WORK_OR_CORE = (
    "That is more work, a pause or a slower core: to tell, pin the ranks the other way round, or "
    "count their instructions outside MPI."
)
"""What times do not tell, nor instructions of whole iterations: a rank that waits has them, too."""


WORK_OR_MACHINE = (
    "That is more work, or a slower machine (frequency, other programs): instructions of an "
    "iteration tell."
)


def waited_words(share: float, most: float, worst: str, window: str) -> str:
    """Write how long ranks waited for a core: all of them, and the one with most of it."""
    words = f"ranks waited for a core {percent(share, 0)} of the {window}"
    return f"{words}, {worst} {percent(most, 0)}" if worst else words


def cost_of_waiting(culprit: Culprit, *, upper_limit: bool) -> str:
    """Write what waiting for a culprit costs."""
    most = "at most " if upper_limit else ""
    time = "time that the run takes without disturbances" if culprit.undisturbed else "time"
    return f"waiting for it costs {most}{percent(culprit.share, 0)} of the {time}"


def times_words(culprit: Culprit, ranks: int) -> str:
    """Write how much more a culprit works: ``works 2.0 times as long as the others (median)``."""
    others = "the other rank" if ranks == 2 else "the others (median)"
    verb = "works"
    if culprit.node:
        verb = f"its {len(culprit.ranks)} ranks work"
        others = "those of other nodes (medians)"
    when = " in the quickest iterations" if culprit.quickest else ""
    when = " by processor time" if culprit.processor else when
    return f"{verb} {factor(culprit.times)} times as long as {others}{when}"


def factor(times: float) -> str:
    """Write how many times: ``1.07``, ``2.0``, ``12``."""
    if times >= 100.0:  # also of others that do not work
        return "over 100"
    return f"{times:.2f}" if times < 1.95 else f"{times:.1f}" if times < 9.95 else f"{times:.0f}"


def doubt_words(culprit: Culprit, iterations: int) -> str:
    """Return why a culprit may not have more work, as a sentence; empty if it has."""
    if culprit.doubt is None:
        return ""
    return {
        Doubt.AT_TIMES: "That is not so in its quickest iterations, or not in most parts of the "
        "run: a slower core or another disturbance for a time, or work that it has only at times.",
        Doubt.UNSTEADY: "Its quickest iterations differ too much to tell that from a disturbance.",
        Doubt.CORE: f"Up to {percent(culprit.waited, 0)} of that may be waiting for a core.",
        Doubt.FEW: f"{counted(iterations, 'iteration')} are too few to tell that from chance.",
    }[culprit.doubt]


def longer_words(recurring: Recurring) -> str:
    """Write how much longer iterations are: ``3.00 ms``, ``1.20 to 3.00 ms``."""
    return seconds_range(min(recurring.longer_s), max(recurring.longer_s))


def how_often(times: int, iterations: int) -> str:
    """Write in how many of some iterations; in percent only if that is not rounded to all."""
    share = times / max(iterations, 1)
    if times < iterations and percent(share, 0) == percent(1.0, 0):
        return f"{times:,} of {counted(iterations, 'iteration')}"
    one = iterations == 1
    return f"{percent(share, 0)} of {counted(1, 'iteration') if one else 'the iterations'}"


# What a fact costs.


def amount(fact: Fact) -> str:
    """Write what a fact costs; a difference has a sign, and a part of a time has none."""
    sign = ("+" if fact.cost_s > 0.0 else "−") if fact.relative else ""
    return fact.amount or sign + cost(fact)


def cost(fact: Fact) -> str:
    """Write what a fact costs, as an interval where only that is known."""
    if fact.only_interval is None:
        return seconds(abs(fact.cost_s))
    low_s, high_s = fact.only_interval
    return seconds_range(low_s, high_s) if low_s > 0.0 else f"up to {seconds(high_s)}"


def share(fact: Fact, digits: int = 1) -> str:
    """Write the share of the time, as an interval where only that is known."""
    if fact.only_interval is None or fact.share_interval is None:
        return percent(abs(fact.share or 0.0), digits)
    return share_interval(fact, digits)


def share_interval(fact: Fact, digits: int = 1) -> str:
    """Write the interval of the share of the time; empty if there is none."""
    if fact.share_interval is None:
        return ""
    low, high = fact.share_interval
    return percent_range(low, high, digits) if low > 0.0 else f"up to {percent(high, digits)}"


# Sentences and lines.


def folded(lines: Iterable[str], *, indent: str = "") -> list[str]:
    """Break lines of words for a terminal, but none between a number and what it counts."""
    return [
        part.replace("\u00a0", " ")
        for line in lines
        for part in textwrap.wrap(
            unbroken(line),
            WIDTH,
            initial_indent=indent,
            subsequent_indent=f"{indent}    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def within(room: float, paragraphs: Sequence[Sequence[Sentence]], *, indent: str = "") -> list[str]:
    """Return paragraphs in at most some lines: the most important sentences of all of them.

    Those of rank 0 are always there. Others are taken by rank, until one has no room.
    """
    taken = [[sentence.rank == 0 for sentence in paragraph] for paragraph in paragraphs]

    def lines() -> list[str]:
        chosen = [
            " ".join(one.text for one, there in zip(paragraph, here, strict=True) if there)
            for paragraph, here in zip(paragraphs, taken, strict=True)
        ]
        return folded([words for words in chosen if words], indent=indent)

    others = sorted(
        (sentence.rank, at, place)
        for at, paragraph in enumerate(paragraphs)
        for place, sentence in enumerate(paragraph)
        if sentence.rank
    )
    said = lines()
    for _, at, place in others:
        taken[at][place] = True
        longer = lines()
        if len(longer) > room:
            break
        said = longer
    return said
