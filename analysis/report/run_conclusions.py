"""Facts on one configuration: what costs its time, because of which rank, what would help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hindmost.analysis.report.looked_at import LookedAt
from hindmost.analysis.report.rank_conclusions import straggler
from hindmost.analysis.runs.check_bodies import MIN_BODIES, read_body_times
from hindmost.analysis.runs.configuration import injected_noise
from hindmost.analysis.runs.cores import core_wait
from hindmost.analysis.runs.finding import OF_MODELS, WORTH_SAYING, Topic
from hindmost.analysis.runs.first_screen import doubted
from hindmost.analysis.runs.remedies import Need, remedy
from hindmost.analysis.runs.straggler import subject
from hindmost.analysis.show.facts import (
    Certainty,
    Fact,
    GrowingWork,
    Link,
    RecurringWork,
    UnequalWork,
)
from hindmost.harness.runfile.bodies import INJECTED, sum_of_phases
from hindmost.models.inference import MATTERS
from hindmost.models.ranks.efficiencies import INJECTED_NOISE, LOST_TO, OUTSIDE
from hindmost.models.ranks.extrema import MAJORITY
from hindmost.text import capital, percent, seconds

OWN = ("local", INJECTED)
"""Phases that are a rank's own time."""
CONSPICUOUS = 2.0
"""Time of the slowest iteration over the median, from which on it is named."""
IN_WORDS = {
    "halo": "halo exchanges",
    "wait": "reductions and other collectives",
    "post": "starts of collectives",
    "unclassified": "other MPI calls",
}


def recorded_facts(looked: LookedAt) -> Iterator[Fact]:
    """Yield the facts of the run's file, with their figures and what replays say of a remedy."""
    for fact in looked.facts:
        match fact:
            case UnequalWork():
                yield unequal_work(looked, fact)
            case RecurringWork():
                remedy = (
                    "Done less often or asynchronously, it would cost up to "
                    f"{seconds(fact.cost_s)} less."
                )
                links = looked.links(map="Map of iterations", work="Work map")
                yield looked.of_run(fact, remedy, links)
            case _:
                links = looked.links(map="Map of iterations", work="Work map")
                yield looked.of_run(fact, fact.remedy, links)


def unequal_work(looked: LookedAt, fact: UnequalWork) -> UnequalWork:
    """Return what unequal work costs, and which rank has most of it, with what equal work saves.

    Load imbalance is the work of the busiest rank beyond the mean, as in each division of a time.
    What equal work saves is another number: of a rank that becomes slower, ranks would then wait
    for each other in turn.
    """
    balanced = looked.remedies.balanced
    fact = replace(fact, repeats=looked.repeats)
    if fact.culprit is not None:
        name = subject(fact.culprit, ())
        seldom = any(
            one.name == name and 2 * one.runs <= one.of and not one.works_more
            for one in fact.repeats
        )
        if seldom and fact.sure:  # the others have the same work, and not this
            fact = replace(fact, certainty=Certainty.OPEN)
    links = looked.links(phases="Phases by rank", hindmost="Stragglers", work="Work map")
    if balanced is None:
        why = looked.remedies.undecided.get("balanced", looked.remedies.refused)
        remedy = f"What equal work would save is undecided, because {why}."
        return looked.of_run(fact, remedy, links)
    remedy = balanced.sentence
    if balanced.predicted_s is None:
        remedy += " The lower end is without noise, the upper with all the time in MPI."
    if fact.culprit is not None:
        remedy += (
            f" Most work of a rank is {seconds(fact.beyond_s)} beyond the mean (load imbalance)."
        )
    return looked.of_run(fact, remedy, links)


def injected(looked: LookedAt) -> Iterator[Fact]:
    """Yield what noise cost that was injected: its detours, and the waiting that they cause."""
    own_s = looked.part_s(INJECTED_NOISE)
    if not own_s > 0.0:
        return
    without = looked.remedies.uninjected
    waits = looked.part_s(LOST_TO["serialisation"])
    extra = f", and serialisation adds {seconds(waits)}" if waits else ""
    text = (
        f"The run was disturbed on purpose ({injected_noise(looked.run)}): each rank lost "
        f"{seconds(own_s)} on average{extra}."
    )
    links = looked.links(phases="Phases by rank", map="Map of iterations")
    if without is None or not without.saved_s > 0.0:
        yield looked.loss("Injected noise", own_s, text, "", links, topics=())
        return
    yield looked.loss(
        "Injected noise",
        without.saved_s,
        text,
        without.sentence,
        links,
        replay=without,
        brief=f"each rank lost {seconds(own_s)} on average{extra}",
        certainty=Certainty.PREDICTED if without.sure else Certainty.OPEN,
        basis="replay without the injected detours",
        topics=tuple(topic for topic in OF_MODELS if topic is not Topic.TIMES),
    )


