"""Ranked laws and tests of assumptions of a run, as values that a cache can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hindmost.output import plain

if TYPE_CHECKING:
    from hindmost.models.laws.families import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedLaw:
    """A law that was fitted to the bodies of a run.

    Attributes
    ----------
    family : str
    parameters : dict of str to float
        By scipy's names.
    squared_error, log_likelihood : float
        As of `hindmost.models.laws.families.Candidate`.
    """

    family: str
    parameters: dict[str, float]
    squared_error: float
    log_likelihood: float

    JSON = "family **parameters squared_error log_likelihood"

    @classmethod
    def of(cls, candidate: Candidate) -> RankedLaw:
        """Return a candidate of a choice of laws."""
        parameters = plain(candidate.law)
        return cls(
            family=parameters.pop("family"),
            parameters=parameters,
            squared_error=candidate.squared_error,
            log_likelihood=candidate.log_likelihood,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionTest:
    """A test of what models assume of a run, or why the run does not allow it.

    Attributes
    ----------
    name : str
    text : str
        Its result in a sentence; empty if it was refused.
    refused : str
        Why there is no result; empty if there is one.
    figures : dict
        The numbers of the result, as JSON; the keys are those of the test.
    """

    name: str
    text: str = ""
    refused: str = ""
    figures: dict[str, Any]

    JSON = "**shown"

    @property
    def shown(self) -> dict[str, Any]:
        """The sentence and the figures, or why there are none."""
        return {"refused": self.refused} if self.refused else {"text": self.text, **self.figures}
