"""Which rank of a run the others wait for: the one verdict of `show`, `report`, `whatif` and plots.

The engine is `hindmost.models.ranks.culprit`; here the run file is read for it. Its fact is
`UnequalWork` of `analysis.show.facts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.check_bodies import recurring_of
from hindmost.analysis.runs.cores import observed_time
from hindmost.analysis.runs.efficiency.withheld import why_withheld
from hindmost.analysis.runs.finding import WORTH_SAYING
from hindmost.analysis.runs.read import once_a_run
from hindmost.analysis.runs.sampled import contexts_in, has_more_in_a_function
from hindmost.analysis.runs.stretches import Stretch, stretches_of
from hindmost.analysis.runs.tallies import (
    Block,
    Wanted,
    clock_uncertainty,
    exchanges_meet_in,
    tallied,
)
from hindmost.analysis.show.facts import RepeatedCulprit
from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.runfile.all_ranks import hosts_of_all, profiles_of
from hindmost.harness.runfile.bodies import (
    IN_MPI,
    NOT_WORK,
    WAITING,
    WHO_WAITS_IS_NOT_KNOWN,
    sum_of_phases,
)
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.inference import MATTERS
from hindmost.models.ranks.culprit import (
    STEADY,
    Culprit,
    QuickestWork,
    find_culprit,
    over_others,
)
from hindmost.models.ranks.extrema import COSTS, MAJORITY
from hindmost.models.ranks.lateness import Lateness, LatenessSum
from hindmost.models.ranks.transfers import SlowTransfers
from hindmost.models.simulation.blocks import EventBlock

MAX_SAMPLES = 1 << 23
"""Own work of all iterations and ranks that is kept; beyond, that of every nth iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCosts:
    """What the ranks of a run do, and what they cost each other.

    Attributes
    ----------
    lateness : Lateness
    phases : tuple of str
    phase_s : float64 array, shape (rank, phase), seconds
        Of all iterations.
    quickest : QuickestWork
        Of whole iterations.
    transfers : bool
        Whether late neighbours and slow transfers were separated.
    overlaps : bool
        Whether ranks work while a collective is pending, according to the events.
    in_mpi_s : float
        Time in MPI of the ranks that wait least in each iteration: of all iterations if these were
        as their median.
    """

    lateness: Lateness
    phases: tuple[str, ...]
    phase_s: NDArray[np.float64]
    quickest: QuickestWork
    transfers: bool
    overlaps: bool = False
    in_mpi_s: float

    def sum_of(self, chosen: Sequence[str]) -> NDArray[np.float64]:
        """Return the time in some phases: float64, shape (rank,), seconds."""
        return np.asarray(self.phase_s[:, [name in chosen for name in self.phases]].sum(axis=1))

    @property
    def time_s(self) -> NDArray[np.float64]:
        """Time of all iterations: float64, shape (rank,), seconds."""
        return np.asarray(self.phase_s.sum(axis=1))

    @property
    def own_s(self) -> NDArray[np.float64]:
        """Own work, which is time outside MPI: float64, shape (rank,), seconds."""
        return self.time_s - self.sum_of(IN_MPI)

    @property
    def wait_s(self) -> NDArray[np.float64]:
        """Time in halo exchanges and collectives: float64, shape (rank,), seconds."""
        return self.sum_of(WAITING)

    @property
    def waited_part(self) -> float:
        """Largest part of the differences of own work that ranks can have waited for: 0 to 1."""
        differences = self.lateness.waited_s
        if not differences.any():
            return 1.0
        # All time in MPI is an upper limit of the wait time.
        return float(np.minimum(differences, self.sum_of(IN_MPI)).sum() / differences.sum())