def noise(looked: LookedAt) -> Iterator[Fact]:
    """Yield what iterations cost that took longer than is typical of them.

    Nothing if that is mostly work that grows, which is another fact. Where different ranks do in
    turn, it is serialisation, as in the division of the time, and what a run without noise would
    save is the remedy. Injected noise is no part of it where the replay can remove that alone.
    """
    quiet, turn_s = looked.remedies.quiet, looked.part_s(LOST_TO["serialisation"])
    cycle = "cycle" if looked.run.header.restart else "solve"
    shown = f"Map of one place of the {cycle}" if looked.run.restarts else "Map of iterations"
    links = (*slowest_link(looked), *looked.links(map=shown, histogram="Distribution"))
    was_injected = bool(looked.ranks.metric(INJECTED).any())
    if quiet is not None and quiet.saved_s <= 0.0:
        return
    nobody = looked.ranks.culprit is None and not looked.ranks.withheld
    if quiet is None or (nobody and not was_injected and turn_s >= MAJORITY * quiet.saved_s):
        if turn_s > 0.0:
            why = f"different ranks take longer in different iterations: {cause_of(looked, turn_s)}"
            yield looked.loss(
                "Serialisation",
                turn_s,
                f"{capital(why)}. {slowest_iteration_words(looked)} {blamed(looked)}",
                f"At most {seconds(turn_s)} would be saved if no rank varied."
                if quiet is None
                else quiet.sentence,
                links,
                brief=why,
            )
        return
    grown_s = sum(fact.cost_s for fact in looked.facts if isinstance(fact, GrowingWork))
    if grown_s >= MAJORITY * quiet.saved_s:
        return
    without, balanced = looked.remedies.uninjected, looked.remedies.balanced
    said = quiet.sentence
    if without is not None:  # then it is what that leaves
        quiet = replace(quiet, recorded_s=quiet.recorded_s - without.saved_s)
    if quiet.saved_s <= 0.0:
        return
    low_s, _ = quiet.saved_range_s
    typical = f"every place in the {cycle}" if looked.run.restarts else "an iteration"
    basis = f"replay with the median work and costs of {typical}"
    if not low_s > 0.0:
        basis += "; its interval includes no saving"
    shared = balanced is not None and balanced.predicted_s is None
    if shared:  # a rank that waits longer loses its core more often
        basis += "; a part of it in MPI may come from load imbalance"
    cause = cause_of(looked, quiet.saved_s)
    also = " Injected noise is a part of it." if was_injected and without is None else ""
    apart = ", without the injected noise as well" if without is not None else f": {cause}"
    yield looked.loss(
        "Other noise" if without is not None else "Noise",
        quiet.saved_s,
        f"Some iterations take longer than is typical of them{'' if also else apart}.{also} "
        f"{slowest_iteration_words(looked)} {blamed(looked)}",
        said,
        links,
        replay=quiet,
        brief="" if was_injected else f"{drift_words(looked)}{cause}",
        certainty=Certainty.PREDICTED if low_s > 0.0 and not shared else Certainty.OPEN,
        basis=basis,
        topics=OF_MODELS,
    )


def drift_words(looked: LookedAt) -> str:
    """Say that later iterations take longer, before a cause; empty if they do not."""
    drift = read_body_times(looked.run).drift if looked.run.bodies >= MIN_BODIES else 0.0
    if abs(drift) <= MATTERS:
        return ""
    more = "more" if drift > 0.0 else "less"
    return (
        f"iterations of the last quarter take {percent(abs(drift), 0)} {more} time than those "
        "of the first: "
    )


def cause_of(looked: LookedAt, cost_s: float) -> str:
    """Say what may make single iterations longer, where no noise was injected.

    Parameters
    ----------
    cost_s : float
        What that costs.
    """
    waited = core_wait(looked.run)
    if waited is None:
        return "disturbances, or more work of the program in these iterations"
    if waited.most_s < 0.5 * cost_s:
        return (
            f"ranks waited for a core only {seconds(waited.most_s)}, so most is more work of the "
            "program in these iterations, or a disturbance that the kernel does not count"
        )
    return f"{waited} ({seconds(waited.most_s)})"


def blamed(looked: LookedAt) -> str:
    """Say which rank varies most; a rank with more work throughout is no sign of noise."""
    found, of = looked.ranks.culprit, looked.efficiencies
    if found is None:
        lost_s = sum(looked.part_s(LOST_TO[each]) for each in ("load_balance", "serialisation"))
        return "" if of.parts_s and lost_s <= MATTERS * of.whole_s else straggler(looked.ranks)
    name = looked.ranks.name
    if found.sure:
        return f"That {name} has more work throughout is load imbalance, and no part of this."
    return f"{capital(name)} has most of the longer iterations."


def slowest_link(looked: LookedAt) -> tuple[Link, ...]:
    """Return the link to the events of the slowest iteration."""
    body, events = looked.slowest, looked.anchors.get("events")
    if body is None or events is None:
        return ()
    return (Link(anchor=f"{events}={body}", text=f"Events of iteration {body}"),)


