"""Recorded solves on other numbers of ranks, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hindmost.analysis.runs.finding import Finding, findings_json
from hindmost.analysis.whatif.options import Named, dict_of
from hindmost.analysis.whatif.study import of_solver, program_of
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
from hindmost.errors import DataError
from hindmost.executors import Executor, ThisProcess
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.local_work import FEW_RANKS, LocalWork, fit_local_work
from hindmost.models.simulation.rerun import changed_program
from hindmost.models.simulation.scaleup import REPLICAS, simulated_rows
from hindmost.models.simulation.simulated_solve import (
    SimulatedSolve,
    refuse_change,
    simulate_solves,
)
from hindmost.output import announce_work
from hindmost.text import counted, percent, seconds, signed_percent

FEWEST_REPLICAS = 5
"""Of each repeat, which share the replicas."""
TIMES_RARER = 20
"""Recorded iterations for every rank of a target, to know its slowest rank without the tail."""
SEGMENTS_PER_S = 5e6
"""Parts of bodies of all ranks that a replica passes in a second, with its share of the other
scenarios, measured on one core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What all statements on other ranks rest on.

    Attributes
    ----------
    work, network, nodes, halos : str
        In sentences; empty if there is nothing to say.
    """

    work: str
    network: str
    nodes: str
    halos: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """A run on another number of ranks, with a change.

    Attributes
    ----------
    run : Run
    named : Named
    result : SimulatedSolve
    work : LocalWork
    basis : Basis
    seed : int
    """

    run: Run
    named: Named
    result: SimulatedSolve
    work: LocalWork
    basis: Basis
    seed: int

    @property
    def predicted_s(self) -> float | None:
        """The time of the solve; None if the run does not say enough."""
        return None if self.result.open else self.result.seconds

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.result.ranks

    @property
    def where(self) -> str:
        """On how many ranks and nodes, and from what that is extrapolated."""
        where = f"{counted(self.ranks, 'rank')} ({counted(self.result.nodes, 'node')}"
        return f"{where}; {self.extrapolated})" if self.extrapolated else f"{where})"

    @property
    def extrapolated(self) -> str:
        """From what the time is extrapolated; empty on the recorded ranks."""
        if self.result.ranks == self.result.recorded_ranks:
            return ""
        return f"extrapolated from {counted(self.result.recorded_ranks, 'rank')}"

    @property
    def recorded_s(self) -> float:
        """The recorded time of the solve."""
        return self.run.solve_time_s

    @property
    def miss(self) -> float:
        """Error of the simulation on the recorded ranks, as a share."""
        return self.result.miss

    @property
    def missed(self) -> bool:
        """Whether the laws do not describe the run, so that nothing can be told."""
        return self.result.missed

    @property
    def middle_s(self) -> float:
        """The predicted time, to sort repeats by."""
        return self.result.shown_s

    @property
    def network_share(self) -> float:
        """Share of the network in the time."""
        return self.result.network_s / self.result.shown_s

    def lines(self) -> Iterator[str]:
        """Yield what the time consists of, in sentences."""
        result = self.result
        parts = {
            "undisturbed work": result.work_s,
            "noise and waiting for it": result.noise_s,
            "network": result.network_s,
            "outside iterations": result.outside_s,
        }
        total_s = sum(parts.values())
        limited = " with noise no worse than recorded" if result.limited else ""
        words = ", ".join(f"{name} {percent(part / total_s)}" for name, part in parts.items())
        yield f"Of {seconds(result.shown_s)}{limited}: {words}."

    @property
    def withheld(self) -> str:
        """Why there is no prediction, and what to record."""
        result = self.result
        if result.missed:
            return (
                f"the simulation misses the recorded time by {signed_percent(result.miss)}, so the "
                "laws do not describe this run."
            )
        capped = f"If no detour exceeds the longest recorded one: {seconds(result.as_recorded_s)}."
        if result.wide and not result.on_tail:
            return (
                "too few disturbances were recorded for a single number: redrawn, their tail gives "
                f"times too far apart. {capped}"
            )
        why = f"{percent(result.beyond)} of the simulated time is noise beyond the longest recorded"
        if not np.isfinite(result.high_s):
            why = (
                f"the tail fitted to the noise has no mean (index {self.work.tail_index:.2g}; a "
                "mean needs less than 1), and its rarest detours decide"
            )
        wanted = TIMES_RARER * result.ranks
        record = f"Record at least {wanted:,} iterations of all ranks in one run"
        if result.samples >= wanted:
            record = "Record longer runs"
        return f"{why}. {capped} {record} (here: {result.samples:,}) on a quieter machine."

    def assumptions(self) -> Iterator[str]:
        """Yield what the prediction assumes."""
        result, depends = self.result, self.work.dependence
        yield (
            f"Local work is drawn from laws fitted to {result.samples:,} recorded iterations of "
            f"{counted(result.recorded_ranks, 'rank')}, by place in the restart cycle. On a node, "
            f"{percent(depends.node)} of the variance is common to its ranks; an iteration "
            f"correlates by {depends.time:.2f} with the next."
        )
        if TIMES_RARER * result.ranks > result.samples and result.case.noise > 0.0:
            yield (
                f"The slowest of {result.ranks:,} ranks is rarer than what {result.samples:,} "
                "iterations show, so it rests on the fitted tail of the laws. The interval has the "
                "case that nothing exceeds the longest recorded detour."
            )
        if result.recorded_ranks < FEW_RANKS:
            yield (
                f"{counted(result.recorded_ranks, 'rank')} hardly show how ranks differ all the "
                f"time: {percent(depends.persistent)} of the variance is taken as such, and the "
                "interval has the case of none."
            )
        yield from (
            each
            for each in (self.basis.work, self.basis.network, self.basis.nodes, self.basis.halos)
            if each
        )
        yield "The number of iterations is as recorded. Larger problems may need more."
        yield from change_assumptions(self.named, self.work)

    def to_json(self, findings: Sequence[Finding]) -> dict[str, Any]:
        """Return the entry of ``hindmost whatif --json``."""
        result = self.result
        return {
            "file": str(self.run.path),
            "recorded_s": self.recorded_s,
            "predicted_s": self.predicted_s,
            "interval_s": interval_json(result),
            "changes": dict_of(self.named.words),
            "ranks": result.ranks,
            "nodes": result.nodes,
            "origin": "simulated",
            "extrapolated_from": {
                "ranks": result.recorded_ranks,
                "iterations_of_ranks": result.samples,
            },
            "simulated_s": result.seconds,
            "with_recorded_noise_s": result.as_recorded_s,
            "beyond_recorded_noise": result.beyond,
            "parts_s": {
                "work": result.work_s,
                "noise": result.noise_s,
                "network": result.network_s,
                "outside": result.outside_s,
            },
            "check_s": result.check_s,
            "critical_path": [],
            "assumptions": list(self.assumptions()),
            "findings": findings_json(findings),
        }


def interval_json(result: SimulatedSolve) -> list[float | None]:
    """Return an interval for JSON; null for no upper limit, or for both ends if it says nothing."""
    if result.missed or result.absurd:
        return [None, None]
    return [result.low_s, result.high_s if np.isfinite(result.high_s) else None]


def change_assumptions(named: Named, work: LocalWork) -> Iterator[str]:
    """Yield what a change assumes on other ranks."""
    change = named.change
    if work.program.has(3) and change.progress:
        yield "Reductions progress while ranks work. --progress none has the opposite."
    if change.noise not in (0.0, 1.0):
        yield (
            f"Every deviation from the typical work is {change.noise:g} times as long as the laws "
            "say; detours are not more frequent."
        )
    if change.detours is not None:
        yield "The noise is added to the recorded one, independent on every rank."
    yield from of_solver(change, "")


def fitted_work(run: Run, solver: str | None = None) -> LocalWork:
    """Return the local work of a run as laws; of its solver's partner if that is named."""
    program = changed_program(program_of(run), Change(solver=solver))
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
) -> list[list[Simulated]]:
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
    list of list of Simulated
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
        basis = Basis(
            work=model.basis,
            network=network.basis,
            nodes=ranks_per_node(run, scale)[1],
            halos=grid_of(work, scale)[1],
        )
        here = []
        simulated = partial(
            simulate_solves,
            work,
            changes=[replace(each.change, solver=None) for each in changes],
            network=network.network,
            halo_bytes=halo_bytes(run),
            replicas=replicas,
            seed=number,
        )
        targets = targets_of(run, work, model, scale)
        for results in (executor or ThisProcess()).map(simulated, targets):
            here += [
                Simulated(
                    run=run,
                    named=named,
                    result=result.doubted(*work.program.doubt),
                    work=work,
                    basis=basis,
                    seed=number,
                )
                for named, result in zip(changes, results, strict=True)
            ]
        found.append(here)
    return found


