"""Conclusions on one configuration: what costs its time, because of which rank, what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.fits.study import FittedGroup
from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.report.comparison import DECIDED, verdict
from hindmost.analysis.report.rank_conclusions import host_of, straggler
from hindmost.analysis.report.remedies import Remedies
from hindmost.analysis.report.time_balance import TimeBalance, metric_of
from hindmost.analysis.runs.conclusion import Certainty, Conclusion, Link
from hindmost.analysis.runs.configuration import injected_noise
from hindmost.analysis.runs.finding import OF_COMPARISON, OF_MODELS, Topic
from hindmost.analysis.runs.summary import when
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted, percent, seconds

MOSTLY = 0.9
"""Share of the iterations from which on a rank is last in nearly all."""
CONSPICUOUS = 2.0
"""Work of one iteration over the median iteration, from which on it is named."""
PIPELINING = "Pipelining"
SESSION_S = 3600.0
"""Between two runs that are no repeats of one session."""
OF_TIMES = (Topic.TIMES, Topic.PHASES)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """A configuration and all that conclusions on it rest on.

    Attributes
    ----------
    fitted : FittedGroup
    ranks : RankReport
        Of the median run.
    balance : TimeBalance
    remedies : Remedies
    anchors : mapping of str to str
        Name of a figure, or of a section, to its place on the page.
    of : str
        What the configuration is called, where a page has several.
    """

    fitted: FittedGroup
    ranks: RankReport
    balance: TimeBalance
    remedies: Remedies
    anchors: Mapping[str, str]
    of: str

    @property
    def run(self) -> Run:
        """The median run, which the figures show."""
        return self.fitted.median_run.run

    def links(self, **names: str) -> tuple[Link, ...]:
        """Return links to figures by name, those that are on the page."""
        return tuple(
            Link(anchor=self.anchors[name.replace("_", "-")], text=text)
            for name, text in names.items()
            if name.replace("_", "-") in self.anchors
        )

    def loss(
        self,
        title: str,
        cost_s: float,
        text: str,
        remedy: str,
        links: tuple[Link, ...],
        *,
        brief: str = "",
        certainty: Certainty = Certainty.MEASURED,
        basis: str = "",
        topics: tuple[Topic, ...] = OF_TIMES,
    ) -> Conclusion:
        """Return a conclusion on time that the median run lost."""
        return Conclusion(
            title=title,
            text=text,
            brief=brief,
            remedy=remedy,
            cost_s=cost_s,
            share=cost_s / self.balance.whole_s,
            certainty=certainty,
            basis=basis or f"recorded times of {counted(self.run.bodies, 'iteration')}",
            of=self.of,
            links=links,
            topics=topics,
            files=(str(self.run.path),),
        )


def conclusions_on(looked: LookedAt) -> list[Conclusion]:
    """Return all conclusions on a configuration."""
    found = [
        *imbalance(looked),
        *injected(looked),
        *noise(looked),
        *network(looked),
        *outside(looked),
        *pipelining(looked),
        *change(looked),
    ]
    return [each.doubted(looked.fitted.findings) for each in found]


def imbalance(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield what unequal work costs, and the rank with most of it."""
    cost_s = looked.balance.parts_s.get("load imbalance", 0.0)
    if not cost_s > 0.0:
        return
    balanced = looked.remedies.balanced
    if balanced is not None and balanced.saved_s > 0.0:
        remedy = f"With equal work on all ranks the replay takes {balanced.words}."
    else:
        remedy = f"Equal work on all ranks would save at most {seconds(cost_s)}."
    brief = most_work(looked)
    yield looked.loss(
        "Load imbalance",
        cost_s,
        f"{brief}{why_most(looked)}",
        remedy,
        looked.links(phases="Phases by rank", hindmost="Stragglers", work="Work map"),
        brief=brief,
    )


def own_time(looked: LookedAt) -> NDArray[np.float64]:
    """Return the time of every rank in its own work and noise: shape (rank,), seconds."""
    return metric_of(looked.ranks, "local") + metric_of(looked.ranks, INJECTED)


def most_work(looked: LookedAt) -> str:
    """Say which rank has most work."""
    ranks, own = looked.ranks, own_time(looked)
    rank = int(own.argmax())
    times = own[rank] / max(float(own.mean()), 1e-300)
    return f"Rank {ranks.numbers[rank]}{host_of(ranks, rank)} has {times:.2f} times the mean work"


def why_most(looked: LookedAt) -> str:
    """Say how often the rank with most work is last, and why it may have most."""
    ranks, own, noise_s = looked.ranks, own_time(looked), metric_of(looked.ranks, INJECTED)
    rank, mean, late = int(own.argmax()), float(own.mean()), looked.ranks.lateness
    if late is None or ranks.withheld:
        return "."
    last = int(late.last[rank]) / max(late.bodies, 1)
    said = f" and is the slowest in {percent(last, 0)} of the iterations."
    if own[rank] > mean and noise_s[rank] - noise_s.mean() > 0.5 * (own[rank] - mean):
        return f"{said} Most of the difference is injected noise."
    if last >= MOSTLY:
        return f"{said} It is slower throughout: more work, or a slower core."
    return f"{said} It is slower only at times, as noise on its core would make it."


