"""The cycles of an adaptive run: their work, their times, their predictions, and a summary."""

from __future__ import annotations

import textwrap
import tomllib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.finding import MAX_SHOWN
from hindmost.analysis.show.table import WIDTH
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.all_ranks import most_of, total_of
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.reader import Run
from hindmost.parsing import parse_toml
from hindmost.text import counted, percent

CHECKPOINT = "checkpoint"
DECIDES = "shape-level"
"""The predictor whose predictions decisions use."""
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
    ranks, steps, first_cycle : int
        ``first_cycle`` cycles were done before this run.
    seconds : float64 array, shape (cycle,), seconds
    hydro_s : float64 array, shape (cycle,), seconds
        What the flow took.
    predictors : tuple of str
    predicted : float64 array, shape (cycle, predictor), seconds
        NaN where a predictor had nothing to say.
    cells : int64 array, shape (cycle,)
        Of rank 0.
    total_cells, most_cells : int64 array, shape (cycle,)
        Of all ranks, and of the fullest one.
    divided, combined, moved : int
        Of all ranks, in all cycles.
    meshes : int
        Number of different meshes.
    """

    run: Run
    deck: str
    ranks: int
    steps: int
    first_cycle: int
    seconds: NDArray[np.float64]
    hydro_s: NDArray[np.float64]
    predictors: tuple[str, ...]
    predicted: NDArray[np.float64]
    cells: NDArray[np.int64]
    total_cells: NDArray[np.int64]
    most_cells: NDArray[np.int64]
    divided: int
    combined: int
    moved: int
    meshes: int

    JSON = (
        "cells=cells_of_all divided combined moved meshes errors_percent verdicts=kinds words "
        "checkpoints=written neighbour=disturbed_on_purpose stopped failure"
    )

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
    def kinds(self) -> dict[str, int]:
        """Kind -> cycles that stood out by it."""
        return dict(Counter(verdict.kind for verdict in self.verdicts))

    @property
    def words(self) -> list[str]:
        """The first of them, in words."""
        return [f"cycle {verdict.cycle}: {verdict.words}" for verdict in self.verdicts[:MAX_SHOWN]]

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
    def written(self) -> int:
        """How many these are."""
        return len(self.checkpoints)

    @property
    def stopped(self) -> str:
        """Why the run ended before its last cycle, as it decided; empty if it did not."""
        return str(self.spec.get("stopped", ""))

    @property
    def failure(self) -> str:
        """Why it failed; empty if it did not."""
        return str(self.spec.get("failure", ""))

    @property
    def cells_of_all(self) -> tuple[int, int, int]:
        """Cells of all ranks: in the first cycle, in the last one, and at most."""
        total = self.total_cells
        return int(total[0]), int(total[-1]), int(total.max())

    @property
    def errors_percent(self) -> dict[str, float]:
        """Predictor -> mean absolute error, without the first cycle."""
        return {
            name: mean_error_percent(said, self.seconds[1:])
            for name, said in zip(self.predictors, self.predicted[1:].T, strict=True)
            if np.isfinite(said).any()
        }

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

    def lines(self) -> list[str]:
        """Return the lines that ``hindmost show`` prints."""
        first, last, most = self.cells_of_all
        errors = ", ".join(
            f"{name} {percent(value / 100.0)}" for name, value in self.errors_percent.items()
        )
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.kinds.items())
        rows = [
            (
                "cells",
                f"{first:,} to {last:,}, at most {most:,}; {self.divided:,} divided, "
                f"{self.combined:,} combined, {self.moved:,} moved",
            ),
            ("predicted", f"mean errors: {errors}" if errors else "nothing"),
            *([("stood out", kinds)] if kinds else []),
            *(("", words) for words in self.words),
        ]
        if self.disturbed_on_purpose:
            rows.append(("neighbour", "ran on purpose (--interfere)"))
        if self.written:
            rows.append(("checkpoints", f"{self.written} written"))
        if self.stopped:
            rows.append(("stopped", self.stopped))
        return [
            textwrap.fill(text, WIDTH, initial_indent=f"  {head:11} ", subsequent_indent=" " * 14)
            for head, text in rows
        ]


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
    predictors = tuple(run.predictors)
    predicted = np.empty((run.bodies, 0))
    if predictors:
        predicted = np.asarray(run.variable("predicted"), np.float64)
    return AdaptiveRun(
        run=run,
        deck=run.header.solver,
        ranks=run.header.ranks,
        steps=steps_of(run),
        first_cycle=int(spec.get("first_cycle", 0)),
        seconds=run.durations[:, 0] - rank_0(run, CHECKPOINT),
        hydro_s=rank_0(run, "hydro"),
        predictors=predictors,
        predicted=predicted,
        # rank 0 is always kept, so the first column is its
        cells=np.asarray(run.variable("cells")[:, 0], np.int64),
        total_cells=total_of(run, "cells"),
        most_cells=most_of(run, "cells"),
        divided=int(total_of(run, "divided").sum()),
        combined=int(total_of(run, "combined").sum()),
        moved=int(total_of(run, "moved").sum()),
        meshes=int(np.unique(run.variable("epoch")).size) if run.has("epoch") else 0,
    )


def steps_of(run: Run) -> int:
    """Return the steps of a cycle from the deck in the run file; 1 without a deck."""
    text = run.header.spec.get("deck", "")
    try:
        return int(parse_toml(text).get("steps", 1))
    except (tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise DataError(f"{run.path}: the deck in the file cannot be read: {error}.") from error


def rank_0(run: Run, name: str) -> NDArray[np.float64]:
    """Return a phase on rank 0, shape (cycle,), seconds; zeros where the run has none."""
    return run.phase(name)[:, 0] if name in run.phases else np.zeros(run.bodies)


def mean_error_percent(predicted: NDArray[np.float64], measured: NDArray[np.float64]) -> float:
    """Return the mean absolute error in percent of what was measured (the paper's tables 3 and 4).

    Cycles without a prediction (NaN) are left out; NaN if there is no other.

    Parameters
    ----------
    predicted, measured : float64 arrays, shape (cycle,), seconds
    """
    off = np.abs(predicted - measured) / measured
    known = np.isfinite(off)
    return float(100.0 * off[known].mean()) if known.any() else float("nan")
