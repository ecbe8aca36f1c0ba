"""What a recorded solve comes to on a rank: its bodies, its norms, and how it reduced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UnknownPatternError
from hindmost.harness.krylov.problems.problem import LinearSystem
from hindmost.harness.krylov.solvers import Solver
from hindmost.harness.recorder.bodies import (
    bodies_between,
    find_marked,
    generic_marked,
    whole_solve,
)
from hindmost.harness.recorder.pattern import Marked
from hindmost.harness.recorder.recording import Recording, rank_run
from hindmost.harness.runfile.bodies import PHASES, BodyKind, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun
from hindmost.harness.runfile.ending import Ending, with_cause
from hindmost.text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSolve:
    """One recorded solve.

    Attributes
    ----------
    rank : RankRun
        What this rank noted.
    records_lost : int
        Records of all ranks that did not fit into memory.
    begin_utc_ns : int
        When the barrier before the solve was left, since 1970.
    ending : Ending
    synchronisation : str
        ``blocking`` or ``pipelined``.
    """

    rank: RankRun
    records_lost: int
    begin_utc_ns: int
    ending: Ending
    synchronisation: Literal["blocking", "pipelined"]

    @classmethod
    def of(
        cls,
        recording: Recording,
        solver: Solver,
        ending: Ending,
        iterations: int,
        history: NDArray[np.float64],
        incoming: Edges,
        communicator: Any,
    ) -> RecordedSolve:
        """Return what was recorded of a solve; collective.

        Parameters
        ----------
        ending : Ending
            As PETSc tells it, before its bodies are known.
        iterations : int
            As PETSc counts them.
        history : float64 array, shape (iteration + 1,)
            PETSc's residual history.
        incoming : Edges
            The halos that this rank receives.

        Raises
        ------
        UnknownPatternError
            Records were lost before one body was whole.
        """
        lost = communicator.allreduce(recording.lost)
        marks = RankMarks.of(recording, solver, iterations, lost=lost > 0)
        every = communicator.allgather(marks.said)
        common = CommonMarks.of(every, solver, iterations, lost=lost > 0)
        bodies, generic = common.bodies(recording, marks), common.generic
        apart = bool(generic) and not lost and bodies.duration.size != iterations
        return cls(
            rank=rank_run(
                [recording],
                replace(bodies, residual_norm=residual_norms(bodies, history, iterations)),
                incoming=incoming,
                seen=recording.mpi_seen,
            ),
            records_lost=lost,
            begin_utc_ns=recording.begin_utc_ns,
            ending=replace(
                ending,
                done=int(np.count_nonzero(bodies.kind != BodyKind.FILL)),
                generic=generic,
                counted=iterations if apart else 0,
            ),
            synchronisation=synchronisation_of(solver, bodies, communicator),
        )


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


def synchronisation_of(
    solver: Solver, bodies: RankBodies, communicator: Any
) -> Literal["blocking", "pipelined"]:
    """Return how a solver reduces; one that is not known, as it was seen to; collective."""
    posts = bool(bodies.phase_duration[:, PHASES.index("post")].any())
    if not solver.known and any(communicator.allgather(posts)):
        return "pipelined"
    return solver.synchronisation


def residual_norms(
    bodies: RankBodies, history: NDArray[np.float64], iterations: int | None = None
) -> NDArray[np.float64]:
    """Give every body the norm that the solver knew after it, NaN to bodies that only fill.

    Parameters
    ----------
    history : float64 array, shape (iteration + 1,)
        PETSc's residual history, that before the first iteration included. Some solvers tell the
        last norm twice (``pgmres`` of PETSc 3.26 at its limit), or a norm once more when a cycle
        begins (``fgmres`` of PETSc 3.18). Where there are more norms than that, as two an
        iteration, none can be given to a body.
    iterations : int, optional
        As PETSc counts them; without it the history has one norm for each.
    """
    norms = np.full(bodies.kind.size, np.nan)
    counted = np.flatnonzero(bodies.kind != BodyKind.FILL)
    place = np.arange(1, counted.size + 1)
    told = 0 if iterations is None else history.size - iterations - 1
    if told > 0 and history[-1] == history[-2]:
        history, told = history[:-1], told - 1
    if told > 0 and told == bodies.restart_duration.size:
        place += np.cumsum(bodies.position[counted] == 0) - 1
    elif told > 0:
        return norms
    place = place[place < history.size]
    norms[counted[: place.size]] = history[place]
    return norms


def incoming_edges(matrix: Any, rank: int, scalar_bytes: int) -> Edges:
    """Return the halos that a rank receives in a product with a matrix.

    A rank needs the entries of the vector at the columns of its rows; those that it does not own
    come from their owners, each once. This is what PETSc's scatter exchanges.

    Parameters
    ----------
    scalar_bytes : int
        Size of one entry.
    """
    first, last = matrix.getOwnershipRange()
    _, columns, _ = matrix.getValuesCSR()
    needed = np.unique(columns)
    needed = needed[(needed < first) | (needed >= last)]
    borders = np.asarray(matrix.getOwnershipRangesColumn())
    owners, counts = np.unique(
        np.searchsorted(borders, needed, side="right") - 1, return_counts=True
    )
    return Edges(
        source=owners.astype(np.int32),
        target=np.full(owners.size, rank, np.int32),
        bytes=(counts * scalar_bytes).astype(np.int64),
    )


NORMS = {0: "none", 1: "preconditioned", 2: "unpreconditioned", 3: "natural"}
"""PETSc's names of norms, by number."""
NOT_FINITE = "the residual of the solution is not finite (NaN or infinity)"


def converged_reason(ksp: Any) -> str:
    """Return PETSc's name of why a solver stopped."""
    reason = ksp.getConvergedReason()
    names = {
        value: name for name, value in vars(type(ksp).ConvergedReason).items() if name[0].isupper()
    }
    return str(names.get(reason, reason))


def why_nothing(ksp: Any) -> str:
    """Say why a solver did no iteration, and what to do."""
    reason = converged_reason(ksp)
    if reason.startswith("CONVERGED"):
        return f"({reason}). Choose a smaller --rtol, or a harder problem."
    cause = with_cause(reason)
    return f"({cause}). Choose another preconditioner (-- -pc_type) or solver, or another matrix."


def norm_type(ksp: Any) -> str:
    """Return PETSc's name of the norm that a solver's convergence test sees, in lower case."""
    return NORMS.get(int(ksp.getNormType()), "")


def true_residual(system: LinearSystem) -> float | None:
    """Return the norm of b - A x over that of b, maybe NaN; None if b is zero; collective."""
    residual = system.right_side.duplicate()
    system.matrix.mult(system.solution, residual)
    residual.aypx(-1.0, system.right_side)
    # PETSc keeps norms that it has computed, and the next solve would leave its first one out.
    squares = [abs(vector.dot(vector)) for vector in (residual, system.right_side)]
    residual.destroy()
    return float(np.sqrt(squares[0] / squares[1])) if squares[1] != 0.0 else None