def injected(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield what noise cost that was injected."""
    cost_s = looked.balance.parts_s.get("injected noise", 0.0)
    if not cost_s > 0.0:
        return
    waits = looked.balance.parts_s.get("waiting in turn", 0.0)
    extra = f" Waiting for ranks that it delays adds up to {seconds(waits)}." if waits else ""
    yield looked.loss(
        "Injected noise",
        cost_s,
        f"The run was disturbed on purpose ({injected_noise(looked.run)}): each rank lost "
        f"{seconds(cost_s)} on average.{extra}",
        "",
        looked.links(phases="Phases by rank", map="Map of iterations"),
        topics=(),
    )


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
    also = " Injected noise is a part of it." if metric_of(looked.ranks, INJECTED).any() else ""
    yield looked.loss(
        "Noise",
        quiet.saved_s,
        f"Some iterations take longer than is typical of them.{also} {slowest_iterations(looked)} "
        f"{straggler(looked.ranks)}",
        f"With the typical time in every iteration the replay takes {quiet.words}.",
        links,
        certainty=Certainty.PREDICTED if quiet.sure else Certainty.OPEN,
        basis="replay with the median work and costs of every place in the cycle"
        + ("" if quiet.sure else "; its interval includes no saving"),
        topics=OF_MODELS,
    )


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


def network(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield what messages and other time in MPI cost."""
    parts, quiet = looked.balance.parts_s, looked.remedies.quiet
    disturbed_s = parts.get("interrupted in MPI", 0.0)
    whole_s = parts.get("communication", 0.0) + parts.get("waiting and communication", 0.0)
    if not whole_s > 0.0:
        return
    halo, wait = (metric_of(looked.ranks, name).sum() for name in ("halo", "wait"))
    where = "halo exchanges" if halo > wait else "reductions and other collectives"
    links = looked.links(phases="Phases by rank", phases_over_time="Phases over the solve")
    share = max(halo, wait) / max(halo + wait, 1e-300)
    said = f"{percent(share, 0)} of the time in MPI is in {where}"
    if "waiting and communication" in parts:
        yield looked.loss(
            "Waiting and communication",
            whole_s,
            f"{said}. The run has no events that separate waiting from messages.",
            f"At most {seconds(whole_s)} would be saved if no rank waited.",
            links,
        )
        return
    if quiet is None:
        yield looked.loss(
            "Communication",
            whole_s,
            f"{said}. Ranks that lose their core during a message count here as well.",
            f"An ideal network would save at most {seconds(whole_s)}.",
            links,
        )
        return
    cost_s, more = whole_s, ""
    if disturbed_s > cost_s:
        more = (
            f" Another {seconds(disturbed_s)} in MPI are not typical, as where a rank loses its "
            "core; they count as noise."
        )
    yield looked.loss(
        "Communication",
        cost_s,
        f"Messages and MPI calls take {seconds(cost_s)} on the critical path, at their typical "
        f"cost. {said}.{more}",
        f"An ideal network would save at most {seconds(cost_s)}.",
        links,
        brief=said,
        certainty=Certainty.PREDICTED,
        basis="critical path of the replay without noise",
        topics=OF_MODELS,
    )


def outside(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield what passes outside the iterations."""
    cost_s = looked.balance.parts_s.get("outside iterations", 0.0)
    if cost_s > 0.0:
        yield looked.loss(
            "Outside iterations",
            cost_s,
            "Restarts, and what comes before the first and after the last iteration.",
            "",
            looked.links(runs="Table of runs"),
        )


def pipelining(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield the most that hiding reductions behind work can save a blocking solver."""
    header, parts = looked.run.header, looked.balance.parts_s
    if header.synchronisation != "blocking" or "petsc_options" not in header.spec:
        return
    waits = float(metric_of(looked.ranks, "wait").mean())
    hidden_s = min(waits, looked.balance.whole_s - parts.get("work", 0.0))
    if hidden_s <= 0.0:
        return
    yield looked.loss(
        PIPELINING,
        hidden_s,
        f"The ranks spend {seconds(waits)} on average in blocking reductions, waiting included.",
        f"A pipelined solver hides them behind work: at most {seconds(hidden_s)} less, before "
        "its extra work. Record --pair to measure both.",
        looked.links(phases="Phases by rank"),
        certainty=Certainty.LIMIT,
        basis="time in blocking reductions, mean of the ranks",
    )


def change(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield how the newest session compares with the earlier ones."""
    runs = sorted((each.run for each in looked.fitted.runs), key=lambda run: run.header.t0_utc)
    begins = np.array([when_s(run) for run in runs])
    gaps = np.flatnonzero(np.diff(begins) > SESSION_S)
    if not gaps.size:
        return
    at = int(gaps[-1]) + 1
    before, now = ([run.solve_time_s for run in part] for part in (runs[:at], runs[at:]))
    said = verdict(before, now)
    sure = said in DECIDED
    delta_s = float(np.median(now) - np.median(before))
    whole_s = float(np.median(now))
    yield Conclusion(
        title="Since the last session",
        text=f"{seconds(whole_s)} now, {seconds(float(np.median(before)))} before (medians; "
        f"{counted(len(now), 'run')} since {when(runs[at].header.t0_utc)}, {len(before)} before): "
        f"{said}.",
        cost_s=delta_s,
        share=delta_s / float(np.median(before)),
        relative=True,
        certainty=Certainty.MEASURED if sure else Certainty.OPEN,
        basis="solve times of all repeats",
        of=looked.of,
        links=looked.links(runs="Table of runs"),
        topics=OF_COMPARISON,
        files=tuple(str(run.path) for run in runs),
    )


def when_s(run: Run) -> float:
    """Return when a run began, in seconds since 1970."""
    return datetime.fromisoformat(run.header.t0_utc).timestamp()
