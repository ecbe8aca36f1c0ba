"""What a solve would take on other ranks: a time with an interval, and what the time consists of.

The interval has 90 % of replicas, in which laws and work are drawn anew, times the change by
any of the scenarios: what recorded numbers may be taken for where a run cannot say. All simulations
of one solve have common random numbers, whatever is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.results import replica_interval
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
"""Ratio of the ends of an interval, from which on no time is predicted."""
MISSES = 0.25
"""Error of the simulation on the recorded ranks, from which on no time is predicted."""
OF_LAWS = 1 << 20
"""Stream of the draws of laws."""


CAPPED = "recorded noise"
"""The scenario in which no deviation exceeds the largest recorded one."""
QUIET = (
    "quiet",
    *(f"quiet, {each} network" for each in ("cheap", "costly")),
    *(f"quiet, {each} work" for each in ("less", "more")),
    *(f"quiet, {each} quartile" for each in ("lower", "upper")),
)
"""Readings without noise, which makes nothing faster: no interval begins below all of them."""
PARTS = ("no network", "undisturbed", *QUIET)
"""Readings that only say what a time consists of, or where an interval ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFactor:
    """The undisturbed work of a rank on the target, over the recorded one.

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
    halo_bytes : float
        Size of a message between neighbours.
    """

    placement: Placement
    work: WorkFactor = WorkFactor()
    halo_bytes: float = 0.0


