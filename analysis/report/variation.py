"""Conclusions on ranks and iterations that differ: load imbalance, and noise or varying work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.report.looked_at import LookedAt
from hindmost.analysis.report.rank_conclusions import host_of, straggler
from hindmost.analysis.report.remedies import INTERRUPTED
from hindmost.analysis.report.time_balance import metric_of
from hindmost.analysis.report.typical_work import WorkOfRank, work_of_rank
from hindmost.analysis.runs.conclusion import Certainty, Conclusion, Link
from hindmost.analysis.runs.finding import OF_MODELS
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.reader import Run
from hindmost.text import percent, seconds

MOSTLY = 0.9
"""Share of the iterations from which on a rank is last in nearly all."""
CONSPICUOUS = 2.0
"""Work of one iteration over the median iteration, from which on it is named."""
VARIATION = "Variation of iterations"
"""Noise, or work that differs from iteration to iteration: recorded times do not tell."""
UNEQUAL = 1.05
"""Work of a rank over the mean, from which on it is unequal."""


def imbalance(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield what unequal work costs, and the rank with most of it."""
    cost_s = looked.balance.parts_s.get("load imbalance", 0.0)
    if not cost_s > 0.0:
        return
    balanced, shared_s = looked.remedies.balanced, waiting_or_noise(looked)
    range_s, more = None, ""
    if shared_s > 0.0:
        range_s = cost_s, cost_s + shared_s
        more = (
            f" The work alone differs by {seconds(cost_s)}. Another {seconds(shared_s)} passes in "
            "MPI beyond the typical cost: by noise, or because ranks that wait longer lose their "
            "core there."
        )
        cost_s = 0.5 * sum(range_s)
    if balanced is not None and balanced.saved_s > 0.0:
        remedy = f"With equal work on all ranks the replay takes {balanced.words}."
        if balanced.predicted_s is None:
            remedy += " The lower end is without noise, the upper with all the time in MPI."
    elif shared_s > 0.0:
        remedy = "The replay does not tell what equal work would save."
    else:
        remedy = f"Equal work on all ranks would save at most {seconds(cost_s)}."
    brief = most_work(looked)
    yield looked.loss(
        "Load imbalance",
        cost_s,
        f"{brief}{why_most(looked)}{more}",
        remedy,
        looked.links(phases="Phases by rank", hindmost="Stragglers", work="Work map"),
        range_s=range_s,
        brief=brief,
    )


def waiting_or_noise(looked: LookedAt) -> float:
    """Return the time in MPI beyond the typical that unequal work or noise causes, in seconds.

    Only where a rank has more work throughout: then both may, and no replay tells them apart.
    """
    one, extra_s = looked.busiest, looked.balance.parts_s.get("interrupted in MPI", 0.0)
    unequal = one is not None and one.systematic and one.typical_times >= UNEQUAL
    return extra_s if unequal and extra_s > INTERRUPTED * looked.balance.whole_s else 0.0


def busiest_of(run: Run, ranks: RankReport) -> WorkOfRank | None:
    """Compare the work of the rank with most of it with that of all; None if that is unknown."""
    return work_of_rank(run, int(own_time(ranks).argmax()))


def own_time(ranks: RankReport) -> NDArray[np.float64]:
    """Return the time of every rank in its own work and noise: shape (rank,), seconds."""
    return metric_of(ranks, "local") + metric_of(ranks, INJECTED)


def most_work(looked: LookedAt) -> str:
    """Say which rank has most work."""
    ranks, own = looked.ranks, own_time(looked.ranks)
    rank = int(own.argmax())
    times = own[rank] / max(float(own.mean()), 1e-300)
    return f"Rank {ranks.numbers[rank]}{host_of(ranks, rank)} has {times:.2f} times the mean work"


def why_most(looked: LookedAt) -> str:
    """Say how often the rank with most work is last, and why it may have most."""
    ranks, own, noise_s = looked.ranks, own_time(looked.ranks), metric_of(looked.ranks, INJECTED)
    rank, mean, late = int(own.argmax()), float(own.mean()), looked.ranks.lateness
    if late is None or ranks.withheld:
        return "."
    last = int(late.last[rank]) / max(late.bodies, 1)
    one = looked.busiest
    said = f" and is the slowest in {percent(last, 0)} of the iterations."
    if own[rank] > mean and noise_s[rank] - noise_s.mean() > 0.5 * (own[rank] - mean):
        return f"{said} Most of the difference is injected noise."
    if one is None:
        throughout = " It is slower throughout: more work, or a slower core."
        return f"{said}{throughout if last >= MOSTLY else ''}"
    typical = f"its median iteration has {one.typical_times:.2f} times the mean work"
    if one.systematic:
        return f"{said} It is slower throughout, by more work or a slower core: {typical}."
    if one.every:
        often = f"One in {one.every} of its iterations, at equal distances, is longer"
        return f"{said} {often}; {typical}."
    return f"{said} It is slower in some iterations, by noise or more work in them; {typical}."


