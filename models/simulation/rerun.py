"""A recorded solve walked through again, with a change.

What a change does to a time depends on what the recorded numbers are taken for. A `Scenario` says
so; the spread over all of them is the interval. Without a change every scenario gives the recorded
time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.executors import Executor, ThisProcess
from hindmost.models.inference import replica_interval
from hindmost.models.simulation.blocks import (
    COMPLETE,
    FEWEST,
    NEGLIGIBLE,
    POST,
    RECEIVE,
    REDUCE,
    EventBlock,
)
from hindmost.models.simulation.change import Change, without_progress
from hindmost.models.simulation.event_simulator import FEW_EVENTS, EventSimulator
from hindmost.models.simulation.injected import (
    FEWEST_ALIKE,
    alike,
    delayed,
    with_noise,
    with_points,
    without_injected,
)
from hindmost.models.simulation.length import CycleCounts
from hindmost.models.simulation.partner import as_partner
from hindmost.models.simulation.path import PathTimes, Waits, follow
from hindmost.models.simulation.program import Program, Times
from hindmost.text import percent

REPLICAS = 20
"""Runs with noise drawn anew."""
QUANTILE = {"typical": 0.5, "low": 0.25, "high": 0.75}
"""What the undisturbed work of a place is, by scenario."""

NOBODY = -1
"""In place of a rank, where the critical path is in a message or in a pending reduction."""

Level = Literal["typical", "low", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What recorded numbers are taken for.

    Attributes
    ----------
    level : str
        ``typical``, ``low`` or ``high``: what events cost (median, lower quartile, capped mean) and
        what undisturbed work is (median, lower and upper quartile).
    byte_share : float
        Part of the time of a message between neighbours that its bytes take, 0 to 1.
    """

    level: Level
    byte_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSolve:
    """A replay.

    Attributes
    ----------
    total_s : float
        Time of the solve.
    iterating_s : float
        Of its cycles of bodies, without what is between, before and after them.
    path : PathTimes
        The longest path through the cycles; empty if it was not wanted.
    """

    total_s: float
    iterating_s: float
    path: PathTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A solve with a change, and without.

    Attributes
    ----------
    recorded, changed : ReplayedSolve
        Both replayed. Of several replicas, the path is that of the first.
    predicted_s, low_s, high_s : float
        The interval has all scenarios; 90 % of replicas with drawn noise; and the case that
        the time between cycles changes as the cycles do. Without noise, nothing takes longer.
    of_network : bool
        Whether messages take another time.
    hidden : bool
        Whether the change depends on costs that the run does not show.
    """

    recorded: ReplayedSolve
    changed: ReplayedSolve
    predicted_s: float
    low_s: float
    high_s: float
    of_network: bool
    hidden: bool

    @property
    def open(self) -> bool:
        """Whether what the run does not show decides the time, so that only the interval counts.

        Costs hide, or those of the network vary so much that the interval is wider than the change.
        """
        width_s = self.high_s - self.low_s
        wide = self.of_network and width_s > abs(self.predicted_s - self.recorded.total_s)
        return (self.hidden or wide) and width_s > NEGLIGIBLE * self.recorded.total_s


def what_if(
    program: Program,
    change: Change,
    *,
    byte_share: float | None = None,
    executor: Executor | None = None,
) -> WhatIf:
    """Replay a solve with a change.

    Parameters
    ----------
    byte_share : float, optional
        Part of the time of a message between neighbours that its bytes take; None if not known:
        then all of it is latency, and the interval has the case that it is all bytes.
    executor : Executor, optional
        Walks through the solve for each scenario and replica.

    Raises
    ------
    UsageError
        The change does not apply to this run, or the run does not show what it needs.
    """
    refuse_unknown(program, change, byte_share)
    # What the bytes of a message take matters on another network only.
    unknown = byte_share is None and change.of_network
    shares = (0.0, 1.0) if unknown else (byte_share or 0.0,)
    first = Scenario(level="typical", byte_share=shares[0])
    others = [Scenario(level=level, byte_share=share) for level, share in product(QUANTILE, shares)]  # type: ignore[arg-type]
    drawn = 1 if change.detours is None else REPLICAS
    asked = [(Change(), first, 0, True), (change, first, 0, True)]
    asked += [(change, first, each, False) for each in range(1, drawn)]
    asked += [(change, scenario, 0, False) for scenario in others if scenario != first]
    one = partial(walk, program, interpret=len(asked) * program.block.work.size <= FEW_EVENTS)
    recorded, *rest = (executor or ThisProcess()).map(one, *zip(*asked, strict=True))
    changed, draws, by_scenario = rest[0], rest[:drawn], rest[drawn:]
    totals_s = np.array([draw.total_s for draw in draws])
    middle_s = float(totals_s.mean())
    # Cycles that count several times would draw their noise anew each time.
    shape, length = program.shape, change.iterations
    longer = 1.0 if shape is None or length is None else length / shape.iterations
    narrower = min(1.0, longer**-0.5)
    low_s, high_s = replica_interval(middle_s + narrower * (totals_s - middle_s))
    shifts = [0.0, between_shift(recorded, changed)]
    shifts += [
        (each - 1.0) * changed.iterating_s for each in changed_program(program, change).doubt
    ]
    for other in by_scenario:
        shift = other.total_s - changed.total_s
        shifts += [shift, shift + between_shift(recorded, other)]
    high_s += max(shifts)
    if change.quieter:
        high_s = max(min(high_s, recorded.total_s), middle_s)
    return WhatIf(
        recorded=recorded,
        changed=changed,
        predicted_s=middle_s,
        low_s=max(low_s + min(shifts), 0.0),
        high_s=high_s,
        of_network=change.of_network,
        hidden=(change.of_network or change.depth is not None) and bool(program.costs.hidden.any()),
    )


def between_shift(recorded: ReplayedSolve, changed: ReplayedSolve) -> float:
    """Return how much a time grows if what is between cycles changes as the cycles do, seconds.

    A shorter solve loses no more than what it has between its cycles.
    """
    between_s = recorded.total_s - recorded.iterating_s
    if recorded.iterating_s <= 0.0:
        return 0.0
    shift_s = between_s * (changed.iterating_s / recorded.iterating_s - 1.0)
    return max(shift_s, changed.iterating_s - changed.total_s)


def refuse_unknown(program: Program, change: Change, byte_share: float | None) -> None:
    """Raise a UsageError for a change whose effect the run does not show."""
    if change.of_network:
        refuse_network(program)
    if change.noise != 1.0:
        share = sum(rows.size for rows in alike(program)) / program.bodies
        if share < 0.9:
            raise UsageError(
                f"Only {percent(share)} of the iterations have {FEWEST_ALIKE} others of the same "
                "events at the same place, so their undisturbed times are unknown. Record more "
                "iterations."
            )
    if change.bandwidth != 1.0:
        if not program.has(RECEIVE) or not program.neighbours.source.size:
            raise UsageError(
                "No exchange between neighbours was recorded, and reductions of a few numbers do "
                "not depend on the bandwidth: omit --bandwidth."
            )
        if byte_share is None:
            raise UsageError(
                "The run does not show which part of a message's time its bytes take: give "
                "--machine with a file of 'hindmost probe network', or omit --bandwidth."
            )
    if change.depth is not None:
        if not program.has(POST) or not program.has(COMPLETE):
            raise UsageError(
                "A depth is that of pipelined reductions, and this run has blocking ones only: "
                "record the pipelined solver (pgmres for gmres, pipecg for cg)."
            )
        if program.depth != 1:
            raise UsageError(
                f"This run has up to {program.depth} reductions in flight; depths are computed "
                "from runs with 1."
            )


def refuse_network(program: Program) -> None:
    """Raise a UsageError if a run does not show what its messages cost."""
    if program.ranks == 1:
        raise UsageError("A run on one rank has no network to change: record it on more.")
    there = program.costs.there
    shown = there[there >= FEWEST].sum()
    if shown < 0.95 * there.sum() or not shown:
        raise UsageError(
            f"Too few iterations to tell what messages and reductions cost: of {there.sum():,}, "
            f"{shown:,} are at places that at least {FEWEST} iterations share. Record more "
            "iterations."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A solve that is ready to be walked through.

    Attributes
    ----------
    program : Program
        What lies between its cycles and after them, and who receives from whom.
    block : EventBlock
        What is walked through in place of the program's bodies.
    stay : float64 array, shape (iteration, rank, event), or None, seconds
        See `EventSimulator.walk`.
    latency : float64 array, shape (event, kind), seconds
    lag : int
    """

    program: Program
    block: EventBlock
    stay: Times | None
    latency: Times
    lag: int