def slowest_iteration_words(looked: LookedAt) -> str:
    """Name the slowest iteration, and the rank or the calls that made it so."""
    body, run = looked.slowest, looked.run
    if body is None or (times := read_body_times(run)).relative[body] < CONSPICUOUS:
        return ""
    spent = run.variable("phase_duration", slice(body, body + 1))
    own = sum_of_phases(spent, [name in OWN for name in run.phases])[0]
    rank, lasted_s = int(own.argmax()), float(times.slowest[body])
    if own[rank] < 0.5 * lasted_s:
        in_mpi = {
            name: float(spent[0, :, at].mean())
            for at, name in enumerate(run.phases)
            if name not in OWN
        }
        phase = max(in_mpi, key=lambda name: in_mpi[name])
        where = IN_WORDS.get(phase, phase)
        why = f"the ranks spend {seconds(in_mpi[phase])} of it in {where}"
    else:
        why = f"rank {run.kept_ranks[rank]} works {seconds(float(own[rank]))} in it"
    return (
        f"The slowest is iteration {body}: {seconds(lasted_s)}, {times.relative[body]:.1f} times "
        f"the median; {why}."
    )


PIPELINING = "Pipelining"


def facts_on(looked: LookedAt) -> list[Fact]:
    """Return all facts on a configuration."""
    found = [
        *recorded_facts(looked),
        *injected(looked),
        *noise(looked),
        *network(looked),
        *outside(looked),
        *pipelining(looked),
    ]
    return [doubted(each, looked.fitted.findings) for each in found]


def network(looked: LookedAt) -> Iterator[Fact]:
    """Yield what messages and other time in MPI cost."""
    unknown_s, in_mpi_s = (looked.part_s(LOST_TO[each]) for each in ("communication", "transfer"))
    if not unknown_s + in_mpi_s > 0.0:
        return
    halo, wait = (looked.ranks.metric(name).sum() for name in ("halo", "wait"))
    where = "halo exchanges" if halo > wait else "reductions and other collectives"
    links = looked.links(phases="Phases by rank", activity_profile="Phases over the solve")
    share = max(halo, wait) / max(halo + wait, 1e-300)
    said = f"{percent(share, 0)} of the time in MPI is in {where}"
    ideal, typical = looked.remedies.network, looked.remedies.quiet
    if unknown_s > 0.0 or typical is None:
        yield looked.loss(
            "Waiting and communication" if unknown_s > 0.0 else "Communication",
            unknown_s + in_mpi_s,
            f"{said}. The run has no events that separate waiting from messages."
            if unknown_s > 0.0
            else f"{said}. Ranks that lose their core during a message count here as well.",
            "That is the most that could be saved.",
            links,
        )
        return
    typical_s = min(in_mpi_s, typical.network_s)
    cost_s = typical_s if ideal is None else max(ideal.saved_s, 0.0)
    lost_s, more = in_mpi_s - typical_s, ""
    if lost_s >= WORTH_SAYING * looked.efficiencies.whole_s:
        more = (
            f" Another {seconds(lost_s)} of the other time in MPI is not typical, as where a rank "
            "loses its core."
        )
    yield looked.loss(
        "Communication",
        cost_s,
        f"Messages and MPI calls take {seconds(typical_s)} on the critical path, at their typical "
        f"cost. {said}.{more}",
        f"An ideal network would save at most {seconds(cost_s)}."
        if ideal is None
        else ideal.sentence,
        links,
        replay=ideal,
        brief=said,
        certainty=Certainty.PREDICTED if ideal is None or ideal.sure else Certainty.OPEN,
        basis="critical path of the replay without noise"
        if ideal is None
        else "replay on a network that costs nothing",
        topics=OF_MODELS,
    )


def outside(looked: LookedAt) -> Iterator[Fact]:
    """Yield what passes outside the iterations."""
    cost_s = looked.part_s(OUTSIDE)
    if cost_s > 0.0:
        yield looked.loss(
            "Outside iterations",
            cost_s,
            "Restarts, and what comes before the first and after the last iteration.",
            "",
            looked.links(runs="Table of runs"),
        )


def pipelining(looked: LookedAt) -> Iterator[Fact]:
    """Yield what hiding reductions behind work would save a blocking solver."""
    partner = looked.remedies.partner
    if partner is None:
        return
    yield looked.loss(
        PIPELINING,
        max(partner.saved_s, 0.0),
        "A pipelined solver hides reductions behind work, and does more work.",
        partner.sentence
        + remedy(Need.PIPELINED, looked.run, before=" To measure it: ", otherwise=""),
        looked.links(phases="Phases by rank"),
        replay=partner,
        certainty=Certainty.PREDICTED if partner.sure else Certainty.OPEN,
        basis="replay with the events of the pipelined solver",
        topics=OF_MODELS,
    )
