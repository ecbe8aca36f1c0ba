"""The adaptive experiment: the kernel on one deck, replayed from the same state.

Every cycle of a run is predicted, recorded and judged.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import numpy as np

from hindmost.errors import DataError, UsageError
from hindmost.harness import mpi
from hindmost.harness.adaptive.checkpoint import (
    CheckpointSetting,
    prepare_checkpoint,
    write_checkpoint,
)
from hindmost.harness.adaptive.decks import Deck
from hindmost.harness.adaptive.foresight import decide, foreseen, predictor_of
from hindmost.harness.adaptive.interference import InterferingJobs, Schedule
from hindmost.harness.adaptive.kernel import (
    Kernel,
    compile_everything,
    pulse_reader,
    resume_kernel,
    start_kernel,
)
from hindmost.harness.adaptive.mesh.mesh import THRESHOLD
from hindmost.harness.adaptive.phases import NAMES, Phase, PhaseClock
from hindmost.harness.adaptive.pulse import slowest_pulse_s
from hindmost.harness.attach.cycle_notes import KEY
from hindmost.harness.campaign import (
    CampaignRun,
    MeasuredExperiment,
    RecordedRun,
    Report,
    RunPlace,
    check_count,
    no_garbage_collection,
)
from hindmost.harness.cycles.cycle_log import CycleLog
from hindmost.harness.launch import process_age_s
from hindmost.harness.live.feed import LiveFeed
from hindmost.harness.petsc import Parallel
from hindmost.harness.rank_failures import on_root
from hindmost.harness.recorder.library import load
from hindmost.harness.runfile.attributes import Json
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.models.adaptive.interference import CycleKind, CycleVerdict
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.work import Work
from hindmost.text import percent

MAX_BASE = 1 << 27
"""Base cells of all ranks: each rank sorts them all at the start."""


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
    time_limit_s : float or None
        From the start of the command.
    mtbf_s : float or None
        Mean time between failures; without it checkpoints come only before a stop.
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
    time_limit_s: float | None = None
    mtbf_s: float | None = None
    machine: Machine | None = None
    interfere: Schedule | None = None
    blocks: bool = False
    checkpoint: Path | None = None
    restart: Path | None = None
    setting: CheckpointSetting | None = None

    feed_phases: ClassVar[tuple[str, ...]] = NAMES
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
        if self.mtbf_s is not None and self.checkpoint is None:
            raise UsageError("--mtbf writes checkpoints; name their file with --checkpoint.")
        if not 1.0 <= self.threshold < math.inf:
            raise UsageError(
                f"--threshold {self.threshold}: a load imbalance (maximum over mean of cells) is "
                "at least 1."
            )
        if self.restart is not None and self.repeats > 1:
            raise UsageError("--repeats with --restart: a run continues from a checkpoint once.")
        if self.base is not None and self.base[0] * self.base[1] > MAX_BASE:
            raise UsageError(
                f"--base {self.base[0]}x{self.base[1]}: at most {MAX_BASE:,} base cells."
            )

    def remarks(self, ranks: int) -> list[str]:
        """Say that no cycles remain, and warn of a time limit without a checkpoint."""
        remarks = []
        if not self.cases():
            remarks.append(
                f"{self.first_cycle} of {self.cycles} cycles are done: nothing is left to run"
            )
        if self.time_limit_s is not None and self.checkpoint is None:
            remarks.append(
                "warning: no --checkpoint: if the time limit stops the run, its state is lost"
            )
        return remarks

    def start(self) -> Parallel:
        """Start the recorder and MPI."""
        load()
        return Parallel(PETSc=None, communicator=mpi.start())

    def prepare(self, parallel: Parallel, report: Report, place: RunPlace) -> AdaptiveReplays:
        """Check the place of the checkpoint and compile; collective."""
        communicator, deck = parallel.communicator, self.deck
        if self.checkpoint is not None:
            checkpoint = self.checkpoint
            on_root(communicator, lambda: prepare_checkpoint(checkpoint, deck.name))
        report(f"{deck.name}: compiling what is not yet compiled")
        compile_everything(deck, communicator)
        return AdaptiveReplays(self, communicator, report, place)


class AdaptiveReplays:
    """Runs the kernel on a deck, each time from the same state."""

    def __init__(
        self,
        experiment: AdaptiveExperiment,
        communicator: Any,
        report: Report,
        place: RunPlace,
    ) -> None:
        self._experiment, self._communicator, self._report = experiment, communicator, report
        self._place, self._recording = place, communicator.Dup()
        setting, deck = experiment.setting, experiment.deck
        own = deck.base(communicator.size) if setting is None else setting.base
        self._base = experiment.base or own

    def title(self, case: Deck) -> str:
        """Return how messages name a case."""
        return f"{case.name}, {self._base[0]} x {self._base[1]}"

    def close(self, report: Report) -> None:
        """Free the communicator of what is recorded."""
        self._recording.Free()

    def record(self, planned: CampaignRun[Deck], feed: LiveFeed | None) -> RecordedRun:
        """Run the cycles, each predicted before it, also if the run fails in one; collective."""
        from mpi4py import MPI

        experiment, communicator, deck = self._experiment, self._communicator, self._experiment.deck
        clock, pulses, first = PhaseClock(), pulse_reader(), experiment.first_cycle
        pulse_s = slowest_pulse_s(pulses, communicator)
        kernel = self._kernel(clock)
        predictor = predictor_of(
            deck,
            experiment.machine,
            ranks=communicator.size,
            pulse_s=pulse_s,
            time_limit_s=experiment.time_limit_s,
            mtbf_s=experiment.mtbf_s,
            saves=experiment.checkpoint is not None,
        )
        root, stood_out = communicator.rank == 0, list[CycleVerdict]()
        row: tuple[float, ...] = ()
        if feed is not None:
            feed.begin(
                deck.name, planned.number, experiment.cycles, done=first, predictors=predictor.names
            )
        jobs = interfering_jobs(experiment.interfere, communicator)
        began, start_s = datetime.now(UTC), time.monotonic() - process_age_s()
        done = saved = first
        # Nothing is known about the first cycle but the typical counts of the deck.
        iterations = math.nan if deck.heat else 0.0
        stopped, asked, failure, foresight_s = "", 0, None, 0.0
        checkpoints: list[dict[str, float]] = []
        spec = self._spec(kernel, pulse_s)
        about = {
            "name": ADAPTIVE,
            "solver": deck.name,
            "mpi_seen": True,
            "with_mpi": True,
            "spec": experiment.shared_spec(planned) | spec,
            "lines": {"deck": deck.to_toml().split("\n")},
            KEY: {"phases": NAMES, "predictors": predictor.names},
        }
        log = CycleLog(
            self._recording,
            clock,
            pulses,
            self._place.folder.absolute() / f"{ADAPTIVE}-{deck.name}",
            about,
            self._place.origins,
            blocks=experiment.blocks,
        )
        try:
            with stop_requests() as requests, no_garbage_collection():
                log.begin()  # from here on time counts
                while done < experiment.cycles:
                    if jobs is not None:
                        jobs.before(done)
                    # Rank 0 predicts and decides; a signal to any rank stops all.
                    before = clock.switch(Phase.MEETING)
                    work, why, due = next_work(kernel, iterations, communicator), "", False
                    clock.switch(before)
                    if root:
                        now_s = time.monotonic()
                        why, due = decide(
                            predictor,
                            work,
                            now_s - start_s,
                            stops=experiment.time_limit_s is not None,
                            interval=experiment.mtbf_s is not None,
                            saves=experiment.checkpoint is not None,
                        )
                        foresight_s += time.monotonic() - now_s
                    wanted = np.array([bool(why), due, sum(requests)], int)
                    clock.switch(Phase.MEETING)
                    communicator.Allreduce(MPI.IN_PLACE, wanted, MPI.MAX)
                    clock.switch(before)
                    stop, checkpoint, asked = wanted.tolist()
                    path = experiment.checkpoint if stop or checkpoint or asked else None
                    if path is not None and saved < done:
                        checkpoints.append(self._save(path, kernel, done, clock))
                        predictor.observe_checkpoint(checkpoints[-1]["seconds"], work)
                        saved = done
                    if stop or asked:
                        stopped = why or "another rank knows why"
                        if asked:
                            stopped = f"asked to by {signal.Signals(asked).name}."
                        break
                    log.add_mesh(kernel.mesh)
                    if feed is not None and feed.waits:  # a frame that all ranks have begun
                        left = experiment.cycles - done
                        number = done - first + 1
                        feed.foresee(foreseen(predictor, work, number, left) if root else None)
                    counts = kernel.cycle()
                    spent = log.add_cycle(counts)
                    done += 1
                    if feed is not None:
                        feed.step(done - first, log.last_ns)
                    iterations = float(counts["heat_iterations"])
                    clock.switch(Phase.MEETING)
                    slowest_s = communicator.allreduce(spent.pulse_s, op=MPI.MAX)
                    clock.switch(before)
                    if root:
                        now_s, row = time.monotonic(), predictor.row(work)
                        verdict = predictor.observe(replace(spent, pulse_s=slowest_s), work)
                        foresight_s += time.monotonic() - now_s
                        if verdict.change or verdict.kind is CycleKind.NOISE:
                            stood_out.append(verdict)
                        if verdict.change:
                            self._report(f"cycle {first + verdict.cycle}: {verdict.words}")
                    log.note(row)
            clock.switch(Phase.REST)
        except DataError as error:  # on all ranks alike
            failure = error
        except BaseException:
            log.leave()
            raise
        finally:
            if jobs is not None:
                jobs.end()
        if feed is not None:
            feed.finish()
        errors = predictor.errors_percent() if root and log.cycles > 1 else {}
        mean = ", ".join(
            f"{name} {percent(error / 100.0)}"
            for name, error in errors.items()
            if not math.isnan(error)
        )
        summary = [f"mean error of the predictions: {mean}"] if mean else []
        if stopped:
            summary.append(f"stopped after cycle {done}: {stopped}")
        return RecordedRun(
            name=deck.name,
            rank=log.rank_run(),
            began=began,
            iterations=done - first,
            header={"petsc_options": {"given": ""}},
            spec=spec
            | {
                "stopped": stopped,
                "failure": str(failure) if failure else "",
                "checkpoints": checkpoints,
                "foresight_s": foresight_s,
                "verdicts": [
                    {"cycle": first + each.cycle, "kind": str(each.kind), "words": each.words}
                    for each in stood_out
                ],
                "pulses_s": pulses.spent_s,
            },
            summary=tuple(summary),
            stopped=stopped,
            interrupted=asked == signal.SIGINT,
            failure=failure,
        )

    def _spec(self, kernel: Kernel, pulse_s: float) -> Json:
        """Return what a run's header says of what was asked for."""
        experiment = self._experiment
        return {
            "deck": experiment.deck.to_toml(),
            "choices": {"threshold": experiment.threshold},
            "base": list(kernel.mesh.base),
            "cycles": experiment.cycles,
            "first_cycle": experiment.first_cycle,
            "orders": {
                "time_limit_s": experiment.time_limit_s,
                "mtbf_s": experiment.mtbf_s,
                "saves": experiment.checkpoint is not None,
            },
            "machine": experiment.machine.name if experiment.machine else None,
            "interfere": asdict(experiment.interfere) if experiment.interfere else None,
            "pulse_s": pulse_s,
        }

    def _kernel(self, clock: PhaseClock) -> Kernel:
        """Return the kernel at its begin, or as a checkpoint has it; collective."""
        experiment, communicator, deck = self._experiment, self._communicator, self._experiment.deck
        if experiment.setting is None or experiment.restart is None:
            return start_kernel(deck, self._base, communicator, clock, experiment.threshold)
        return resume_kernel(
            experiment.restart, experiment.setting, deck, communicator, clock, experiment.threshold
        )

    def _save(self, path: Path, kernel: Kernel, done: int, clock: PhaseClock) -> dict[str, float]:
        """Write a checkpoint after `done` cycles; return what the run file says of it."""
        before, begin = clock.switch(Phase.CHECKPOINT), time.monotonic()
        mesh = kernel.mesh
        setting = CheckpointSetting(
            cycle=done,
            time=kernel.time,
            deck=kernel.deck.to_toml(),
            choices={"threshold": mesh.threshold},
            base=mesh.base,
            cells=tuple(self._communicator.allgather(mesh.patch.owned)),
        )
        size = write_checkpoint(path, setting, mesh.cells, kernel.state, self._communicator)
        seconds = time.monotonic() - begin
        clock.switch(before)
        return {"cycle": done, "seconds": seconds, "bytes": size}


