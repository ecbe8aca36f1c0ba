"""One run of the kernel on the ranks: every cycle is predicted, recorded and judged."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from hindmost.errors import DataError
from hindmost.harness.adaptive.checkpoint import CheckpointSetting, write_checkpoint
from hindmost.harness.adaptive.cycle_advisor import (
    OF_MODELS,
    CycleAdvisor,
    Decision,
    no_predictions,
)
from hindmost.harness.adaptive.interference import InterferingJobs, Schedule
from hindmost.harness.adaptive.kernel import Kernel
from hindmost.harness.adaptive.log import CycleLog, CycleTimes
from hindmost.harness.adaptive.phases import Phase, PhaseClock
from hindmost.harness.campaign import no_garbage_collection
from hindmost.harness.launch import process_age_s
from hindmost.harness.live.feed import LiveFeed
from hindmost.harness.probes.pulse import PulseReader
from hindmost.harness.runfile.contents import RankRun
from hindmost.harness.runfile.cycles import BlockEdges, Blocks
from hindmost.models.adaptive.interference import CycleVerdict
from hindmost.models.adaptive.work import Spent, Work

ASKING = (signal.SIGINT, signal.SIGTERM)


class StopRequests:
    """Remembers, as a context, a request to stop the process; a second one stops it at once.

    Attributes
    ----------
    signal : int
        The signal that came, 0 for none.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequests:
        """Listen."""
        for each in ASKING:
            self._before[each] = signal.signal(each, self._take)
        return self

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Listen no longer."""
        for each, handler in self._before.items():
            signal.signal(each, handler)


COLUMNS = 4
"""Numbers of a cell that ghosts have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleOptions:
    """Options of a run.

    Attributes
    ----------
    cycles : int
        In all, those before a checkpoint included.
    blocks : bool
        Keep load and owner of the blocks of every mesh.
    interfere : Schedule or None
    checkpoint : Path or None
        Where checkpoints go; None for none.
    feed : LiveFeed or None
        Receives every cycle.
    """

    cycles: int
    blocks: bool = False
    interfere: Schedule | None = None
    checkpoint: Path | None = None
    feed: LiveFeed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCycles:
    """What a run recorded, and how it ended.

    Attributes
    ----------
    rank : RankRun
        What this rank recorded.
    began : datetime
    first_cycle, cycles : int
        Cycles that were done before, and in all.
    stopped : str
        Why the run ended before its last cycle, on rank 0; empty if it did not.
    signal : int
        Signal that asked for the end, 0 for none.
    failure : DataError or None
        What ended it, if it failed.
    verdicts : tuple of CycleVerdict
        Outliers and changes, on rank 0.
    errors_percent : dict of str to float
        Of the predictors, on rank 0.
    checkpoints : tuple of dict
        Cycle, seconds and bytes of each, on rank 0.
    foresight_s : float
        Seconds of predicting, deciding and judging in all, on rank 0.
    """

    rank: RankRun
    began: datetime
    first_cycle: int
    cycles: int
    stopped: str = ""
    signal: int = 0
    failure: DataError | None = None
    verdicts: tuple[CycleVerdict, ...] = ()
    errors_percent: dict[str, float]
    checkpoints: tuple[dict[str, float], ...] = ()
    foresight_s: float = 0.0


