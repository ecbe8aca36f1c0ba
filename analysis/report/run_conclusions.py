"""Conclusions on one configuration: what costs its time, because of which rank, what would help."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.analysis.report.looked_at import LookedAt
from hindmost.analysis.report.variation import imbalance, injected, noise, recurring
from hindmost.analysis.runs.finding import OF_MODELS, WORTH_SAYING
from hindmost.analysis.runs.first_screen import doubted
from hindmost.analysis.show.conclusion import Certainty, Conclusion
from hindmost.models.ranks.efficiencies import LOST_TO, OUTSIDE
from hindmost.text import percent, seconds

PIPELINING = "Pipelining"


def conclusions_on(looked: LookedAt) -> list[Conclusion]:
    """Return all conclusions on a configuration."""
    found = [
        *imbalance(looked),
        *recurring(looked),
        *injected(looked),
        *noise(looked),
        *network(looked),
        *outside(looked),
        *pipelining(looked),
    ]
    return [doubted(each, looked.fitted.findings) for each in found]


def network(looked: LookedAt) -> Iterator[Conclusion]:
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
        else f"With an ideal network the replay takes {ideal.words}.",
        links,
        replay=ideal,
        brief=said,
        certainty=Certainty.PREDICTED if ideal is None or ideal.sure else Certainty.OPEN,
        basis="critical path of the replay without noise"
        if ideal is None
        else "replay on a network that costs nothing",
        topics=OF_MODELS,
    )


def outside(looked: LookedAt) -> Iterator[Conclusion]:
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


def pipelining(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield what hiding reductions behind work would save a blocking solver."""
    partner = looked.remedies.partner
    if partner is None:
        return
    yield looked.loss(
        PIPELINING,
        max(partner.saved_s, 0.0),
        "A pipelined solver hides reductions behind work, and does more work.",
        f"With the pipelined solver the replay takes {partner.words}. 'hindmost run --pair' "
        "measures both solvers.",
        looked.links(phases="Phases by rank"),
        replay=partner,
        certainty=Certainty.PREDICTED if partner.sure else Certainty.OPEN,
        basis="replay with the events of the pipelined solver",
        topics=OF_MODELS,
    )
