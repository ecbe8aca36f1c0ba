"""A campaign: every case of an experiment, repeated, with one run file for each run.

The kinds of experiments (Krylov solvers, the adaptive kernel) differ in what they set
up and in how they record a run. All else is the same for them and stands here: the order of the
runs, where they come from, the live feed, the choice of ranks that keep full records, the header
and the file of every run, and what is said about it.
"""

from __future__ import annotations

import gc
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from hindmost.errors import DataError, UsageError
from hindmost.files import make_folder
from hindmost.harness.live.feed import LiveFeed
from hindmost.harness.petsc import Parallel
from hindmost.harness.rank_failures import on_root
from hindmost.harness.reduction.kept import write_kept
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.attributes import Json
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import RankRun
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.provenance import Origins
from hindmost.printable import shell_word

CaseT = TypeVar("CaseT")
Report = Callable[[str], None]
"""Shows a message to the person, on rank 0 only."""

LARGEST = 2_000_000_000
"""Largest count: PETSc's integers may have 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRun(Generic[CaseT]):
    """One run of a campaign, before it begins.

    Attributes
    ----------
    case : CaseT
    repeat : int
        Earlier runs of the same case.
    number : int
        Position among all runs of the campaign, from 1.
    """

    case: CaseT
    repeat: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """Where run files go, and where their runs come from."""

    folder: Path = Path()
    origins: Origins = field(default_factory=lambda: Origins(environment={}, scheduler={}, git={}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """One run of a campaign, as its experiment hands it over to be written.

    Attributes
    ----------
    name : str
        The solver or deck; part of the file's name.
    rank : RankRun
        What this rank recorded; None, or without a body, there is no file.
    began : datetime
        When the ranks left the barrier before the run.
    iterations : int
        Iterations that were done.
    spec : dict
        What was asked for, without the settings that all experiments share.
    header : dict
        What else its header says; see `Origins.header`.
    warnings : tuple of str
    summary : tuple of str
        Messages that follow the name of the file.
    stopped : str
        Why the run ended early and no further one is to begin; empty if it did not.
    interrupted : bool
        Whether the person stopped it.
    failure : DataError or None
        What ended the run, if it failed.
    file : Path or None
        Where it was written; None before, and if the run was stopped before its first iteration.
    """

    name: str
    rank: RankRun | None
    began: datetime
    iterations: int
    spec: Json
    header: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    stopped: str = ""
    interrupted: bool = False
    failure: DataError | None = None
    file: Path | None = None


class PreparedExperiment(Protocol[CaseT]):
    """An experiment that is set up on all ranks; every method is collective."""

    def title(self, case: CaseT) -> str:
        """Return how messages name a case."""

    def record(self, planned: CampaignRun[CaseT], feed: LiveFeed | None) -> RecordedRun:
        """Do one run and record it; tells the feed that the run begins."""

    def close(self, report: Report) -> None:
        """Release what was set up and report on the whole campaign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredExperiment(ABC, Generic[CaseT]):
    """What is asked for, as far as all kinds of experiments share it.

    Attributes
    ----------
    repeats : int
        Recorded runs of every case.
    warmup : int
        Solves before the recorded ones.
    seed : int
        For the order of the runs.
    keep : float
        Share of the ranks that keep full records; the others keep profiles.
    live : bool
        Write a live feed next to the run files.
    """

    repeats: int = 1
    warmup: int = 0
    seed: int = 0
    keep: float = 1.0
    live: bool = False

    feed_phases: ClassVar[tuple[str, ...]] = PHASES
    shuffled: ClassVar[bool] = True
    """Whether order, warm-up and seed say something about a run."""

    @property
    @abstractmethod
    def workload_name(self) -> str:
        """The workload in headers and file names."""

    @abstractmethod
    def cases(self) -> Sequence[CaseT]:
        """Return what is to be recorded, each case once; nothing if no work is left."""

    @abstractmethod
    def start(self) -> Parallel:
        """Start what the runs need: the recorder, MPI, PETSc."""

    @abstractmethod
    def prepare(
        self, parallel: Parallel, report: Report, place: RunPlace
    ) -> PreparedExperiment[CaseT]:
        """Set up everything that is not timed, warm-up included; collective."""

    @abstractmethod
    def check_own(self) -> None:
        """Raise a UsageError for a setting of this kind of experiment that cannot be used."""

    def check_ranks(self, communicator: Any) -> None:
        """Raise a UsageError, on all ranks, if these ranks cannot run it; collective."""

    def remarks(self, ranks: int) -> list[str]:
        """Return what to tell the person before the first run."""
        return []

    def check(self) -> None:
        """Raise a UsageError for a setting that cannot be used; needs neither MPI nor PETSc."""
        check_count("repeats", self.repeats)
        check_count("warmup", self.warmup, least=0)
        if not 0.0 < self.keep <= 1.0:
            raise UsageError(f"--keep {self.keep:g}: it must be above 0 and at most 1, as 5%.")
        self.check_own()

    def order(self) -> list[CampaignRun[CaseT]]:
        """Return all runs: in every repeat each case once, shuffled."""
        shuffle = random.Random(self.seed).shuffle
        runs: list[CampaignRun[CaseT]] = []
        for repeat in range(self.repeats):
            block = list(self.cases())
            shuffle(block)
            runs += [
                CampaignRun(case=case, repeat=repeat, number=len(runs) + at)
                for at, case in enumerate(block, 1)
            ]
        return runs

    def shared_spec(self, planned: CampaignRun[CaseT]) -> Json:
        """Return what all experiments say about a run in its header's ``spec``."""
        spec: Json = {"repeat": planned.repeat, "repeats": self.repeats}
        if self.shuffled:
            spec |= {"order": planned.number, "warmup": self.warmup, "seed": self.seed}
        return spec


