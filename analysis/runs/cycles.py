"""The cycles of an adaptive run: their work, their times, their predictions, and a summary."""

from __future__ import annotations

import textwrap
import tomllib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.all_ranks import least_phase, most_of, total_of
from hindmost.harness.runfile.cycles import ADAPTIVE, PULSES
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.floor import mean_error_percent
from hindmost.models.adaptive.work import PHASES, Spent, Work
from hindmost.parsing import parse_toml
from hindmost.text import counted, percent

CHECKPOINT = "checkpoint"
DECIDES = "shape-level"
"""The predictor whose predictions decisions use."""
IN_FILES = {"reduction": "wait"}
"""Phases of the models that run files know by another name."""
NEEDED = ("cells", "ghosts", "divided", "combined", "moved", "heat_iterations", "switches")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedCycle:
    """A cycle that stood out.

    Attributes
    ----------
    cycle : int
    kind : str
        A `hindmost.models.adaptive.interference.CycleKind`.
    words : str
    """

    cycle: int
    kind: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCheckpoint:
    """A checkpoint that a run wrote before a cycle."""

    cycle: int
    seconds: float
    bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveRun:
    """The cycles of a run; times are those of rank 0, which predicts, without checkpoints.

    Attributes
    ----------
    run : Run
    deck : str
    ranks, steps, first_cycle, repeat : int
        ``first_cycle`` were done before this run, and ``repeat`` is its number among replays.
    seconds : float64 array, shape (cycle,), seconds
    checkpoint_s : float64 array, shape (cycle,), seconds
        What a checkpoint before the cycle took; 0 where none was written.
    phases_s : float64 array, shape (cycle, phase), seconds
        Of rank 0, in the order of `hindmost.models.adaptive.work.PHASES`.
    least_s : float64 array, shape (cycle, phase), seconds
        Of the rank that spent least in the phase: of halo and reduction what is left when the
        waiting for others is taken off.
    predictors : tuple of str
    predicted : float64 array, shape (cycle, predictor), seconds
        NaN where a predictor had nothing to say.
    works : tuple of Work
        As it was known before each cycle.
    spents : tuple of Spent
        As rank 0 saw it.
    cells : int64 array, shape (cycle,)
        Of rank 0.
    total_cells, most_cells : int64 array, shape (cycle,)
        Of all ranks, and of the fullest one.
    divided, combined, moved : int64 array, shape (cycle,)
        Of all ranks, at the end of the cycle.
    pulses_s : float64 array, shape (cycle, rank, 2), seconds
        Pulses of core and memory right after the cycle; no rows in files without pulses.
    lost : float64 array, shape (cycle, rank)
        Share of the cycle in which the rank did not have its core, a checkpoint left out.
    """

    run: Run
    deck: str
    ranks: int
    steps: int
    first_cycle: int
    repeat: int
    seconds: NDArray[np.float64]
    checkpoint_s: NDArray[np.float64]
    phases_s: NDArray[np.float64]
    least_s: NDArray[np.float64]
    predictors: tuple[str, ...]
    predicted: NDArray[np.float64]
    works: tuple[Work, ...]
    spents: tuple[Spent, ...]
    cells: NDArray[np.int64]
    total_cells: NDArray[np.int64]
    most_cells: NDArray[np.int64]
    divided: NDArray[np.int64]
    combined: NDArray[np.int64]
    moved: NDArray[np.int64]
    pulses_s: NDArray[np.float64]
    lost: NDArray[np.float64]

    @property
    def spec(self) -> dict[str, Any]:
        """The configuration of the run, and what it noted."""
        return self.run.header.spec

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the cycles, int64 array, shape (cycle,)."""
        return np.arange(self.seconds.size) + self.first_cycle

    @property
    def disturbed_on_purpose(self) -> bool:
        """Whether a neighbour ran on purpose."""
        return bool(self.spec.get("interfere"))

    @property
    def neighbour(self) -> NDArray[np.bool_]:
        """In which cycles the neighbour ran, bool array, shape (cycle,)."""
        ran = np.zeros(self.seconds.size, bool)
        for first, last in (self.spec.get("interfere") or {}).get("spans", ()):
            ran |= (self.numbers >= first) & (last is None or self.numbers <= last)
        return ran

    @property
    def neighbour_words(self) -> str:
        """When the neighbour ran."""
        spans = (self.spec.get("interfere") or {}).get("spans", ())
        return " and ".join(
            f"from cycle {first} on" if last is None else f"in cycles {first} to {last}"
            for first, last in spans
        )

    @property
    def verdicts(self) -> list[NotedCycle]:
        """The cycles that stood out."""
        return [
            NotedCycle(cycle=each["cycle"], kind=each["kind"], words=each["words"])
            for each in self.spec.get("verdicts", ())
        ]

    @property
    def checkpoints(self) -> list[WrittenCheckpoint]:
        """The checkpoints that the run wrote."""
        return [
            WrittenCheckpoint(
                cycle=int(each["cycle"]), seconds=float(each["seconds"]), bytes=float(each["bytes"])
            )
            for each in self.spec.get("checkpoints", ())
        ]

    @property
    def title(self) -> str:
        """Deck, ranks and cycles, for a heading."""
        return f"{self.deck} on {counted(self.ranks, 'rank')}"

    def prediction(self, name: str) -> NDArray[np.float64]:
        """Return what a predictor said, float64 array, shape (cycle,), seconds.

        Raises
        ------
        UsageError
            The run has no such predictor.
        """
        if name not in self.predictors:
            raise UsageError(
                f"{self.run.path} has no predictor '{name}'; it has: {', '.join(self.predictors)}."
            )
        return self.predicted[:, self.predictors.index(name)]


def is_adaptive(run: Run) -> bool:
    """Tell whether a run is one of the adaptive kernel."""
    return run.header.workload == ADAPTIVE


def read_adaptive(run: Run) -> AdaptiveRun:
    """Read a run of the adaptive kernel.

    Raises
    ------
    UsageError
        It is another workload's.
    DataError
        It lacks what cycles do, or its deck cannot be read.
    """
    if not is_adaptive(run):
        raise UsageError(
            f"{run.path} is a run of {run.header.workload}, whose iterations all do the same work; "
            "give one of `hindmost run adaptive`."
        )
    missing = [name for name in NEEDED if not run.has(name)]
    if missing or run.bodies == 0:
        lacks = f"its cycles' {', '.join(missing)}" if missing else "cycles"
        raise DataError(f"{run.path} lacks {lacks}; run `hindmost run adaptive` again.")
    spec = run.header.spec
    steps = steps_of(run)
    durations = run.durations
    checkpoint = rank_0(run, CHECKPOINT)
    phases = np.stack([rank_0(run, name) for name in PHASES], axis=1)
    seconds = durations[:, 0] - checkpoint
    predictors = tuple(run.predictors)
    predicted = np.empty((run.bodies, 0))
    if predictors:
        predicted = np.asarray(run.variable("predicted"), np.float64)
    # rank 0 is always kept, so the first column is its
    counts = {name: np.asarray(run.variable(name)[:, 0], np.int64) for name in NEEDED}
    pulses = pulses_of(run)
    slowest = pulses[..., 0].max(axis=1, initial=0.0)
    lost = lost_of(run)
    return AdaptiveRun(
        run=run,
        deck=run.header.solver,
        ranks=run.header.ranks,
        steps=steps,
        first_cycle=int(spec.get("first_cycle", 0)),
        repeat=int(spec.get("repeat", 0)),
        seconds=seconds,
        checkpoint_s=checkpoint,
        phases_s=phases,
        least_s=np.stack([least_of(run, name) for name in PHASES], axis=1),
        predictors=predictors,
        predicted=predicted,
        works=works_of(run, counts["heat_iterations"], steps),
        spents=tuple(
            Spent(
                seconds=float(seconds[k]),
                phases_s=tuple(phases[k].tolist()),
                iterations=float(counts["heat_iterations"][k]),
                pulse_s=float(slowest[k]) if k < slowest.size else None,
            )
            for k in range(run.bodies)
        ),
        cells=counts["cells"],
        total_cells=total_of(run, "cells"),
        most_cells=most_of(run, "cells"),
        divided=total_of(run, "divided"),
        combined=total_of(run, "combined"),
        moved=total_of(run, "moved"),
        pulses_s=pulses,
        lost=lost,
    )


def pulses_of(run: Run) -> NDArray[np.float64]:
    """Return the pulses, shape (cycle, rank, 2), seconds; no rows if the run has none."""
    if not all(run.has(name) for name in PULSES):
        return np.empty((0, run.columns, len(PULSES)))
    return np.stack([np.asarray(run.variable(name), np.float64) for name in PULSES], axis=2)


def lost_of(run: Run) -> NDArray[np.float64]:
    """Return the share of each cycle in which a rank had no core, shape (cycle, rank)."""
    shape = (run.bodies, run.columns)
    if not run.has("phase_cpu"):
        return np.zeros(shape)
    names = [name for name in run.phases if name != CHECKPOINT]
    wall = np.sum([run.phase(name) for name in names], axis=0)
    cpu = np.asarray(run.variable("phase_cpu"), np.float64)
    had = np.sum([cpu[:, :, run.phases.index(name)] for name in names], axis=0)
    share = np.divide(wall - had, wall, out=np.zeros(shape), where=wall > 0.0)
    return np.clip(share, 0.0, 1.0)


def steps_of(run: Run) -> int:
    """Return the steps of a cycle from the deck in the run file; 1 without a deck."""
    text = run.header.spec.get("deck", "")
    try:
        return int(parse_toml(text).get("steps", 1))
    except (tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise DataError(f"{run.path}: the deck in the file cannot be read: {error}.") from error


def rank_0(run: Run, name: str) -> NDArray[np.float64]:
    """Return a phase on rank 0, shape (cycle,), seconds; zeros where the run has none."""
    name = IN_FILES.get(name, name)
    return run.phase(name)[:, 0] if name in run.phases else np.zeros(run.bodies)


def least_of(run: Run, name: str) -> NDArray[np.float64]:
    """Return the same on the rank that spent least in it."""
    name = IN_FILES.get(name, name)
    return least_phase(run, name) if name in run.phases else np.zeros(run.bodies)


def works_of(run: Run, iterations: NDArray[np.int64], steps: int) -> tuple[Work, ...]:
    """Return what was known of every cycle before it ran, as the run itself put it together.

    Parameters
    ----------
    iterations : int64 array, shape (cycle,)
        Of heat.
    """
    most, total = most_of(run, "cells"), total_of(run, "cells")
    ghosts, neighbours = most_of(run, "ghosts"), neighbours_of(run)
    before = np.concatenate([[0], iterations[:-1]])
    return tuple(
        Work(
            cells=float(most[k]),
            total=float(total[k]),
            steps=steps,
            iterations=float(before[k]),
            adapts=True,
            ghosts=float(ghosts[k]),
            messages=float(neighbours[k]),
        )
        for k in range(run.bodies)
    )


def neighbours_of(run: Run) -> NDArray[np.int64]:
    """Return how many ranks the best connected one sends to, int64 array, shape (cycle,)."""
    edges = run.edges
    if edges.epoch is None or not edges.source.size or not run.has("epoch"):
        return np.zeros(run.bodies, np.int64)
    epochs = run.variable("epoch")
    length = int(max(epochs.max(), edges.epoch.max())) + 1
    sent = np.zeros((length, run.header.ranks), np.int64)
    np.add.at(sent, (edges.epoch, edges.source), 1)
    most: NDArray[np.int64] = sent.max(axis=1)[epochs]
    return most


SHOWN = 4
"""Verdicts that are shown in words."""
WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveSummary:
    """Cycles in a few numbers.

    Attributes
    ----------
    cells : tuple of int
        Of all ranks: in the first cycle, in the last one, and at most.
    divided, combined, moved : int
        In all cycles.
    meshes : int
        Number of different meshes.
    errors_percent : dict of str to float
        Predictor -> mean absolute error, without the first cycle.
    verdicts : dict of str to int
        Kind -> cycles that stood out by it.
    words : tuple of str
        The first of them, in words.
    checkpoints : int
    neighbour : bool
        Whether one ran on purpose.
    stopped, failure : str
        Why the run ended before its last cycle; empty if it did not.
    """

    cells: tuple[int, int, int]
    divided: int
    combined: int
    moved: int
    meshes: int
    errors_percent: dict[str, float]
    verdicts: dict[str, int]
    words: tuple[str, ...]
    checkpoints: int
    neighbour: bool
    stopped: str
    failure: str

    def lines(self) -> list[str]:
        """Return the lines that ``hindmost show`` prints."""
        first, last, most = self.cells
        errors = ", ".join(
            f"{name} {percent(value / 100.0)}" for name, value in self.errors_percent.items()
        )
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.verdicts.items())
        rows = [
            ("cells", f"{first:,} at first, {last:,} at last, at most {most:,}"),
            (
                "adaption",
                f"{self.divided:,} divided, {self.combined:,} combined, {self.moved:,} moved; "
                f"{self.meshes} meshes",
            ),
            ("predicted", f"mean errors: {errors}" if errors else "nothing"),
            ("stood out", kinds or "no cycle"),
            *(("", words) for words in self.words),
        ]
        if self.neighbour:
            rows.append(("neighbour", "ran on purpose (--interfere)"))
        if self.checkpoints:
            rows.append(("checkpoints", f"{self.checkpoints} written"))
        if self.stopped:
            rows.append(("stopped", self.stopped))
        return [
            textwrap.fill(text, WIDTH, initial_indent=f"  {head:11} ", subsequent_indent=" " * 14)
            for head, text in rows
        ]


def summarise_cycles(run: Run) -> AdaptiveSummary | None:
    """Return the summary of an adaptive run; None of others."""
    if not is_adaptive(run) or not run.has("cells") or run.bodies == 0:
        return None
    read = read_adaptive(run)
    total, spec = read.total_cells, read.spec
    errors = {
        name: mean_error_percent(read.prediction(name)[1:], read.seconds[1:])
        for name in read.predictors
        if np.isfinite(read.prediction(name)[1:]).any()
    }
    kinds: dict[str, int] = {}
    for each in read.verdicts:
        kinds[each.kind] = kinds.get(each.kind, 0) + 1
    return AdaptiveSummary(
        cells=(int(total[0]), int(total[-1]), int(total.max())),
        divided=int(read.divided.sum()),
        combined=int(read.combined.sum()),
        moved=int(read.moved.sum()),
        meshes=int(np.unique(run.variable("epoch")).size) if run.has("epoch") else 0,
        errors_percent=errors,
        verdicts=kinds,
        words=tuple(f"cycle {each.cycle}: {each.words}" for each in read.verdicts[:SHOWN]),
        checkpoints=len(read.checkpoints),
        neighbour=read.disturbed_on_purpose,
        stopped=str(spec.get("stopped", "")),
        failure=str(spec.get("failure", "")),
    )
