"""Recorded solves replayed with changes, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Required, TypedDict

import numpy as np

from hindmost.analysis.runs.configuration import (
    injected_at_calls,
    is_own_loop,
    options_of,
    solves_in,
)
from hindmost.analysis.runs.efficiency.withheld import calls_of_threads
from hindmost.analysis.runs.tallies import Block, solve_times
from hindmost.analysis.show.overview import MIN_SHARE
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.targets import halo_bytes, probed_network
from hindmost.errors import DataError, UsageError
from hindmost.executors import Executor
from hindmost.harness.runfile.bodies import INJECTED, BodyKind
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.inference import student
from hindmost.models.simulation.blocks import COMPLETE, FEWEST, RECEIVE, UNKNOWN
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.injected import FEWEST_ALIKE
from hindmost.models.simulation.length import SolveShape
from hindmost.models.simulation.path import RankOnPath
from hindmost.models.simulation.program import Program, recorded_program, without_unknown
from hindmost.models.simulation.rerun import REPLICAS, ReplayedSolve, WhatIf, what_if
from hindmost.models.simulation.simulated_solve import SimulatedSolve
from hindmost.output import announce_work
from hindmost.text import counted, percent, seconds, signed_percent

MISSES = 0.02
"""Error of a replay without a change, against the recorded time, from which on none is given."""
EVENTS_PER_S = 5e6
"""Events of all ranks that replays pass in a second, measured on one core."""
SCENARIOS = 4
"""Replays of a change that draws no noise, at least."""
WIDEST = 10.0
"""The factor between a time and an end of its interval, from which on there is no interval."""
MAX_LEFT_OUT = 0.25
"""Share of the iterations of which a replay may not know who waits for whom."""
LIKE_OTHERS = "as long as those next to them"
"""What iterations take that are not replayed, where the others stand for them."""
PARTS, FEWEST_IN_PART = 20, 5
"""Parts of the solve whose times are compared: as many as that, of as many bodies."""
PRECONDITIONERS = {"jacobi": 3.0, "none": 2.0}
"""Vectors that a preconditioner reads and writes."""

OTHER_SOLVER = (
    "The other solver reads and writes as many vectors as PETSc's does, each in the time that they "
    "take in this run. The interval comes from omitting each step in turn."
)
"""What the prediction of a partner assumes."""
HIDDEN = (
    "messages hide behind work, so the run does not show what they cost. Give --latency with "
    "--machine, a file of 'hindmost probe network' on as many ranks."
)
VARYING = (
    "messages cost now more, now less, so the run does not show what they cost. Record more "
    "iterations, on cores that nothing else uses."
)
"""Why the run shows only the interval, and what to do."""


class ExtrapolatedFrom(TypedDict, total=False):
    """What a simulation rests on."""

    ranks: Required[int]
    iterations_of_ranks: int


class Details(TypedDict, total=False):
    """Keys of JSON that only replays have, or only simulations on other ranks."""

    critical_path: Required[list[RankOnPath]]
    assumptions: Required[list[str]]
    replayed_s: float
    recorded_critical_path: list[RankOnPath]
    ranks: int
    nodes: int
    origin: str
    extrapolated_from: ExtrapolatedFrom
    with_recorded_noise_s: float
    beyond_recorded_noise: float
    without_noise_s: float
    without_noise_interval_s: tuple[float, float]
    parts_s: dict[str, float]
    check_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A run with a change: replayed on its ranks, or simulated on others.

    Attributes
    ----------
    run : Run
    named : Named
    result : WhatIf or SimulatedSolve
    ranks : int
    predicted_s : float or None
        None if the run does not show what decides the time.
    middle_s : float
        The time that is told in its place, and by which repeats are sorted.
    miss : float
        Error without a change, on the recorded ranks, as a share.
    missed : bool
        Whether the model does not describe the run, so that its time is in doubt. Replays are
        refused.
    network_share : float
        Of the time.
    parts : tuple of str
        What the time consists of, in sentences.
    withheld : str
        Why there is no prediction, or one in doubt on other ranks, and what to record; else empty.
    assumed : tuple of str
        In sentences.
    left_out : str
        How many iterations are not replayed, and why; empty if all are.
    interval : tuple of float or None
        Of this run alone, for JSON; None for an end that is not known.
    details : Details
        Further keys of JSON.
    scatter : float
        By which factor, as a logarithm, the scatter of bodies leaves another length open.
    seed : int
        Of the draws of a simulation.
    """

    run: Run
    named: Named
    result: WhatIf | SimulatedSolve
    ranks: int
    predicted_s: float | None
    middle_s: float
    miss: float
    missed: bool = False
    network_share: float
    parts: tuple[str, ...]
    withheld: str
    assumed: tuple[str, ...]
    interval: tuple[float | None, float | None] | None
    details: Details
    scatter: float = 0.0
    seed: int = 0
    left_out: str = ""

    JSON = (
        "file=run.path recorded_s=run.solve_time_s predicted_s interval_s=interval "
        "changes=named.changes **details"
    )

    @property
    def simulated(self) -> SimulatedSolve | None:
        """What was simulated; None if it was replayed."""
        return self.result if isinstance(self.result, SimulatedSolve) else None


