"""Recorded solves on other numbers of ranks, and what is said of them.

Simulated solves written as run files, which every verb opens; their origin is ``simulated``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.analysis.runs.configuration import grouped
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import (
    EVENTS_PER_S,
    LIKE_OTHERS,
    Outcome,
    left_out,
    of_solver,
    program_of,
)
from hindmost.analysis.whatif.targets import (
    NetworkBasis,
    Scale,
    grid_of,
    halo_bytes,
    network_of,
    ranks_per_node,
    targets_of,
    work_model,
)
from hindmost.errors import DataError, UsageError
from hindmost.executors import Executor, ThisProcess
from hindmost.harness.runfile.bodies import NO_GROUP, PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.part_file import RunName, write_whole
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.schema import SUFFIX
from hindmost.models.adaptive.machine import Machine
from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import POST
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.local_work import FEW_RANKS, LocalWork, fit_local_work
from hindmost.models.simulation.program import without_unknown
from hindmost.models.simulation.rerun import (
    REPLICAS,
    Scenario,
    Timeline,
    changed_program,
    prepared,
    timeline_of,
)
from hindmost.models.simulation.scaleup import scaled_script, simulated_rows
from hindmost.models.simulation.simulated_solve import (
    SimulatedSolve,
    refuse_change,
    simulate_solves,
)
from hindmost.output import announce_work
from hindmost.text import counted, percent, seconds, signed_percent

IN_WORDS = {
    "work": "undisturbed work",
    "noise": "noise and waiting for it",
    "network": "network",
    "outside": "outside iterations",
}
"""What a time consists of."""
FEWEST_REPLICAS = 5
"""Of each repeat, which share the replicas."""
TIMES_RARER = 20
"""Iterations of a recorded rank for every rank of a target, to know its slowest one without the
tail."""


def simulated(
    run: Run, named: Named, result: SimulatedSolve, work: LocalWork, basis: Sequence[str], seed: int
) -> Outcome:
    """Return what a simulation says.

    Parameters
    ----------
    basis : sequence of str
        What all statements on other ranks rest on, in sentences.
    """
    assumed = tuple(simulation_assumes(named, result, work, basis))
    parts_s = {
        "work": result.work_s,
        "noise": result.noise_s,
        "network": result.network_s,
        "outside": result.outside_s,
    }
    words = ", ".join(
        f"{IN_WORDS[name]} {percent(part / sum(parts_s.values()))}"
        for name, part in parts_s.items()
    )
    return Outcome(
        run=run,
        named=named,
        result=result,
        ranks=result.ranks,
        predicted_s=result.seconds,
        middle_s=result.seconds,
        miss=result.miss,
        missed=result.missed,
        network_share=result.network_s / sum(parts_s.values()),
        parts=(f"Of {seconds(result.seconds)}: {words}.",),
        withheld=what_to_record(result, work),
        assumed=assumed,
        interval=(result.low_s, result.high_s),
        details={
            "ranks": result.ranks,
            "nodes": result.nodes,
            "origin": "simulated",
            "extrapolated_from": {
                "ranks": result.recorded_ranks,
                "iterations_of_ranks": result.samples,
            },
            "with_recorded_noise_s": result.as_recorded_s,
            "beyond_recorded_noise": result.beyond,
            "without_noise_s": result.quiet.seconds,
            "without_noise_interval_s": (result.quiet.low_s, result.quiet.high_s),
            "parts_s": parts_s,
            "check_s": result.check_s,
            "critical_path": [],
            "assumptions": list(assumed),
        },
        seed=seed,
    )


def without_cores(found: Outcome, why: str, *, network_known: bool) -> Outcome:
    """Return a simulation where ranks had to wait for cores when recorded, with its doubt.

    Elsewhere they need not. Waiting for a core looks like noise, and like slow messages.

    Parameters
    ----------
    why : str
        What says so.
    network_known : bool
        Whether messages take the times of a machine file.
    """
    result = found.simulated
    assert result is not None  # by the only caller
    least_s = result.quiet.low_s if network_known else result.scenarios_s["undisturbed"]
    elsewhere = "work" if network_known else "work and messages"
    quiet, noisy = (
        replace(each, low_s=min(each.low_s, least_s)) for each in (result.quiet, result.noisy)
    )
    return replace(
        found,
        missed=True,
        result=replace(result, quiet=quiet, noisy=noisy),
        withheld=(
            f"{why[:1].upper()}{why[1:]}. With cores of their own, {elsewhere} may take less. "
            "Record again with a core for every rank that nothing else uses."
        ),
    )


def what_to_record(result: SimulatedSolve, work: LocalWork) -> str:
    """Return why an interval is wide, and what to record; empty if it is not."""
    have = recorded_iterations(result)
    if result.missed:
        return (
            "On the recorded ranks, the simulation misses the recorded time by "
            f"{signed_percent(result.miss)}, so the laws of local work do not describe it: long or "
            "rare disturbances do not repeat as recorded. The intervals have that error. Record at "
            f"least {4 * have:,} iterations (here: {have:,}) on cores that nothing else uses; the "
            "findings below say what disturbed these."
        )
    if not (result.wide or result.on_tail):
        return ""
    if result.case.quiet:
        return (
            "What the run leaves open, such as the cost of messages, puts the ends of the interval "
            "far apart. Record on more ranks; --machine with times between nodes helps, too."
        )
    if not result.on_tail:
        return (
            "What the recorded noise does on other ranks is hardly known from these iterations. "
            f"Record at least {4 * have:,} of them (here: {have:,}) on an idle machine, or give "
            "the noise of the target with --noise."
        )
    wanted = -(-TIMES_RARER * result.ranks // result.recorded_ranks)
    record = f"Record at least {wanted:,} iterations in one run"
    if have >= wanted:
        record = "Record longer runs"
    on = counted(result.recorded_ranks, "rank")
    return (
        f"The tail fitted to the noise has no mean (index {work.tail_index:.2g}; a mean needs "
        "less than 1), so its rarest detours would decide. The time is that with no detour longer "
        f"than the longest recorded one. {record} on {on} (here: {have:,}), on an idle machine, or "
        "give the noise of the target with --noise."
    )


def recorded_iterations(result: SimulatedSolve) -> int:
    """Return how many iterations the laws of a simulation are fitted to, each of all ranks."""
    return result.samples // result.recorded_ranks


def simulation_assumes(
    named: Named, result: SimulatedSolve, work: LocalWork, basis: Sequence[str]
) -> Iterator[str]:
    """Yield what a simulation assumes; see `simulated`."""
    depends, change, shape = work.dependence, named.change, work.program.shape
    have = f"{recorded_iterations(result):,}"
    by_place = f", by place in the {shape.cycle}" if shape is not None and shape.cycle else ""
    yield (
        f"Local work is drawn from laws fitted to {have} recorded iterations of "
        f"{counted(result.recorded_ranks, 'rank')}{by_place}. On a node, "
        f"{percent(depends.node)} of the variance is common to its ranks; an iteration "
        f"correlates by {depends.time:.2f} with the next."
    )
    if TIMES_RARER * result.ranks > result.samples and result.case.noise > 0.0:
        yield (
            f"The slowest of {result.ranks:,} ranks is rarer than what {have} iterations of "
            f"{counted(result.recorded_ranks, 'rank')} show, so it rests on the fitted tail of "
            "the laws. The interval has the case that nothing exceeds the longest recorded detour."
        )
    if result.recorded_ranks > 1:
        apart_s = float(np.ptp(work.level.sum(axis=1)))
        few = " Few ranks hardly show it." if result.recorded_ranks < FEW_RANKS else ""
        yield (
            f"Ranks differ in their work as the recorded ones do, by {seconds(apart_s)} an "
            f"iteration, the first as the first.{few} The intervals have the cases of equal work "
            "and of differences by chance."
        )
    elif result.ranks > 1:
        yield (
            "One rank shows neither how unequal the work of several is nor what they exchange: "
            "both are left out, and the intervals do not have them. Record on 2 ranks or more."
        )
    factor = result.target.work.typical
    if factor != 1.0 and not result.case.quiet and change.detours is None:
        yield (
            "Detours come by the clock and last as recorded, so those of iterations of "
            f"{percent(factor)} of the work are as much rarer; the interval has the case that they "
            "come by the iteration."
        )
    yield from filter(None, basis)
    yield "The number of iterations is as recorded. Larger problems may need more."
    if work.program.has(POST) and change.progress:
        yield "Reductions progress while ranks work. --progress none has the opposite."
    if change.noise not in (0.0, 1.0):
        yield (
            f"Every deviation from the typical work is {change.noise:g} times as long as the laws "
            "say; detours are not more frequent."
        )
    if (detours := change.detours) is not None and detours.per_s is not None:
        yield (
            f"The noise is that of the machine file, {detours.per_s:.3g} detours a second of "
            f"{seconds(detours.length_s)} on average, in place of the recorded one and independent "
            "on every rank."
        )
    elif detours is not None:
        yield "The noise is in place of the recorded one, independent on every rank."
    yield from of_solver(change, "")


def fitted_work(run: Run, solver: str | None = None) -> LocalWork:
    """Return the local work of a run as laws; of its solver's partner if that is named."""
    program = changed_program(without_unknown(program_of(run)), Change(solver=solver))
    _, node = np.unique(np.array(run.hosts), return_inverse=True)
    try:
        return fit_local_work(program, node)
    except DataError as error:
        raise DataError(f"{run.path}: {error}") from error


