"""How a solve ended: after its iterations, at a tolerance, or before either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hindmost.harness.runfile.contents import Header
from hindmost.records import RecordError, from_document

KEY = "ending"
"""Its key in a header's ``spec``."""

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
"""PETSc's converged reasons for a reached tolerance."""


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
        Requested iterations; with a tolerance, the maximum.
    done : int
        Completed iterations.
    reason : str
        PETSc's converged reason; empty if unknown.
    rtol, atol : float
        Requested tolerances; 0 if none.
    norm : str
        The norm of the tolerances: ``preconditioned``, ``unpreconditioned``, ...
    true_residual : float or None
        Norm of the true residual relative to the right-hand side, computed after the solve.
    generic : str
        Why bodies last from one call of the monitor to the next, as for any solver; empty if they
        follow the solver's known pattern.
    flaw : str
        What is wrong with the solution, whatever PETSc's reason; empty if nothing is known.
    counted : int
        PETSc's count of iterations where generic bodies are not one each; else 0.
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

    @classmethod
    def of_petsc(
        cls,
        *,
        asked: int,
        done: int,
        reason: str,
        rtol: float,
        atol: float,
        norm: str,
        generic: str,
        counted: int,
    ) -> Ending:
        """Return how a solve of a program ended, by what PETSc says of it.

        No tolerance was looked at where iterations were forced, and PETSc's default of ``atol`` is
        none.
        """
        forced = reason == "CONVERGED_ITS"
        return cls(
            asked=asked,
            done=done,
            reason=reason,
            rtol=0.0 if forced else max(rtol, 0.0),
            atol=0.0 if forced or atol <= 1e-50 else atol,
            norm=norm,
            generic=generic,
            counted=counted,
        )

    @property
    def to_tolerance(self) -> bool:
        """Whether the solve had a tolerance."""
        return self.rtol > 0.0 or self.atol > 0.0

    @property
    def reached(self) -> bool:
        """Whether the solve reached its tolerance."""
        return self.to_tolerance and self.reason in REACHED

    @property
    def iterations(self) -> int:
        """Iterations that were finished, as PETSc counts them."""
        return self.counted or self.done

    @property
    def as_asked(self) -> bool:
        """Whether the solve did all iterations, or reached its tolerance."""
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
        """What the solve did not achieve, or may not have; empty if it did."""
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
        if self.flaw or self.true_residual is None or self.true_residual <= 1.001:
            return self.flaw
        return (
            f"the residual is {self.true_residual:.1e} of the right side: the solution is worse "
            "than zero; is the matrix singular, or the solver not made for it?"
        )

    @property
    def cause(self) -> str:
        """PETSc's name of why the solve ended, with what it means if the solver failed."""
        return with_cause(self.reason)

    @classmethod
    def of(cls, header: Header) -> Ending | None:
        """Return how the solve of a run file ended; None if the file does not say.

        Earlier files do not: only solves that ended as requested were kept.
        """
        said = header.spec.get(KEY)
        if not isinstance(said, Mapping):
            return None
        said = {key: value for key, value in said.items() if value == value}  # no NaN
        try:
            return from_document(cls, {**said, "done": header.iterations}, ignore_unknown=True)
        except RecordError:
            return None


def with_cause(reason: str) -> str:
    """Return PETSc's name of a reason, with what it means if the solver failed."""
    return f"{reason}: {CAUSES[reason]}" if reason in CAUSES else reason
