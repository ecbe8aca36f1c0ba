"""Which rank of an attached program is a straggler, and whether a disturbance may make it one.

Numbers only; `attached` puts them into sentences.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.cores import core_wait
from hindmost.analysis.runs.efficiency.withheld import why_withheld
from hindmost.analysis.runs.finding import MATTERS, WORTH_SAYING, Finding
from hindmost.analysis.runs.model_input import MOST_IN_MEMORY
from hindmost.analysis.runs.stretches import Stretch
from hindmost.harness.runfile.bodies import IN_MPI, WAITING, sum_of_phases
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.extrema import MOST_OF_ALL
from hindmost.text import percent, seconds

DISTURBED = ("crowded", "cores-taken", "outliers", "load", "slow-stretch")
"""Codes of findings that call for a repeat before conclusions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTimes:
    """The bodies of a run, summed for each rank.

    Attributes
    ----------
    work_s, wait_s, time_s : float64 array, shape (rank,), seconds
        Time outside MPI, wait in halo exchange and collectives, and all of the bodies.
    typical_s : float64 array, shape (rank,), seconds
        Time outside MPI if every body had the median of the rank's.
    amount : float64 array, shape (rank,), or None
        Work that the program counted, in its own unit.
    """

    work_s: NDArray[np.float64]
    typical_s: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    amount: NDArray[np.float64] | None = None