def scale_runs(
    runs: Sequence[Run],
    works: Sequence[LocalWork],
    scale: Scale,
    changes: Sequence[Named],
    network: NetworkBasis,
    executor: Executor | None = None,
) -> list[list[Outcome]]:
    """Simulate the runs on most ranks on other numbers of ranks.

    Parameters
    ----------
    runs : sequence of Run
        That differ in size and ranks only, those on most ranks last.
    works : sequence of LocalWork
        Of the same runs.
    executor : Executor, optional
        Simulates each number of ranks.

    Returns
    -------
    list of list of Outcome
        For each run on most ranks: all changes on the first number of ranks, then on the next.
    """
    model = work_model(runs, works, scale)
    most = runs[-1].header.ranks
    base = [pair for pair in zip(runs, works, strict=True) if pair[0].header.ranks == most]
    replicas = max(REPLICAS // len(base), FEWEST_REPLICAS)
    announce_work(
        f"Simulating {counted(len(base), 'run')} of {runs[-1].header.solver} on up to "
        f"{counted(max(scale.ranks), 'rank')}",
        len(changes) * replicas * sum(replica_s(work, scale.ranks) for _, work in base),
    )
    found = []
    for number, (run, work) in enumerate(base):
        nodes, halos = ranks_per_node(run, scale)[1], grid_of(work, scale)[1]
        basis = (
            *(model.basis, network.basis, nodes, halos),
            left_out(run, LIKE_OTHERS),
        )
        here = []
        on_target = partial(
            simulate_solves,
            work,
            changes=[replace(change.change, solver=None) for change in changes],
            network=network.network,
            halo_bytes=halo_bytes(run),
            replicas=replicas,
            seed=number,
        )
        targets = targets_of(run, work, model, network, scale)
        for results in (executor or ThisProcess()).map(on_target, targets):
            here += [
                simulated(run, named, result.doubted(*work.program.doubt), work, basis, number)
                for named, result in zip(changes, results, strict=True)
            ]
        found.append(here)
    return found


def replica_s(work: LocalWork, ranks: Sequence[int]) -> float:
    """Return about how long it takes to simulate a solve once on each number of ranks, seconds."""
    segments = len(work.laws)
    rows = ((rank, part) for rank in ranks for part in simulated_rows(work.program, rank, segments))
    return segments * sum(each * part.size for each, part in rows) / EVENTS_PER_S


def scaled(
    runs: Sequence[Run],
    scale: Scale,
    changes: Sequence[Named],
    machine: Machine | None,
    executor: Executor | None = None,
    network: NetworkBasis | None = None,
) -> list[list[Outcome]]:
    """Fit and simulate; see `scale_runs`. Another solver has laws of its own.

    What does not apply is refused before anything is simulated.
    """
    changes = [change.of_target(machine) for change in changes]
    by_solver = grouped(changes, lambda each: each.change.solver)
    works = {solver: [fitted_work(run, solver) for run in runs] for solver in by_solver}
    for each in changes:
        refuse_change(works[each.change.solver][-1], each.change)
    shown = [(each.program, np.unique(each.node).size) for each in next(iter(works.values()))]
    network = network or network_of(machine, shown[::-1], scale.ranks)
    every = [
        scale_runs(runs, works[solver], scale, named, network, executor)
        for solver, named in by_solver.items()
    ]
    place = {each.words: at for at, each in enumerate(changes)}

    def order(one: Outcome) -> tuple[int, int]:
        return scale.ranks.index(one.ranks), place[one.named.words]

    return [sorted(chain(*of_run), key=order) for of_run in zip(*every, strict=True)]


PHASE_OF = {
    EventKind.SEND: "halo",
    EventKind.RECEIVE: "halo",
    EventKind.REDUCE: "wait",
    EventKind.COMPLETE: "wait",
    EventKind.FROM_ROOT: "wait",
    EventKind.TO_ROOT: "wait",
    EventKind.IN_ORDER: "wait",
    EventKind.POST: "post",
}
HOST = "simulated-node"
KEPT = ("body", "position", "residual_norm")
"""Variables of the recorded iterations."""


def name_of_file(path: Path) -> RunName:
    """Return the name of a new run file.

    Raises
    ------
    UsageError
        It has another suffix, or exists.
    """
    if path.suffix != SUFFIX:
        raise UsageError(f"--out {path}: run files end in {SUFFIX}.")
    name = RunName(path.parent, path.stem, numbered=False)
    name.refuse_taken()
    return name


def write_outcome(found: Outcome, name: RunName) -> Path:
    """Write a replay, with the first draw of its noise, or what was simulated, as a run file."""
    run, result = found.run, found.simulated
    if result is None:
        level = Scenario(level="typical", byte_share=0.0)
        script, rows = prepared(program_of(run), found.named.change, level), np.arange(run.bodies)
        edges, hosts, cpu = run.edges, run.hosts, run.variable("cpu")
        source, target, size = edges.source, edges.target, edges.bytes
        ranks, iterations = run.header.ranks, run.header.iterations
    else:
        there = result.target.placement
        work = fitted_work(run, found.named.change.solver)
        script, rows = scaled_script(work, there, result.case, found.seed)
        (source, target), ranks = there.edges, there.ranks
        size = np.full(source.size, round(result.target.halo_bytes))
        hosts, cpu = [f"{HOST}-{node}" for node in there.node], np.zeros(ranks)
        iterations = max(round(run.header.iterations * rows.size / run.bodies), 1)
    values = {
        **{each: run.variable(each)[rows] for each in KEPT},
        "edge_source": source,
        "edge_target": target,
        "edge_bytes": size,
        "cpu": cpu,
        "host": hosts,
    }
    header = header_of(run, found.named, ranks, iterations)
    return write_timeline(name, header, timeline_of(script), values)


def header_of(run: Run, named: Named, ranks: int, iterations: int) -> Header:
    """Return the header of a simulated run: the recorded one, and what was changed."""
    header = run.header
    spec = {key: value for key, value in header.spec.items() if key != "ending"}
    spec["simulated"] = {"from": run.path.name, "ranks": header.ranks, **named.changes}
    machine = header.environment.get("machine")
    if isinstance(machine, dict):  # load and cores were those of the recording
        gone = ("load_before",) if ranks == header.ranks else ("load_before", "cores")
        machine = {key: value for key, value in machine.items() if key not in gone}
    environment = {**header.environment, **({"machine": machine} if machine else {})}
    return replace(
        header,
        environment=environment,
        ranks=ranks,
        iterations=iterations,
        origin="simulated",
        complete=True,
        spec=spec,
    )


def write_timeline(
    name: RunName, header: Header, line: Timeline, values: Mapping[str, Any]
) -> Path:
    """Write a timeline as a run file."""
    duration, block = line.end - line.start, line.script.block
    kind = np.where(block.recorded, block.kind, EventKind.NONE).astype(np.uint8)
    there = kind[:, None, :] > 0
    phases = np.zeros((*duration.shape, len(PHASES)))
    inside = np.maximum(line.inside, 0.0)
    for each, phase in PHASE_OF.items():
        here = (kind == int(each))[:, None, :]
        phases[:, :, PHASES.index(phase)] += np.where(here, inside, 0.0).sum(axis=2)
    local = PHASES.index("local")
    phases[:, :, local] = np.maximum(duration - phases.sum(axis=2), 0.0)
    begins = [rows.start for rows in block.cycles()[1:]]
    start = line.start - min(float(line.start[0].min()), 0.0)  # a rank may begin before the first
    finish = start[-1] + duration[-1] + line.script.program.after
    nothing = np.zeros(duration.shape[1])
    needed = {}
    if block.group is not None:
        receipt = (kind == EventKind.RECEIVE)[:, None, :]
        needed = {
            "event_group": np.where(receipt, NO_GROUP, block.group),
            "event_needs": np.where(receipt, block.group, NO_GROUP),
        }
    return write_whole(
        name.folder,
        header,
        {
            "duration": duration,
            "start": start,
            "phase_duration": phases,
            "restart_duration": line.start[begins] - line.end[[at - 1 for at in begins]],
            "lead_in": start[0],
            "lead_out": line.script.program.after,
            "solve_time": finish,
            "mpi_other": nothing,
            "context_switches": nothing,
            "clock_offset": nothing,
            "clock_uncertainty": nothing,
            "event_kind": kind,
            "event_work": np.where(there, np.maximum(block.work, 0.0), 0.0).astype(np.float32),
            "event_duration": inside.astype(np.float32),
            **needed,
            **values,
        },
        file_name=name,
    )
