"""A configuration and all that facts on it rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindmost.analysis.fits.study import FittedGroup
from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.runs.check_bodies import MIN_BODIES, read_body_times
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies
from hindmost.analysis.runs.finding import Topic
from hindmost.analysis.runs.first_screen import AnyFact
from hindmost.analysis.runs.run_facts import OF_TIMES, facts_of
from hindmost.analysis.runs.straggler import pooled, verdict_of
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY
from hindmost.analysis.show.facts import Certainty, Fact, Link, RepeatedCulprit, Stated
from hindmost.analysis.show.page import Widget
from hindmost.analysis.whatif.gains import Remedies, Remedy
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted


def slowest_iteration(run: Run) -> int | None:
    """Return the iteration that lost most time; None if the run has none."""
    times = read_body_times(run)
    lost_s = times.slowest * (1.0 - 1.0 / np.maximum(times.relative, 1e-300))
    return int(lost_s.argmax()) if run.bodies else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """A configuration and all that facts on it rest on.

    Attributes
    ----------
    fitted : FittedGroup
    ranks : RankReport
        Of the median run.
    slowest : int or None
        The iteration that lost most time against its place in the cycle.
    efficiencies : RunEfficiencies
        Where its time goes.
    remedies : Remedies
    anchors : mapping of str to str
        Name of a figure, or of a section, to its place on the page.
    run_name : str
        What the configuration is called, where a page has several.
    pictures : sequence of Widget
        What shows where its time went: the map of work and the timeline.
    """

    fitted: FittedGroup
    ranks: RankReport
    slowest: int | None
    efficiencies: RunEfficiencies
    remedies: Remedies
    anchors: Mapping[str, str]
    run_name: str
    pictures: Sequence[Widget] = ()

    @property
    def run(self) -> Run:
        """The median run, which the figures show."""
        return self.fitted.median_run.run

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What costs the time of the median run, from its file."""
        return facts_of(self.run, self.fitted.findings, read_large=True)

    @property
    def repeats(self) -> tuple[RepeatedCulprit, ...]:
        """In how many of its runs which rank works longest; none if these are large."""
        runs = [run.run for run in self.fitted.runs]
        if any(run.bodies * run.columns > MAX_IN_MEMORY for run in runs):
            return ()
        return tuple(pooled([verdict_of(run) for run in runs if run.bodies]))

    def part_s(self, name: str) -> float:
        """Return a part of its time, in seconds; 0 where there is none, or it is not known."""
        return self.efficiencies.parts_s.get(name, 0.0)

    def links(self, **names: str) -> tuple[Link, ...]:
        """Return links to figures by name, those that are on the page."""
        return tuple(
            Link(anchor=self.anchors[name.replace("_", "-")], text=text)
            for name, text in names.items()
            if name.replace("_", "-") in self.anchors
        )

    def of_run(self, fact: AnyFact, remedy: str, links: tuple[Link, ...]) -> AnyFact:
        """Return a fact as the page has it.

        Sums over few iterations are recorded, but do not show what iterations are like: an error
        about their number puts facts in doubt, too.
        """
        topics = fact.topics
        if topics and self.run.bodies < MIN_BODIES:
            topics = tuple(dict.fromkeys((*topics, Topic.MODELS)))
        return replace(fact, remedy=remedy, links=links, run_name=self.run_name, topics=topics)

    def loss(
        self,
        quantity: str,
        cost_s: float,
        text: str,
        remedy: str,
        links: tuple[Link, ...],
        *,
        replay: Remedy | None = None,
        brief: str = "",
        certainty: Certainty = Certainty.MEASURED,
        basis: str = "",
        topics: tuple[Topic, ...] = OF_TIMES,
    ) -> Stated:
        """Return a fact on time that the median run lost, which replays or efficiencies tell.

        Of a replay it has the interval, and whether it has an estimate within that.
        """
        fact = Stated(
            quantity=quantity,
            text=text,
            brief=brief,
            cost_s=cost_s,
            interval_s=None if replay is None else replay.saved_range_s,
            estimated=replay is not None and replay.predicted_s is not None,
            share=cost_s / self.efficiencies.whole_s,
            certainty=certainty,
            basis=basis or f"recorded times of {counted(self.run.bodies, 'iteration')}",
            topics=topics,
            files=(str(self.run.path),),
        )
        return self.of_run(fact, remedy, links)