def scenarios_of(
    change: Change, target: Target, quartiles: tuple[float, float], costs: CostScenarios
) -> dict[str, Case]:
    """Return the cases of a change: the typical one, its scenarios, and what it consists of.

    Parameters
    ----------
    quartiles : tuple of float
        Of the undisturbed work, over its median. Deviations that change do so from any of these.
    """
    factor = target.work
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
        max(1.0 + (1.0 - change.noise) * (each - 1.0), 0.0) * typical.work for each in quartiles
    )
    return {
        "typical": typical,
        "cheap network": replace(typical, latency=costs.low if noisy else costs.alone),
        "costly network": replace(typical, latency=costs.high),
        CAPPED: replace(typical, capped=True),
        "noise in proportion": replace(typical, noise_scales=True),
        "less work": replace(typical, work=slow * factor.low),
        "more work": replace(typical, work=slow * factor.high),
        "lower quartile": replace(typical, work=lower),
        "upper quartile": replace(typical, work=upper),
        "no network": replace(typical, latency=nothing, capped=True),
        "undisturbed": replace(typical, latency=nothing, noise=0.0, detours=None),
        "quiet": quiet,
        "quiet, cheap network": replace(quiet, latency=costs.alone),
        "quiet, costly network": replace(quiet, latency=costs.high),
        "quiet, less work": replace(quiet, work=slow * factor.low),
        "quiet, more work": replace(quiet, work=slow * factor.high),
        "quiet, lower quartile": replace(quiet, work=quartiles[0] * typical.work),
        "quiet, upper quartile": replace(quiet, work=quartiles[1] * typical.work),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSolve:
    """The time of a solve on other ranks.

    Attributes
    ----------
    ranks, nodes : int
    recorded_ranks : int
    seconds, low_s, high_s : float
        The interval has the replicas and all scenarios. `high_s` is infinite if the noise has no
        mean.
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
    target : Target
    case : Case
        The typical scenario.
    """

    ranks: int
    nodes: int
    recorded_ranks: int
    seconds: float
    low_s: float
    high_s: float
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
    target: Target
    case: Case

    @property
    def as_recorded_s(self) -> float:
        """The time if no deviation exceeds the largest recorded one."""
        return self.scenarios_s[CAPPED]

    @property
    def quiet_s(self) -> tuple[float, float, float]:
        """The time with equal work and no noise, and its least and most by all readings."""
        every = [self.scenarios_s[name] for name in QUIET]
        return self.scenarios_s["quiet"], min(every), max(every)

    @property
    def shown_s(self) -> float:
        """The typical time, or that with recorded noise if only that is known."""
        return self.as_recorded_s if self.limited else self.seconds

    @property
    def noise_s(self) -> float:
        """What noise adds to that time, waiting for others included."""
        return self.shown_s - self.work_s - self.network_s - self.outside_s

    @property
    def miss(self) -> float:
        """Error of the simulation on the recorded ranks, as a share."""
        return self.check_s / self.recorded_s - 1.0

    @property
    def on_tail(self) -> bool:
        """Whether the noise has no mean, so that its rarest detours decide."""
        return not np.isfinite(self.high_s)

    @property
    def limited(self) -> bool:
        """Whether only the time with noise no worse than recorded can be told."""
        return self.on_tail or self.wide

    @property
    def missed(self) -> bool:
        """Whether the laws do not describe the run, so that nothing can be told."""
        return abs(self.miss) > MISSES

    @property
    def open(self) -> bool:
        """Whether only the interval counts."""
        return self.limited or self.missed

    @property
    def wide(self) -> bool:
        """Whether the interval is too wide for a single number to mean anything."""
        return self.high_s > WIDEST * self.low_s

    def doubted(self, low: float, high: float) -> SimulatedSolve:
        """Return it with an interval wider by factors of the time that its program may have."""
        return replace(self, low_s=self.low_s * low, high_s=self.high_s * high)


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
    scenarios = [
        scenarios_of(
            change,
            target,
            work.quartiles,
            costs_on(
                program.costs,
                recorded,
                target.placement,
                network,
                network.changed(change.latency, change.more_latency_s, change.bandwidth),
                recorded_bytes=halo_bytes,
                target_bytes=target.halo_bytes,
            ),
        )
        for change in changes
    ]
    names = list(scenarios[0])
    every = [case for each in scenarios for case in each.values()]
    middle_s = simulate(work, target.placement, every, seed=(seed, 0))
    middle_s = middle_s.reshape(len(changes), len(names))
    alike_s = simulate(
        work,
        target.placement,
        [
            replace(each["typical"], apart_s=apart_s)
            for apart_s in (0.0, work.apart_s)
            for each in scenarios
        ],
        seed=(seed, 0),
        dependence=replace(work.dependence, persistent=0.0),
    ).reshape(2, len(changes))
    drawn_s = np.empty((replicas, 2, len(changes)))
    for replica in range(replicas):
        drawn_s[replica] = simulate(
            work,
            target.placement,
            [each[name] for name in ("typical", CAPPED) for each in scenarios],
            seed=(seed, replica + 1),
            laws=work.redrawn(generator((seed, replica + 1, OF_LAWS))),
        ).reshape(2, len(changes))
    # A simulation without noise rests on no law: it is held to a replay without noise.
    kinds = sorted({float(change.noise > 0.0) for change in changes})
    checks_s = simulate(
        work,
        recorded,
        [Case(latency=program.costs.median_s, capped=True, noise=each) for each in kinds],
        seed=(seed, 0),
    )
    checked = dict(zip(kinds, checks_s.tolist(), strict=True))
    replayed = {each: walk(program, Change(noise=each), level, with_path=False) for each in kinds}
    found = []
    for number, change in enumerate(changes):
        noisy = float(change.noise > 0.0)
        there = replayed[noisy]
        by_name = dict(zip(names, middle_s[number].tolist(), strict=True))
        by_name["ranks alike"], by_name["ranks unlike"] = alike_s[:, number].tolist()
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
) -> SimulatedSolve:
    """Put simulated times together.

    Parameters
    ----------
    scenarios_s : mapping of str to float
        Without the time outside the bodies, as the replicas.
    """
    typical_s = scenarios_s["typical"]
    drawn = np.append(drawn_s, typical_s)
    ratios = [
        each / typical_s for name, each in scenarios_s.items() if name not in (*PARTS, CAPPED)
    ]
    low_s, high_s = replica_interval(drawn)
    low_s, high_s = min(low_s, scenarios_s[CAPPED]) * min(ratios), high_s * max(ratios)
    least = (*QUIET, *(name for name in scenarios_s if name not in PARTS))
    low_s = max(low_s, min(scenarios_s[name] for name in least))
    # What is outside the bodies stays as recorded, is work as theirs is, or grows as they do.
    grown = typical_s / max(check_s - outside_s, 1e-12)
    outside = sorted(outside_s * each for each in (1.0, target.work.typical, grown))
    outside_s *= target.work.typical
    # The simulation misses the recorded ranks by as much as it may miss others.
    miss = recorded_s / check_s if check_s > 0.0 else 1.0
    endless = work.tail_index >= 1.0 and case.noise > 0.0  # the noise has no mean
    return SimulatedSolve(
        ranks=target.placement.ranks,
        nodes=target.placement.nodes,
        recorded_ranks=work.program.ranks,
        seconds=typical_s + outside_s,
        low_s=(low_s + outside[0]) * min(miss, 1.0),
        high_s=np.inf if endless else (high_s + outside[-1]) * max(miss, 1.0),
        replicas_s=drawn_s + outside_s,
        capped_s=capped_s + outside_s,
        scenarios_s={name: each + outside_s for name, each in scenarios_s.items()},
        work_s=scenarios_s["undisturbed"],
        network_s=max(scenarios_s[CAPPED] - scenarios_s["no network"], 0.0),
        outside_s=outside_s,
        beyond=max(typical_s - scenarios_s[CAPPED], 0.0) / (typical_s + outside_s),
        samples=work.samples,
        check_s=check_s,
        recorded_s=recorded_s,
        target=target,
        case=case,
    )


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
