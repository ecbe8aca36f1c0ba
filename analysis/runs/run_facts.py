"""What costs the time of a run, from its file: the facts of `show`, of its JSON and of the page.

Who the others wait for, time without a core, iterations that come back longer, work that grows and
slow links. What a change would save is told by replays: `whatif` and the page add it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from hindmost.analysis.runs.check_bodies import (
    named,
    read_body_times,
    read_work_course,
    recurring_of,
)
from hindmost.analysis.runs.configuration import is_loop
from hindmost.analysis.runs.cores import (
    CROWDED,
    REMEDY,
    TAKEN,
    busy_threads,
    core_wait,
    share_with_core,
    unequal_threads,
)
from hindmost.analysis.runs.finding import DISTURBED, WORTH_SAYING, Finding, Topic
from hindmost.analysis.runs.sampled import (
    RunSamples,
    contexts_in,
    extra_work,
    function_of_growth,
    function_of_slow,
    stretch_of_extra,
)
from hindmost.analysis.runs.straggler import StragglerVerdict, verdict_of
from hindmost.analysis.runs.stretches import (
    Stretch,
    passes_in,
    stretches_of,
)
from hindmost.analysis.runs.summary import link_words, node_links
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY
from hindmost.analysis.show.facts import (
    Certainty,
    ExtraWork,
    Fact,
    GrowingWork,
    NoCore,
    RecurringWork,
    Stated,
    UnequalWork,
    ordered,
)
from hindmost.analysis.show.phrases import WORK_OR_MACHINE, doubt_words
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import INJECTED, OTHER_WORK
from hindmost.harness.runfile.reader import Run
from hindmost.models.inference import MATTERS
from hindmost.models.ranks.culprit import Culprit, over_others
from hindmost.models.ranks.efficiencies import NO_CORE
from hindmost.models.ranks.extrema import MAJORITY
from hindmost.text import capital, counted

OF_TIMES = (Topic.TIMES, Topic.PHASES)
KNOWN: WeakKeyDictionary[Run, tuple[tuple[str, ...], tuple[Fact, ...]]] = WeakKeyDictionary()
"""The facts of runs that are open, and the codes of the findings with which they were found."""


def facts_of(
    run: Run, findings: Sequence[Finding] = (), *, read_large: bool = False
) -> tuple[Fact, ...]:
    """Return what costs the time of a run, in the order of `ordered`.

    None of a run whose work is not known.

    Parameters
    ----------
    findings : sequence of Finding
        On the run.
    read_large : bool
        Also of a run that is too large to be read for a glance.
    """
    if not read_large and run.bodies * run.columns > MAX_IN_MEMORY:
        return ()
    codes = tuple(f"{finding.severity} {finding.code}" for finding in findings)
    if run not in KNOWN or KNOWN[run][0] != codes:
        KNOWN[run] = (codes, tuple(ordered(find_facts(run, findings))))
    return KNOWN[run][1]


def find_facts(run: Run, findings: Sequence[Finding]) -> Iterator[Fact]:
    """Yield what costs the time of a run."""
    if not run.bodies:
        return
    yield from unequal_threads(run)
    yield from busy_threads(run)
    if run.header.ranks < 2:
        yield from no_core(run, findings)
        return
    try:
        verdict, stretches = verdict_of(run), stretches_of(run)
    except DataError:  # impossible times, which a finding is about
        return
    disturbed = any(finding.code in DISTURBED for finding in findings)
    errors = any(finding.code in DISTURBED and finding.severity == "error" for finding in findings)
    least_s = WORTH_SAYING * undisturbed_s(run, verdict, stretches, disturbed=disturbed)
    recurring = list(recurring_work(run, stretches, least_s))
    if not verdict.withheld:
        unequal = unequal_work(verdict, stretches)
        starved = verdict.culprit is not None and verdict.culprit.undisturbed
        leads = unequal.steady and (errors or starved)
        yield replace(unequal, leads=leads, others_recur=bool(recurring))
        yield from recurring
        # That some iterations in a row are slow is how growth looks, and no disturbance beside it.
        codes = {finding.code for finding in findings} - {"slow-stretch"}
        beside = not codes.isdisjoint(DISTURBED)
        yield from growing_work(run, stretches, least_s, disturbed=beside)
    yield from no_core(run, findings)
    yield from slow_links(run)


def undisturbed_s(
    run: Run, verdict: StragglerVerdict, stretches: Sequence[Stretch], *, disturbed: bool
) -> float:
    """Return the time of the iterations, or of the quickest ones' work and MPI if that is less.

    What costs time is a share of this one: disturbances do not make it matter less.
    """
    if not disturbed:
        return run.solve_time_s
    parts = [stretch.quickest for stretch in stretches] or [verdict.costs.quickest]
    quickest_s = run.bodies * float(np.sum([part.whole_s for part in parts], axis=0).max())
    return min(quickest_s + verdict.costs.in_mpi_s, run.solve_time_s) or run.solve_time_s


def unequal_work(verdict: StragglerVerdict, stretches: Sequence[Stretch] = ()) -> UnequalWork:
    """Return who the others wait for, or that nobody is waited for.

    It costs the load imbalance, as in each division of the time; of a disturbed run what waiting
    for the culprit costs.
    """
    run, costs, culprit = verdict.run, verdict.costs, verdict.culprit
    attached = run.header.spec.get("attached") or {}
    whole = "loop" if is_loop(run) or attached.get("solves") == 0 else "solve"
    whole = "program's" if attached.get("no_loop") else whole
    own_s, waits = costs.own_s, costs.wait_s / np.maximum(costs.time_s, 1e-300)
    beyond_s = share_with_core(run) * float(own_s.max() - own_s.mean())
    whole_s = max(run.solve_time_s, 1e-300)
    fact = UnequalWork(
        quantity="Load imbalance",
        culprit=culprit,
        ranks=run.header.ranks,
        iterations=run.bodies,
        whole=whole,
        most_times=float(over_others(own_s).max()),
        beyond_s=beyond_s,
        cost_s=beyond_s,
        share=beyond_s / whole_s,
        basis=f"recorded times of {counted(run.bodies, 'iteration')}",
        counts_work=run.has("work_amount"),
        topics=OF_TIMES,
        files=(str(run.path),),
    )
    if culprit is None:
        waiting = float(costs.wait_s.sum() / max(float(costs.time_s.sum()), 1e-300))
        return replace(fact, waiting_shares=(waiting, waiting))
    where, where_share, extra = place_of(run, culprit, stretches)
    own, injected = (
        float(spent_s[culprit.rank] - spent_s.mean())
        for spent_s in (own_s, costs.sum_of([INJECTED]))
    )
    if culprit.quickest or culprit.undisturbed:  # then sums are of the disturbance as well
        fact = replace(fact, quantity="Unequal work", cost_s=culprit.cost_s, share=culprit.share)
    return replace(
        fact,
        subject=verdict.name,
        certainty=Certainty.MEASURED if culprit.sure else Certainty.OPEN,
        doubt=doubt_words(culprit, run.bodies),
        where=where,
        where_share=where_share,
        steady=culprit.sure,
        waiting_shares=(
            float(waits[[*culprit.ranks]].mean()),
            float(np.delete(waits, [*culprit.ranks]).mean()),
        ),
        upper_limit=costs.overlaps or verdict.pipelined,
        extra=extra,
        injected=injected > 0.5 * own > 0.0,
    )


def place_of(
    run: Run, culprit: Culprit, stretches: Sequence[Stretch]
) -> tuple[str, float, ExtraWork | None]:
    """Return where most of a culprit's extra work lies, its share there, and what samples tell.

    Of a reduced run it is known if the culprit has full records.
    """
    columns = np.flatnonzero(np.isin(run.kept_ranks, culprit.ranks)).tolist()
    if culprit.rank not in run.kept_ranks or len(columns) == run.columns > 1:
        return "", 0.0, None
    rank = run.kept_ranks.tolist().index(culprit.rank)
    culprit = replace(culprit, rank=rank, ranks=tuple(columns))
    samples = RunSamples.of(run) if stretches else None
    stretch, where_share = stretch_of_extra(samples, stretches, culprit)
    where = "" if stretch is None else str(stretch)
    activity, activity_share = activity_of_extra(run, culprit.ranks)
    if activity:
        where, where_share = f"in PETSc's {activity}", activity_share
    extra = None
    if samples is not None and stretch is not None:
        extra = extra_work(run, samples, culprit, stretch, stretches, activity)
    return where, where_share, extra


def activity_of_extra(run: Run, ranks: Sequence[int]) -> tuple[str, float]:
    """Return in which activity of PETSc most additional work of some ranks lies, and its share.

    Empty if no activity has more than half of it, or the work was not divided.
    """
    if not run.activities:
        return "", 0.0
    spent = sum(
        run.variable("activity_duration", rows).sum(axis=0, dtype=np.float64)
        for rows in run.blocks()
    )
    extra = spent[[*ranks]].mean(axis=0) - np.delete(spent, [*ranks], axis=0).mean(axis=0)
    most, total = int(extra.argmax()), float(np.maximum(extra, 0.0).sum())
    share = float(extra[most]) / max(total, 1e-300)
    if share <= 0.5 or run.activities[most] == OTHER_WORK:
        return "", 0.0
    return run.activities[most], share


def no_core(run: Run, findings: Sequence[Finding]) -> Iterator[Fact]:
    """Yield how long ranks were ready to run and had no core, if that matters."""
    waited = core_wait(run)
    crowded = next((finding for finding in findings if finding.code == CROWDED), None)
    known = waited is not None and waited.matters
    if not known and crowded is None:
        return
    share = waited.share if waited is not None and known else None
    yield NoCore(
        quantity=capital(NO_CORE),
        subject="" if waited is None else waited.worst,
        cost_s=(share or 0.0) * run.solve_time_s,
        share=share,
        most=0.0 if waited is None else waited.most,
        window="time" if waited is None else waited.window,
        crowd="" if crowded is None else crowded.text,
        basis="counted by the kernel for the thread that calls MPI",
        remedy=f"{capital(REMEDY if crowded is None else crowded.advice)}.",
        codes=(TAKEN, CROWDED),
        files=(str(run.path),),
    )


def recurring_work(
    run: Run, stretches: Sequence[Stretch], least_s: float
) -> Iterator[RecurringWork]:
    """Yield which iterations come back longer, and between which calls they are.

    The rules are the same on all ranks and in all stretches; those of stretches show some that
    noise elsewhere hides.
    """
    whole = [("", one) for one in recurring_of(run)]
    places = [(str(stretch), one) for stretch in stretches for one in stretch.recurring]
    costly = [pair for pair in (*whole, *places) if pair[1].cost_s >= least_s]
    for rule in dict.fromkeys(one.rule for _, one in costly):
        alike = [pair for pair in costly if pair[1].rule == rule]
        first = alike[0][1]  # of whole iterations, if they show it
        where, largest = max(alike, key=lambda pair: (pair[0] != "", pair[1].cost_s))
        yield RecurringWork(
            quantity="Recurring work",
            subject=named(run.kept_ranks[list(first.columns)]),
            recurring=first,
            iterations=run.bodies if alike[0][0] == "" else passes_in(run),
            each="iteration" if alike[0][0] == "" or passes_in(run) == run.bodies else "pass",
            cost_s=first.cost_s,
            share=first.cost_s / max(run.solve_time_s, 1e-300),
            where=where if (is_there := largest.cost_s >= MAJORITY * first.cost_s) else "",
            function=function_of_slow(
                run, first.columns, contexts_at(stretches, where if is_there else ""), first.cost_s
            ),
            basis="recorded work of these iterations over that of their neighbours",
            topics=OF_TIMES,
            codes=("recurring",),
            files=(str(run.path),),
        )


def growing_work(
    run: Run, stretches: Sequence[Stretch], least_s: float, *, disturbed: bool
) -> Iterator[GrowingWork]:
    """Yield on which ranks and between which calls work grows most, if it costs so much."""
    numbers = np.asarray(run.kept_ranks)
    places = [(str(stretch), stretch.growth) for stretch in stretches]
    if not places and read_body_times(run).drift > MATTERS:
        course = read_work_course(run)
        if course is not None and course.growth is not None:
            numbers, places = course.ranks, [("", course.growth)]
    where, growth = max(places, key=lambda place: place[1].more_s.max(), default=("", None))
    if growth is None:
        return
    cost_s = run.bodies * float(growth.more_s.max())
    if cost_s < least_s or not cost_s:
        return
    grown = np.flatnonzero((growth.grows > 0) & (run.bodies * growth.more_s >= least_s))
    ranks, perhaps = numbers[grown], disturbed and growth.grows[grown].min() < 2
    function = function_of_growth(run, grown.tolist(), contexts_at(stretches, where), cost_s)
    on_all, since = ranks.size == run.header.ranks > 1, int(growth.since[growth.more_s.argmax()])
    yield GrowingWork(
        quantity="Growing work",
        subject=f"all {ranks.size} ranks" if on_all else named(ranks),
        ranks=tuple(ranks.tolist()),
        begin_s=float(growth.begin_s[grown].mean()),
        end_s=float(growth.end_s[grown].mean()),
        since=since,
        where=where,
        function=function,
        perhaps=perhaps,
        doubt=WORK_OR_MACHINE if (on_all or since) and function is None else "",
        cost_s=cost_s,
        share=cost_s / max(run.solve_time_s, 1e-300),
        certainty=Certainty.OPEN if perhaps else Certainty.MEASURED,
        basis="quickest iterations of each part of the run over those before it grew",
        topics=OF_TIMES,
        codes=("drift",),
        files=(str(run.path),),
    )


def contexts_at(stretches: Sequence[Stretch], where: str) -> list[int]:
    """Return the contexts of the stretch of that name; of all if none has it."""
    return contexts_in([stretch for stretch in stretches if str(stretch) == where] or stretches)


def slow_links(run: Run) -> Iterator[Fact]:
    """Yield what communication between nodes takes, if it takes much of the time."""
    try:
        links = node_links(run)
    except DataError:
        return
    most = max((link.share for link in links if len(link.nodes) == 2), default=0.0)
    words = link_words(links) if most >= MATTERS else ""
    if words:
        yield Stated(
            quantity="Links between nodes",
            text=f"The network {words}.",
            brief=f"the network {words}",
            cost_s=most * run.solve_time_s,
            share=most,
            basis="first events of the run",
            topics=OF_TIMES,
            files=(str(run.path),),
        )
