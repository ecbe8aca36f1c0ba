"""Ranked laws and tests of assumptions of a run, as values that a cache can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hindmost.models.laws.families import BestLaws, Candidate

RANKED = 10
"""Families that are given of each ranking."""


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

    @classmethod
    def of(cls, candidate: Candidate) -> RankedLaw:
        """Return a candidate of a choice of laws."""
        parameters = dict(candidate.law.to_json())
        return cls(
            family=parameters.pop("family"),
            parameters=parameters,
            squared_error=candidate.squared_error,
            log_likelihood=candidate.log_likelihood,
        )

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> RankedLaw:
        """Return what `to_json` wrote."""
        left = dict(values)
        return cls(
            family=left.pop("family"),
            squared_error=left.pop("squared_error"),
            log_likelihood=left.pop("log_likelihood"),
            parameters=left,
        )

    def to_json(self) -> dict[str, Any]:
        """Return all of it, the parameters among the rest."""
        return {
            "family": self.family,
            **self.parameters,
            "squared_error": self.squared_error,
            "log_likelihood": self.log_likelihood,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LawRanking:
    """How well families of laws describe the bodies of a run.

    Attributes
    ----------
    by_squared_error, by_likelihood : tuple of RankedLaw
        The best `RANKED` by either measure.
    left_out : dict of str to str
        Families that were not fitted, with the reason.
    """

    by_squared_error: tuple[RankedLaw, ...]
    by_likelihood: tuple[RankedLaw, ...]
    left_out: dict[str, str]

    @classmethod
    def of(cls, laws: BestLaws) -> LawRanking:
        """Return the best of a choice of laws."""
        return cls(
            by_squared_error=tuple(map(RankedLaw.of, laws.by_squared_error[:RANKED])),
            by_likelihood=tuple(map(RankedLaw.of, laws.by_likelihood[:RANKED])),
            left_out=laws.left_out,
        )

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> LawRanking | None:
        """Return what `to_json` wrote; None of an empty object."""
        if not values:
            return None
        return cls(
            by_squared_error=tuple(map(RankedLaw.from_json, values["by_squared_error"])),
            by_likelihood=tuple(map(RankedLaw.from_json, values["by_likelihood"])),
            left_out=values["left_out"],
        )

    def to_json(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "by_squared_error": [law.to_json() for law in self.by_squared_error],
            "by_likelihood": [law.to_json() for law in self.by_likelihood],
            "left_out": self.left_out,
        }


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

    @classmethod
    def from_json(cls, name: str, values: dict[str, Any]) -> AssumptionTest:
        """Return what `to_json` wrote."""
        figures = {key: value for key, value in values.items() if key not in ("text", "refused")}
        text, refused = values.get("text", ""), values.get("refused", "")
        return cls(name=name, text=text, refused=refused, figures=figures)

    def to_json(self) -> dict[str, Any]:
        """Return the sentence and the figures, or why there are none."""
        return {"refused": self.refused} if self.refused else {"text": self.text, **self.figures}