def replay(
    run: Run,
    program: Program,
    named: Named,
    byte_share: float | None = None,
    executor: Executor | None = None,
) -> Outcome:
    """Replay a run with a change, and return what that says.

    Parameters
    ----------
    program : Program
        Of the run.
    byte_share : float, optional
        Part of the time of a message between neighbours that its bytes take, where a machine file
        says so.

    Raises
    ------
    DataError
        The replay without a change misses the recorded time.
    UsageError
        The change does not apply to this run.
    """
    result = what_if(program, named.change, byte_share=byte_share, executor=executor)
    miss = result.recorded.total_s / run.solve_time_s - 1.0
    if abs(miss) > MISSES:
        raise DataError(
            f"{run.path}: replayed without a change, the solve takes "
            f"{seconds(result.recorded.total_s)} instead of {seconds(run.solve_time_s)} "
            f"({signed_percent(miss)}). Its records do not explain its time, so no change is "
            "predicted."
        )
    scatter = length_scatter(run, named.change)
    assumed = tuple(assumptions(run, named.change, result, byte_share is not None, program))
    missing = left_out(run, LIKE_OTHERS if run.summed else "as long as recorded")
    interval, more = None, []
    if named.words and scatter <= np.log(WIDEST):
        wider = float(np.exp(scatter)) * (1.0 + abs(miss))
        interval = result.low_s / wider, result.high_s * wider
        bodies = " and the scatter of the recorded iterations" if scatter else ""
        more = [
            f"The interval has what a replay cannot know{bodies}. It does not include how "
            "much whole runs vary: the prediction over repeats does."
        ]
    return Outcome(
        run=run,
        named=named,
        result=result,
        ranks=run.header.ranks,
        predicted_s=None if result.open else result.predicted_s,
        middle_s=result.predicted_s,
        miss=miss,
        network_share=of_path(result.changed)["network"],
        parts=tuple(parts_of(named, result.recorded, result.changed)),
        withheld=(HIDDEN if result.hidden else VARYING) if result.open else "",
        assumed=assumed,
        left_out=missing,
        interval=interval,
        details={
            "replayed_s": result.recorded.total_s,
            "critical_path": result.changed.path.largest(),
            "recorded_critical_path": result.recorded.path.largest(),
            "assumptions": [*assumed, *filter(None, [missing]), *more],
        },
        scatter=scatter,
    )