def replica_s(work: LocalWork, ranks: Sequence[int]) -> float:
    """Return about how long it takes to simulate a solve once on each number of ranks, seconds."""
    segments = len(work.laws)
    rows = ((each, part) for each in ranks for part in simulated_rows(work.program, each, segments))
    return segments * sum(each * part.size for each, part in rows) / SEGMENTS_PER_S


def scaled(
    runs: Sequence[Run],
    scale: Scale,
    changes: Sequence[Named],
    machine: Machine | None,
    executor: Executor | None = None,
) -> list[list[Simulated]]:
    """Fit and simulate; see `scale_runs`. Another solver has laws of its own.

    What does not apply is refused before anything is simulated.
    """
    by_solver = dict[str | None, list[Named]]()
    for each in changes:
        by_solver.setdefault(each.change.solver, []).append(each)
    works = {solver: [fitted_work(run, solver) for run in runs] for solver in by_solver}
    for each in changes:
        refuse_change(works[each.change.solver][-1], each.change)
    network = network_of(machine, [next(iter(works.values()))[-1]])
    found: dict[tuple[int, int, tuple[tuple[str, str], ...]], Simulated] = {}
    for solver, named in by_solver.items():
        every = scale_runs(runs, works[solver], scale, named, network, executor)
        found |= {
            (number, one.ranks, one.named.words): one
            for number, each_run in enumerate(every)
            for one in each_run
        }
    return [
        [found[number, ranks, each.words] for ranks in scale.ranks for each in changes]
        for number in range(len(every))
    ]
