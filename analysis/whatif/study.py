"""Recorded solves replayed with changes, and what is said of them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.analysis.runs.configuration import injected_at_calls
from hindmost.analysis.runs.finding import Finding, findings_json
from hindmost.analysis.runs.model_input import solve_times
from hindmost.analysis.runs.tallies import Block
from hindmost.analysis.whatif.assumptions import assumptions
from hindmost.analysis.whatif.length_scatter import WIDEST, length_scatter
from hindmost.analysis.whatif.measured import MeasuredNetwork
from hindmost.analysis.whatif.options import Named, dict_of
from hindmost.analysis.whatif.solve_shape import shape_of, with_memory
from hindmost.errors import DataError, UsageError
from hindmost.executors import Executor
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.blocks import COMPLETE, RECEIVE
from hindmost.models.simulation.memory import VectorGrowth
from hindmost.models.simulation.program import Program, recorded_program
from hindmost.models.simulation.rerun import REPLICAS, ReplayedSolve, WhatIf, what_if
from hindmost.models.simulation.size import outruns_probe
from hindmost.output import announce_work
from hindmost.text import counted, percent, seconds, signed_percent

WIDTH = 100
MISSES = 0.02
"""Error of a replay without a change, against the recorded time, from which on none is given."""
MOST_RANKS = 20
"""Ranks of a critical path that JSON lists."""
EVENTS_PER_S = 5e6
"""Events of all ranks that replays pass in a second, measured on one core."""
SCENARIOS = 4
"""Replays of a change that draws no noise, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A run with a change.

    Attributes
    ----------
    run : Run
    named : Named
    result : WhatIf
    byte_share_known : bool
        Whether a machine file says which part of a message's time its bytes take.
    nonblocking : bool
        Whether the run has non-blocking reductions.
    vectors : VectorGrowth or None
        What vectors cost beyond the recorded places; None if the memory was not probed.
    memory_known : bool
        Whether it was.
    outruns_probe : bool
        Whether the run contradicts it: see `hindmost.models.simulation.size.outruns_probe`.
    scatter : float
        By which factor, as a logarithm, the scatter of bodies leaves another length open.
    """

    run: Run
    named: Named
    result: WhatIf
    byte_share_known: bool
    nonblocking: bool
    vectors: VectorGrowth | None = None
    memory_known: bool = False
    outruns_probe: bool = False
    scatter: float = 0.0

    @property
    def recorded_s(self) -> float:
        """The recorded time of the solve."""
        return self.run.solve_time_s

    @property
    def predicted_s(self) -> float | None:
        """The time with the change; None if the run does not show what decides it."""
        return None if self.result.open else self.result.predicted_s

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The interval, with the scatter of bodies; None if too wide, or if nothing is changed."""
        if self.scatter > np.log(WIDEST) or not self.named.words:
            return None
        wider = float(np.exp(self.scatter)) * (1.0 + abs(self.miss))
        return self.result.low_s / wider, self.result.high_s * wider

    @property
    def ranks(self) -> int:
        """Number of ranks, as recorded."""
        return self.run.header.ranks

    @property
    def where(self) -> str:
        """On how many ranks."""
        return counted(self.ranks, "rank")

    @property
    def miss(self) -> float:
        """Error of the replay without a change, as a share."""
        return self.result.recorded.total_s / self.recorded_s - 1.0

    @property
    def missed(self) -> bool:
        """Whether the replay does not describe the run; such a run is refused instead."""
        return False

    @property
    def middle_s(self) -> float:
        """The predicted time, to sort repeats by."""
        return self.result.predicted_s

    @property
    def network_share(self) -> float:
        """Share of the network in the critical path with the change."""
        return of_path(self.result.changed)["network"]

    @property
    def withheld(self) -> str:
        """Why there is no prediction."""
        return (
            "the run does not show enough of the network. Give --machine with a file of 'hindmost "
            "probe network' on as many ranks."
        )

    def all_assumptions(self) -> Iterator[str]:
        """Yield what the prediction assumes, and what the interval of this run leaves out."""
        yield from self.assumptions()
        if self.interval_s is not None:
            bodies = " and the scatter of the recorded iterations" if self.scatter else ""
            yield (
                f"The interval has what a replay cannot know{bodies}. It leaves out how much whole "
                "runs scatter: the prediction over repeats has that."
            )

    def lines(self) -> Iterator[str]:
        """Yield what the time consists of, in sentences."""
        before, after = of_path(self.result.recorded), of_path(self.result.changed)
        parts = [
            f"{name} {percent(after[name])} ({percent(before[name])})"
            for name in after
            if max(after[name], before[name]) >= 0.0005
        ]
        if not self.named.words:
            shares = [f"{name} {percent(each)}" for name, each in after.items() if each >= 0.0005]
            yield f"Critical path: {', '.join(shares)}."
            return
        yield f"Critical path, in brackets as recorded: {', '.join(parts)}."
        yield from self._slowest()

    def _slowest(self) -> Iterator[str]:
        """Yield which rank holds most of the critical path."""
        before, after = by_rank(self.result.recorded), by_rank(self.result.changed)
        if after.size < 2 or not after.sum() > 0.0 or not before.sum() > 0.0:
            return
        rank, was = int(after.argmax()), int(before.argmax())
        unlike = "" if rank == was else f"; as recorded rank {was} holds most"
        yield (
            f"Rank {rank} holds {percent(after[rank] / after.sum())} of it "
            f"({percent(before[rank] / before.sum())}){unlike}."
        )

    def assumptions(self) -> Iterator[str]:
        """Yield what the prediction assumes, where the run cannot say."""
        yield from assumptions(self)

    def to_json(self, findings: Sequence[Finding]) -> dict[str, Any]:
        """Return the entry of ``hindmost whatif --json``."""
        return {
            "file": str(self.run.path),
            "recorded_s": self.recorded_s,
            "replayed_s": self.result.recorded.total_s,
            "predicted_s": self.predicted_s,
            "interval_s": self.interval_s,
            "changes": dict_of(self.named.words),
            "critical_path": path_json(self.result.changed),
            "recorded_critical_path": path_json(self.result.recorded),
            "assumptions": list(self.all_assumptions()),
            "findings": findings_json(findings),
        }


