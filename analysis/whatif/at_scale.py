"""Recorded solves on other numbers of ranks, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hindmost.analysis.runs.finding import Finding, findings_json
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import dict_of, program_of
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
from hindmost.models.simulation.local_work import FEW_RANKS, LocalWork, fit_local_work
from hindmost.models.simulation.prospect import Prospect, prospects
from hindmost.models.simulation.scaleup import REPLICAS, simulated_rows
from hindmost.output import announce_work
from hindmost.text import counted, percent, seconds, signed_percent

FEWEST_REPLICAS = 5
"""Of each repeat, which share the replicas."""
SEGMENTS_PER_S = 5e6
"""Parts of bodies of all ranks that a replica passes in a second, with its share of the other
readings, measured on one core."""


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
class AtScale:
    """A run on another number of ranks, with a change.

    Attributes
    ----------
    run : Run
    named : Named
    result : Prospect
    work : LocalWork
    basis : Basis
    seed : int
    """

    run: Run
    named: Named
    result: Prospect
    work: LocalWork
    basis: Basis
    seed: int

    @property
    def predicted_s(self) -> float | None:
        """The time of the solve; None if the run does not say enough."""
        return None if self.result.open else self.result.seconds

    @property
    def title(self) -> str:
        """Where, and with which change."""
        where = f"{counted(self.result.ranks, 'rank')} ({counted(self.result.nodes, 'node')})"
        return f"{where} with {self.named.title}" if self.named.words else where

    @property
    def extrapolated(self) -> str:
        """From what the time is extrapolated; empty on the recorded ranks."""
        if self.result.ranks == self.result.recorded_ranks:
            return ""
        return f"extrapolated from {counted(self.result.recorded_ranks, 'rank')}"

    @property
    def interval(self) -> str:
        """The interval, for people."""
        if self.result.missed or self.result.absurd:
            return "undecided"
        low, high = self.result.low_s, self.result.high_s
        if not np.isfinite(high):
            return f"at least {seconds(low)}"
        return f"{seconds(low)} to {seconds(high)}"

    def lines(self) -> Iterator[str]:
        """Yield what is predicted, the most important sentence first."""
        result = self.result
        basis = f"; {self.extrapolated}" if self.extrapolated else ""
        if self.predicted_s is not None:
            yield (
                f"On {self.title}: predicted {seconds(result.seconds)} (interval {self.interval}"
                f"{basis}). The run took {seconds(result.recorded_s)} on "
                f"{counted(result.recorded_ranks, 'rank')}."
            )
        elif result.missed or result.absurd:
            yield f"On {self.title}: undecided{basis}. {self.withheld}"
        else:
            yield (
                f"On {self.title}: no single prediction, but {self.interval}{basis}. "
                f"{self.withheld}"
            )
        if not result.missed:
            yield self._parts()
        yield (
            f"Simulated on the recorded ranks: {seconds(result.check_s)} "
            f"({signed_percent(result.miss)})."
        )

    def _parts(self) -> str:
        """Return what the time consists of."""
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
        return f"Of {seconds(result.shown_s)}{limited}: {words}."

    @property
    def withheld(self) -> str:
        """Why there is no prediction."""
        result = self.result
        if result.missed:
            return (
                f"The simulation misses the recorded time by {signed_percent(result.miss)}: the "
                "laws do not describe this run."
            )
        if result.wide and not result.on_tail:
            return (
                "The recorded noise is too little for a single number: redrawn, its tail gives "
                f"times this far apart. If no detour exceeds the longest recorded one: "
                f"{seconds(result.as_recorded_s)}."
            )
        why = f"{percent(result.beyond)} of the simulated time is noise beyond the longest recorded"
        if not np.isfinite(result.high_s):
            why = (
                f"The tail fitted to the noise has no mean (index {self.work.tail_index:.2g}; a "
                "mean needs less than 1), so its rarest detours decide"
            )
        return (
            f"{why}. If no detour exceeds the longest recorded one: "
            f"{seconds(result.as_recorded_s)}. Longer runs on a quieter machine would say more."
        )

    def assumptions(self) -> Iterator[str]:
        """Yield what the prediction assumes."""
        result, depends = self.result, self.work.dependence
        yield (
            f"Local work is drawn from laws fitted to {result.samples:,} recorded iterations of "
            f"{counted(result.recorded_ranks, 'rank')}, by place in the restart cycle. On a node, "
            f"{percent(depends.node)} of the variance is common to its ranks; an iteration "
            f"correlates by {depends.time:.2f} with the next."
        )
        if result.ranks > result.samples / 20 and result.case.noise > 0.0:
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
            "recorded_s": result.recorded_s,
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


def interval_json(result: Prospect) -> list[float | None]:
    """Return an interval for JSON; null for no upper limit, or for both ends if it says nothing."""
    if result.missed or result.absurd:
        return [None, None]
    return [result.low_s, result.high_s if np.isfinite(result.high_s) else None]


def change_assumptions(named: Named, work: LocalWork) -> Iterator[str]:
    """Yield what a change assumes on other ranks."""
    change = named.change
    if work.program.has(3) and change.progress:
        yield "Reductions progress while ranks work. --progress none has the opposite."
    if not change.progress:
        yield "Reductions take their time after all ranks have come to their completion."
    if change.depth is not None and change.depth > 1:
        yield (
            "A deeper pipeline also does more work per iteration and needs more iterations to "
            "fill; this is not included, so the time is a lower bound."
        )
    if change.noise not in (0.0, 1.0):
        yield (
            f"Every deviation from the typical work is {change.noise:g} times as long as the laws "
            "say; detours are not more frequent."
        )
    if change.detours is not None:
        yield "The noise is added to the recorded one, independent on every rank."


def fitted_work(run: Run) -> LocalWork:
    """Return the local work of a run as laws."""
    program = program_of(run)
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
) -> list[list[AtScale]]:
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
    list of list of AtScale
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
            prospects,
            work,
            changes=[each.change for each in changes],
            network=network.network,
            halo_bytes=halo_bytes(run),
            replicas=replicas,
            seed=number,
        )
        targets = targets_of(run, work, model, scale)
        for results in (executor or ThisProcess()).map(simulated, targets):
            here += [
                AtScale(run=run, named=named, result=result, work=work, basis=basis, seed=number)
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
) -> list[list[AtScale]]:
    """Fit and simulate; see `scale_runs`."""
    works = [fitted_work(run) for run in runs]
    return scale_runs(runs, works, scale, changes, network_of(machine, [works[-1]]), executor)


def scale_table(found: Sequence[AtScale]) -> Table:
    """Return a table of one run on several numbers of ranks, or with several changes."""
    rows = []
    for each in found:
        result = each.result
        iterations = each.run.header.iterations
        rows.append(
            (
                f"{result.ranks:,}",
                each.named.title if each.named.words else "",
                "-" if each.predicted_s is None else seconds(each.predicted_s),
                each.interval,
                "-" if result.missed else seconds(result.as_recorded_s),
                "-" if each.predicted_s is None else seconds(each.predicted_s / iterations),
                *(
                    "-" if result.missed else percent(part / result.shown_s)
                    for part in (result.work_s, result.noise_s, result.network_s)
                ),
                each.extrapolated or "as recorded",
            )
        )
    return Table(
        columns=(
            Column("ranks", RIGHT),
            Column("with", LEFT),
            Column("predicted", RIGHT),
            Column("interval", RIGHT),
            Column("recorded noise", RIGHT),
            Column("per iteration", RIGHT),
            Column("work", RIGHT),
            Column("noise", RIGHT),
            Column("network", RIGHT),
            Column("simulated", LEFT),
        ),
        rows=rows,
        notes=(
            "recorded noise: the time if no detour exceeds the longest recorded one, for which the "
            "shares are. -: the runs do not say enough for a single number.",
        ),
    )
