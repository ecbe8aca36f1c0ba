"""The adaptive experiment: the kernel on one deck, replayed from the same state."""

from __future__ import annotations

import signal
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hindmost.errors import UsageError
from hindmost.harness import mpi
from hindmost.harness.adaptive.checkpoint import CheckpointSetting, prepare_checkpoint
from hindmost.harness.adaptive.compiling import compile_everything
from hindmost.harness.adaptive.cycle_advisor import CycleAdvisor, DecisionOptions
from hindmost.harness.adaptive.decks import CELL_BYTES, Deck, application_of
from hindmost.harness.adaptive.interference import Schedule
from hindmost.harness.adaptive.kernel import Choices, Kernel, resume_kernel, start_kernel
from hindmost.harness.adaptive.phases import NAMES, PhaseClock
from hindmost.harness.adaptive.pulses import pulse_reader
from hindmost.harness.adaptive.run import CycleOptions, RecordedCycles, Runner
from hindmost.harness.campaign import (
    CampaignRun,
    MeasuredExperiment,
    RecordedRun,
    Report,
    check_count,
)
from hindmost.harness.live.feed import LiveFeed
from hindmost.harness.petsc import Parallel
from hindmost.harness.probes.pulse import slowest_pulse_s
from hindmost.harness.rank_failures import on_root
from hindmost.harness.recorder.library import load
from hindmost.harness.reduction.reduced_file import ALWAYS
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.models.adaptive.checkpoints import CheckpointCost
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.text import percent

MOST_BASE = 1 << 27
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
    choices : Choices
    orders : DecisionOptions
    machine : Machine or None
        What the probes measured; without it there is no offline model.
    interfere : Schedule or None
    blocks : bool
        Keep the blocks of every mesh.
    checkpoint, restart : Path or None
        Where to write checkpoints, and the checkpoint to continue from.
    setting : CheckpointSetting or None
        The contents of the checkpoint to continue from.
    """

    deck: Deck
    cycles: int
    base: tuple[int, int] | None = None
    choices: Choices = field(default_factory=Choices)
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
        compile_everything(deck, self.choices, communicator)
        return AdaptiveReplays(self, parallel, report)


class AdaptiveReplays:
    """Runs the kernel on a deck, each time from the same state."""

    def __init__(self, experiment: AdaptiveExperiment, parallel: Parallel, report: Report) -> None:
        self._experiment, self._report = experiment, report
        self._communicator = parallel.communicator
        setting, deck = experiment.setting, experiment.deck
        own = deck.base(self._communicator.size) if setting is None else setting.base
        self._base = experiment.base or own

    def title(self, case: Deck) -> str:
        """Return how messages name a case."""
        return f"{case.name}, {self._base[0]} x {self._base[1]}"

    def record(self, planned: CampaignRun[Deck], feed: LiveFeed | None) -> RecordedRun:
        """Run the cycles, each predicted before it; collective."""
        experiment, deck = self._experiment, planned.case
        clock = PhaseClock()
        pulses = pulse_reader()
        pulse_s = slowest_pulse_s(pulses, self._communicator)
        kernel = self._kernel(clock)
        foresight = foresight_of(experiment, self._communicator.size, pulse_s)
        runner = Runner(
            kernel,
            clock,
            self._communicator,
            CycleOptions(
                cycles=experiment.cycles,
                blocks=experiment.blocks,
                interfere=experiment.interfere,
                checkpoint=experiment.checkpoint,
                feed=feed,
            ),
            foresight,
            pulses,
            first_cycle=experiment.first_cycle,
            report=self._report,
        )
        if feed is not None:
            feed.begin(
                deck.name,
                planned.number,
                experiment.cycles,
                done=experiment.first_cycle,
                predictors=foresight.names,
            )
        ended = runner.run()
        if feed is not None:
            feed.finish()
        return RecordedRun(
            name=deck.name,
            rank=ended.rank,
            began=ended.began,
            iterations=ended.cycles - ended.first_cycle,
            petsc_options={"given": ""},
            spec={
                **self._spec(kernel, ended),
                "pulse_s": pulse_s,
                "pulses_s": pulses.spent_s,
            },
            summary=tuple(summary_of(ended)),
            stopped=ended.stopped,
            interrupted=ended.signal == signal.SIGINT,
            failure=ended.failure,
        )

    def close(self, report: Report) -> None:
        """Release nothing."""

    def _kernel(self, clock: PhaseClock) -> Kernel:
        """Return the kernel at the start of the run; collective."""
        experiment = self._experiment
        deck, choices = experiment.deck, experiment.choices
        communicator = self._communicator
        if experiment.setting is None or experiment.restart is None:
            return start_kernel(deck, choices, self._base, communicator, clock)
        return resume_kernel(
            experiment.restart, experiment.setting, deck, choices, communicator, clock
        )

    def _spec(self, kernel: Kernel, ended: RecordedCycles) -> dict[str, Any]:
        """Return what the header says of the run alone."""
        experiment = self._experiment
        return {
            "deck": kernel.deck.to_toml(),
            "choices": kernel.choices.to_json(),
            "base": list(kernel.mesh.base),
            "cycles": experiment.cycles,
            "first_cycle": ended.first_cycle,
            "orders": asdict(experiment.orders),
            "machine": experiment.machine.name if experiment.machine else None,
            "interfere": asdict(experiment.interfere) if experiment.interfere else None,
            "stopped": ended.stopped,
            "failure": str(ended.failure) if ended.failure else "",
            "checkpoints": list(ended.checkpoints),
            "foresight_s": ended.foresight_s,
            "verdicts": [
                {
                    "cycle": ended.first_cycle + each.cycle,
                    "kind": str(each.kind),
                    "words": each.words,
                }
                for each in ended.verdicts
            ],
        }


def foresight_of(experiment: AdaptiveExperiment, ranks: int, pulse_s: float) -> CycleAdvisor:
    """Return what predicts the cycles.

    Parameters
    ----------
    pulse_s : float
        Seconds of a pulse, just before the run.
    """
    machine = experiment.machine
    if machine is None:
        return CycleAdvisor(experiment.orders)
    application = application_of(experiment.deck)
    model = OfflineModel(machine=machine, application=application, ranks=ranks, pulse_s=pulse_s)
    cost = CheckpointCost.of_machine(machine, CELL_BYTES)
    return CycleAdvisor(experiment.orders, model=model, cost=cost)


def summary_of(ended: RecordedCycles) -> list[str]:
    """Say how accurate the predictions were, and why the run stopped."""
    errors = ", ".join(
        f"{name} {percent(error / 100.0)}"
        for name, error in ended.errors_percent.items()
        if error == error
    )
    lines = [f"mean error of the predictions: {errors}"] if errors else []
    if ended.stopped:
        lines.append(f"stopped after cycle {ended.cycles}: {ended.stopped}")
    return lines