def parts_of(named: Named, before: ReplayedSolve, after: ReplayedSolve) -> Iterator[str]:
    """Yield what the time of a replay consists of, in sentences."""
    was, now = of_path(before), of_path(after)
    shares = [
        f"{name} {percent(now[name])}" + (f" ({percent(was[name])})" if named.words else "")
        for name in now
        if max(now[name], was[name]) >= MIN_SHARE
    ]
    without = ", in brackets without the change" if named.words else ""
    yield f"Critical path{without}: {', '.join(shares)}."
    ours, theirs = after.path.by_rank, before.path.by_rank
    if named.words and ours.size > 1 and ours.sum() > 0.0 and theirs.sum() > 0.0:
        rank, other = int(ours.argmax()), int(theirs.argmax())
        unlike = "" if rank == other else f"; without the change rank {other} holds most"
        yield (
            f"Rank {rank} holds {percent(ours[rank] / ours.sum())} of it "
            f"({percent(theirs[rank] / theirs.sum())}){unlike}."
        )


def assumptions(
    run: Run, change: Change, result: WhatIf, byte_share_known: bool, program: Program
) -> Iterator[str]:
    """Yield what a replay assumes, where the run cannot say; see `replay`."""
    header = run.header
    if result.hidden:
        yield (
            "Latency that hides behind work does not show in a run: the interval goes from "
            "none to all of the time that it may have taken. A --machine file whose network "
            "was probed on as many ranks may say."
        )
    if change.latency != 1.0 and run.edges.source.size and not byte_share_known:
        yield (
            "Messages between neighbours are taken as all latency; the interval has the case "
            "that they are all bytes. --machine with a file of 'hindmost probe network' says "
            "which."
        )
    if change.latency != 1.0 or change.bandwidth != 1.0:
        yield (
            "What messages and reductions typically cost is taken as the network's. It "
            "includes the time of the MPI library, so a change of the wire alone does less."
        )
    if change.of_network and program.has(COMPLETE) and change.progress:
        yield "Reductions progress while ranks work. An MPI without progress hides less."
    if change.noise != 1.0:
        cycle = shape_of(run).cycle
        by_place = f" at each place of the {cycle}" if cycle else ""
        yield (
            f"Undisturbed work is the median{by_place} on each rank; the interval goes from the "
            "lower to the upper quartile. Recurring long iterations, such as output, have "
            "their own median: they are work of the program, and stay."
        )
    if change.uninjected:
        yield "Injected noise is removed; the noise of the machine stays."
    if change.iterations is not None:
        yield (
            "A place in the restart cycle costs the same in every cycle."
            if header.restart
            else "Further iterations take as long as those of the second half of the run."
        )
    if change.detours is not None:
        yield (
            "The noise is added to the recorded one, independent on every rank, at the start "
            "of iterations."
        )
    if change.speed or change.every_speed != 1.0:
        yield "All local work takes 1 / factor of its time, also where memory limits it."
    yield from of_solver(change, header.solver)


def of_solver(change: Change, recorded: str) -> Iterator[str]:
    """Yield what a change of the solver, its pipeline or its progress assumes, on any ranks."""
    if change.depth is not None and change.depth > 1:
        yield (
            "A deeper pipeline also does more work per iteration and needs more iterations to "
            "fill; this is not included, so the time is a lower bound."
        )
    if not change.progress:
        yield (
            "Without progress a reduction takes its time after all ranks have come to its "
            "completion. Calls of MPI before it may do a part of it, so this is an upper bound."
        )
    if change.solver not in (None, recorded):
        yield OTHER_SOLVER


def of_path(walked: ReplayedSolve) -> dict[str, float]:
    """Return what the time of a solve consists of along its critical path, as shares."""
    path = walked.path
    parts_s = {
        "work": float(path.work.sum()),
        "network": float(path.cost.sum()),
        "other time in MPI": float(path.stay.sum()),
    }
    parts_s["outside iterations"] = walked.total_s - sum(parts_s.values())
    return {name: each_s / walked.total_s for name, each_s in parts_s.items()}