def scripted(
    program: Program,
    block: EventBlock,
    latency: Times,
    *,
    depth: int | None = None,
    progress: bool = True,
    stay: Times | None = None,
) -> Script:
    """Return bodies with what they cost as a script; the rest is that of a program."""
    if not progress:
        kinds = [without_progress(block.kind[rows]) for rows in block.cycles()]
        block, latency = replace(block, kind=np.concatenate(kinds)), latency.copy()
        latency[:, REDUCE] = np.maximum(latency[:, REDUCE], latency[:, COMPLETE])
    lag = 0 if depth is None else depth - 1
    return Script(program=program, block=block, stay=stay, latency=latency, lag=lag)


def walk(
    program: Program,
    change: Change,
    scenario: Scenario,
    seed: int = 0,
    with_path: bool = True,
    *,
    interpret: bool = False,
) -> ReplayedSolve:
    """Walk through a solve with a change, and back along the longest path if it is wanted.

    Parameters
    ----------
    with_path : bool
        Without it the path is empty, and the walk takes half the time.
    interpret : bool
        See `hindmost.models.simulation.event_simulator.EventSimulator.walk`.
    """
    ready = prepared(program, change, scenario, seed)
    return walk_cycles(ready, with_path=with_path, interpret=interpret)


def places_on_path(program: Program) -> NDArray[np.int32]:
    """Return who is on the critical path of a recorded solve.

    Returns
    -------
    int32 array, shape (iteration, event + 1)
        The rank whose own work is on the path before each event, and after the last one; `NOBODY`
        while the path is in a message or in a pending reduction.
    """
    ready = prepared(program, Change(), Scenario(level="typical", byte_share=0.0))
    bodies, events = ready.block.kind.shape
    passed = np.full((bodies, events + 1), NOBODY, np.int32)
    walk_cycles(ready, passed=passed)
    return passed


