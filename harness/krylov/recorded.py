"""The bodies of a solve by the marks of all its ranks, and the norms that are known after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UnknownPatternError
from hindmost.harness.krylov.solvers import Solver
from hindmost.harness.recorder.bodies import (
    bodies_between,
    find_marked,
    generic_marked,
    whole_solve,
)
from hindmost.harness.recorder.pattern import Marked
from hindmost.harness.recorder.recording import Recording
from hindmost.harness.runfile.bodies import BodyKind, RankBodies
from hindmost.text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveMarks:
    """What other ranks have to know of the marks of a solve on one rank.

    Attributes
    ----------
    why : str
        Why they do not follow the solver's pattern; empty if they do.
    bodies, generic : int
        By the pattern, and as of any solver.
    """

    why: str
    bodies: int
    generic: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankMarks:
    """The marks of a solve on one rank.

    Attributes
    ----------
    pattern, generic : Marked or None
        Between which the bodies lie by the solver's pattern, and as of any solver; None if they are
        not found.
    instant_ns : int64 array, shape (mark,), nanoseconds
    lost : bool
        Whether this rank lost records.
    said : SolveMarks
        What other ranks have to know of them.
    """

    pattern: Marked | None
    generic: Marked | None
    instant_ns: NDArray[np.int64]
    lost: bool
    said: SolveMarks

    @classmethod
    def of(cls, recording: Recording, solver: Solver, iterations: int, *, lost: bool) -> RankMarks:
        """Look at the marks of a rank.

        Parameters
        ----------
        iterations : int
            As PETSc counts them there.
        lost : bool
            Whether any rank lost records.
        """
        bodies, pattern, generic = 0, None, generic_marked(recording)
        why = f"hindmost knows no pattern for {solver.name or 'a solver without a name'}"
        if solver.known:
            try:
                pattern = find_marked(recording, solver.pattern, solver.name, cut=lost)
                bodies, why = pattern.kind.size, ""
                done = int(np.count_nonzero(pattern.kind != BodyKind.FILL))
                # An iteration that finds that nothing is left to do counts for PETSc, though it
                # ends nowhere; the last one of a cycle of GMRES is not always told to monitors.
                if not lost and done not in (recording.iterations, iterations):
                    why = (
                        f"{solver.name}: the records contain {done} iterations, PETSc counts "
                        f"{iterations}"
                    )
            except UnknownPatternError as error:
                why = str(error)
        count = int(not recording.lost) if generic is None else generic.kind.size
        return cls(
            pattern=pattern,
            generic=generic,
            instant_ns=recording.marks["begin_ns"],
            lost=recording.lost > 0,
            said=SolveMarks(why=why, bodies=bodies, generic=count),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonMarks:
    """How the bodies of a solve are found, the same on all ranks.

    A solve that does not leave its pattern is not thrown away: its bodies are then those of any
    solver. Where any rank lost records, those bodies are kept that every rank has whole.

    Attributes
    ----------
    solver : Solver
    generic : str
        Why the bodies are those of any solver; empty if they follow the pattern.
    whole : int or None
        How many are kept; None for all, where no records were lost.
    """

    solver: Solver
    generic: str
    whole: int | None

    @classmethod
    def of(
        cls, every: Sequence[SolveMarks], solver: Solver, iterations: int, *, lost: bool
    ) -> CommonMarks:
        """Return what follows from the marks of all ranks.

        Parameters
        ----------
        every : sequence of SolveMarks, one a rank
        iterations : int
            As PETSc counts them on the first rank.

        Raises
        ------
        UnknownPatternError
            Records were lost before one body was whole.
        """
        why, first = next(filter(None, (each.why for each in every)), ""), every[0].generic
        if why and not lost and not solver.known and first != iterations:
            why += f" ({counted(first, 'body')} for {counted(iterations, 'iteration')})"
        whole = min(each.generic if why else each.bodies for each in every) if lost else None
        if whole == 0:
            raise UnknownPatternError(
                f"{solver.name}: records were lost before the first iteration was complete, so "
                "nothing is left of the solve. Record a shorter one; 'hindmost run --warmup 1' "
                "measures how much memory records need."
            )
        return cls(solver=solver, generic=why, whole=whole)

    def marked(self, marks: RankMarks) -> Marked | None:
        """Return between which marks of a rank bodies lie; None if the whole solve is one."""
        return marks.generic if self.generic else marks.pattern

    def shape(self, marks: RankMarks) -> tuple[int, int] | None:
        """Return how many bodies and restarts a rank has, None if not all bodies take time."""
        found, instant = self.marked(marks), marks.instant_ns
        if found is None:
            return None if marks.lost else (1, 0)
        spent = (instant[found.end] - instant[found.begin])[: self.whole]
        if not spent.size or (spent <= 0).any():
            return None
        if self.whole is None:
            return spent.size, found.restart_begin.size
        return spent.size, int(np.count_nonzero(found.position[1 : spent.size] == 0))

    def bodies(self, recording: Recording, marks: RankMarks) -> RankBodies:
        """Return the bodies of a rank."""
        found = self.marked(marks)
        bodies = whole_solve(recording) if found is None else bodies_between(recording, found)
        return bodies if self.whole is None else bodies.first(self.whole)


def residual_norms(bodies: RankBodies, history: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give every body the norm that the solver knew after it, NaN to bodies that only fill.

    Parameters
    ----------
    history : float64 array, shape (iteration + 1,)
        Of the residual, that before the first iteration included.
    """
    norms = np.full(bodies.kind.size, np.nan)
    counted = np.flatnonzero(bodies.kind != BodyKind.FILL)
    known = counted[: max(history.size - 1, 0)]
    norms[known] = history[1 : known.size + 1]
    return norms


NORMS = {0: "none", 1: "preconditioned", 2: "unpreconditioned", 3: "natural"}
"""PETSc's names of norms, by number."""