def program_of(run: Run) -> Program:
    """Return a run as a program that can be replayed.

    Raises
    ------
    DataError
        It lacks what a replay needs, or its events and clocks contradict each other.
    UsageError
        It is adaptive.
    """
    if calls := calls_of_threads(run):
        raise DataError(
            f"{run.path}: a replay needs all that ranks wait for, and {calls} are in no iteration. "
            "Call MPI from one thread of each rank."
        )
    times = solve_times(run)
    why_not = run.header.spec.get("events_left_out")
    if not run.has("event_kind") and isinstance(why_not, str) and why_not.strip():
        raise DataError(
            f"{run.path}: a replay needs to know who waits for whom, and the run has no events of "
            f"single iterations: {why_not.strip()}."
        )
    if not run.has("event_kind") and times.pipelined:
        raise DataError(
            f"{run.path} has no events of single iterations: an older hindmost wrote it. A replay "
            "of a pipelined solver needs them; record it again."
        )
    block = Block(run, slice(0, run.bodies)).events
    if not run.has("event_kind"):
        block = replace(block, duration=(run.durations - block.work.sum(axis=2))[:, :, None])
    if run.header.ranks > 1 and np.any(block.kind == RECEIVE) and not times.edge_source.size:
        raise DataError(f"{run.path}: the run does not say which ranks exchange messages.")
    where_unknown = injected_at_calls(run) or not run.has(INJECTED)
    unknown = np.count_nonzero(block.kind[:, 0] == UNKNOWN)
    if unknown > MAX_LEFT_OUT * run.bodies and not run.summed:
        raise DataError(
            f"{run.path}: who waits for whom is not known in {unknown:,} of {run.bodies:,} "
            f"iterations, because {why_not}. A replay leaves out at most {percent(MAX_LEFT_OUT)}."
        )
    try:
        program = recorded_program(
            run.starts,
            block,
            run.position,
            run.lead_out,
            times.edge_source,
            times.edge_target,
            shape=shape_of(run),
            injected=None if where_unknown else np.asarray(run.variable(INJECTED)),
            lead_in=run.lead_in,
            restarts=run.restart_durations,
        )
    except DataError as error:
        raise DataError(f"{run.path}: {error}") from error
    return without_unknown(program) if run.summed else program


def left_out(run: Run, how: str) -> str:
    """Say how many iterations are left out, and why; empty if none. See `EventKind.UNKNOWN`."""
    if not run.has("event_kind"):
        return ""
    unknown = np.count_nonzero(run.variable("event_kind")[:, 0] == UNKNOWN)
    if not unknown:
        return ""
    verb, their = ("is", "it takes") if unknown == 1 else ("are", "they take")
    return (
        f"{unknown:,} of {counted(run.bodies, 'iteration')} {verb} not replayed, because "
        f"{run.header.spec.get('events_left_out')}: {their} {how}."
    )


def shape_of(run: Run) -> SolveShape:
    """Return what the solves of a run consist of."""
    header = run.header
    # A solve of a program of one's own says which preconditioner it has. For others without an
    # option it is that of the problem, as `hindmost run` chose it.
    chosen = "none" if header.workload == "diagonal" else "jacobi"
    for option, value in pairwise(options_of(run)):
        if option == "-pc_type":
            chosen = value
    if is_own_loop(run):
        chosen = str(header.spec.get("pc_type"))
    return SolveShape(
        solver=header.solver,
        iterations=header.iterations,
        restart=header.restart,
        drain=np.asarray(run.kind == BodyKind.DRAIN),
        extra=(run.bodies - header.iterations) // max(np.count_nonzero(run.position == 0), 1),
        preconditioner=PRECONDITIONERS.get(chosen, 0.0),
        solves=solves_in(run),
    )