def prepared(program: Program, change: Change, scenario: Scenario, seed: int = 0) -> Script:
    """Apply a change to a solve."""
    program = changed_program(program, change)
    if change.uninjected or (change.noise == 0.0 and program.injected is not None):
        program = without_injected(program)
    costs = program.costs
    nominal = {"typical": costs.median_s, "low": costs.low_s, "high": costs.high_s}[scenario.level]
    latency = change.network(nominal, program.ranks, scenario.byte_share)
    stay = program.stays(nominal)
    block = program.block
    if change.noise != 1.0:
        block, stay = with_noise(program, stay, QUANTILE[scenario.level], change.noise)
    if change.balanced:
        block = balanced(block)
    block = slowed(block, change.slowness(program.ranks))
    if change.detours is not None:
        random = np.random.default_rng(seed)
        shape = program.bodies, program.ranks
        detours = change.detours.draw(random, shape)
        block = delayed(block, np.where(with_points(program)[:, None], detours, 0.0))
    return scripted(
        program, block, latency, depth=change.depth, progress=change.progress, stay=stay
    )


def changed_program(program: Program, change: Change) -> Program:
    """Return the program of the solver and length that a change has."""
    if change.solver is not None:
        program = as_partner(program, change.solver)
    return program.of_length(change.iterations)