def by_rank(walked: ReplayedSolve) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the time of every rank on the critical path: float64, shape (rank,), seconds."""
    return np.asarray(walked.path.work + walked.path.cost + walked.path.stay)


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


def path_json(walked: ReplayedSolve) -> list[dict[str, Any]]:
    """Return the ranks that hold most of a critical path."""
    most = np.argsort(-by_rank(walked), kind="stable")[:MOST_RANKS]
    path = walked.path
    return [
        {
            "rank": int(rank),
            "work_s": float(path.work[rank]),
            "network_s": float(path.cost[rank]),
            "other_mpi_s": float(path.stay[rank]),
            "visits": int(path.visits[rank]),
        }
        for rank in most
        if path.visits[rank]
    ]


def program_of(run: Run) -> Program:
    """Return a run as a program that can be replayed.

    Raises
    ------
    DataError
        It lacks what a replay needs, or its events and clocks contradict each other.
    UsageError
        It is adaptive.
    """
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
        duration = (run.durations - block.work.sum(axis=2))[:, :, None]
        block = type(block)(
            kind=block.kind,
            work=block.work,
            duration=duration,
            rest=block.rest,
            cycle_begins=block.cycle_begins,
            group=block.group,
        )
    if np.any(block.kind == RECEIVE) and not times.edge_source.size:
        raise DataError(f"{run.path}: the run does not say which ranks exchange messages.")
    try:
        return recorded_program(
            run.starts,
            block,
            run.position,
            run.lead_out,
            times.edge_source,
            times.edge_target,
            shape=shape_of(run),
            injected=np.asarray(run.variable(INJECTED)) if run.has(INJECTED) else None,
            injected_at_calls=injected_at_calls(run),
            lead_in=run.lead_in,
            restarts=run.restart_durations,
        )
    except DataError as error:
        raise DataError(f"{run.path}: {error}") from error


def replay_s(run: Run, replays: int) -> float:
    """Return about how long so many replays of a run take, in seconds."""
    shape = run.shape("event_work") if run.has("event_work") else (run.bodies, run.columns)
    return replays * math.prod(shape) / EVENTS_PER_S


def announce_replays(runs: Sequence[Run], changes: Sequence[Named]) -> None:
    """Say that runs are replayed with changes, if that takes some seconds."""
    replays = sum(SCENARIOS if each.change.detours is None else REPLICAS for each in changes)
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
) -> list[Replayed]:
    """Replay a run with each of some changes; the executor does the replays.

    Raises
    ------
    DataError
        The replay without a change misses the recorded time.
    UsageError
        A change does not apply to this run.
    """
    program, share = with_memory(program_of(run), run, machine), None
    if machine is not None and (machine.network is not None or not machine.memory):
        measured = MeasuredNetwork.of(run, machine)
        program, share = measured.costs_of(program), measured.byte_share
    found = []
    for named in changes:
        try:
            result = what_if(program, named.change, byte_share=share, executor=executor)
        except UsageError as error:
            raise UsageError(f"{run.path}: {error}") from error
        miss = result.recorded.total_s / run.solve_time_s - 1.0
        if abs(miss) > MISSES:
            raise DataError(
                f"{run.path}: replayed without a change, the solve takes "
                f"{seconds(result.recorded.total_s)} instead of {seconds(run.solve_time_s)} "
                f"({signed_percent(miss)}). Its records do not explain its time, so no change is "
                "predicted."
            )
        found.append(
            Replayed(
                run=run,
                named=named,
                result=result,
                byte_share_known=share is not None,
                nonblocking=program.has(COMPLETE),
                vectors=program.vectors,
                memory_known=program.shape is not None and program.shape.memory is not None,
                outruns_probe=named.change.unknowns is not None and outruns_probe(program),
                scatter=length_scatter(run, named.change),
            )
        )
    return found


def wrapped(line: str) -> list[str]:
    """Return a line in lines of a page's width."""
    return textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