def next_work(kernel: Kernel, iterations: float, communicator: Any) -> Work:
    """Return what the next cycle will have to do; collective."""
    from mpi4py import MPI

    mesh = kernel.mesh
    most = np.array([mesh.patch.owned, mesh.patch.ghosts, mesh.exchange.messages], float)
    communicator.Allreduce(MPI.IN_PLACE, most, MPI.MAX)
    cells, ghosts, messages = most.tolist()
    return Work(
        cells=cells,
        total=float(communicator.allreduce(mesh.patch.owned)),
        steps=kernel.deck.steps,
        iterations=iterations,
        adapts=True,
        ghosts=ghosts,
        messages=messages,
    )


def interfering_jobs(schedule: Schedule | None, communicator: Any) -> InterferingJobs | None:
    """Start the interfering jobs of a node on its first rank; collective."""
    if schedule is None:
        return None
    from mpi4py import MPI

    here = communicator.Split_type(MPI.COMM_TYPE_SHARED)
    allowed = set[int]().union(*here.allgather(os.sched_getaffinity(0)))
    jobs = InterferingJobs(schedule, allowed) if here.rank == 0 else None
    here.Free()
    communicator.Barrier()
    return jobs


@contextmanager
def stop_requests() -> Iterator[list[int]]:
    """Collect the signals that ask the process to stop; a second one stops it at once."""
    asked: list[int] = []

    def take(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {each: signal.signal(each, take) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