def walk_cycles(
    script: Script,
    *,
    with_path: bool = True,
    interpret: bool = False,
    passed: NDArray[np.int32] | None = None,
    ended: Times | None = None,
    left: Times | None = None,
) -> ReplayedSolve:
    """Walk through a solve from cycle to cycle, and back through each if its path is wanted.

    Parameters
    ----------
    passed : int32 array, shape (iteration, event + 1), optional
        Is filled with the ranks on the path; see `places_on_path`.
    ended, left : optional
        See `EventSimulator.walk`; since the first rank began the cycle.
    """
    program, block, latency = script.program, script.block, script.latency
    (bodies, events), ranks = block.kind.shape, program.ranks
    simulator = EventSimulator(
        ranks,
        program.neighbours,
        latency,
        lag=script.lag,
        receipts_send=program.receipts_send,
        exchanges_meet=program.exchanges_meet,
        pending=max(int(np.isin(block.kind, (POST, COMPLETE)).sum()), 1),
    )
    drain_s = float(latency[:, COMPLETE].max(initial=0.0))
    path = PathTimes.none(ranks)
    counts = program.counts or CycleCounts.once(len(program.between))
    total_s, iterating_s = counts.more_s, 0.0
    for rows, between, times, before in zip(
        block.cycles(), program.between, counts.times, counts.before, strict=True
    ):
        last = rows.stop == bodies
        total_s += before * float(between.min())
        # Between cycles all ranks meet.
        simulator.meet()
        simulator.clock[:] = between - between.min()
        part = block.part(rows)
        stay = None if script.stay is None else np.ascontiguousarray(script.stay[rows])
        noted = Waits.of_places(len(part.kind) * (events + 1), ranks) if with_path else None
        simulator.walk(
            part,
            own_time=True,
            stay=stay,
            ended=None if ended is None else ended[rows],
            left=None if left is None else left[rows],
            waits=noted,
            interpret=interpret,
        )
        ends = simulator.clock + program.after if last else simulator.clock
        if noted is not None:
            one = PathTimes.none(ranks)
            follow(
                noted.own,
                noted.waited,
                noted.since,
                noted.met,
                noted.cost,
                np.empty((0, 0, 0)) if stay is None else stay,
                int(ends.argmax()),
                one.work,
                one.cost,
                one.stay,
                one.visits,
                np.empty(0, np.int32) if passed is None else passed[rows].reshape(-1),
            )
            path.add(one, times)
        last_s, posted_s = float(simulator.clock.max()), simulator.last_post_s
        # What is in flight ends before the next cycle.
        pending_s = 0.0 if posted_s is None or not script.lag else posted_s + drain_s
        # Without the wait of those that begin first, for which the time between is to blame.
        iterating_s += times * (last_s - float(between.max() - between.min()))
        total_s += times * max(last_s, pending_s)
        if last:  # the end of the solve comes once
            total_s += max(float(ends.max()), pending_s) - max(last_s, pending_s)
    return ReplayedSolve(total_s=total_s, iterating_s=iterating_s, path=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """When every rank does what in a simulated solve, as a recording would have it.

    Attributes
    ----------
    script : Script
        With the work before events; what lies behind the end of a body has no meaning.
    start, end : float64 array, shape (iteration, rank), seconds
        Of bodies, since the begin of the solve.
    inside : float64 array, shape (iteration, rank, event), seconds
        Time in an event; 0 behind the end of a body.
    """

    script: Script
    start: Times
    end: Times
    inside: Times


def timeline_of(script: Script) -> Timeline:
    """Walk through a solve, and note when every rank does what.

    Raises
    ------
    UsageError
        Its cycles stand for more than one each.
    """
    if script.program.counts is not None:
        raise UsageError(
            "A solve with other iterations is not simulated cycle by cycle, so it has no timeline: "
            "omit --iterations."
        )
    block = script.block
    start, end = np.empty((2, *block.rest.shape))
    left = np.zeros(block.work.shape)
    begin_s = 0.0
    walk_cycles(script, with_path=False, ended=end, left=left)
    for rows, between in zip(block.cycles(), script.program.between, strict=True):
        begin_s += float(between.min())
        start[rows] = begin_s + np.vstack([between - between.min(), end[rows][:-1]])
        end[rows] += begin_s
        left[rows] += begin_s
        begin_s = float(end[rows].max())
    before = np.concatenate([start[:, :, None], left[:, :, :-1]], axis=2)
    inside = np.where(block.recorded[:, None, :], left - before - block.work, 0.0)
    return Timeline(script=script, start=start, end=end, inside=inside)


def balanced(block: EventBlock) -> EventBlock:
    """Return bodies in which all ranks have as much work in each stretch, and as much in all.

    A stretch lies before an event, or after the last one. Its work keeps its course over the
    bodies. Stretches in which a rank has no work, as it makes no call there, are taken together.
    """
    work_s = np.concatenate(
        [block.work.sum(axis=0), block.rest.sum(axis=0)[:, None]], axis=1
    )  # (rank, stretch)
    of_all = (work_s > 0.0).all(axis=0)
    work_s[:, ~of_all] = work_s[:, ~of_all].sum(axis=1, keepdims=True)
    of_all |= (work_s > 0.0).all(axis=0)
    factor = np.ones_like(work_s)
    factor[:, of_all] = work_s[:, of_all].mean(axis=0) / work_s[:, of_all]
    return replace(block, work=block.work * factor[:, :-1], rest=block.rest * factor[:, -1])


def slowed(block: EventBlock, factor: Times) -> EventBlock:
    """Return bodies whose local work takes another time on each rank."""
    if np.all(factor == 1.0):
        return block
    return replace(block, work=block.work * factor[None, :, None], rest=block.rest * factor)
