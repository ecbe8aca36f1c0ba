"""What a solve would take on other ranks, on a quiet machine and with noise.

The interval has 90 % of replicas, in which laws and work are drawn anew, times the change by
any of the scenarios: what recorded numbers may be taken for where a run cannot say. All simulations
of one solve have common random numbers, whatever is changed.

Detours come by the clock: of work that takes a tenth of the time they are ten times as rare, and
last as long; what deviates less is in proportion to the work. A scenario has both by the iteration,
as recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.inference import replica_interval
from hindmost.models.laws.tailed import TailedLaw
from hindmost.models.results import Prediction
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.local_work import LocalWork, generator
from hindmost.models.simulation.network import NodeNetwork
from hindmost.models.simulation.rerun import REPLICAS, Scenario, walk
from hindmost.models.simulation.scaleup import (
    Case,
    CostScenarios,
    Placement,
    costs_on,
    neighbours_of,
    simulate,
)

Times = NDArray[np.float64]

WIDEST = 10.0
"""Ratio of the ends of an interval, from which on it is said what to record."""
MISSES = 0.25
"""Error of the simulation on the recorded ranks, from which on the laws do not describe them."""


CAPPED = "recorded noise"
"""The scenario in which no deviation exceeds the largest recorded one."""
BY_ITERATION = "noise by the iteration"
"""The scenario in which deviations come and last as recorded, however short an iteration is."""
QUIET = (
    "quiet",
    *(f"quiet, {each} network" for each in ("cheap", "costly")),
    *(f"quiet, {each} work" for each in ("less", "more")),
    *(f"quiet, {each} quartile" for each in ("lower", "upper")),
    *(f"quiet, ranks {each}" for each in ("alike", "unlike")),
)
"""Readings without noise, which makes nothing faster: no interval begins below all of them."""
PARTS = ("no network", "undisturbed", *QUIET)
"""Readings that only say what a time consists of, or where an interval ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFactor:
    """What is on the target, over the recorded one; of a rank, its undisturbed work.

    Attributes
    ----------
    typical, low, high : float
    """

    typical: float = 1.0
    low: float = 1.0
    high: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a solve is to run.

    Attributes
    ----------
    placement : Placement
    work : WorkFactor
    messages : WorkFactor
        The same of what a message costs.
    halo_bytes : float
        Size of a message between neighbours.
    """

    placement: Placement
    work: WorkFactor = WorkFactor()
    messages: WorkFactor = WorkFactor()
    halo_bytes: float = 0.0


def scenarios_of(
    change: Change, target: Target, work: LocalWork, costs: CostScenarios
) -> dict[str, Case]:
    """Return the cases of a change: the typical one, its scenarios, and what it consists of.

    Deviations that change do so from any quartile of the undisturbed work.
    """
    factor, quartiles = target.work, work.quartiles
    slow = 1.0 / change.every_speed
    typical = Case(
        latency=costs.typical,
        work=slow * factor.typical,
        noise=change.noise,
        detours=change.detours,
        depth=change.depth,
        progress=change.progress,
    )
    nothing = np.zeros_like(costs.typical)
    # Without noise all ranks come together, and all pay.
    noisy = change.noise > 0.0 or change.detours is not None
    quiet = replace(typical, noise=0.0, detours=None)
    lower, upper = (
        max(1.0 + (1.0 - change.noise) * (quartile - 1.0), 0.0) * typical.work
        for quartile in quartiles
    )
    return {
        "typical": typical,
        "cheap network": replace(typical, latency=costs.low if noisy else costs.alone),
        "costly network": replace(typical, latency=costs.high),
        CAPPED: replace(typical, capped=True),
        "less work": replace(typical, work=slow * factor.low),
        "more work": replace(typical, work=slow * factor.high),
        "lower quartile": replace(typical, work=lower),
        "upper quartile": replace(typical, work=upper),
        "ranks alike": replace(typical, apart_s=0.0),
        "ranks unlike": replace(typical, apart_s=work.apart_s),
        "no network": replace(typical, latency=nothing, capped=True),
        "undisturbed": replace(typical, latency=nothing, noise=0.0, detours=None),
        "quiet": quiet,
        "quiet, cheap network": replace(quiet, latency=costs.alone),
        "quiet, costly network": replace(quiet, latency=costs.high),
        "quiet, less work": replace(quiet, work=slow * factor.low),
        "quiet, more work": replace(quiet, work=slow * factor.high),
        "quiet, lower quartile": replace(quiet, work=quartiles[0] * typical.work),
        "quiet, upper quartile": replace(quiet, work=quartiles[1] * typical.work),
        "quiet, ranks alike": replace(quiet, apart_s=0.0),
        "quiet, ranks unlike": replace(quiet, apart_s=work.apart_s),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSolve:
    """The time of a solve on other ranks.

    Attributes
    ----------
    ranks, nodes : int
    recorded_ranks : int
    quiet, noisy : Prediction
        On a machine without noise, and with that of the change. Intervals have the replicas and all
        scenarios.
    replicas_s, capped_s : float64 array, shape (replica,), seconds
        Of the typical scenario, and of that in which no deviation exceeds the largest recorded one.
    scenarios_s : mapping of str to float
        By name, with the draws of ``typical``.
    work_s, network_s, outside_s : float
        What the time consists of: undisturbed work, what the network adds, and the time between
        restart cycles, before and after.
    beyond : float
        Share of the time that is due to deviations larger than any recorded one.
    samples : int
        Recorded bodies, of every rank that was recorded one.
    check_s : float
        Simulated on the recorded ranks; without noise if the change has none.
    recorded_s : float
        Recorded, or replayed without noise: what `check_s` should be.
    on_tail : bool
        Whether the noise has no mean, so that its rarest detours decide. The time is then that with
        no detour longer than the longest recorded one.
    target : Target
    case : Case
        The typical scenario.
    """

    ranks: int
    nodes: int
    recorded_ranks: int
    quiet: Prediction
    noisy: Prediction
    replicas_s: Times
    capped_s: Times
    scenarios_s: Mapping[str, float]
    work_s: float
    network_s: float
    outside_s: float
    beyond: float
    samples: int
    check_s: float
    recorded_s: float
    on_tail: bool
    target: Target
    case: Case

    @property
    def predicted(self) -> Prediction:
        """The answer with the noise of the change, which may be none."""
        return self.quiet if self.case.quiet else self.noisy

    @property
    def seconds(self) -> float:
        """The predicted time."""
        return self.predicted.seconds

    @property
    def low_s(self) -> float:
        """The least time of its interval."""
        return self.predicted.low_s

    @property
    def high_s(self) -> float:
        """The most time of its interval."""
        return self.predicted.high_s

    @property
    def as_recorded_s(self) -> float:
        """The time if no deviation exceeds the largest recorded one."""
        return self.scenarios_s[CAPPED]

    @property
    def noise_s(self) -> float:
        """What noise adds to the time, waiting for others included."""
        return max(self.seconds - self.work_s - self.network_s - self.outside_s, 0.0)

    @property
    def miss(self) -> float:
        """Error of the simulation on the recorded ranks, as a share."""
        return self.check_s / self.recorded_s - 1.0

    @property
    def missed(self) -> bool:
        """Whether the laws do not describe the run."""
        return abs(self.miss) > MISSES

    @property
    def wide(self) -> bool:
        """Whether the interval is so wide that more should be recorded."""
        return self.high_s > WIDEST * self.low_s

    def doubted(self, low: float, high: float) -> SimulatedSolve:
        """Return it with intervals wider by factors of the time that its program may have."""
        return replace(
            self, quiet=widened(self.quiet, low, high), noisy=widened(self.noisy, low, high)
        )


def widened(found: Prediction, low: float, high: float) -> Prediction:
    """Return a prediction with the ends of its interval multiplied."""
    return replace(found, low_s=low * found.low_s, high_s=high * found.high_s)


def simulate_solves(
    work: LocalWork,
    target: Target,
    changes: Sequence[Change],
    network: NodeNetwork,
    *,
    halo_bytes: float = 0.0,
    replicas: int = REPLICAS,
    seed: int = 0,
) -> list[SimulatedSolve]:
    """Simulate a solve on other ranks, with each of some changes.

    Parameters
    ----------
    work : LocalWork
    target : Target
    changes : sequence of Change
    network : NodeNetwork
        That of the recording; changes apply to it.
    halo_bytes : float
        Size of a recorded message between neighbours.
    replicas, seed : int

    Raises
    ------
    UsageError
        A change that does not apply, or too many ranks.
    """
    for change in changes:
        refuse_change(work, change)
    program = work.program
    recorded = Placement(node=work.node, edges=neighbours_of(program))
    level = Scenario(level="typical", byte_share=0.0)
    walked = walk(program, Change(), level)
    outside_s = walked.total_s - walked.iterating_s

    def costs_of(change: Change) -> CostScenarios:
        typical, low, high = (
            costs_on(
                program.costs,
                recorded,
                target.placement,
                network,
                network.changed(each * change.latency, change.more_latency_s, change.bandwidth),
                recorded_bytes=halo_bytes,
                target_bytes=target.halo_bytes,
            )
            for each in (target.messages.typical, target.messages.low, target.messages.high)
        )
        return CostScenarios(typical=typical.typical, alone=low.alone, low=low.low, high=high.high)

    scenarios = [scenarios_of(change, target, work, costs_of(change)) for change in changes]
    names = list(scenarios[0])
    every = [case for scenario in scenarios for case in scenario.values()]
    often = target.work.typical
    laws = rarer(work.laws, often)
    middle_s = simulate(work, target.placement, every, seed=(seed, 0), laws=laws)
    middle_s = middle_s.reshape(len(changes), len(names))
    iterating = [replace(scenario["typical"], noise_scales=False) for scenario in scenarios]
    by_iteration_s = simulate(work, target.placement, iterating, seed=(seed, 0))
    drawn_s = np.empty((replicas, 2, len(changes)))
    for replica in range(replicas):
        drawn_s[replica] = simulate(
            work,
            target.placement,
            [scenario[name] for name in ("typical", CAPPED) for scenario in scenarios],
            seed=(seed, replica + 1),
            laws=rarer(work.redrawn(generator((seed, replica + 1, 1 << 20))), often),
        ).reshape(2, len(changes))
    # A simulation without noise rests on no law: it is held to a replay without noise.
    kinds = sorted({0.0, *(float(change.noise > 0.0) for change in changes)})
    checks_s = simulate(
        work,
        recorded,
        [Case(latency=program.costs.median_s, capped=True, noise=kind) for kind in kinds],
        seed=(seed, 0),
    )
    checked = dict(zip(kinds, checks_s.tolist(), strict=True))
    replayed = {kind: walk(program, Change(noise=kind), level, with_path=False) for kind in kinds}
    found = []
    for number, change in enumerate(changes):
        noisy = float(change.noise > 0.0)
        there, quiet = replayed[noisy], replayed[0.0]
        quiet_check_s = checked[0.0] + quiet.total_s - quiet.iterating_s
        by_name = dict(zip(names, middle_s[number].tolist(), strict=True))
        by_name[BY_ITERATION] = float(by_iteration_s[number])
        found.append(
            solve_of(
                work,
                target,
                by_name,
                drawn_s[:, 0, number],
                drawn_s[:, 1, number],
                case=scenarios[number]["typical"],
                outside_s=outside_s,
                check_s=checked[noisy] + there.total_s - there.iterating_s,
                recorded_s=there.total_s,
                quiet_miss=quiet.total_s / max(quiet_check_s, 1e-12),
            )
        )
    return found


def solve_of(
    work: LocalWork,
    target: Target,
    scenarios_s: Mapping[str, float],
    drawn_s: Times,
    capped_s: Times,
    *,
    case: Case,
    outside_s: float,
    check_s: float,
    recorded_s: float,
    quiet_miss: float,
) -> SimulatedSolve:
    """Put simulated times together.

    Parameters
    ----------
    scenarios_s : mapping of str to float
        Without the time outside the bodies, as the replicas.
    quiet_miss : float
        As `recorded_s` over `check_s`, without noise.
    """
    case_s = scenarios_s["typical"]
    endless = work.tail_index >= 1.0 and case.noise > 0.0  # the noise has no mean
    typical_s = scenarios_s[CAPPED] if endless else case_s
    ratios = [
        each / case_s
        for name, each in scenarios_s.items()
        if name not in (*PARTS, CAPPED, BY_ITERATION)
    ]
    low_s, high_s = replica_interval(np.append(drawn_s, case_s))
    low_s, high_s = min(low_s, scenarios_s[CAPPED]) * min(ratios), high_s * max(ratios)
    high_s = max(high_s, scenarios_s[BY_ITERATION] * max(ratios))
    quiet = [scenarios_s[name] for name in QUIET]
    least = (*QUIET, *(name for name in scenarios_s if name not in PARTS))
    low_s = max(low_s, min(scenarios_s[name] for name in least))
    # What is outside the bodies stays as recorded, is work as theirs is, or grows as they do.
    before_s = max(check_s - outside_s, 1e-12)
    typical_outside_s = outside_s * target.work.typical
    miss = recorded_s / check_s if check_s > 0.0 else 1.0

    def predicted(middle_s: float, low_s: float, high_s: float, miss: float) -> Prediction:
        # The simulation misses the recorded ranks by as much as it may miss others.
        grown = middle_s / before_s
        outside = sorted(outside_s * each for each in (1.0, target.work.typical, grown))
        return Prediction(
            seconds=middle_s + typical_outside_s,
            low_s=(low_s + outside[0]) * min(miss, 1.0),
            high_s=(high_s + outside[-1]) * max(miss, 1.0),
        )

    quiet_s = predicted(scenarios_s["quiet"], min(quiet), max(quiet), quiet_miss)
    noisy_s = predicted(typical_s, low_s, high_s, miss)
    return SimulatedSolve(
        ranks=target.placement.ranks,
        nodes=target.placement.nodes,
        recorded_ranks=work.program.ranks,
        quiet=quiet_s,
        noisy=replace(noisy_s, low_s=min(max(noisy_s.low_s, quiet_s.low_s), noisy_s.seconds)),
        replicas_s=drawn_s + typical_outside_s,
        capped_s=capped_s + typical_outside_s,
        scenarios_s={name: each + typical_outside_s for name, each in scenarios_s.items()},
        work_s=scenarios_s["undisturbed"],
        network_s=max(scenarios_s[CAPPED] - scenarios_s["no network"], 0.0),
        outside_s=typical_outside_s,
        beyond=max(typical_s - scenarios_s[CAPPED], 0.0) / (typical_s + typical_outside_s),
        samples=work.samples,
        check_s=check_s,
        recorded_s=recorded_s,
        on_tail=endless,
        target=target,
        case=case,
    )


def rarer(laws: Sequence[TailedLaw], factor: float) -> list[TailedLaw]:
    """Return laws of which the tail is more or less frequent."""
    return [law.rarer(factor) for law in laws]


def refuse_change(work: LocalWork, change: Change) -> None:
    """Raise a UsageError for a change that has no meaning on other ranks."""
    if change.speed:
        raise UsageError(
            "A speed of one rank has no meaning on other numbers of ranks: give one for all, such "
            "as --speed x0.8."
        )
    if change.uninjected or change.iterations is not None:
        raise UsageError(
            "On other numbers of ranks a solve keeps its recorded iterations and injected noise: "
            "omit --iterations and --noise not-injected."
        )
    if change.depth is not None and (work.program.depth != 1):
        raise UsageError(
            "A pipeline depth needs a run of a pipelined solver with one reduction in flight: "
            "record pgmres for gmres, or pipecg for cg."
        )