def on_measured_network(
    program: Program, run: Run, machine: Machine
) -> tuple[Program, float | None]:
    """Return a program with probed costs in place of those that hide behind its work.

    Returns
    -------
    program : Program
    byte_share : float or None
        Part of the time of a message between neighbours that its bytes take, 0 to 1; None without
        neighbours.

    Raises
    ------
    DataError
        The file has no network, or none between nodes for a run on several.
    """
    network = probed_network(machine)
    nodes = len(set(run.hosts))
    link = network.within if nodes < 2 else network.across
    if link is None:
        raise DataError(
            f"{run.path} was recorded on {nodes} nodes, and the machine file has no times between "
            "nodes: run 'hindmost probe network' on 2 nodes."
        )
    costs, share = program.costs, None
    if run.edges.source.size:
        size = halo_bytes(run)
        costs, share = costs.measured(RECEIVE, link.time_s(size)), link.byte_share(size)
    alike = [each for each in network.allreduce if each.ranks == run.header.ranks]
    if alike:
        least = min(alike, key=lambda each: each.bytes)
        costs = costs.measured(COMPLETE, least.seconds)
    return replace(program, costs=costs), share


def replay_s(run: Run, replays: int) -> float:
    """Return about how long so many replays of a run take, in seconds."""
    shape = run.shape("event_work") if run.has("event_work") else (run.bodies, run.columns)
    return replays * math.prod(shape) / EVENTS_PER_S


def announce_replays(runs: Sequence[Run], changes: Sequence[Named]) -> None:
    """Say that runs are replayed with changes, if that takes some seconds."""
    replays = sum(SCENARIOS if change.change.detours is None else REPLICAS for change in changes)
    announce_work(
        f"Replaying {counted(len(runs), 'run')} with {counted(len(changes), 'change')}",
        sum(replay_s(run, replays) for run in runs),
    )


def replay_run(
    run: Run,
    changes: Sequence[Named],
    machine: Machine | None,
    *,
    executor: Executor | None = None,
) -> list[Outcome]:
    """Replay a run with each of some changes; the executor does the replays.

    Raises
    ------
    DataError
        The replay without a change misses the recorded time.
    UsageError
        A change does not apply to this run.
    """
    program, share = program_of(run), None
    if machine is not None:
        program, share = on_measured_network(program, run, machine)
    found = []
    for named in changes:
        try:
            found.append(replay(run, program, named, share, executor))
        except UsageError as error:
            raise UsageError(f"{run.path}: {error}") from error
    return found


def length_scatter(run: Run, change: Change) -> float:
    """Return the logarithm of the factor by which bodies leave a time open; may be inf.

    The same bodies would not take the same time again. For another length, the bodies that are
    repeated tell the mean of all bodies with an error, which grows with the length, and those that
    were not recorded scatter themselves. Both follow from how parts of the recorded solve differ,
    so that bodies may depend on each other.

    Parameters
    ----------
    run : Run
    change : Change
    """
    if change == Change():
        return 0.0
    times_s, restart = run.durations.max(axis=1), run.header.restart
    more = (change.iterations or run.header.iterations) - run.header.iterations
    # Without a restart, the second half is repeated.
    used = slice(0 if restart else run.bodies // 2, run.bodies)
    deviating_s = np.array(times_s[used], np.float64)
    position = run.position[used] if restart else np.zeros(deviating_s.size, np.int32)
    count, total_s = deviating_s.size, float(deviating_s.sum())
    if count < (FEWEST if more > 0 else 2):
        return float("inf")
    # Times less the median at their place in the restart cycle, where many share it.
    for place in np.unique(position):
        here = position == place
        if here.sum() >= FEWEST_ALIKE:
            deviating_s[here] -= np.median(deviating_s[here])
    parts = max(min(PARTS, count // FEWEST_IN_PART), 2)
    sums_s = np.array([part.sum() for part in np.array_split(deviating_s, parts)])
    sd_s = float(np.sqrt(parts) * sums_s.std(ddof=1))
    repeated = max(more, 0) / count
    # The same bodies once more scatter as a whole; others, also by how well these tell the mean.
    width_s = np.sqrt(repeated * (repeated + 1.0)) * sd_s if repeated else sd_s
    factor = student(parts - 1)
    return change.noise * factor * float(width_s) / (float(times_s.sum()) + repeated * total_s)