class Runner:
    """Drives a kernel; making and calling it is collective.

    Parameters
    ----------
    kernel : Kernel
    clock : PhaseClock
        That of the kernel.
    communicator : MPI.Intracomm
    wanted : CycleOptions
    foresight : CycleAdvisor
        Only that of rank 0 is used.
    pulses : PulseReader
        Of this rank.
    first_cycle : int
        Cycles that were done before.
    report : callable
        Shows messages on rank 0.
    """

    def __init__(
        self,
        kernel: Kernel,
        clock: PhaseClock,
        communicator: Any,
        wanted: CycleOptions,
        foresight: CycleAdvisor,
        pulses: PulseReader,
        *,
        first_cycle: int = 0,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._kernel, self._clock, self._communicator = kernel, clock, communicator
        self._wanted, self._foresight, self._report = wanted, foresight, report
        self._pulses, self._slowest = pulses, np.zeros(1)
        self._first = self._done = first_cycle
        self._epoch = self._number = -1
        self._new_mesh = False
        self._checkpoints: list[dict[str, float]] = []
        self._orders = np.zeros(3)
        self._saved = first_cycle
        self._requests = StopRequests()
        self._start_s = time.monotonic() - process_age_s()
        self._most = np.zeros(3)
        self._total = np.zeros(1)
        # Nothing is known about the first cycle but the typical counts of the deck.
        self._iterations = math.nan if kernel.deck.heat else 0.0
        self._foresight_s = 0.0

    @property
    def first_cycle(self) -> int:
        """Cycles that were done before this run."""
        return self._first

    def run(self) -> RecordedCycles:
        """Do the cycles and return what was recorded, also of a run that failed."""
        neighbours = self._neighbours()
        began = datetime.now(UTC)
        stopped, failure = "", None
        try:
            with self._requests, no_garbage_collection():
                self._log = CycleLog(self._communicator, self._clock, self._pulses)
                # From here on time counts.
                while self._done < self._wanted.cycles and not stopped:
                    stopped = self._cycle(neighbours)
            self._clock.switch(Phase.REST)
        except DataError as error:  # on all ranks alike
            failure = error
        finally:
            if neighbours is not None:
                neighbours.end()
        root = self._communicator.rank == 0
        names = self._communicator.bcast(self._foresight.names if root else None)
        rows = self._log.cycles
        return RecordedCycles(
            rank=self._log.rank_run(
                self._foresight.predictions(rows) if root else no_predictions(rows, names)
            ),
            began=began,
            first_cycle=self._first,
            cycles=self._done,
            stopped=stopped,
            signal=int(self._orders[2]) if stopped else 0,
            failure=failure,
            verdicts=tuple(self._foresight.verdicts),
            errors_percent=self._foresight.errors_percent() if rows > 1 and root else {},
            checkpoints=tuple(self._checkpoints),
            foresight_s=self._foresight_s,
        )

    def save(self) -> None:
        """Write a checkpoint, if there is a place for it and something new to write."""
        path = self._wanted.checkpoint
        if path is None or self._saved == self._done:
            return
        self._saved = self._done
        before = self._clock.switch(Phase.CHECKPOINT)
        begin = time.monotonic()
        mesh, kernel = self._kernel.mesh, self._kernel
        counts = self._communicator.allgather(mesh.patch.owned)
        setting = CheckpointSetting(
            cycle=self._done,
            time=kernel.time,
            deck=kernel.deck.to_toml(),
            choices=kernel.choices.to_json(),
            base=mesh.base,
            cells=tuple(counts),
        )
        size = write_checkpoint(path, setting, mesh.cells(), kernel.state, self._communicator)
        seconds = time.monotonic() - begin
        self._clock.switch(before)
        self._foresight.saved(seconds, sum(counts))
        self._checkpoints.append({"cycle": self._done, "seconds": seconds, "bytes": size})

    def _cycle(self, neighbours: InterferingJobs | None) -> str:
        """Decide, then do a cycle; return why to stop instead, if so."""
        from mpi4py import MPI

        if neighbours is not None:
            neighbours.before(self._done)
        work = self._work()
        decision = self._decide(work)
        if decision.checkpoint or decision.stop:
            self.save()
        if decision.stop:
            return decision.why or "another rank knows why"
        if self._new_mesh:
            self._new_mesh = False
            blocks = self._blocks() if self._wanted.blocks else None
            self._log.add_mesh(self._number, self._kernel.mesh.edges(columns=COLUMNS), blocks)
        self._tell()
        done = self._kernel.cycle()
        times = self._log.add_cycle(done.counts, self._number)
        self._done += 1
        if self._wanted.feed is not None:
            self._wanted.feed.step(self._done - self._first, self._log.last_ns)
        self._iterations = done.counts["heat_iterations"]
        self._slowest[0] = times.pulse.core_s
        self._communicator.Allreduce(MPI.IN_PLACE, self._slowest, MPI.MAX)
        if self._communicator.rank == 0:
            self._judge(times, done.counts)
        return ""

    def _tell(self) -> None:
        """Give the predictions to a waiting frame of the feed, which all ranks have begun."""
        feed = self._wanted.feed
        if feed is None or not feed.waits:
            return
        foreseen = None
        if self._communicator.rank == 0:
            number = self._done - self._first + 1
            foreseen = self._foresight.foreseen(number, self._wanted.cycles - self._done)
        feed.foresee(foreseen)

    def _work(self) -> Work:
        """Return what the next cycle will have to do; collective."""
        from mpi4py import MPI

        mesh, deck = self._kernel.mesh, self._kernel.deck
        patch = mesh.patch
        if mesh.epoch != self._epoch:
            self._epoch = mesh.epoch
            self._number += 1
            self._most[:] = patch.owned, patch.ghosts, mesh.exchange.messages
            self._total[0] = patch.owned
            self._communicator.Allreduce(MPI.IN_PLACE, self._most, MPI.MAX)
            self._communicator.Allreduce(MPI.IN_PLACE, self._total, MPI.SUM)
            self._new_mesh = True
        cells, ghosts, messages = self._most.tolist()
        return Work(
            cells=cells,
            total=float(self._total[0]),
            steps=deck.steps,
            iterations=self._iterations,
            adapts=True,
            ghosts=ghosts,
            messages=messages,
        )

    def _decide(self, work: Work) -> Decision:
        """Return the decision of rank 0, or a stop for a signal to any rank, on every rank."""
        from mpi4py import MPI

        decision = Decision()
        if self._communicator.rank == 0:
            now = time.monotonic()
            decision = self._foresight.before(work, now - self._start_s)
            self._foresight_s += time.monotonic() - now
        self._orders[:] = decision.stop, decision.checkpoint, self._requests.signal
        self._communicator.Allreduce(MPI.IN_PLACE, self._orders, MPI.MAX)
        stop, checkpoint, asked = (int(order) for order in self._orders)
        if asked:
            return Decision(stop=True, why=f"asked to by {signal.Signals(asked).name}.")
        return Decision(stop=bool(stop), checkpoint=bool(checkpoint), why=decision.why)

    def _judge(self, times: CycleTimes, counts: dict[str, int]) -> None:
        """Update rank 0's predictors with the cycle, and report changes."""
        spent = Spent(
            seconds=times.seconds,
            phases_s=tuple(times.phases_s[phase] for phase in OF_MODELS),
            iterations=float(counts["heat_iterations"]),
            pulse_s=float(self._slowest[0]),
        )
        now = time.monotonic()
        verdict = self._foresight.after(spent)
        self._foresight_s += time.monotonic() - now
        if verdict.change:
            self._report(f"cycle {self._first + verdict.cycle}: {verdict.words}")

    def _blocks(self) -> Blocks | None:
        """Gather load and owner of all blocks on rank 0, and who needs cells of whom."""
        mesh = self._kernel.mesh
        mine, needs = mesh.blocks(), mesh.block_needs()
        parts = self._communicator.gather(
            (mine.block, mine.owner, mine.load, needs.source, needs.target, needs.cells)
        )
        if parts is None:
            return None
        place, owner, load, source, target, cells = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return Blocks(
            place=place,
            owner=owner,
            load=load.astype(np.float64),
            epoch=np.full(load.size, self._number, np.int32),
            edges=BlockEdges(
                source=source,
                target=target,
                bytes=8 * COLUMNS * cells,
                epoch=np.full(cells.size, self._number, np.int32),
            ),
        )

    def _neighbours(self) -> InterferingJobs | None:
        """Start the interfering jobs of this node on its first rank; collective."""
        if self._wanted.interfere is None:
            return None
        from mpi4py import MPI

        here = self._communicator.Split_type(MPI.COMM_TYPE_SHARED)
        first = here.rank == 0
        allowed = set[int]().union(*here.allgather(os.sched_getaffinity(0)))
        here.Free()
        neighbours = InterferingJobs(self._wanted.interfere, allowed) if first else None
        self._communicator.Barrier()
        return neighbours
