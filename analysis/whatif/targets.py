"""Numbers of ranks that were not recorded: how they are written, and how work and network grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.over_ranks import by_size, programs_among
from hindmost.analysis.whatif.options import split
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine, Network
from hindmost.models.pmnf.forecast import MeasuredKernels, forecast_kernels
from hindmost.models.simulation.blocks import COMPLETE, ONE_WAY, RECEIVE, REDUCE
from hindmost.models.simulation.local_work import LocalWork
from hindmost.models.simulation.network import (
    Link,
    NodeNetwork,
    Piece,
    allreduce_messages,
    grid_edges,
    nodes_of,
)
from hindmost.models.simulation.program import Program
from hindmost.models.simulation.scaleup import MAX_RANKS, Placement, neighbours_of
from hindmost.models.simulation.simulated_solve import Target, WorkFactor
from hindmost.text import counted, seconds

MAX_HIDDEN = 2.0
"""Rounds of a reduction over those that the rank in the middle sees, at most: where ranks come one
after the other, the last to come finds the messages of the others there."""
FACES = {1: 2, 2: 4, 3: 6}
"""Neighbours of a rank in a grid of one, two or three dimensions."""


class Scaling(StrEnum):
    """How the work of a rank changes with the number of ranks."""

    WEAK = "weak"
    """It stays: the problem grows with the ranks."""
    STRONG = "strong"
    """It is divided among the ranks: the problem stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where runs are to be scaled to.

    Attributes
    ----------
    ranks : tuple of int
    per_node : int or None
        None if the recording machine is to say.
    scaling : Scaling or None
        None if the runs are to say.
    grid : int or None
        Dimensions of the grid of ranks that exchange halos; None if the run is to say.
    """

    ranks: tuple[int, ...]
    per_node: int | None = None
    scaling: Scaling | None = None
    grid: int | None = None


def read_ranks(text: str) -> tuple[int, ...]:
    """Return the numbers of ranks of ``64``, ``64,512`` or ``64..4096``, which doubles."""
    found: list[int] = []
    for part in split(text, "--ranks"):
        first, dots, last = part.partition("..")
        ends = [first, last] if dots else [first]
        if not all(each.strip().isdecimal() for each in ends):
            raise UsageError(
                f"--ranks {text}: write 512, a list such as 64,512, or 64..4096, which doubles."
            )
        low, high = int(ends[0]), int(ends[-1])
        if not 1 <= low <= high <= MAX_RANKS:
            raise UsageError(
                f"--ranks {text}: numbers of ranks are 1 to {MAX_RANKS:,}, and a range ascends."
            )
        doubled = [low << each for each in range((high // low).bit_length())]
        found += [*(each for each in doubled if each < high), high]
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkModel:
    """The work of a rank on other numbers of ranks.

    Attributes
    ----------
    factors : mapping of int to WorkFactor
        By number of ranks.
    scaling : Scaling
    basis : str
        What it rests on, in a sentence.
    """

    factors: dict[int, WorkFactor]
    scaling: Scaling
    basis: str


def work_model(runs: Sequence[Run], works: Sequence[LocalWork], scale: Scale) -> WorkModel:
    """Return the work of a rank on other numbers of ranks.

    Runs on two numbers of ranks or more tell how it grows, as `hindmost scale` would forecast it.
    Else weak or strong scaling is assumed as asked for, or as the sizes of the runs say, or strong.

    Parameters
    ----------
    runs : sequence of Run
        On one or several numbers of ranks; the last one is scaled.
    works : sequence of LocalWork
        Of the same runs.
    scale : Scale

    Raises
    ------
    UsageError
        The sizes of runs on several numbers of ranks contradict each other.
    """
    base = runs[-1].header.ranks
    counts = sorted({run.header.ranks for run in runs})
    scaling = scale.scaling or scaling_of(runs)
    if scaling is None and len(counts) > 1:
        raise UsageError(
            "The sizes of the runs are neither those of weak nor of strong scaling: give --scaling "
            "weak or strong, and runs of one kind."
        )
    if scaling is None:
        return assumed(Scaling.STRONG, base, scale.ranks, works[-1].least, asked=False)
    if len(counts) == 1 or scaling is not scaling_of(runs):
        return assumed(scaling, base, scale.ranks, works[-1].least)
    pairs = list(zip(runs, works, strict=True))
    body_s = np.array(
        [np.median([work.body_s for run, work in pairs if run.header.ranks == p]) for p in counts]
    )
    if not body_s.min() > 0.0:
        return assumed(scaling, base, scale.ranks, works[-1].least)
    return WorkModel(
        factors=learnt_factors(np.array(counts, np.float64), body_s, scale.ranks),
        scaling=scaling,
        basis=(
            f"The work of a rank is forecast from runs on {', '.join(map(str, counts))} ranks, on "
            f"which it takes {', '.join(map(seconds, body_s))} an iteration."
        ),
    )


def learnt_factors(
    counts: NDArray[np.float64], recorded_s: NDArray[np.float64], ranks: Sequence[int]
) -> dict[int, WorkFactor]:
    """Return a time on other numbers of ranks, over that on the most recorded ones.

    One that falls is taken to be no more than the largest recorded one: work that turns and grows
    beyond that would be work for each rank, which the runs would show.

    Parameters
    ----------
    counts : float64 array, shape (count,)
        Recorded numbers of ranks, ascending; at least 2.
    recorded_s : float64 array, shape (count,), seconds
        Work of a rank in an iteration, or what a message costs; above 0.
    """
    found = {}
    falls = recorded_s[-1] < recorded_s[0]
    most = float(recorded_s.max() / recorded_s[-1]) if falls else np.inf
    for each in ranks:
        if each <= counts[-1]:
            grown = np.interp(np.log(each), np.log(counts), np.log(recorded_s / recorded_s[-1]))
            between = float(np.exp(grown))
            found[each] = WorkFactor(typical=between, low=between, high=between)
            continue
        kernels = MeasuredKernels(points=counts, values=recorded_s[None] / recorded_s[-1])
        (there,) = forecast_kernels([kernels], float(each))
        low, typical, high = (
            min(float(end[0]), most) for end in (there.low, there.predicted, there.high)
        )
        found[each] = WorkFactor(typical=typical, low=low, high=high)
    return found


def assumed(
    scaling: Scaling, base: int, ranks: Sequence[int], least: float, *, asked: bool = True
) -> WorkModel:
    """Return work that stays, or is divided.

    Parameters
    ----------
    least : float
        The least disturbed work, over the typical one. What is above may be noise, which is not
        divided.
    asked : bool
        Whether the user or the runs say so; else it is the default.
    """
    if scaling is Scaling.WEAK:
        return WorkModel(
            factors={each: WorkFactor() for each in ranks},
            scaling=scaling,
            basis=(
                "Weak scaling: every rank has the work of a recorded one. More ranks on a node "
                "than recorded may slow each other; runs with full nodes would show it."
            ),
        )
    factors = {}
    for each in ranks:
        share = base / each
        more = max(1.0 - share, 0.0) * (1.0 - least)
        factors[each] = WorkFactor(typical=share, low=share, high=share + more)
    return WorkModel(
        factors=factors,
        scaling=scaling,
        basis=(
            f"Strong scaling{'' if asked else ' (the default; or give --scaling weak)'}: the work "
            f"of a rank is that of {counted(base, 'rank')}, divided. Rare disturbances last as "
            "recorded. Caches and work that is not divided are not modelled; runs on several "
            "numbers of ranks would show them."
        ),
    )


def scaling_of(runs: Sequence[Run]) -> Scaling | None:
    """Return the scaling that the sizes of runs on several numbers of ranks are of."""
    kinds = [each.kind for each in by_size(runs)]
    return Scaling(kinds[0]) if len(kinds) == 1 and kinds[0] in (*Scaling,) else None


def scalable(runs: Sequence[Run]) -> list[list[Run]]:
    """Put runs together that differ in size and ranks only; those on the most ranks come last."""
    return [sorted(each, key=lambda run: run.header.ranks) for each in programs_among(runs)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkBasis:
    """A network, and what it rests on.

    Attributes
    ----------
    network : NodeNetwork
    basis : str
        In a sentence.
    messages : mapping of int to WorkFactor
        By number of ranks: what a message costs over the network; empty if it costs the same.
    """

    network: NodeNetwork
    basis: str
    messages: Mapping[int, WorkFactor] = field(default_factory=dict)


def network_of(
    machine: Machine | None, shown: Sequence[tuple[Program, int]], ranks: Sequence[int] = ()
) -> NetworkBasis:
    """Return the network of a machine file, or else what messages of recorded reductions cost.

    Runs on several numbers of ranks tell how that changes with it, as for the work of a rank.

    Parameters
    ----------
    shown : sequence of (Program, int)
        Runs that may show what a reduction costs, and their numbers of nodes; those on most ranks
        first.
    ranks : sequence of int
        Numbers of ranks that messages are wanted for.

    Raises
    ------
    DataError
        Neither says.
    """
    if machine is not None:
        probed = probed_network(machine)
        within, across = probed.within, probed.across
        basis = f"Messages take the times of the machine file of {machine.name}."
        if across is None:
            basis = (
                f"The machine file of {machine.name} has no times between nodes: messages between "
                "nodes are taken to cost what they cost within one, so the network's part is a "
                "lower bound. Probe the network on 2 nodes, or add the difference with --latency."
            )
        network = NodeNetwork(within=within, across=across or within)
        return NetworkBasis(network=network, basis=basis)
    costs: dict[int, list[float]] = {}
    nodes, where = 0, ""
    for program, number in shown:
        message_s, shows = message_of(program)
        if message_s > 0.0 and where in ("", shows):
            nodes, where = nodes or number, shows
            costs.setdefault(program.ranks, []).append(message_s)
    if costs:
        counts = np.array(sorted(costs), np.float64)
        cost_s = np.array([np.median(costs[int(each)]) for each in counts])
        link = Link(pieces=(Piece(from_bytes=0, latency_s=float(cost_s[-1]), per_byte_s=0.0),))
        basis = (
            f"Without --machine, every message takes {seconds(cost_s[-1])}, as in the recorded "
            f"{where} on {counted(nodes, 'node')}"
        )
        if nodes == 1:
            basis += ", where ranks also wait for each other; those between nodes take longer"
        messages = {each: WorkFactor() for each in ranks}
        if counts.size > 1:
            messages = learnt_factors(counts, cost_s, ranks)
            basis += (
                "; on other numbers of ranks what is forecast from "
                f"{', '.join(map(str, sorted(costs)))} ranks, on which it takes "
                f"{', '.join(map(seconds, cost_s))}"
            )
        hidden = max(hidden_rounds(program) for program, _ in shown)
        if hidden > 1.0:
            messages = {
                each: replace(factor, high=hidden * factor.high)
                for each, factor in messages.items()
            }
            basis += f"; if all come at once, up to {hidden:.2g} times as long"
        return NetworkBasis(
            network=NodeNetwork(within=link, across=link), basis=f"{basis}.", messages=messages
        )
    one = all(program.ranks == 1 for program, _ in shown)
    why = "are on one rank" if one else "hide messages and collectives behind work"
    raise DataError(
        f"The runs {why}, so they do not show what a message costs: give --machine with a file of "
        "'hindmost probe network'."
    )


def probed_network(machine: Machine) -> Network:
    """Return the network of a machine file; raise a DataError if it has none."""
    if machine.network is None:
        raise DataError(
            f"The machine file of {machine.name} has no network: 'hindmost probe network' adds it."
        )
    return machine.network


def message_of(program: Program) -> tuple[float, str]:
    """Return what a message costs by a run, in seconds, and which events show it; 0 if none do.

    Collectives take as many messages after each other as their algorithm has rounds.
    """
    costs, rounds = program.costs, allreduce_messages(program.ranks)
    shown = (costs.seen > 0) & ~costs.hidden & (costs.median_s > 0.0)
    for kinds, messages, where in (
        ((REDUCE, COMPLETE), rounds, "reductions"),
        ((RECEIVE,), 1.0, "messages between neighbours"),
        (ONE_WAY, rounds, "collectives"),
    ):
        found = costs.median_s[:, kinds][shown[:, kinds]]
        if found.size and messages > 0.0:
            return float(np.median(found)) / messages, where
    return 0.0, ""


def hidden_rounds(program: Program) -> float:
    """Return how long reductions take if all ranks come at once, over what the middle rank stays.

    That is what the rank stays that stays longest, at most `MAX_HIDDEN`; 1 where all stay alike.
    """
    stays = program.released_s.transpose(0, 2, 1)[program.block.meetings]
    middle_s = np.median(stays, axis=1)
    if not (middle_s > 0.0).any():
        return 1.0
    return float(np.clip(np.median(stays.max(axis=1)) / np.median(middle_s), 1.0, MAX_HIDDEN))


def halo_bytes(run: Run) -> float:
    """Return the size of a message between neighbours; 0 without any."""
    edges = run.edges
    if not edges.source.size:
        return 0.0
    messages = np.ones_like(edges.bytes) if edges.messages is None else edges.messages
    return float(np.median(edges.bytes / np.maximum(messages, 1)))


def grid_of(work: LocalWork, scale: Scale) -> tuple[int, str]:
    """Return the dimensions of the grid of ranks, and what they rest on; 0 without neighbours."""
    _, target = neighbours_of(work.program)
    if not target.size:
        if scale.grid is not None and work.program.ranks > 1:
            raise UsageError("--grid: no exchange between neighbours was recorded; omit it.")
        return 0, ""
    most = int(np.bincount(target).max())
    shape = scale.grid or next((each for each, faces in FACES.items() if most <= faces), 3)
    words = {1: "a chain", 2: "a grid of two dimensions", 3: "a grid of three dimensions"}[shape]
    if scale.grid is not None:
        return shape, f"Ranks exchange halos in {words} (--grid {shape})."
    return shape, (
        f"Ranks exchange halos in {words}: recorded ranks have up to "
        f"{counted(most, 'neighbour')}. --grid changes it."
    )


def ranks_per_node(run: Run, scale: Scale) -> tuple[int, str]:
    """Return how many ranks a node has, and what that rests on; no words if it was given."""
    if scale.per_node is not None:
        return scale.per_node, ""
    machine = run.header.environment.get("machine")
    cores = machine.get("cores") if isinstance(machine, dict) else None
    most = max(run.hosts.count(host) for host in set(run.hosts))
    found, why = most, "as recorded"
    if isinstance(cores, int) and cores > most:
        found, why = cores, "as many as the recording machine has cores"
    return found, f"A node has {counted(found, 'rank')}, {why}; --ranks-per-node changes it."


def targets_of(
    run: Run, work: LocalWork, model: WorkModel, network: NetworkBasis, scale: Scale
) -> list[Target]:
    """Return where a run is scaled to."""
    dimensions, _ = grid_of(work, scale)
    per_node, _ = ranks_per_node(run, scale)
    found = []
    for ranks in scale.ranks:
        grow = 1.0
        if model.scaling is Scaling.STRONG and dimensions > 1:  # surfaces of smaller blocks
            grow = (run.header.ranks / ranks) ** ((dimensions - 1) / dimensions)
        found.append(
            Target(
                placement=Placement(
                    node=nodes_of(ranks, per_node), edges=grid_edges(ranks, dimensions)
                ),
                work=model.factors[ranks],
                messages=network.messages.get(ranks, WorkFactor()),
                halo_bytes=grow * halo_bytes(run),
            )
        )
    return found
