"""The result of one pass over a series: everything that was found, and the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.models.changepoint.changes import (
    ChangePoint,
    Finding,
    OutlierRun,
    Regime,
    Trend,
)

RECENT = 10.0
"""Days at the end of a series that its verdict covers (observations, if there are no times)."""
RECOVERED = 0.5
"""A change or drift counts as undone once the level keeps this share of it, or less."""
LASTING = 0.1
"""It does not count as undone while the level differs from that before it by this share or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What a method found in a series.

    Attributes
    ----------
    method : str
    observations : int
    smaller_is_better : bool
        Whether a rise is for the worse, as of times.
    times : tuple of float
        The given times, or the indices.
    changes : tuple of ChangePoint
    regimes : tuple of Regime
    outliers : tuple of OutlierRun
    trends : tuple of Trend
    correlation : float
        AR(1) coefficient of the noise.
    too_short : int
        The observations that the method needs, if there are fewer; else 0.
    """

    method: str
    observations: int
    smaller_is_better: bool = True
    times: tuple[float, ...]
    changes: tuple[ChangePoint, ...] = ()
    regimes: tuple[Regime, ...] = ()
    outliers: tuple[OutlierRun, ...] = ()
    trends: tuple[Trend, ...] = ()
    correlation: float = 0.0
    too_short: int = 0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The changes, then the drifts."""
        return (*self.changes, *self.trends)

    @property
    def level_now(self) -> float:
        """The level of the last observation; for a trend, that at its end."""
        last = self.regimes[-1]
        if not last.trend or not self.trends:
            return last.mean
        return self.trends[-1].after

    def is_undone(self, finding: Finding) -> bool:
        """Tell whether the level has since recovered half of a change or drift, or more.

        After a spike, half is not enough: the level must be near that before it.
        """
        before, after = finding.before, finding.after
        if after == before:
            return True
        kept = (self.level_now - before) / (after - before)
        ratio = self.level_now / before
        return kept <= 0.0 or (kept <= RECOVERED and max(ratio, 1.0 / ratio) < 1.0 + LASTING)

    def status(self, last: float = RECENT) -> str:
        """Return the verdict on the last days: "fail", "warn", "pass" or "unknown".

        Parameters
        ----------
        last : float
            Days, in the unit of the times; or observations, where no times were given.
        """
        from hindmost.models.changepoint.verdicts import Verdicts  # which are of detections

        return Verdicts(detection=self).status(self.times[-1] - last)

    def explain(self) -> str:
        """Return all findings in words, one a line."""
        if self.too_short:
            return (
                f"Too short to judge: {self.observations} observations, and the method needs "
                f"{self.too_short}."
            )
        lines = [
            *(found.explain() for found in self.findings),
            *(
                f"Observations {each.start} to {each.stop - 1} switch between two levels."
                for each in self.regimes
                if each.switching
            ),
            *(run.explain() for run in self.outliers),
        ]
        if not self.findings:
            lines.insert(0, f"No change in {self.observations} observations.")
        return "\n".join(lines)