def check_count(option: str, value: int, *, least: int = 1) -> None:
    """Raise a UsageError for a count that is too small or too large."""
    if not least <= value <= LARGEST:
        raise UsageError(f"--{option} {value}: it must be at least {least}, at most {LARGEST:,}.")


def run_campaign(
    experiment: MeasuredExperiment[CaseT],
    folder: Path,
    parallel: Parallel,
    report: Report = lambda _: None,
) -> list[RecordedRun]:
    """Run an experiment on all ranks; collective.

    Parameters
    ----------
    folder : Path
        For the run files; created if it does not exist.
    parallel : Parallel
        As the experiment started it.
    report : callable
        Shows progress and warnings on rank 0.

    Returns
    -------
    list of RecordedRun
        In the order of the runs; shorter if a run was stopped.

    Raises
    ------
    DataError
        A run failed; what it recorded until then was written and marked incomplete.
    """
    experiment.check()
    communicator = parallel.communicator
    experiment.check_ranks(communicator)
    on_root(communicator, lambda: make_folder(folder, "--out"))
    order = experiment.order()
    if not order:
        return []
    petsc = parallel.PETSc
    petsc_version = "" if petsc is None else ".".join(map(str, petsc.Sys.getVersion()))
    origins = on_root(
        communicator, lambda: provenance.origins(petsc_version, communicator.size, Path.cwd())
    )
    place = RunPlace(folder=folder, origins=origins)
    prepared = experiment.prepare(parallel, report, place)
    workload, phases = experiment.workload_name, experiment.feed_phases
    finished: list[RecordedRun] = []
    with ExitStack() as stack:
        feed = None
        if experiment.live:
            opened = LiveFeed(folder, communicator, workload, len(order), phases)
            feed = stack.enter_context(opened)
            report(f"live: hindmost watch {shell_word(feed.path)}")
        for planned in order:
            report(f"run {planned.number} of {len(order)}: {prepared.title(planned.case)}")
            recorded = prepared.record(planned, feed)
            for warning in recorded.warnings:
                report(f"warning: {recorded.name}: {warning}")
            if recorded.rank is not None and recorded.rank.bodies.duration.size:
                header = origins.header(
                    workload=workload,
                    solver=recorded.name,
                    ranks=communicator.size,
                    iterations=recorded.iterations,
                    began=recorded.began,
                    spec={**experiment.shared_spec(planned), **recorded.spec},
                    **{"complete": recorded.failure is None, **recorded.header},
                )
                name, of_rank = RunName.of(folder, header), [[recorded.rank]]
                file, kept = write_kept(name, header, of_rank, experiment.keep, communicator)
                if kept is not None:
                    report(kept.explain())
                recorded = replace(recorded, file=file)
                if feed is not None:
                    feed.written(planned.number, file, recorded.stopped)
            finished.append(recorded)
            if recorded.failure is not None:
                raise with_file(recorded.failure, recorded.iterations, recorded.file)
            if recorded.stopped:
                break
    prepared.close(report)
    return finished


def with_file(failure: DataError, iterations: int, file: Path | None) -> DataError:
    """Return a failure that also says what was kept of the run."""
    if file is None:
        return failure
    return DataError(
        f"{failure} The {iterations} iterations before it are in {file}, marked incomplete."
    )


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep Python's garbage collector from running inside what is timed."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
