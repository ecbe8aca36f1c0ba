"""How a solve ended: after its iterations, at a tolerance, or before either."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hindmost.harness.runfile.contents import Header

KEY = "ending"
"""The part of a header's ``spec`` that says it."""

REACHED = frozenset(
    {
        "CONVERGED_RTOL",
        "CONVERGED_ATOL",
        "CONVERGED_RTOL_NORMAL",
        "CONVERGED_ATOL_NORMAL",
        "CONVERGED_RTOL_NORMAL_EQUATIONS",
        "CONVERGED_ATOL_NORMAL_EQUATIONS",
    }
)
"""PETSc's names of having reached a tolerance; no other reason says so."""

WORSE_THAN_ZERO = 1.001
"""A true residual from here on is larger than that of x = 0."""

CAUSES = {
    "DIVERGED_BREAKDOWN": "the method broke down: it would have divided by zero",
    "DIVERGED_BREAKDOWN_BICG": "the method broke down: residuals became orthogonal",
    "DIVERGED_DTOL": "the residual grew too much",
    "DIVERGED_INDEFINITE_MAT": "the matrix is not positive definite",
    "DIVERGED_INDEFINITE_PC": "the preconditioner is not positive definite",
    "DIVERGED_NANORINF": "NaN or infinity in the residual; is the matrix singular?",
    "DIVERGED_NONSYMMETRIC": "the matrix or the preconditioner is not symmetric",
    "DIVERGED_PCSETUP_FAILED": "the preconditioner failed; is the matrix singular?",
    "DIVERGED_PC_FAILED": "the preconditioner failed; is the matrix singular?",
    "DIVERGED_NULL": "PETSc gives no reason",
}
"""What PETSc's reasons mean where the solver could not go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a solve ended.

    Attributes
    ----------
    asked : int
        Iterations that were asked for; with a tolerance, the most that were allowed.
    done : int
        Iterations that were finished.
    reason : str
        PETSc's name of why the solve ended; empty if unknown.
    rtol, atol : float
        The tolerances that were asked for; 0 if none.
    norm : str
        The norm that the tolerances are about: ``preconditioned``, ``unpreconditioned``, ...
    true_residual : float or None
        Norm of the residual of the solution over that of the right side, computed afterwards.
    generic : str
        Why the bodies are those of any solver, from monitor to monitor; empty if they follow the
        pattern that is known for the solver.
    flaw : str
        What is wrong with the solution, whatever PETSc says; empty if nothing is known to be.
    counted : int
        Iterations as PETSc counts them, where bodies of any solver are not one each; else 0.
    """

    asked: int
    done: int
    reason: str
    rtol: float = 0.0
    atol: float = 0.0
    norm: str = ""
    true_residual: float | None = None
    generic: str = ""
    flaw: str = ""
    counted: int = 0

    @property
    def to_tolerance(self) -> bool:
        """Whether the solve was to end at a tolerance."""
        return self.rtol > 0.0 or self.atol > 0.0

    @property
    def reached(self) -> bool:
        """Whether it was, and did."""
        return self.to_tolerance and self.reason in REACHED

    @property
    def iterations(self) -> int:
        """Iterations that were finished, as PETSc counts them."""
        return self.counted or self.done

    @property
    def as_asked(self) -> bool:
        """Whether the solve did what it was asked to: its iterations, or to reach its tolerance."""
        if self.to_tolerance:
            return self.reached
        return self.iterations == self.asked or self.reason == "CONVERGED_ITS"

    @property
    def tolerance(self) -> str:
        """The tolerance as text, ``rtol 1e-08``; empty without one."""
        parts = {"rtol": self.rtol, "atol": self.atol}
        return ", ".join(f"{name} {value:g}" for name, value in parts.items() if value > 0.0)

    @property
    def shortfall(self) -> str:
        """What the solve did not do, or may not have done, of what it was asked; else empty."""
        if self.as_asked:
            return ""
        if not self.reason:
            if self.to_tolerance:
                return f"unknown whether {self.iterations} iterations reached {self.tolerance}"
            return f"stopped after {self.iterations} of {self.asked} iterations (reason unknown)"
        if self.to_tolerance:
            return f"{self.tolerance} not reached in {self.iterations} iterations ({self.cause})"
        return f"stopped after {self.iterations} of {self.asked} iterations ({self.cause})"

    @property
    def doubt(self) -> str:
        """What speaks against the solution; else empty."""
        if self.flaw or self.true_residual is None or self.true_residual <= WORSE_THAN_ZERO:
            return self.flaw
        return (
            f"the residual is {self.true_residual:.1e} of the right side: the solution is worse "
            "than zero; is the matrix singular, or the solver not made for it?"
        )

    @property
    def cause(self) -> str:
        """PETSc's name of why the solve ended, with what it means if the solver failed."""
        return with_cause(self.reason)

    def to_json(self) -> dict[str, Any]:
        """Return what stands in the header."""
        return asdict(self)

    @classmethod
    def of(cls, header: Header) -> Ending | None:
        """Return how the solve of a run file ended; None where that does not say.

        Earlier files do not: their solves did what they were asked to, or were not kept.
        """
        said = header.spec.get(KEY)
        if not isinstance(said, Mapping):
            return None
        residual = said.get("true_residual")
        return cls(
            asked=whole(said.get("asked")),
            done=header.iterations,
            reason=text(said.get("reason")),
            rtol=number(said.get("rtol")),
            atol=number(said.get("atol")),
            norm=text(said.get("norm")),
            true_residual=None if residual is None else number(residual),
            generic=text(said.get("generic")),
            flaw=text(said.get("flaw")),
            counted=whole(said.get("counted")),
        )


def with_cause(reason: str) -> str:
    """Return PETSc's name of a reason, with what it means if the solver failed."""
    return f"{reason}: {CAUSES[reason]}" if reason in CAUSES else reason


def number(value: object) -> float:
    """Return a number from an untrusted header; 0 if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if abs(value) < 1e300 and not math.isnan(value) else 0.0


def whole(value: object) -> int:
    """Return an integer; 0 if it is not a number."""
    return int(number(value))


def text(value: object) -> str:
    """Return a text; empty if it is not a text."""
    return value if isinstance(value, str) else ""
