"""The adaptive experiment: the kernel on one deck, replayed from the same state.

Every cycle of a run is predicted, recorded and judged.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import time
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness import mpi
from hindmost.harness.adaptive.checkpoint import (
    CheckpointSetting,
    prepare_checkpoint,
    write_checkpoint,
)
from hindmost.harness.adaptive.compiling import compile_everything
from hindmost.harness.adaptive.cycle_advisor import (
    OF_MODELS,
    CycleAdvisor,
    Decision,
    DecisionOptions,
)
from hindmost.harness.adaptive.decks import CELL_BYTES, Deck, application_of
from hindmost.harness.adaptive.interference import InterferingJobs, Schedule
from hindmost.harness.adaptive.kernel import (
    THRESHOLD,
    Kernel,
    pulse_reader,
    resume_kernel,
    start_kernel,
)
from hindmost.harness.adaptive.phases import NAMES, Phase, PhaseClock
from hindmost.harness.campaign import (
    CampaignRun,
    MeasuredExperiment,
    RecordedRun,
    Report,
    check_count,
    no_garbage_collection,
)
from hindmost.harness.launch import process_age_s
from hindmost.harness.live.feed import LiveFeed
from hindmost.harness.petsc import Parallel
from hindmost.harness.probes.pulse import PulseReader, slowest_pulse_s
from hindmost.harness.rank_failures import on_root
from hindmost.harness.recorder.clock import CommonClock, read_clock
from hindmost.harness.recorder.library import load
from hindmost.harness.reduction.reduced_file import ALWAYS
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.bodies import BodyKind, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun
from hindmost.harness.runfile.cycles import (
    ADAPTIVE,
    COUNTS,
    PULSE,
    BlockEdges,
    Blocks,
    Predictions,
    RankCycles,
)
from hindmost.models.adaptive.checkpoints import CheckpointCost
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.work import Spent, Work
from hindmost.text import percent

MOST_BASE = 1 << 27
"""Base cells of all ranks: each rank sorts them all at the start."""
COLUMNS = 4
"""Numbers of a cell that ghosts have."""
NS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveExperiment(MeasuredExperiment[Deck]):
    """A deck to run; the only case.

    Attributes
    ----------
    deck : Deck
    cycles : int
        Cycles in all, those before a checkpoint included.
    base : (int, int) or None
        Columns and rows of the base mesh; None for the deck's, which grows with the ranks.
    threshold : float
        Load imbalance, maximum over mean of cells, above which cells are moved.
    orders : DecisionOptions
    machine : Machine or None
        What the probes measured; without it there is no offline model.
    interfere : Schedule or None
    blocks : bool
        Keep load and owner of the blocks of every mesh.
    checkpoint, restart : Path or None
        Where to write checkpoints, and the checkpoint to continue from.
    setting : CheckpointSetting or None
        The contents of the checkpoint to continue from.
    """

    deck: Deck
    cycles: int
    base: tuple[int, int] | None = None
    threshold: float = THRESHOLD
    orders: DecisionOptions = field(default_factory=DecisionOptions)
    machine: Machine | None = None
    interfere: Schedule | None = None
    blocks: bool = False
    checkpoint: Path | None = None
    restart: Path | None = None
    setting: CheckpointSetting | None = None

    feed_phases: ClassVar[tuple[str, ...]] = NAMES
    own_totals: ClassVar[bool] = True
    always_kept: ClassVar[tuple[int, ...]] = ALWAYS
    shuffled: ClassVar[bool] = False

    @property
    def workload_name(self) -> str:
        """The workload in headers and file names."""
        return ADAPTIVE

    @property
    def first_cycle(self) -> int:
        """Cycles that were done before."""
        return 0 if self.setting is None else self.setting.cycle

    def cases(self) -> tuple[Deck, ...]:
        """Return the deck, nothing if its cycles are done."""
        return (self.deck,) if self.first_cycle < self.cycles else ()

    def check_own(self) -> None:
        """Raise a UsageError for a setting that cannot be used."""
        check_count("cycles", self.cycles)
        if not 1.0 <= self.threshold < math.inf:
            raise UsageError(
                f"--threshold {self.threshold}: a load imbalance (maximum over mean of cells) is "
                "at least 1."
            )
        if self.restart is not None and self.repeats > 1:
            raise UsageError("--repeats with --restart: a run continues from a checkpoint once.")
        if self.base is not None and self.base[0] * self.base[1] > MOST_BASE:
            raise UsageError(
                f"--base {self.base[0]}x{self.base[1]}: at most {MOST_BASE:,} base cells."
            )

    def remarks(self, ranks: int) -> list[str]:
        """Say that no cycles remain, and warn of a time limit without a checkpoint."""
        remarks = []
        if not self.cases():
            remarks.append(
                f"{self.first_cycle} of {self.cycles} cycles are done: nothing is left to run"
            )
        if self.orders.time_limit_s is not None and self.checkpoint is None:
            remarks.append(
                "warning: no --checkpoint: if the time limit stops the run, its state is lost"
            )
        return remarks

    def start(self) -> Parallel:
        """Start the recorder and MPI."""
        load()
        return Parallel(PETSc=None, communicator=mpi.start())

    def prepare(self, parallel: Parallel, report: Report) -> AdaptiveReplays:
        """Check the place of the checkpoint and compile; collective."""
        communicator, deck = parallel.communicator, self.deck
        if self.checkpoint is not None:
            checkpoint = self.checkpoint
            on_root(communicator, lambda: prepare_checkpoint(checkpoint, deck.name))
        report(f"{deck.name}: compiling what is not yet compiled")
        compile_everything(deck, communicator)
        return AdaptiveReplays(self, communicator, report)


class AdaptiveReplays:
    """Runs the kernel on a deck, each time from the same state."""

    def __init__(self, experiment: AdaptiveExperiment, communicator: Any, report: Report) -> None:
        self._experiment, self._communicator, self._report = experiment, communicator, report
        setting, deck = experiment.setting, experiment.deck
        own = deck.base(communicator.size) if setting is None else setting.base
        self._base = experiment.base or own

    def title(self, case: Deck) -> str:
        """Return how messages name a case."""
        return f"{case.name}, {self._base[0]} x {self._base[1]}"

    def record(self, planned: CampaignRun[Deck], feed: LiveFeed | None) -> RecordedRun:
        """Run the cycles, each predicted before it; collective."""
        experiment, communicator = self._experiment, self._communicator
        deck, clock, pulses = experiment.deck, PhaseClock(), pulse_reader()
        pulse_s = slowest_pulse_s(pulses, communicator)
        if experiment.setting is None or experiment.restart is None:
            kernel = start_kernel(deck, self._base, communicator, clock, experiment.threshold)
        else:
            kernel = resume_kernel(
                experiment.restart, experiment.setting, deck, communicator, clock,
                experiment.threshold,
            )  # fmt: skip
        advisor = advisor_of(experiment, communicator.size, pulse_s)
        if feed is not None:
            feed.begin(
                deck.name,
                planned.number,
                experiment.cycles,
                done=experiment.first_cycle,
                predictors=advisor.panel.names,
            )
        runner = Runner(
            experiment, kernel, clock, communicator, advisor, pulses, feed, self._report
        )
        recorded = runner.run()
        if feed is not None:
            feed.finish()
        more = {"pulse_s": pulse_s, "pulses_s": pulses.spent_s}
        return replace(recorded, spec=recorded.spec | more)

    def close(self, report: Report) -> None:
        """Release nothing."""


def advisor_of(experiment: AdaptiveExperiment, ranks: int, pulse_s: float) -> CycleAdvisor:
    """Return what predicts the cycles, given a pulse just before the run."""
    machine = experiment.machine
    if machine is None:
        return CycleAdvisor(experiment.orders)
    application = application_of(experiment.deck)
    model = OfflineModel(machine=machine, application=application, ranks=ranks, pulse_s=pulse_s)
    cost = CheckpointCost.of_machine(machine, CELL_BYTES)
    return CycleAdvisor(experiment.orders, model=model, cost=cost)


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
        for each in (signal.SIGINT, signal.SIGTERM):
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


class Runner:
    """Drives a kernel; making and calling it is collective.

    Parameters
    ----------
    experiment : AdaptiveExperiment
    kernel : Kernel
    clock : PhaseClock
        That of the kernel.
    communicator : MPI.Intracomm
    advisor : CycleAdvisor
        Only that of rank 0 is used.
    pulses : PulseReader
        Of this rank.
    feed : LiveFeed or None
        Receives every cycle.
    report : callable
        Shows messages on rank 0.
    """

    def __init__(
        self,
        experiment: AdaptiveExperiment,
        kernel: Kernel,
        clock: PhaseClock,
        communicator: Any,
        advisor: CycleAdvisor,
        pulses: PulseReader,
        feed: LiveFeed | None,
        report: Report,
    ) -> None:
        self._experiment, self._kernel, self._clock = experiment, kernel, clock
        self._communicator, self._root = communicator, communicator.rank == 0
        self._advisor, self._pulses, self._feed, self._report = advisor, pulses, feed, report
        self._done = self._saved = experiment.first_cycle
        self._epoch = self._number = -1
        self._new_mesh = False
        self._checkpoints: list[dict[str, float]] = []
        self._requests = StopRequests()
        self._start_s = time.monotonic() - process_age_s()
        self._orders, self._most = np.zeros(3), np.zeros(3)
        self._total, self._slowest = np.zeros(1), np.zeros(1)
        # Nothing is known about the first cycle but the typical counts of the deck.
        self._iterations = math.nan if kernel.deck.heat else 0.0
        self._foresight_s = 0.0

    def run(self) -> RecordedRun:
        """Do the cycles and return what was recorded, also of a run that failed."""
        jobs = self._interfering_jobs()
        began = datetime.now(UTC)
        stopped, failure = "", None
        try:
            with self._requests, no_garbage_collection():
                self._log = CycleLog(self._communicator, self._clock, self._pulses)
                # From here on time counts.
                while self._done < self._experiment.cycles and not stopped:
                    stopped = self._cycle(jobs)
            self._clock.switch(Phase.REST)
        except DataError as error:  # on all ranks alike
            failure = error
        finally:
            if jobs is not None:
                jobs.end()
        panel, rows = self._advisor.panel, self._log.cycles
        return RecordedRun(
            name=self._kernel.deck.name,
            rank=self._log.rank_run(
                Predictions(
                    names=panel.names,
                    predicted=panel.predicted[:rows]
                    if self._root
                    else np.empty((rows, len(panel.names))),
                )
            ),
            began=began,
            iterations=self._done - self._experiment.first_cycle,
            petsc_options={"given": ""},
            spec=self._spec(stopped, failure),
            summary=tuple(self._summary(stopped, rows)),
            stopped=stopped,
            interrupted=bool(stopped and self._orders[2] == signal.SIGINT),
            failure=failure,
        )

    def _spec(self, stopped: str, failure: DataError | None) -> dict[str, Any]:
        """Return what the header says of the run."""
        experiment, kernel = self._experiment, self._kernel
        first = experiment.first_cycle
        return {
            "deck": kernel.deck.to_toml(),
            "choices": {"threshold": experiment.threshold},
            "base": list(kernel.mesh.base),
            "cycles": experiment.cycles,
            "first_cycle": first,
            "orders": asdict(experiment.orders),
            "machine": experiment.machine.name if experiment.machine else None,
            "interfere": asdict(experiment.interfere) if experiment.interfere else None,
            "stopped": stopped,
            "failure": str(failure) if failure else "",
            "checkpoints": self._checkpoints,
            "foresight_s": self._foresight_s,
            "verdicts": [
                {"cycle": first + each.cycle, "kind": str(each.kind), "words": each.words}
                for each in self._advisor.stood_out
            ],
        }

    def _summary(self, stopped: str, rows: int) -> list[str]:
        """Say how accurate the predictions were, and why the run stopped; on rank 0."""
        found = self._advisor.panel.errors_percent() if rows > 1 and self._root else {}
        errors = ", ".join(
            f"{name} {percent(error / 100.0)}"
            for name, error in found.items()
            if not math.isnan(error)
        )
        lines = [f"mean error of the predictions: {errors}"] if errors else []
        if stopped:
            lines.append(f"stopped after cycle {self._done}: {stopped}")
        return lines

    def _save(self) -> None:
        """Write a checkpoint, if there is a place for it and something new to write."""
        path = self._experiment.checkpoint
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
            choices={"threshold": mesh.threshold},
            base=mesh.base,
            cells=tuple(counts),
        )
        size = write_checkpoint(path, setting, mesh.cells(), kernel.state, self._communicator)
        seconds = time.monotonic() - begin
        self._clock.switch(before)
        self._advisor.saved(seconds, sum(counts))
        self._checkpoints.append({"cycle": self._done, "seconds": seconds, "bytes": size})

    def _cycle(self, jobs: InterferingJobs | None) -> str:
        """Decide, then do a cycle; return why to stop instead, if so."""
        from mpi4py import MPI

        experiment, log, feed = self._experiment, self._log, self._feed
        if jobs is not None:
            jobs.before(self._done)
        decision = self._decide(self._work())
        if decision.checkpoint or decision.stop:
            self._save()
        if decision.stop:
            return decision.why or "another rank knows why"
        if self._new_mesh:
            self._new_mesh = False
            mesh = self._kernel.mesh
            log.edges.append(mesh.edges(columns=COLUMNS, epoch=self._number))
            if experiment.blocks:
                parts = self._communicator.gather(mesh.blocks(columns=COLUMNS, epoch=self._number))
                log.blocks += parts or ()
        done = self._done - experiment.first_cycle
        if feed is not None and feed.waits:  # a frame that all ranks have begun
            left = experiment.cycles - self._done
            feed.foresee(self._advisor.foreseen(done + 1, left) if self._root else None)
        counts = self._kernel.cycle()
        spent = log.add_cycle(counts, self._number)
        self._done += 1
        if feed is not None:
            feed.step(done + 1, log.last_ns)
        self._iterations = float(counts["heat_iterations"])
        self._slowest[0] = spent.pulse_s
        self._communicator.Allreduce(MPI.IN_PLACE, self._slowest, MPI.MAX)
        if self._root:
            now = time.monotonic()
            verdict = self._advisor.after(replace(spent, pulse_s=float(self._slowest[0])))
            self._foresight_s += time.monotonic() - now
            if verdict.change:
                self._report(f"cycle {experiment.first_cycle + verdict.cycle}: {verdict.words}")
        return ""

    def _work(self) -> Work:
        """Return what the next cycle will have to do; collective."""
        from mpi4py import MPI

        mesh, deck = self._kernel.mesh, self._kernel.deck
        if mesh.epoch != self._epoch:
            self._epoch = mesh.epoch
            self._number += 1
            self._most[:] = mesh.patch.owned, mesh.patch.ghosts, mesh.exchange.messages
            self._total[0] = mesh.patch.owned
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
        if self._root:
            now = time.monotonic()
            decision = self._advisor.before(work, now - self._start_s)
            self._foresight_s += time.monotonic() - now
        self._orders[:] = decision.stop, decision.checkpoint, self._requests.signal
        self._communicator.Allreduce(MPI.IN_PLACE, self._orders, MPI.MAX)
        stop, checkpoint, asked = (int(order) for order in self._orders)
        if asked:
            return Decision(stop=True, why=f"asked to by {signal.Signals(asked).name}.")
        return Decision(stop=bool(stop), checkpoint=bool(checkpoint), why=decision.why)

    def _interfering_jobs(self) -> InterferingJobs | None:
        """Start the interfering jobs of this node on its first rank; collective."""
        schedule = self._experiment.interfere
        if schedule is None:
            return None
        from mpi4py import MPI

        here = self._communicator.Split_type(MPI.COMM_TYPE_SHARED)
        first = here.rank == 0
        allowed = set[int]().union(*here.allgather(os.sched_getaffinity(0)))
        here.Free()
        jobs = InterferingJobs(schedule, allowed) if first else None
        self._communicator.Barrier()
        return jobs


class CycleLog:
    """Rows of cycles on one rank, and the edges and blocks of every mesh that a cycle ran on.

    Its construction is collective: the ranks compare clocks and leave a barrier together.

    Parameters
    ----------
    communicator : MPI.Intracomm
    clock : PhaseClock
    pulses : PulseReader

    Attributes
    ----------
    edges : list of Edges
        Who sends to this rank, for every mesh.
    blocks : list of Blocks
        Those of all ranks on rank 0, for every mesh; empty if they are not kept.
    """

    def __init__(self, communicator: Any, clock: PhaseClock, pulses: PulseReader) -> None:
        self._communicator = communicator
        self._clock, self._reader = clock, pulses
        self._load_before = provenance.load_of_host()
        self._walls: list[list[int]] = []
        self._cpus: list[list[int]] = []
        self._begins: list[int] = []
        self._counts: list[tuple[int, ...]] = []
        self._epochs: list[int] = []
        self._pulses: list[float] = []
        self.edges: list[Edges] = []
        self.blocks: list[Blocks] = []
        self._before = read_clock(communicator)
        communicator.Barrier()
        self._begin_ns, _, _ = clock.take()
        self._at_ns = self._begin_ns
        self._switches = self._first_switches = provenance.involuntary_switches()
        self._core_wait_s = -provenance.core_wait_s()

    @property
    def cycles(self) -> int:
        """Cycles that have a row."""
        return len(self._begins)

    @property
    def last_ns(self) -> NDArray[np.float64]:
        """Nanoseconds of the last cycle by phase; shape (phase,)."""
        return np.array(self._walls[-1], np.float64)

    def add_cycle(self, counts: dict[str, int], epoch: int) -> Spent:
        """End the row of a cycle, which began where the row before it ended; collective.

        Parameters
        ----------
        counts : dict of str to int
            Every one of `COUNTS` but the context switches, which are counted here.

        Returns
        -------
        Spent
            Without a checkpoint before it. The pulse is of this rank, read right after the cycle,
            so within the row of the next one.
        """
        switches = provenance.involuntary_switches()
        at, wall, cpu = self._clock.take()
        counts = {**counts, "switches": switches - self._switches}
        self._begins.append(self._at_ns)
        self._walls.append(wall)
        self._cpus.append(cpu)
        self._counts.append(tuple(counts[name] for name in COUNTS))
        self._epochs.append(epoch)
        self._at_ns, self._switches = at, switches
        # All ranks at once, as they compute: they may share more than memory.
        self._communicator.Barrier()
        pulse = self._reader.read()
        self._pulses.append(pulse)
        return Spent(
            seconds=(sum(wall) - wall[Phase.CHECKPOINT]) * NS,
            phases_s=tuple(wall[phase] * NS for phase in OF_MODELS),
            iterations=float(counts["heat_iterations"]),
            pulse_s=pulse,
        )

    def rank_run(self, predictions: Predictions) -> RankRun:
        """Return everything as it goes into the run file; collective."""
        end_ns, _, _ = self._clock.take()
        zero = self._communicator.bcast(self._begin_ns)
        clock = CommonClock(before=self._before, after=read_clock(self._communicator), zero_ns=zero)
        count = self.cycles
        wall, cpu = (
            np.array(rows, np.float64).reshape(count, len(NAMES)) * NS
            for rows in (self._walls, self._cpus)
        )
        begins = np.array(self._begins, np.int64)
        counts = np.array(self._counts, np.int64).reshape(count, len(COUNTS))
        return RankRun(
            bodies=RankBodies(
                start=clock.since_zero(begins),
                duration=wall.sum(axis=1),
                phase_duration=wall.astype(np.float32),
                phases=NAMES,
                position=np.arange(count, dtype=np.int32),
                kind=np.full(count, BodyKind.REGULAR, np.uint8),
                restart_duration=np.empty(0),
                lead_in_s=0.0,
                lead_out_s=(end_ns - self._at_ns) * NS,
                solve_time_s=(end_ns - self._begin_ns) * NS,
            ),
            residual_norm=np.full(count, np.nan),
            incoming=Edges.together(self.edges) if self.edges else Edges.none(),
            mpi_other_s=0.0,
            context_switches=self._switches - self._first_switches,
            core_wait_s=self._core_wait_s + provenance.core_wait_s(),
            cpu=provenance.current_cpu(),
            cpuset=provenance.cpuset(),
            load_before=self._load_before,
            load_after=provenance.load_of_host(),
            host=socket.gethostname(),
            clock_offset_s=clock.offset_s,
            clock_uncertainty_s=clock.uncertainty_s,
            cycles=RankCycles(
                counts={name: counts[:, place] for place, name in enumerate(COUNTS)},
                phase_cpu=cpu.astype(np.float32),
                pulses={PULSE: np.array(self._pulses, np.float32)},
                epoch=np.array(self._epochs, np.int32),
                predictions=predictions,
                blocks=joined(self.blocks),
            ),
        )


def joined(blocks: list[Blocks]) -> Blocks | None:
    """Return the blocks of all ranks and meshes as one list, None where none were kept."""
    edges = [each.edges for each in blocks if each.edges is not None]
    if not blocks:
        return None
    whole: dict[str, Any] = {
        name: np.concatenate([getattr(each, name) for each in blocks])
        for name in ("place", "load", "owner", "epoch")
    }
    between = {
        name: np.concatenate([getattr(each, name) for each in edges])
        for name in ("source", "target", "bytes", "epoch")
    }
    return Blocks(**whole, edges=BlockEdges(**between))