class RankCostsTally:
    """The costs of the ranks, block by block; all ranks have full records."""

    def __init__(self, run: Run) -> None:
        self._run, self._events = run, run.has("event_kind")
        self._late = LatenessSum(run.hosts, run.bodies)
        self._transfers = SlowTransfers(
            run.columns,
            run.edges.source,
            run.edges.target,
            clock_uncertainty(run),
            exchanges_meet=exchanges_meet_in(run),
        )
        self._phases = np.zeros((run.columns, len(run.phases)))
        self._stride = -(-run.bodies * run.columns // MAX_SAMPLES) or 1
        self._own: list[NDArray[np.float64]] = []
        self._in_mpi: list[NDArray[np.float64]] = []
        self._overlapped_s = 0.0

    def add(self, block: Block) -> None:
        """Look at the next iterations."""
        slow = None
        if self._events:
            slow = self._transfers.add(block.start, block.events)
            self._overlapped_s += work_under_way(block.events)
        self._late.add(block.work, slow)
        self._phases += block.phases_of_ranks
        outside = [name not in IN_MPI for name in self._run.phases]
        self._own.append(sum_of_phases(block.phases[:: self._stride], outside))
        in_mpi_s = sum_of_phases(block.phases[:: self._stride], [not each for each in outside])
        self._in_mpi.append(in_mpi_s.min(axis=1))

    def result(self) -> RankCosts:
        """Return the costs."""
        return RankCosts(
            lateness=self._late.result(),
            phases=tuple(self._run.phases),
            phase_s=self._phases,
            quickest=QuickestWork.of(np.concatenate(self._own)),
            transfers=self._events,
            overlaps=self._overlapped_s > WORTH_SAYING * float(self._phases.sum()),
            in_mpi_s=self._run.bodies * float(np.median(np.concatenate(self._in_mpi))),
        )


OF_COSTS: Wanted[RankCosts] = Wanted(RankCostsTally, checked=False)
"""What `costs_of` reads; others that read the costs as well keep them in `Run.results`."""


def costs_of(run: Run) -> RankCosts:
    """Return what the ranks cost each other: of a reduced run from its profiles.

    Raises
    ------
    DataError
        Impossible times, a run without iterations, or a file of an older version.
    """
    if not run.bodies:
        raise DataError(f"{run.path} has no iterations, so its ranks cannot be compared.")
    if not run.reduced:
        return tallied(run, OF_COSTS)
    profile = profiles_of(run)
    own = profile[:, :, [name not in IN_MPI for name in run.phases]].sum(axis=2)
    bodies = run.variable("interval_bodies")
    in_mpi_s = (profile.sum(axis=2) - own).min(axis=1) / bodies
    return RankCosts(
        lateness=lateness_of_all(run, profile),
        phases=tuple(run.phases),
        phase_s=profile.sum(axis=0),
        quickest=QuickestWork.of(own / bodies[:, None]),
        transfers=run.has("every_transfer"),
        in_mpi_s=run.bodies * float(np.median(in_mpi_s)),
    )


def lateness_of_all(run: Run, profile: NDArray[np.float64]) -> Lateness:
    """Return what every rank of a reduced run costs the others.

    Parameters
    ----------
    profile : float64 array, shape (interval, rank, phase), seconds
    """
    work_s = profile[:, :, [name not in NOT_WORK for name in run.phases]].sum(axis=(0, 2))
    hosts = hosts_of_all(run)
    last = run.variable("every_last")
    if int(last.sum()) > run.bodies:
        raise DamagedFileError(
            f"{run.path}: 'every_last' counts {int(last.sum())} iterations of {run.bodies}."
        )
    nothing = np.zeros(work_s.size)
    slow = run.has("every_transfer")
    transfer = run.variable("every_transfer") if slow else nothing
    waited, charged = run.variable("every_waited"), run.variable("every_charged")
    nodes = tuple(dict.fromkeys(hosts))
    node_of = np.array([nodes.index(host) for host in hosts], np.int64)

    def by_node(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(node_of, values, minlength=len(nodes)), np.float64)

    return Lateness(
        bodies=run.bodies,
        # Every rank works, has slow transfers, and waits until the last one has arrived.
        total_s=float(np.median(work_s + transfer + waited)),
        last=last.astype(np.int64),
        charged_s=charged,
        lost_s=run.variable("every_lost"),
        waited_s=waited,
        transfer_s=transfer,
        transfer_charged_s=run.variable("every_transfer_charged") if slow else nothing,
        work_s=work_s / run.bodies,
        deviation_s=run.variable("every_deviation"),
        longest_s=run.variable("every_longest"),
        longest_body=run.variable("every_longest_body").astype(np.int64),
        drift=run.variable("every_drift"),
        nodes=nodes,
        node_of=node_of,
        node_last=by_node(last.astype(np.float64)).astype(np.int64),
        node_charged_s=by_node(charged),
        node_lost_s=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StragglerVerdict:
    """Who the others wait for in a run, and why nobody is named where nobody can be.

    Attributes
    ----------
    run : Run
    costs : RankCosts
    culprit : Culprit or None
    withheld : str
        Why no rank can be blamed for the wait time of others; empty if ranks can.
    """

    run: Run
    costs: RankCosts
    culprit: Culprit | None
    withheld: str = ""

    @property
    def straggler(self) -> int | None:
        """The rank that has more work, at a cost, without a doubt; None if none has."""
        return self.culprit.rank if self.culprit is not None and self.culprit.sure else None

    @property
    def name(self) -> str:
        """The culprit: ``rank 1``, ``rank 1 on b``, ``node b``; empty without one."""
        return "" if self.culprit is None else subject(self.culprit, hosts_of_all(self.run))

    @property
    def pipelined(self) -> bool:
        """Whether the solver works while its collectives are pending."""
        return self.run.header.synchronisation == "pipelined"


@once_a_run
def verdict_of(run: Run) -> StragglerVerdict:
    """Return who the culprit of a run is.

    Where the run knows the calls of its code, the quickest iterations are those of each stretch
    between two calls: these show more than whole ones.

    Raises
    ------
    DataError
        See `costs_of`.
    """
    costs = costs_of(run)
    stretches = () if run.reduced else stretches_of(run)  # else of some ranks
    withheld = why_withheld(run) or why_nobody(run, costs)
    if withheld:
        return StragglerVerdict(run=run, costs=costs, culprit=None, withheld=withheld)
    quickest = costs.quickest
    if stretches:
        quickest = QuickestWork.total([stretch.quickest for stretch in stretches])
    elif not run.reduced:
        quickest = quickest.with_recurring(recurring_of(run), run.bodies)
    spent_s = processor_time(run, stretches)
    if spent_s is not None:
        by_processor = QuickestWork.of_processor_time(spent_s, run.bodies)
        whole_s = undisturbed_time(run, costs, spent_s)
        undisturbed = whole_s < run.solve_time_s
        for least in (MATTERS, COSTS):
            found = culprit_by(run, costs, by_processor, whole_s=whole_s, least=least)
            if found is None or not found.sure:
                continue
            found = replace(found, processor=True, quickest=False, undisturbed=undisturbed)
            if least == MATTERS or has_more_in_a_function(run, found, stretches):
                return StragglerVerdict(run=run, costs=costs, culprit=found)
    core_wait_s = run.variable("core_wait") if run.has("core_wait") and not run.reduced else None
    return StragglerVerdict(
        run=run, costs=costs, culprit=culprit_by(run, costs, quickest, core_wait_s)
    )


def culprit_by(
    run: Run,
    costs: RankCosts,
    quickest: QuickestWork,
    core_wait_s: NDArray[np.float64] | None = None,
    whole_s: float | None = None,
    least: float = MATTERS,
) -> Culprit | None:
    """Return the culprit of a run by some measure of its work; None if there is none."""
    on_core_s = None
    if core_wait_s is not None:
        on_core_s = np.maximum(observed_time(run)[0] - core_wait_s, 0.0)
    return find_culprit(
        costs.lateness,
        costs.own_s,
        whole_s or run.solve_time_s,
        quickest,
        core_wait_s,
        on_core_s=on_core_s,
        waited_part=costs.waited_part,
        least=least,
    )


def undisturbed_time(run: Run, costs: RankCosts, spent_s: NDArray[np.float64]) -> float:
    """Return how long a run would be without what keeps its ranks from their cores, in seconds.

    Parameters
    ----------
    spent_s : float64 array, shape (rank,), seconds
        Processor time outside MPI.
    """
    if float(costs.own_s.sum()) <= STEADY * float(spent_s.sum()):
        return run.solve_time_s
    return min(float(spent_s.max()) + costs.in_mpi_s, run.solve_time_s)


def processor_time(run: Run, stretches: Sequence[Stretch]) -> NDArray[np.float64] | None:
    """Return the processor time of the ranks outside MPI: shape (rank,), seconds.

    None if it was not measured (``--sample``).
    """
    if not run.has("context_time") or not stretches:
        return None
    spent_s = run.variable("context_time")[:, contexts_in(stretches)].sum(axis=1)
    return np.asarray(spent_s) if (spent_s > 0.0).all() else None


def culprit_of(run: Run) -> Culprit | None:
    """Return the culprit of a run; None if there is none, or its ranks cannot be compared."""
    with suppress(DataError):
        return verdict_of(run).culprit
    return None


def why_nobody(run: Run, costs: RankCosts) -> str:
    """Say why no rank can be blamed for the wait time of others; empty if ranks can."""
    if costs.lateness.waiting_share < WORTH_SAYING:
        return ""
    reason = run.header.spec.get("events_left_out")
    if reason in WHO_WAITS_IS_NOT_KNOWN:
        return f"it is unknown which rank waits for which: {reason}"
    if costs.waited_part < MAJORITY:
        return "the ranks hardly wait for the last rank of an iteration"
    return ""


def pooled(verdicts: Sequence[StragglerVerdict]) -> list[RepeatedCulprit]:
    """Return the culprits of repeats, the one of most of them first; none of a single run.

    A rank that works more in the quickest iterations is one, however seldom it costs most: other
    processes on the cores may hide in every run what the program does in all of them.
    """
    known = [one for one in verdicts if not one.withheld and one.costs.own_s.size > 1]
    if len(known) < 2:
        return []
    names = Counter(subject(each.culprit, ()) for each in known if each.culprit is not None)
    work = np.median([over_others(each.costs.quickest.typical_s) for each in known], axis=0)
    times = {f"rank {rank}": more for rank, more in enumerate(work.tolist()) if more < np.inf}
    names.update({name: 0 for name, more in times.items() if more >= 1.0 + MATTERS})
    return [
        RepeatedCulprit(name=name, runs=count, of=len(known), times=times.get(name, 0.0))
        for name, count in names.most_common()
    ]


def subject(found: Culprit, hosts: Sequence[str], number: int | None = None) -> str:
    """Name a culprit: ``rank 1``, ``rank 1 on b`` where there are several hosts, ``node b``."""
    if found.node:
        return node_words(found.node)
    host = f" on {hosts[found.rank]}" if len(set(hosts)) > 1 else ""
    return f"rank {found.rank if number is None else number}{host}"


def node_words(name: str) -> str:
    """Name a node so that a sentence says that it is one, and once."""
    return name if name.startswith("node") else f"node {name}"


def work_under_way(block: EventBlock) -> float:
    """Return the work of all ranks while collectives are pending, in seconds."""
    kind = block.kind.ravel()
    steps = (kind == EventKind.POST).astype(np.int64) - (kind == EventKind.COMPLETE)
    pending = (np.cumsum(steps) - steps).reshape(block.kind.shape) > 0
    return float(block.work.sum(axis=1, dtype=np.float64)[pending].sum())
