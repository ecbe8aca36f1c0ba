"""An experiment with the kernel: a deck on all ranks, repeated, a run file each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.application import application_of, pattern_of
from hindmost.harness.adaptive.beginning import begin, go_on
from hindmost.harness.adaptive.checkpoint import Setting, read_setting
from hindmost.harness.adaptive.compiling import compile_everything
from hindmost.harness.adaptive.decks import find_deck, parse_deck, write_deck
from hindmost.harness.adaptive.decks.deck import Deck
from hindmost.harness.adaptive.foresight import Foresight, Orders
from hindmost.harness.adaptive.interference import Schedule
from hindmost.harness.adaptive.kernel import Choices, Kernel
from hindmost.harness.adaptive.phases import NAMES, PhaseClock
from hindmost.harness.adaptive.run import Ended, Runner, Wanted
from hindmost.harness.folders import prepare_folder
from hindmost.harness.live.feed import FeedWanted, feed_if
from hindmost.harness.probes.speed import speed
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.writer import write_run
from hindmost.harness.together import on_root
from hindmost.models.dynamic.checkpoint_rule import CheckpointCost
from hindmost.models.dynamic.machine import Machine
from hindmost.models.dynamic.offline import OfflineModel

WORKLOAD = "adaptive"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveExperiment:
    """What is to be run.

    Attributes
    ----------
    deck : str
        Name of a deck, or a file of one; of no meaning with ``restart``.
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
    steps : int or None
        Steps a cycle, in place of the deck's.
    begin_s : float
        When the command started, on the monotonic clock.
    live : bool
        Write a live feed beside the run files.
    """

    deck: str
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
    steps: int | None = None
    begin_s: float = field(default_factory=time.monotonic)
    live: bool = False

    def check(self) -> None:
        """Raise a UsageError if this cannot be run, before there are ranks."""
        for name in ("cycles", "repeats"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name} {getattr(self, name)}: it must be at least 1.")
        if self.steps is not None and self.steps < 1:
            raise UsageError(f"--steps {self.steps}: it must be at least 1.")
        if self.restart is not None and self.repeats > 1:
            raise UsageError("--repeats with --restart: a checkpoint is gone on from once.")
        if self.orders.mtbf_s is not None and self.checkpoint is None:
            raise UsageError("--mtbf asks for checkpoints; say where they go with --checkpoint.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a run.

    Attributes
    ----------
    file : Path
    ended : Ended
    """

    file: Path
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
    on_root(communicator, lambda: prepare_folder(folder))
    origins = on_root(communicator, lambda: provenance.origins("", communicator.size, Path.cwd()))
    setting = None
    if experiment.restart is not None:
        restart = experiment.restart
        setting = on_root(communicator, lambda: read_setting(restart))
    deck = on_root(communicator, lambda: deck_of(experiment, setting))
    choices = experiment.choices if setting is None else Choices(**setting.choices)
    base = experiment.base or (deck.base(communicator.size) if setting is None else setting.base)
    report(f"{deck.name}: compiling what is not yet compiled")
    compile_everything(deck, choices, communicator, petsc)
    runs: list[Done] = []
    wanted = FeedWanted(workload=WORKLOAD, runs=experiment.repeats, phases=NAMES, own_totals=True)
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
            runner = Runner(
                kernel,
                clock,
                communicator,
                Wanted(
                    cycles=experiment.cycles,
                    blocks=experiment.blocks,
                    interfere=experiment.interfere,
                    checkpoint=experiment.checkpoint,
                    begin_s=experiment.begin_s,
                    feed=feed,
                ),
                foresight_of(experiment, deck, choices, communicator.size, speed_s),
                first_cycle=0 if setting is None else setting.cycle,
                report=report,
            )
            if feed is not None:
                feed.begin(deck.name, repeat + 1, experiment.cycles, done=runner.first_cycle)
            ended = runner.run()
            if feed is not None:
                feed.finish()
            if ended.cycles == ended.first_cycle:
                raise ended.failure or DataError(
                    f"No cycle was done: {ended.stopped or 'none was left to do'}."
                )
            header = describe(experiment, kernel, ended, origins, (repeat, speed_s))
            file = write_run(folder, header, ended.rank, communicator)
            if feed is not None:
                feed.written(repeat + 1, file, ended.stopped)
            runs.append(Done(file=file, ended=ended))
            if ended.failure is not None:
                raise DataError(
                    f"{ended.failure} The {ended.cycles - ended.first_cycle} cycles before it are "
                    f"in {file}, marked incomplete."
                )
            if ended.stopped:
                break
    return runs


def deck_of(experiment: AdaptiveExperiment, setting: Setting | None) -> Deck:
    """Return the deck that is named, or that of a checkpoint."""
    if setting is not None:
        return parse_deck(setting.deck, str(experiment.restart))
    deck = find_deck(experiment.deck)
    return deck if experiment.steps is None else replace(deck, steps=experiment.steps)


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
    rate = machine.checkpoint_bytes_per_s
    cost = CheckpointCost(
        machine.checkpoint_latency_s, application.bytes_kept / rate if rate else None
    )
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
        workload=WORKLOAD,
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
        petsc_options={},
        scheduler=origins.scheduler,
        git=origins.git,
    )
