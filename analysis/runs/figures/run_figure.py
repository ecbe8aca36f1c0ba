"""A figure that can be drawn of a run, and what a person may choose of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from hindmost.analysis.show.boxes import Boxes
from hindmost.analysis.show.chart import Chart
from hindmost.analysis.show.heat_map import HeatMap
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine

Position = int | Literal["middle", "all"]
Content = Chart | HeatMap | Boxes
"""What a figure shows."""
DEFAULT_HEIGHT_INCHES = {"full": 2.8, "half": 2.2}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureChoice:
    """What is to be drawn of a run.

    Attributes
    ----------
    ranks : tuple of int
        For histograms of single ranks; empty for those of least, middle and most work.
    body : int or None
        For times per rank; None for the middle one.
    position : int, ``middle`` or ``all``
        Which place of the restart cycle a map shows, so that all its bodies do the same work.
    machine : Machine or None
        The probed machine, for figures of adaptive runs that show it.
    """

    ranks: tuple[int, ...] = ()
    body: int | None = None
    position: Position = "middle"
    machine: Machine | None = None

    def ranks_of(self, run: Run) -> dict[int, str]:
        """Return the columns of the chosen ranks, each with its name.

        Raises
        ------
        UsageError
            A rank that the run has not, or did not keep.
        """
        numbers, columns = run.kept_ranks, run.columns
        if self.ranks:
            return {column_of(run, rank): f"rank {rank}" for rank in self.ranks}
        order = np.argsort(run.work.sum(axis=0), kind="stable")
        usual = {"middle": columns // 2, "least": 0, "most": columns - 1}
        chosen = {int(order[at]): f" ({which} work)" for which, at in usual.items() if columns > 1}
        return {at: f"rank {numbers[at]}{which}" for at, which in (chosen or {0: ""}).items()}

    def body_of(self, run: Run) -> int:
        """Return the chosen body.

        Raises
        ------
        UsageError
            A body that the run has not.
        """
        if self.body is None:
            return run.bodies // 2
        if not 0 <= self.body < run.bodies:
            raise UsageError(
                f"{run.path} has no iteration {self.body}; it has iterations 0 to {run.bodies - 1}."
            )
        return self.body

    def place_of(self, run: Run) -> int | None:
        """Return the chosen place of the restart cycle; None for all bodies, as of a single cycle.

        Raises
        ------
        UsageError
            A place that the cycle has not, or a solver that does not restart.
        """
        if self.position == "all" or (self.position == "middle" and not run.header.restart):
            return None
        length = int(run.position.max()) + 1
        if self.position == "middle":
            return length // 2 if run.bodies > length else None  # one cycle has no place twice
        if not run.header.restart:
            raise UsageError(
                f"{run.path}: {run.header.solver} does not restart, so its iterations have no "
                "place in a restart cycle; omit --position."
            )
        if not 0 <= self.position < length:
            raise UsageError(
                f"{run.path}: no iteration has place {self.position} of the restart cycle; "
                f"places are 0 to {length - 1}."
            )
        return self.position


def column_of(run: Run, rank: int) -> int:
    """Return the column of a rank.

    Raises
    ------
    UsageError
        A rank that the run has not, or of which no full record was kept.
    """
    if not 0 <= rank < run.header.ranks:
        raise UsageError(
            f"{run.path} has no rank {rank}; it has ranks 0 to {run.header.ranks - 1}."
        )
    numbers = run.kept_ranks
    at = int(np.searchsorted(numbers, rank))
    if at == numbers.size or numbers[at] != rank:
        raise UsageError(
            f"{run.path} kept no full record of rank {rank}; it kept {numbers.size} of "
            f"{run.header.ranks} ranks: {', '.join(map(str, numbers.tolist()))}."
        )
    return at


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure that can be drawn.

    Attributes
    ----------
    name : str
        On the command line, and part of the file's name.
    summary : str
        One line for the help.
    caption : str
        What is to be seen in it.
    default : bool
        Whether it is drawn if nothing else is asked for.
    """

    name: str
    summary: str
    caption: str
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigure(Figure):
    """A figure that can be drawn of a run.

    Attributes
    ----------
    heading : str
        Over the figure on a page.
    make : callable
        From a run and what was chosen of it; raises UsageError where the run does not allow it.
    by_rank : bool
        Whether it grows with the number of ranks.
    of_ranks : bool
        Whether an axis is of ranks, so that one can be pointed at.
    """

    heading: str
    make: Callable[[Run, FigureChoice], Content]
    by_rank: bool = False
    of_ranks: bool = False

    def height_inches(self, ranks: int, width: str = "full") -> float:
        """Return the height that suits a number of ranks and a width of `WIDTHS_INCHES`."""
        usual = DEFAULT_HEIGHT_INCHES[width]
        return min(0.8 * usual - 0.4 + 0.3 * ranks, 1.4 * usual) if self.by_rank else usual


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFigure(Figure):
    """A figure of nightly results or of a scaling experiment, one for each series.

    Attributes
    ----------
    make : callable
        From files, and the name of a case, timer or kernel, or a pattern with ``*`` and ``?`` (None
        for all); yields the name of each series and its chart.
    """

    make: Callable[[Sequence[Path], str | None], Iterator[tuple[str, Chart]]]
