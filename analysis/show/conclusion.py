"""A conclusion: what a page says first, with its cost in words and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hindmost.text import percent, seconds


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
    topics : tuple of str
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
    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def sure(self) -> bool:
        """Whether it may be read without care."""
        return self.certainty in (Certainty.MEASURED, Certainty.PREDICTED)

    @property
    def only_range(self) -> tuple[float, float] | None:
        """The least and the most that it costs, where only that is known."""
        return None if self.estimated else self.range_s

    @property
    def amount_words(self) -> str:
        """What it costs; a difference has a sign, and a part of a time has none."""
        sign = ("+" if self.cost_s > 0.0 else "−") if self.relative else ""
        return self.amount or sign + self.cost_words

    @property
    def cost_words(self) -> str:
        """What it costs, as a range where only that is known."""
        if self.only_range is None:
            return seconds(abs(self.cost_s))
        low_s, high_s = self.only_range
        return (
            between(seconds(low_s), seconds(high_s)) if low_s > 0.0 else f"up to {seconds(high_s)}"
        )

    @property
    def share_range(self) -> tuple[float, float] | None:
        """The range of the share of the time; None if there is none."""
        if self.share is None or self.range_s is None or not self.cost_s > 0.0:
            return None
        low, high = (abs(self.share) * each / self.cost_s for each in self.range_s)
        return low, high

    def share_words(self, digits: int = 1) -> str:
        """Write the share of the time, as a range where only that is known."""
        if self.only_range is None or self.share_range is None:
            return percent(abs(self.share or 0.0), digits)
        return self.range_words(digits)

    def range_words(self, digits: int = 1) -> str:
        """Write the range of the share of the time; empty if there is none."""
        if self.share_range is None:
            return ""
        low, high = (percent(each, digits) for each in self.share_range)
        return between(low, high) if self.share_range[0] > 0.0 else f"up to {high}"


def between(low: str, high: str) -> str:
    """Write a range; one value if its ends read the same."""
    if low == high:
        return high
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"
