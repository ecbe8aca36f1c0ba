"""What a linear system is to the harness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.runfile.attributes import Json

Rows = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Compressed rows: row starts, global columns, values, which may be complex."""

UNKNOWNS = 100_000
"""Size of a system where none is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRequest:
    """What a person asks of a linear system; each problem uses some of it.

    Attributes
    ----------
    unknowns : int or None
        A size; grids take the square or cube that is closest to it.
    grid : tuple of int
        Points in each direction.
    case : str
        A test case, such as A of ice-flow.
    step : int or None
        Which step of a nonlinear solve.
    file, right_side : Path or None
        Files of the matrix and of the right side.
    """

    unknowns: int | None = None
    grid: tuple[int, ...] = ()
    case: str = ""
    step: int | None = None
    file: Path | None = None
    right_side: Path | None = None

    @property
    def given(self) -> dict[str, str]:
        """The options that were given, with their values as written."""
        values = {
            "--unknowns": "" if self.unknowns is None else str(self.unknowns),
            "--grid": "x".join(map(str, self.grid)),
            "--case": self.case,
            "--step": "" if self.step is None else str(self.step),
            "FILE": "" if self.file is None else str(self.file),
            "RHS": "" if self.right_side is None else str(self.right_side),
        }
        return {option: value for option, value in values.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearSystem:
    """A linear system A x = b, distributed over the ranks, in PETSc's objects.

    Attributes
    ----------
    matrix, right_side, solution : petsc4py.PETSc.Mat and Vec
    spec : dict
        What identifies the system in the run file; ``unknowns`` is its size.
    """

    matrix: Any
    right_side: Any
    solution: Any
    spec: Json = field(default_factory=dict)

    @classmethod
    def of_ones(cls, matrix: Any, spec: Json) -> LinearSystem:
        """Return the system whose solution is a vector of ones."""
        ones, right_side = matrix.createVecs()
        ones.set(1.0)
        matrix.mult(ones, right_side)
        size = {"unknowns": int(matrix.getSize()[0])}
        return cls(matrix=matrix, right_side=right_side, solution=ones, spec={**size, **spec})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A family of linear systems.

    Attributes
    ----------
    name, summary : str
    preconditioner : str
        PETSc's name of the preconditioner that is used unless an option says otherwise.
    build : callable
        ``build(request, PETSc, communicator)`` returns the `LinearSystem`; collective.
    settings : tuple of str
        The options that it uses, of `SystemRequest.given`.
    check : callable
        Raises a UsageError for a request that cannot be met; needs neither MPI nor PETSc.
    solver : str
        PETSc's name of the solver that the problem stands for, which runs if none is named; empty
        if one has to be named.
    options : mapping of str to str
        PETSc options of that solver when it does a given number of iterations.
    """

    name: str
    summary: str
    preconditioner: str
    build: Callable[[SystemRequest, Any, Any], LinearSystem]
    settings: tuple[str, ...] = ("--unknowns",)
    check: Callable[[SystemRequest], None] = lambda request: None
    solver: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def options_for(self, solver: str) -> Mapping[str, str]:
        """Return the PETSc options of a solver on this problem; see `options`."""
        return self.options if solver == self.solver else {}

    @classmethod
    def of_rows(
        cls, *, name: str, summary: str, preconditioner: str, rows: Callable[[int, int, int], Rows]
    ) -> Problem:
        """Return a problem that is given by its rows, with b = A times ones.

        Parameters
        ----------
        rows : callable
            ``rows(first, last, unknowns)`` returns matrix rows first..last-1 in compressed form.
        """

        def build(request: SystemRequest, PETSc: Any, communicator: Any) -> LinearSystem:
            return LinearSystem.of_ones(
                matrix_of_rows(rows, request.unknowns or UNKNOWNS, PETSc, communicator), {}
            )

        return cls(name=name, summary=summary, preconditioner=preconditioner, build=build)

    def check_request(self, request: SystemRequest) -> None:
        """Raise a UsageError if a request has what this problem does not use, or cannot be met."""
        for option, value in request.given.items():
            if option not in self.settings:
                named = value if option == "FILE" else f"{option} {value}"
                raise UsageError(
                    f"{named}: '{self.name}' does not use it; it uses {', '.join(self.settings)}."
                )
        self.check(request)


def matrix_of_rows(
    rows: Callable[[int, int, int], Rows], unknowns: int, PETSc: Any, communicator: Any
) -> Any:
    """Assemble a matrix, its rows split evenly over the ranks as PETSc splits them."""
    first, last = own_rows(unknowns, PETSc, communicator)
    return matrix_of_csr(rows(first, last, unknowns), unknowns, PETSc, communicator)


def own_rows(unknowns: int, PETSc: Any, communicator: Any) -> tuple[int, int]:
    """Return the first row of this rank and the one after its last."""
    layout = PETSc.Vec().createMPI(unknowns, comm=communicator)
    first, last = layout.getOwnershipRange()
    layout.destroy()
    return int(first), int(last)


def matrix_of_csr(rows: Rows, unknowns: int, PETSc: Any, communicator: Any) -> Any:
    """Assemble a square matrix of the rows that each rank owns; collective."""
    starts, columns, values = rows
    size = ((len(starts) - 1, unknowns), (len(starts) - 1, unknowns))
    index = PETSc.IntType
    csr = (starts.astype(index), columns.astype(index), values)
    return PETSc.Mat().createAIJ(size, csr=csr, comm=communicator)
