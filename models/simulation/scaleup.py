"""A recorded solve simulated on another number of ranks.

The bodies (iterations) are the recorded ones, in their order. The local work of every rank is drawn
from the laws of `LocalWork`, scaled as asked, and all waiting is computed by the simulator. What a
reduction or halo costs comes from a network. Several cases are simulated with the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.laws.tailed import TailedLaw
from hindmost.models.simulation.blocks import (
    FEWEST,
    NO_GROUP,
    ONE_WAY,
    POST,
    RECEIVE,
    REDUCE,
    WAITING,
    EventBlock,
    Neighbours,
)
from hindmost.models.simulation.change import Detours
from hindmost.models.simulation.length import begins_of
from hindmost.models.simulation.local_work import (
    DRAWN,
    OF_DETOURS,
    OF_RANK,
    Dependence,
    LocalWork,
    generator,
    scores,
)
from hindmost.models.simulation.network import Edges, NodeNetwork, Nodes
from hindmost.models.simulation.program import Program, TypicalCosts
from hindmost.models.simulation.rerun import Script, scripted, walk_cycles

Times = NDArray[np.float64]

MAX_DRAWN = 1 << 26
"""Values that one restart cycle may need."""
MAX_RANKS = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is simulated.

    Attributes
    ----------
    latency : float64 array, shape (event, kind), seconds
        What events cost.
    work : float
        Factor of the undisturbed work.
    noise : float
        Factor of the deviations.
    noise_scales : bool
        Whether deviations are in proportion to the work, but for those in the tail, which last as
        long as recorded; else all do.
    detours : Detours or None
        Noise in addition.
    depth : int or None
        Reductions in flight; None: as recorded.
    progress : bool
        Whether reductions progress while ranks work.
    capped : bool
        Whether no deviation exceeds the largest recorded one.
    apart_s : float or None
        Standard deviation of what ranks differ by all the time, in seconds a body, drawn in place
        of the recorded differences; None: those, from the first recorded rank to the last.
    """

    latency: Times
    work: float = 1.0
    noise: float = 1.0
    noise_scales: bool = True
    detours: Detours | None = None
    depth: int | None = None
    progress: bool = True
    capped: bool = False
    apart_s: float | None = None

    @property
    def quiet(self) -> bool:
        """Whether there is no noise."""
        return self.noise == 0.0 and self.detours is None

    def deviations(self, drawn: Times, laws: Sequence[TailedLaw]) -> Times:
        """Return the deviations of a case from those that were drawn."""
        if self.capped:
            drawn = np.minimum(drawn, np.array([law.largest for law in laws]))
        if self.work != 1.0:
            # Work that took less than typical cannot have saved more than there is.
            # What delays a rank for long does not depend on what it does.
            tails = [np.inf if law.tail is None else law.tail.threshold for law in laws]
            scales = (drawn < 0.0) | (self.noise_scales & (drawn <= np.array(tails)))
            drawn = np.where(scales, self.work * drawn, drawn)
        return np.asarray(self.noise * drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where ranks are, and whom they exchange halos with.

    Attributes
    ----------
    node : int array, shape (rank,)
        From 0.
    edges : Edges
    """

    node: Nodes
    edges: Edges

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.node.size)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(np.unique(self.node).size)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostScenarios:
    """What events cost on a placement, and the least and most that they may.

    Attributes
    ----------
    typical, alone, low, high : float64 array, shape (event, kind), seconds
        `alone` is what the network costs if all ranks come together.
    """

    typical: Times
    alone: Times
    low: Times
    high: Times


def costs_on(
    costs: TypicalCosts,
    recorded: Placement,
    target: Placement,
    network: NodeNetwork,
    changed: NodeNetwork,
    *,
    recorded_bytes: float,
    target_bytes: float,
) -> CostScenarios:
    """Return what events cost on other ranks.

    A recorded cost is that of the network and of the MPI library. The typical cost takes the
    difference of the recorded cost from that of the network as the library's, which stays; the low
    one has the network alone, and half of a collective's rounds; the high one is in proportion to
    that of the network.

    Parameters
    ----------
    costs : TypicalCosts
        As recorded.
    recorded, target : Placement
    network, changed : NodeNetwork
        That of the recording, and that of the target.
    recorded_bytes, target_bytes : float
        Size of a halo message.
    """
    typical, alone, low, high = (np.zeros_like(costs.median_s) for _ in range(4))
    here = {
        REDUCE: network.reduction_s(recorded.node),
        RECEIVE: network.halo_s(recorded.edges, recorded.node, recorded_bytes),
    }
    there = {
        REDUCE: changed.reduction_s(target.node),
        RECEIVE: changed.halo_s(target.edges, target.node, target_bytes),
    }
    for kind in WAITING:
        now, then = (each[RECEIVE if kind == RECEIVE else REDUCE] for each in (here, there))
        seen = (costs.there[:, kind] > 0) & ~costs.hidden[:, kind]
        excess = np.where(seen, np.maximum(costs.median_s[:, kind] - now, 0.0), 0.0)
        typical[:, kind] = then + excess
        alone[:, kind] = then
        # Who is last finds the messages of others there, and is heard of by half of them after
        # half of the rounds.
        low[:, kind] = then if kind == RECEIVE else 0.5 * then
        growth = then / now if now > 0.0 else 1.0
        high[:, kind] = np.maximum(
            typical[:, kind], np.where(seen, growth * costs.high_s[:, kind], then)
        )
    return CostScenarios(typical=typical, alone=alone, low=low, high=high)


def simulate(
    work: LocalWork,
    placement: Placement,
    cases: Sequence[Case],
    *,
    seed: tuple[int, ...],
    laws: Sequence[TailedLaw] = (),
) -> Times:
    """Simulate a solve; cases have the same draws.

    Parameters
    ----------
    laws : sequence of TailedLaw, optional
        By default those of the work.

    Returns
    -------
    float64 array, shape (case,), seconds
        Time of all bodies, without what is between restart cycles, before and after.

    Raises
    ------
    UsageError
        Too many ranks.
    """
    program, laws = work.program, laws or work.laws
    parts = simulated_rows(program, placement.ranks, len(laws))
    rows = np.concatenate(parts)
    drawn = drawn_deviations(placement, rows.size, laws, work.dependence, seed)
    ends_s = []
    for case in cases:
        own = own_work(work, rows, case, drawn, laws, seed)
        walked = walk_cycles(script_on(work, placement, case, own, parts), with_path=False)
        ends_s.append(walked.total_s)
    return np.array(ends_s) * (program.bodies / rows.size)


def drawn_deviations(
    placement: Placement,
    bodies: int,
    laws: Sequence[TailedLaw],
    dependence: Dependence,
    seed: tuple[int, ...],
) -> Times:
    """Draw the deviations of local work: float64, shape (iteration, rank, segment), seconds."""
    score = scores(dependence, placement.node, bodies, len(laws), seed)
    drawn = np.empty_like(score)
    for segment, law in enumerate(laws):
        drawn[:, :, segment] = law.at_normal(score[:, :, segment])
    return drawn


def own_work(
    work: LocalWork,
    rows: NDArray[np.intp],
    case: Case,
    drawn: Times,
    laws: Sequence[TailedLaw],
    seed: tuple[int, ...],
) -> Times:
    """Return the local work of a case: float64, shape (iteration, rank, segment), seconds.

    Parameters
    ----------
    rows : int array, shape (iteration,)
        The recorded bodies that are simulated.
    drawn : float64 array, shape (iteration, rank, segment), seconds
        Deviations from the typical work.
    """
    own = case.work * work.typical[rows, None, :] + case.deviations(drawn, laws)
    ranks = own.shape[1]
    if case.apart_s is None:
        own += case.work * work.level[np.arange(ranks) * work.level.shape[0] // ranks]
    if case.detours is not None:
        random, shape = generator((*seed, OF_DETOURS)), (rows.size, ranks)
        own[:, :, 0] += case.detours.draw(random, shape, own.sum(axis=2))
    if case.apart_s:
        drawn_s = case.apart_s * generator((*seed, OF_RANK)).standard_normal(ranks)
        own[:, :, 0] += case.work * drawn_s
    return np.maximum(own, 0.0)


def simulated_rows(program: Program, ranks: int, segments: int) -> list[NDArray[np.intp]]:
    """Return the bodies that are simulated, cycle by cycle: whole cycles, as many as are needed.

    A solver that does not restart has one cycle, whose first bodies stand for all.
    """
    if ranks > MAX_RANKS:
        raise UsageError(f"{ranks:,} ranks; the most that are simulated is {MAX_RANKS:,}.")
    cycles = program.block.cycles()
    width = ranks * (segments + 1)
    most = max(DRAWN // width, FEWEST)
    if len(cycles) == 1:
        return [np.arange(min(program.bodies, most))]
    # Evenly over the solve, so that they stand for all of it.
    length = program.bodies / len(cycles)
    count = int(np.clip(most / length, 1, len(cycles)))
    chosen = np.unique(np.linspace(0, len(cycles) - 1, count).round().astype(int))
    found = [np.arange(cycles[each].start, cycles[each].stop) for each in chosen]
    drawn = width * sum(part.size for part in found)
    if drawn > MAX_DRAWN:
        raise UsageError(
            f"{ranks:,} ranks in restart cycles of {length:.0f} iterations are {drawn:,} values at "
            f"once; the most is {MAX_DRAWN:,}. Give fewer ranks."
        )
    return found


def script_on(
    work: LocalWork,
    placement: Placement,
    case: Case,
    own: Times,
    parts: Sequence[NDArray[np.intp]],
) -> Script:
    """Return a solve on other ranks as a script, without the time between its cycles.

    Parameters
    ----------
    own : float64 array, shape (iteration, rank, segment), seconds
    parts : sequence of int array
        Bodies of each cycle, see `simulated_rows`.
    """
    program, rows = work.program, np.concatenate(parts)
    block = EventBlock(
        kind=program.block.kind[rows],
        work=own[:, :, :-1],
        duration=np.broadcast_to(0.0, own[:, :, :-1].shape),
        rest=own[:, :, -1],
        cycle_begins=begins_of(parts),
        group=groups_on(program.block, rows, placement.ranks),
    )
    there = replace(
        program,
        between=np.zeros((len(parts), placement.ranks)),
        after=np.zeros(placement.ranks),
        neighbours=Neighbours.of_edges(placement.ranks, *placement.edges),
        counts=None,
    )
    return scripted(there, block, case.latency, depth=case.depth, progress=case.progress)


def scaled_script(
    work: LocalWork, placement: Placement, case: Case, seed: int = 0
) -> tuple[Script, NDArray[np.intp]]:
    """Return a solve on other ranks as a script, and the recorded bodies that it consists of."""
    program, draws = work.program, (seed, 0)
    parts = simulated_rows(program, placement.ranks, len(work.laws))
    rows = np.concatenate(parts)
    drawn = drawn_deviations(placement, rows.size, work.laws, work.dependence, draws)
    own = own_work(work, rows, case, drawn, work.laws, draws)
    pause = np.median(program.between, axis=1)
    later = float(np.median(pause[1:])) if pause.size > 1 else 0.0
    of_cycles = np.array([float(pause[0]), *[later] * (len(parts) - 1)])
    script = script_on(work, placement, case, own, parts)
    there = replace(
        script.program,
        between=np.repeat(case.work * of_cycles[:, None], placement.ranks, axis=1),
        after=np.full(placement.ranks, float(np.median(program.after))),
    )
    return replace(script, program=there), rows


def groups_on(
    block: EventBlock, rows: NDArray[np.intp], ranks: int
) -> NDArray[np.integer[Any]] | None:
    """Return the groups of bodies on other ranks: int array, shape (iteration, rank, event).

    Roots keep their number. A collective over some of the recorded ranks is taken to be over all,
    and a receipt to need all neighbours, unless no recorded rank needs any.
    """
    if block.group is None:
        return None
    group, kind = block.group[rows], block.kind[rows]
    alike = (group == group[:, :1]).all(axis=1)
    named = np.isin(kind, (*ONE_WAY, POST)) | ((kind == RECEIVE) & (group[:, 0] == 0))
    root = np.where(alike & named, group[:, 0], NO_GROUP)
    groups = np.repeat(np.minimum(root, ranks - 1)[:, None], ranks, axis=1)
    # Of a reduction to a root that does not block, every other rank needs only itself.
    body, event = np.nonzero(~alike & (kind == POST))
    groups[body, :, event] = np.arange(ranks)
    groups[body, np.minimum(group[body, :, event].argmin(axis=1), ranks - 1), event] = NO_GROUP
    return groups


def neighbours_of(program: Program) -> Edges:
    """Return the recorded neighbours of a program."""
    first = program.neighbours.first
    target = np.repeat(np.arange(program.ranks), np.diff(first)).astype(np.int32)
    return program.neighbours.source.astype(np.int32), target
