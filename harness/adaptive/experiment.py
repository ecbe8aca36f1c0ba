"""An experiment with the kernel: a deck on all ranks, repeated, a run file each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.application import application_of, pattern_of
from hindmost.harness.adaptive.beginning import begin, go_on
from hindmost.harness.adaptive.checkpoint import Setting, prepare_checkpoint
from hindmost.harness.adaptive.compiling import compile_everything
from hindmost.harness.adaptive.decks import write_deck
from hindmost.harness.adaptive.decks.deck import Deck
from hindmost.harness.adaptive.foresight import Foresight, Orders
from hindmost.harness.adaptive.interference import Schedule
from hindmost.harness.adaptive.kernel import Choices, Kernel
from hindmost.harness.adaptive.phases import NAMES, PhaseClock
from hindmost.harness.adaptive.run import Ended, Runner, Wanted
from hindmost.harness.folders import prepare_folder
from hindmost.harness.live.feed import FeedWanted, feed_if
from hindmost.harness.probes.speed import speed
from hindmost.harness.reduction.cycles import ALWAYS
from hindmost.harness.reduction.decide import compile_choice, decide
from hindmost.harness.reduction.reduced_file import write_reduced_run
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.writer import write_run
from hindmost.harness.together import on_root
from hindmost.models.dynamic.checkpoint_rule import CheckpointCost
from hindmost.models.dynamic.machine import Machine
from hindmost.models.dynamic.offline import OfflineModel

MOST_BASE = 1 << 27
"""Base cells of all ranks: each rank sorts them all when it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveExperiment:
    """What is to be run.

    Attributes
    ----------
    deck : Deck
    cycles, repeats : int
        Cycles in all, and replays of them from the same state.
    base : (int, int) or None
        Columns and rows of the base mesh; None for the deck's own, which grows with the ranks.
    choices : Choices
    orders : Orders
    machine : Machine or None
        What the probes measured; without it there is no offline model.
    interfere : Schedule or None
    blocks : bool
        Keep the blocks of every mesh.
    checkpoint, restart : Path or None
        Where checkpoints go, and the one to go on from.
    setting : Setting or None
        What the checkpoint says that is gone on from.
    keep : float
        Share of the ranks that keep full records, rank 0 among them; the others keep profiles.
    live : bool
        Write a live feed beside the run files.
    """

    deck: Deck
    cycles: int
    repeats: int = 1
    base: tuple[int, int] | None = None
    choices: Choices = field(default_factory=Choices)
    orders: Orders = field(default_factory=Orders)
    machine: Machine | None = None
    interfere: Schedule | None = None
    blocks: bool = False
    checkpoint: Path | None = None
    restart: Path | None = None
    setting: Setting | None = None
    keep: float = 1.0
    live: bool = False

    def check(self) -> None:
        """Raise a UsageError if this cannot be run, before there are ranks."""
        for name in ("cycles", "repeats"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name} {getattr(self, name)}: it must be at least 1.")
        if self.restart is not None and self.repeats > 1:
            raise UsageError("--repeats with --restart: a checkpoint is gone on from once.")
        if not 0.0 < self.keep <= 1.0:
            raise UsageError(f"--keep {self.keep:g}: a share above 0 and up to 1, such as 5%.")
        if self.base is not None and self.base[0] * self.base[1] > MOST_BASE:
            raise UsageError(
                f"--base {self.base[0]}x{self.base[1]}: at most {MOST_BASE:,} base cells."
            )

    @property
    def first_cycle(self) -> int:
        """Cycles that were done before."""
        return 0 if self.setting is None else self.setting.cycle


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a run.

    Attributes
    ----------
    file : Path or None
        None if it was stopped before its first cycle.
    ended : Ended
    """

    file: Path | None
    ended: Ended


def perform(
    experiment: AdaptiveExperiment,
    folder: Path,
    communicator: Any,
    *,
    petsc: Any = None,
    report: Callable[[str], None] = lambda _: None,
) -> list[Done]:
    """Run an experiment on all ranks; collective.

    Parameters
    ----------
    folder : Path
        Receives the run files; made if it is not there.
    petsc : module
        ``petsc4py.PETSc``, where it is to solve for the heat.
    report : callable
        Told, on rank 0, what is going on.

    Raises
    ------
    DataError
        A run failed; what it recorded until then was written and marked incomplete.
    """
    deck, choices, setting = experiment.deck, experiment.choices, experiment.setting
    on_root(communicator, lambda: prepare_folder(folder))
    if experiment.checkpoint is not None:
        checkpoint = experiment.checkpoint
        on_root(communicator, lambda: prepare_checkpoint(checkpoint, deck.name))
    origins = on_root(communicator, lambda: provenance.origins("", communicator.size, Path.cwd()))
    base = experiment.base or (deck.base(communicator.size) if setting is None else setting.base)
    if experiment.first_cycle >= experiment.cycles:
        report(f"{experiment.first_cycle} of {experiment.cycles} cycles are done: nothing is left")
        return []
    report(f"{deck.name}: compiling what is not yet compiled")
    compile_everything(deck, choices, communicator, petsc)
    if experiment.keep < 1.0:
        compile_choice()
    runs: list[Done] = []
    wanted = FeedWanted(workload=ADAPTIVE, runs=experiment.repeats, phases=NAMES, own_totals=True)
    with feed_if(experiment.live, folder, communicator, wanted, report) as feed:
        for repeat in range(experiment.repeats):
            clock = PhaseClock()
            speed_s = speed(communicator)
            if setting is None or experiment.restart is None:
                kernel = begin(deck, choices, base, communicator, clock, petsc)
            else:
                kernel = go_on(
                    experiment.restart, setting, deck, choices, communicator, clock, petsc
                )
            report(f"run {repeat + 1} of {experiment.repeats}: {deck.name}, {base[0]} x {base[1]}")
            foresight = foresight_of(experiment, deck, choices, communicator.size, speed_s)
            runner = Runner(
                kernel,
                clock,
                communicator,
                Wanted(
                    cycles=experiment.cycles,
                    blocks=experiment.blocks,
                    interfere=experiment.interfere,
                    checkpoint=experiment.checkpoint,
                    feed=feed,
                ),
                foresight,
                first_cycle=experiment.first_cycle,
                report=report,
            )
            if feed is not None:
                feed.begin(
                    deck.name,
                    repeat + 1,
                    experiment.cycles,
                    done=experiment.first_cycle,
                    predictors=foresight.names,
                )
            ended = runner.run()
            if feed is not None:
                feed.finish()
            file = None
            if ended.cycles > ended.first_cycle:
                header = describe(experiment, kernel, ended, origins, (repeat, speed_s))
                file = write(experiment, folder, header, ended, communicator, report)
                if feed is not None:
                    feed.written(repeat + 1, file, ended.stopped)
            runs.append(Done(file=file, ended=ended))
            if ended.failure is not None:
                raise failure_with(file, ended, ended.failure)
            if ended.stopped:
                break
    return runs


def write(
    experiment: AdaptiveExperiment,
    folder: Path,
    header: Header,
    ended: Ended,
    communicator: Any,
    report: Callable[[str], None],
) -> Path:
    """Write the run file, with full records of all ranks or of some; collective."""
    if experiment.keep == 1.0:
        return write_run(folder, header, ended.rank, communicator)
    kept = decide(ended.rank, experiment.keep, communicator, always=ALWAYS)
    report(kept.explain())
    return write_reduced_run(folder, header, ended.rank, kept, communicator)


def failure_with(file: Path | None, ended: Ended, failure: DataError) -> DataError:
    """Return a failure that says what is left of the run."""
    if file is None:
        return failure
    return DataError(
        f"{failure} The {ended.cycles - ended.first_cycle} cycles before it are in {file}, marked "
        "incomplete."
    )


def foresight_of(
    experiment: AdaptiveExperiment, deck: Deck, choices: Choices, ranks: int, speed_s: float
) -> Foresight:
    """Return what foresees the cycles."""
    machine = experiment.machine
    if machine is None:
        return Foresight(experiment.orders)
    application = application_of(deck, choices)
    model = OfflineModel(
        machine=machine,
        application=application,
        pattern=pattern_of(choices),
        ranks=ranks,
        speed_s=speed_s,
    )
    cost = CheckpointCost.of_machine(machine, application.bytes_kept)
    return Foresight(experiment.orders, model=model, cost=cost)


def describe(
    experiment: AdaptiveExperiment,
    kernel: Kernel,
    ended: Ended,
    origins: Origins,
    place: tuple[int, float],
) -> Header:
    """Say everything of a run but its times.

    Parameters
    ----------
    place : (int, float)
        Which replay this is, and what the reference kernel took before it, in seconds.
    """
    mesh = kernel.mesh
    machine = experiment.machine
    return Header(
        workload=ADAPTIVE,
        solver=kernel.deck.name,
        ranks=mesh.communicator.size,
        iterations=ended.cycles - ended.first_cycle,
        restart=0,
        synchronisation="blocking",
        lag=0,
        complete=ended.failure is None,
        records_lost=0,
        origin="measured",
        t0_utc=ended.began.isoformat(timespec="microseconds"),
        mpi_library=provenance.mpi_library(),
        spec={
            "deck": write_deck(kernel.deck),
            "choices": kernel.choices.to_json(),
            "application": application_of(kernel.deck, kernel.choices).to_json(),
            "base": list(mesh.base),
            "cycles": experiment.cycles,
            "first_cycle": ended.first_cycle,
            "repeat": place[0],
            "repeats": experiment.repeats,
            "orders": asdict(experiment.orders),
            "machine": machine.name if machine else None,
            "interfere": asdict(experiment.interfere) if experiment.interfere else None,
            "speed_s": place[1],
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
        },
        environment=origins.environment,
        petsc_options={"given": " ".join(kernel.choices.petsc_options)},
        scheduler=origins.scheduler,
        git=origins.git,
    )
