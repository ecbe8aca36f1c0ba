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
    """

    asked: int
    done: int
    reason: str
    rtol: float = 0.0
    atol: float = 0.0
    norm: str = ""
    true_residual: float | None = None
    generic: str = ""

    @property
    def to_tolerance(self) -> bool:
        """Whether the solve was to end at a tolerance."""
        return self.rtol > 0.0 or self.atol > 0.0

    @property
    def reached(self) -> bool:
        """Whether it was, and did."""
        return self.to_tolerance and self.reason in REACHED

    @property
    def as_asked(self) -> bool:
        """Whether the solve did what it was asked to: its iterations, or to reach its tolerance."""
        if self.to_tolerance:
            return self.reached
        return self.done == self.asked or self.reason == "CONVERGED_ITS"

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
                return f"unknown whether {self.done} iterations reached {self.tolerance}"
            return f"stopped after {self.done} of {self.asked} iterations (reason unknown)"
        if self.to_tolerance:
            return f"{self.tolerance} not reached in {self.done} iterations ({self.reason})"
        return f"stopped after {self.done} of {self.asked} iterations ({self.reason})"

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
        )


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
