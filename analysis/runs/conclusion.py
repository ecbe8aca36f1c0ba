"""Conclusions: what a report says first, each with its cost and how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hindmost.analysis.runs.finding import WORTH_SAYING, Finding, Topic, about


class Certainty(StrEnum):
    """How a conclusion was reached."""

    MEASURED = "measured"
    """Arithmetic on recorded times."""
    PREDICTED = "predicted"
    """By a model, with an interval."""
    OPEN = "undecided"
    """The data do not decide: an interval includes no effect, or repeats overlap."""
    DOUBTFUL = "in doubt"
    """A finding about the data forbids the conclusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Where a page shows what a conclusion rests on.

    Attributes
    ----------
    anchor : str
        Of a part of the page, without ``#``.
    text : str
    """

    anchor: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """One thing that a report says of a run, solver, kernel or series.

    Attributes
    ----------
    title : str
        What it is about, in a few words.
    text : str
        What is the case, and why.
    brief : str
        Why, in a few words, for a headline; may be empty.
    remedy : str
        What would help, and by how much; may be empty.
    cost_s : float
        What it costs, in seconds of the run; negative for a gain.
    range_s : (float, float) or None
        The least and the most that it costs; ``cost_s`` lies between.
    estimated : bool
        Whether ``cost_s`` is an estimate within that range; else only the range is known.
    relative : bool
        Whether that is a difference to another run, not a part of this one.
    share : float or None
        Of the time of the run; None where there is no whole.
    amount : str
        How the cost is written, where it is not a time; may be empty.
    certainty : Certainty
    basis : str
        What the certainty rests on.
    of : str
        The run, solver or series, where a page has several.
    links : tuple of Link
        Figures and tables.
    topics : tuple of Topic
        What would put it in doubt.
    files : tuple of str
        The files that it was drawn from.
    """

    title: str
    text: str
    cost_s: float
    certainty: Certainty
    basis: str
    brief: str = ""
    remedy: str = ""
    range_s: tuple[float, float] | None = None
    estimated: bool = False
    relative: bool = False
    share: float | None = None
    amount: str = ""
    of: str = ""
    links: tuple[Link, ...] = ()
    topics: tuple[Topic, ...] = ()
    files: tuple[str, ...] = ()

    def doubted(self, findings: Iterable[Finding]) -> Conclusion:
        """Return the conclusion with what findings about its files take from its certainty."""
        own = [each for each in findings if not self.files or each.file in self.files]
        doubts = about(own, self.topics)
        codes = list(dict.fromkeys(each.code for each in doubts if each.severity == "error"))
        if codes:
            return replace(
                self,
                certainty=Certainty.DOUBTFUL,
                basis=f"{self.basis}; errors in the data: {', '.join(codes)}",
            )
        if doubts:
            notes = ", ".join(dict.fromkeys(each.code for each in doubts))
            return replace(self, basis=f"{self.basis}; notes on the data: {notes}")
        return self


def ranked(conclusions: Iterable[Conclusion]) -> list[Conclusion]:
    """Return conclusions, the largest cost or gain first."""
    return sorted(conclusions, key=lambda each: (-abs(each.cost_s), -abs(each.share or 0.0)))


def worth_saying(conclusions: Sequence[Conclusion]) -> list[Conclusion]:
    """Return the ranked conclusions without losses that hardly matter."""
    return [
        each
        for each in ranked(conclusions)
        if each.share is None or abs(each.share) >= WORTH_SAYING
    ]
