"""Where the time of a configuration goes: parts that sum to the time of its median run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies
from hindmost.analysis.whatif.gains import Remedies
from hindmost.harness.runfile.bodies import INJECTED

PARTS = (
    "work",
    "injected noise",
    "load imbalance",
    "waiting in turn",
    "communication",
    "interrupted in MPI",
    "waiting and communication",
    "outside iterations",
)
"""In this order on every bar.

``waiting and communication`` is what cannot be divided into waiting in turn and communication. Time
in messages beyond their typical cost, as where a rank loses its core, is ``interrupted in MPI``. A
rank that polls while it waits is interrupted there more often the longer it waits.
"""


MEANINGS = {
    "work": "own work, the mean of all ranks",
    "injected noise": "detours added on purpose, the mean of all ranks",
    "load imbalance": "some ranks have more work in the whole run than the mean; what equal work "
    "would save, where that is known",
    "waiting in turn": "different ranks are the slowest in different iterations, and the others "
    "wait for them (POP: serialisation)",
    "communication": "messages and MPI calls at their typical cost",
    "interrupted in MPI": "time in messages beyond their typical cost, as where a rank loses its "
    "core or a message is slow",
    "waiting and communication": "time in MPI that the run cannot divide",
    "outside iterations": "before the first, after the last and between iterations: restarts, or "
    "the program around its inner loop",
}
"""What each of `PARTS` is, for the legend of the bars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBalance:
    """Where the time of a run goes.

    Attributes
    ----------
    whole_s : float
        Of the run, or of its iterations if ranks began them before the solve did.
    parts_s : dict of str to float
        Of `PARTS`, those that are known; empty if no efficiency is given.
    why_not : str
        Why there are none; may be empty.
    """

    whole_s: float
    parts_s: dict[str, float]
    why_not: str = ""

    def share(self, part: str) -> float:
        """Return the share of a part; 0 if there is none."""
        return self.parts_s.get(part, 0.0) / self.whole_s if self.whole_s > 0.0 else 0.0

    @property
    def work_share(self) -> float:
        """The share of work."""
        return self.share("work")


def time_balance(
    efficiencies: RunEfficiencies, ranks: RankReport, remedies: Remedies
) -> TimeBalance:
    """Return where the time of a run goes.

    Parameters
    ----------
    efficiencies : RunEfficiencies
    ranks : RankReport
        For the noise that was injected.
    remedies : Remedies
        The replay without noise gives the typical cost of messages, that with equal work the cost
        of unequal work.
    """
    whole, run = efficiencies.whole, efficiencies.run
    whole_s = max(run.solve_time_s, whole.run_time_s)
    if efficiencies.withheld:
        return TimeBalance(whole_s=whole_s, parts_s={}, why_not=efficiencies.withheld)
    injected_s = min(float(metric_of(ranks, INJECTED).mean()), whole.mean_local_s)
    lost = whole.lost_s
    transfer_s = lost.get("transfer", 0.0)
    network_s = (
        transfer_s if (quiet := remedies.quiet) is None else min(transfer_s, quiet.network_s)
    )
    imbalance_s, in_turn_s = lost["load_balance"], lost.get("serialisation", 0.0)
    balanced = remedies.balanced
    if balanced is not None and balanced.predicted_s is not None and balanced.saved_s > 0.0:
        # What equal work saves is what unequal work costs; of a rank that becomes slower, ranks
        # would wait for each other in turn.
        both_s = imbalance_s + in_turn_s
        imbalance_s = min(balanced.saved_s, both_s)
        in_turn_s = both_s - imbalance_s
    parts = {
        "work": whole.mean_local_s - injected_s,
        "injected noise": injected_s,
        "load imbalance": imbalance_s,
        "waiting in turn": in_turn_s,
        "communication": network_s,
        "interrupted in MPI": transfer_s - network_s,
        "waiting and communication": lost.get("communication", 0.0),
        "outside iterations": efficiencies.outside_s,
    }
    return TimeBalance(
        whole_s=whole_s, parts_s={name: max(each, 0.0) for name, each in parts.items() if each > 0}
    )


def metric_of(ranks: RankReport, name: str) -> NDArray[np.float64]:
    """Return a metric of every rank; zeros where it was not recorded.

    Returns
    -------
    float64 array, shape (rank,)
    """
    metrics = ranks.metrics
    if name not in metrics.names:
        return np.zeros(metrics.ranks)
    return np.asarray(metrics.values[:, metrics.names.index(name)])