def noise(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield what iterations cost that took longer than is typical of them."""
    quiet, turn_s = looked.remedies.quiet, looked.balance.parts_s.get("waiting in turn", 0.0)
    links = (
        *slowest_link(looked),
        *looked.links(map="Map of iterations", histogram="Distribution"),
    )
    if quiet is None:
        if turn_s > 0.0:
            yield looked.loss(
                "Waiting in turn",
                turn_s,
                "Different ranks are the slowest in different iterations, through noise or work "
                f"that varies. {straggler(looked.ranks)}",
                f"At most {seconds(turn_s)} would be saved if no rank varied.",
                links,
            )
        return
    if quiet.saved_s <= 0.0:
        return
    was_injected = bool(metric_of(looked.ranks, INJECTED).any())
    also = " Injected noise is a part of it." if was_injected else ""
    shared_s = waiting_or_noise(looked)
    low_s, high_s = quiet.saved_range_s
    range_s = max(low_s - shared_s, 0.0), high_s
    sure = quiet.sure and not shared_s
    basis = "replay with the median work and costs of every place in the cycle"
    if not quiet.sure:
        basis += "; its interval includes no saving"
    elif shared_s:
        basis += f"; {seconds(shared_s)} of it in MPI may come from load imbalance"
    cause = cause_of_variation(looked)
    yield looked.loss(
        "Noise" if was_injected else VARIATION,
        0.5 * sum(range_s),
        f"Some iterations take longer than is typical of them.{also} "
        f"{'' if was_injected else f'{cause[:1].upper()}{cause[1:]}. '}"
        f"{slowest_iterations(looked)} {blamed(looked)}",
        f"With the typical time in every iteration the replay takes {quiet.words}.",
        links,
        range_s=range_s,
        brief="" if was_injected else cause,
        certainty=Certainty.PREDICTED if sure else Certainty.OPEN,
        basis=basis,
        topics=OF_MODELS,
    )


def cause_of_variation(looked: LookedAt) -> str:
    """Say what may make single iterations longer, where no noise was injected."""
    one = looked.busiest
    if one is not None and one.every and not one.systematic:
        return (
            f"one in {one.every} iterations of rank {looked.ranks.numbers[one.rank]}, at equal "
            "distances, is longer, by the program's own work or by regular noise"
        )
    return "the cause is noise, or more work of the program in these iterations"


def blamed(looked: LookedAt) -> str:
    """Say which rank varies most; a rank with more work throughout is no sign of noise."""
    one = looked.busiest
    if one is None or one.times < UNEQUAL:
        return straggler(looked.ranks)
    name = f"ank {looked.ranks.numbers[one.rank]}"
    if one.systematic:
        return f"That r{name} has more work throughout is load imbalance, and no part of this."
    return f"R{name} has most of the longer iterations."


def slowest_link(looked: LookedAt) -> tuple[Link, ...]:
    """Return the link to the events of the iteration with the longest work."""
    late = looked.ranks.lateness
    if late is None or "events" not in looked.anchors:
        return ()
    body = int(late.longest_body[int(late.longest_s.argmax())])
    anchor = f"{looked.anchors['events']}={body}"
    return (Link(anchor=anchor, text=f"Events of iteration {body}"),)


def slowest_iterations(looked: LookedAt) -> str:
    """Name the slowest iteration and its rank."""
    late = looked.ranks.lateness
    median = looked.run.summary["body_s"]["median"]
    if late is None or not median > 0.0:
        return ""
    rank = int(late.longest_s.argmax())
    longest = float(late.longest_s[rank])
    if longest < CONSPICUOUS * median:
        return ""
    return (
        f"The longest work of one iteration is {seconds(longest)}, {longest / median:.1f} times "
        f"the median iteration (iteration {late.longest_body[rank]}, rank "
        f"{looked.ranks.numbers[rank]})."
    )