def rank_times(run: Run) -> RankTimes | None:
    """Sum the bodies of a run for each rank; None if it is too large to be read for a glance."""
    if run.bodies * run.columns > MOST_IN_MEMORY:
        return None
    phases = run.variable("phase_duration")
    own = sum_of_phases(phases, [name not in IN_MPI for name in run.phases])
    sums = phases.sum(axis=0, dtype=np.float64)
    amount = run.variable("work_amount").sum(axis=0) if run.has("work_amount") else np.zeros(1)
    return RankTimes(
        work_s=own.sum(axis=0),
        typical_s=np.median(own, axis=0) * len(own),
        wait_s=sums[:, [run.phases.index(name) for name in WAITING]].sum(axis=1),
        time_s=sums.sum(axis=1),
        amount=amount if (amount > 0).all() else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The work by which a rank is a straggler or is none.

    Attributes
    ----------
    work_s : float64 array, shape (rank,), seconds
    whole_s : float
        Time of the iterations.
    quickest : bool
        Whether only the quickest iterations count.
    """

    work_s: NDArray[np.float64]
    whole_s: float
    quickest: bool = False

    @property
    def excess(self) -> float:
        """Most work of a rank above the mean of all, as a share of that."""
        return float(self.work_s.max()) / max(float(self.work_s.mean()), 1e-300) - 1.0

    @property
    def imbalance(self) -> float:
        """Most work of a rank above the mean of all, as a share of the whole time."""
        return float(self.work_s.max() - self.work_s.mean()) / max(self.whole_s, 1e-300)

    @property
    def names_one(self) -> bool:
        """Whether a rank works clearly more than the mean, at a cost."""
        return self.excess > MATTERS and self.imbalance > WORTH_SAYING


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run, and who is its straggler.

    Attributes
    ----------
    run : Run
    times : RankTimes or None
    findings : tuple of Finding
    stretches : tuple of Stretch
        Where in the code work lies; empty if that is not known, or the run is large.
    left_out : collection of str
        What sentences do not name, of ``attached.LEFT_OUT_FIRST``.
    """

    run: Run
    times: RankTimes | None
    findings: tuple[Finding, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    left_out: Collection[str] = ()

    @property
    def disturbed(self) -> list[Finding]:
        """What calls for a repeat before conclusions."""
        return [each for each in self.findings if each.code in DISTURBED]

    @property
    def straggler(self) -> int | None:
        """The rank that works clearly more than the mean, at a cost; None if none does."""
        judged = self.judged
        if judged is None or self.run.header.ranks < 2 or why_withheld(self.run):
            return None
        return int(np.argmax(judged.work_s)) if judged.names_one else None

    @property
    def judged(self) -> Judged | None:
        """What decides whether a rank is a straggler; None if that is not known.

        Where the run was disturbed, and their quickest iterations name one, these do: others may be
        long on any rank.
        """
        if self.times is None:
            return None
        every = Judged(work_s=self.times.work_s, whole_s=self.run.solve_time_s)
        quickest_s = self.quickest_s
        if quickest_s is None:
            return every
        quickest = Judged(work_s=quickest_s, whole_s=float(quickest_s.max()), quickest=True)
        return quickest if quickest.names_one else every

    @property
    def quickest_s(self) -> NDArray[np.float64] | None:
        """Work of each rank if all iterations were among its quickest: (rank,), seconds.

        None where the run was not disturbed, or it is not known.
        """
        if not self.disturbed or not self.stretches:
            return None
        found = self.run.bodies * np.sum([each.quickest_s for each in self.stretches], axis=0)
        return found if found.max() > 0.0 else None

    @property
    def undisturbed_s(self) -> float:
        """Time of the iterations, or of the work of the quickest ones where the run was disturbed.

        What costs time is a share of this one: disturbances do not make it matter less.
        """
        quickest_s = self.quickest_s
        return self.run.solve_time_s if quickest_s is None else float(quickest_s.max())

    def doubt(self) -> str:
        """Say how much of a straggler's additional work a disturbance may be; empty if little.

        It is not if its typical bodies have most of the additional work, and waiting for a core
        does not account for it.
        """
        judged = self.judged
        if judged is None or judged.quickest or self.straggler is None or self.recurring():
            return ""
        if self.quickest_s is not None:
            extra_s = [each.work_s[self.straggler] - each.work_s.mean() for each in self.stretches]
            unsure_s = np.where([each.unsure for each in self.stretches], extra_s, 0.0)
            if unsure_s.sum() > MOST_OF_ALL * np.sum(extra_s):
                return " Its quickest iterations differ too much to tell that from a disturbance."
            return " Its quickest iterations do not show that: perhaps a disturbance, not its work."
        if core_wait(self.run) is None or self.crowded:
            return " The run was disturbed: this may not be its work." if self.disturbed else ""
        waited, unusual = self.waited, self.unusual
        if waited > MOST_OF_ALL:
            return f" Up to {percent(min(waited, 1.0), 0)} of that may be waiting for a core."
        if unusual > MOST_OF_ALL:
            return (
                f" {percent(min(unusual, 1.0), 0)} of that is in unusually long iterations, "
                "perhaps disturbances."
            )
        return ""

    @property
    def waited(self) -> float:
        """Share of the straggler's additional work that may be waiting for a core."""
        return self._of_excess(self.run.variable("core_wait"))

    @property
    def unusual(self) -> float:
        """Share of the straggler's additional work that its typical iteration does not have."""
        assert self.times is not None
        return 1.0 - self._of_excess(self.times.typical_s)

    def _of_excess(self, spent_s: NDArray[np.float64]) -> float:
        """Return what a straggler spends above the mean, as a share of its additional work."""
        assert self.times is not None
        work_s, worst = self.times.work_s, self.straggler
        return float((spent_s[worst] - spent_s.mean()) / (work_s[worst] - work_s.mean()))

    @property
    def crowded(self) -> bool:
        """Whether there were more ranks than cores."""
        return any(each.code == "crowded" for each in self.findings)

    def recurring(self) -> list[str]:
        """Say which iterations come back longer, and between which calls they are.

        The iterations of a stretch show some that noise elsewhere hides.
        """
        bodies, places = self.run.bodies, "places" not in self.left_out
        texts = [each.text for each in self.findings if each.code == "recurring"]
        found = [
            (back, stretch, rank)
            for stretch in self.stretches
            for rank, every in stretch.recurring.items()
            for back in every
            if back.cost_s >= WORTH_SAYING * self.undisturbed_s
        ]
        for back, stretch, rank in sorted(found, key=lambda each: -each[0].cost_s):
            words = back.rule.explain(bodies)
            of_rule = [at for at, text in enumerate(texts) if text.startswith(words)]
            if not of_rule:
                where = f", {stretch}" if places else ""
                texts.append(
                    f"{words} is {seconds(back.longer_s[0])} longer on rank {rank}{where}: "
                    f"{seconds(back.cost_s)}"
                )
            for at in of_rule if places else ():
                if "between" not in texts[at]:
                    texts[at] += f"; {seconds(back.longer_s[0])} of it {stretch}"
        return texts
