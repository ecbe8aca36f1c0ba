"""What a cycle shows of the machine and of the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class CycleKind(StrEnum):
    """What a cycle shows."""

    STEADY = "steady"
    NOISE = "noise"
    """One cycle stands out, and none after it."""
    SLOWER = "machine slower"
    FASTER = "machine faster"
    """The machine is as it was before, or better."""
    WORK = "work changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleVerdict:
    """What the cycles up to this one show.

    Attributes
    ----------
    kind : CycleKind
    cycle : int
        From 0.
    factor : float
        Measured over baseline, the usual level being 1: now, in this cycle.
    level : float
        The same of the state that the machine is held to be in: 1 when undisturbed.
    keep : int
        Cycles that belong to a new state, this one included; 0 where none begins.
    step : float
        New level over the one before.
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
        """Whether a new state begins, so that predictors should forget what was before."""
        return self.keep > 0

    def explain(self) -> str:
        """Say it in a sentence."""
        return f"Cycle {self.cycle}: {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Cycles in a row for which the machine is held to be in one state.

    Attributes
    ----------
    begin, end : int
        First cycle, and one past the last.
    level : float
        1 when undisturbed, 2 when everything takes twice as long.
    """

    begin: int
    end: int
    level: float


def periods(verdicts: Sequence[CycleVerdict]) -> tuple[Period, ...]:
    """Return the states of the machine that the verdicts of a run tell apart, in order.

    A change that was found some cycles after it came is put where it came; changes of the work
    begin no period.
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
