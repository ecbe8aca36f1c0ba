"""The times of two solvers with the same change, over their repeats, and what these decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import Replayed


class Verdict(StrEnum):
    """Whether the pipelined solver pays off."""

    YES = "pays off"
    NO = "does not pay off"
    OPEN = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverTime:
    """The time of a solver with a change, over its repeats.

    Attributes
    ----------
    each_s : float or None
        Median over the repeats; None if the runs do not show it.
    low_s, high_s : float
        From the least low end of an interval to the largest high one.
    """

    each_s: float | None
    low_s: float
    high_s: float

    @classmethod
    def of(cls, replays: Sequence[Replayed], *, whole: bool) -> SolverTime:
        """Return the time of an iteration, or of whole solves."""
        parts = [1.0 if whole else 1.0 / each.run.header.iterations for each in replays]
        known = [
            each.predicted_s * part
            for each, part in zip(replays, parts, strict=True)
            if each.predicted_s is not None
        ]
        pairs = list(zip(replays, parts, strict=True))
        return cls(
            each_s=float(np.median(known)) if len(known) == len(replays) else None,
            low_s=min(each.result.low_s * part for each, part in pairs),
            high_s=max(each.result.high_s * part for each, part in pairs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two solvers with the same change.

    Attributes
    ----------
    named : Named
    blocking, pipelined : SolverTime
    decides : bool
        Whether the runs may decide at all; see `doubt_of`.
    """

    named: Named
    blocking: SolverTime
    pipelined: SolverTime
    decides: bool = True

    @property
    def ratio(self) -> float | None:
        """Time of the pipelined solver over that of the other; None if not known."""
        if self.blocking.each_s is None or self.pipelined.each_s is None:
            return None
        return self.pipelined.each_s / self.blocking.each_s

    @property
    def interval(self) -> tuple[float, float]:
        """Of the ratio."""
        low = self.pipelined.low_s / self.blocking.high_s
        return low, self.pipelined.high_s / self.blocking.low_s

    @property
    def verdict(self) -> Verdict:
        """What the interval says."""
        low, high = self.interval
        if not self.decides:
            return Verdict.OPEN
        if high < 1.0:
            return Verdict.YES
        return Verdict.NO if low > 1.0 else Verdict.OPEN

    @property
    def words(self) -> str:
        """The ratio with its interval."""
        low, high = self.interval
        ends = f"{low:.2f} to {high:.2f}"
        return ends if self.ratio is None else f"{self.ratio:.2f} ({ends})"

    def to_json(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {
            "changes": dict(self.named.words),
            "blocking_s": self.blocking.each_s,
            "blocking_interval_s": [self.blocking.low_s, self.blocking.high_s],
            "pipelined_s": self.pipelined.each_s,
            "pipelined_interval_s": [self.pipelined.low_s, self.pipelined.high_s],
            "ratio": self.ratio,
            "ratio_interval": list(self.interval),
            "verdict": str(self.verdict),
        }
