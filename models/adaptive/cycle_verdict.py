"""The verdict on a cycle: steady, noise, another state of the machine, or other work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class CycleKind(StrEnum):
    """What a cycle shows."""

    STEADY = "steady"
    NOISE = "noise"
    """A single outlier."""
    SLOWER = "machine slower"
    FASTER = "machine faster"
    """The machine is back at its baseline, or faster."""
    WORK = "work changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleVerdict:
    """The verdict on the cycles up to this one.

    Attributes
    ----------
    kind : CycleKind
    cycle : int
        From 0.
    factor : float
        Measured over baseline time of this cycle; 1 at the usual level.
    level : float
        The same for the assumed state of the machine: 1 if undisturbed.
    keep : int
        Cycles of a new state, including this one; 0 if none begins.
    step : float
        New level over the old one.
    words : str
    """

    kind: CycleKind
    cycle: int
    factor: float
    level: float
    keep: int = 0
    step: float = 1.0
    words: str = ""

    @property
    def change(self) -> bool:
        """Whether a new state begins, so that predictors should forget earlier cycles."""
        return self.keep > 0

    def explain(self) -> str:
        """Return the verdict in a sentence."""
        return f"Cycle {self.cycle}: {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Consecutive cycles in one assumed state of the machine.

    Attributes
    ----------
    begin, end : int
        First cycle, and one past the last.
    level : float
        1 if undisturbed, 2 if everything takes twice as long.
    """

    begin: int
    end: int
    level: float


def periods(verdicts: Sequence[CycleVerdict]) -> tuple[Period, ...]:
    """Return the states of the machine that the verdicts of a run distinguish, in order.

    A change begins at its first cycle, not where it was detected; changes of the work begin no
    period.
    """
    if not verdicts:
        return ()
    found: list[Period] = []
    begin, level = 0, verdicts[0].level
    for place, verdict in enumerate(verdicts):
        if verdict.change and verdict.kind is not CycleKind.WORK:
            end = max(begin + 1, place - verdict.keep + 1)
            found.append(Period(begin=begin, end=end, level=level))
            begin = end
        level = verdict.level
    found.append(Period(begin=begin, end=len(verdicts), level=level))
    return tuple(found)
