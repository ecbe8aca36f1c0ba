"""The result of one pass over a series: everything that was found, and the verdict on it.

One set of rules serves the Python API, the command, pages and mails. A change fails if it is for
the worse, confirmed, not undone since and not acknowledged; it warns while it is not confirmed. A
drift warns where it is for the worse by more than `DRIFT` for certain. Whether a rise is for the
worse depends on the series: on times it is, on rates it is not.

A series passes if it was judged up to its last days, nothing in it is open, and its newest nights
do not wait for confirmation. What could not have been seen in these days is `visible_step`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hindmost.models.changepoint.changes import (
    ChangePoint,
    Finding,
    Jump,
    OutlierRun,
    Regime,
    Trend,
)

RECENT = 10.0
"""Days at the end of a series that its verdict covers (observations, if there are no times)."""
PASS, WARN, FAIL, OPEN, UNKNOWN = "pass", "warn", "fail", "open", "unknown"
VERDICTS = (FAIL, WARN, OPEN, PASS, UNKNOWN)
"""The worst first; "open" where only an older change is, "unknown" where nothing could be
judged."""
DRIFT = 0.05
"""A drift warns where the series is worse by more than this share, for certain."""
KNOWN = 2.0 / 3.0
"""Share of the results of a level that must not be outliers, for it to be known."""
SILENT_DAYS = 60.0
"""Days without a result after which a series counts as given up; until then it went silent."""


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
    day : float
        A day in the unit of the times.
    changes : tuple of ChangePoint
    regimes : tuple of Regime
    outliers : tuple of OutlierRun
    trends : tuple of Trend
    jump : Jump or None
        The newest observations, if they are far from the level.
    visible_steps : tuple of float
        The relative step that is as likely to be found as to be missed, if the last 1, 2, ...
        observations are at a new level (`robust.segments.visible_steps`); empty where the method
        does not tell.
    correlation : float
        AR(1) coefficient of the noise.
    too_short : int
        The observations that the method needs, if there are fewer; else 0.
    """

    method: str
    observations: int
    smaller_is_better: bool = True
    times: tuple[float, ...]
    day: float = 1.0
    changes: tuple[ChangePoint, ...] = ()
    regimes: tuple[Regime, ...] = ()
    outliers: tuple[OutlierRun, ...] = ()
    trends: tuple[Trend, ...] = ()
    jump: Jump | None = None
    visible_steps: tuple[float, ...] = ()
    correlation: float = 0.0
    too_short: int = 0

    @property
    def steps(self) -> tuple[ChangePoint, ...]:
        """The changes, then the newest jump."""
        return self.changes if self.jump is None else (*self.changes, self.jump)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The changes and the newest jump, then the drifts."""
        return (*self.steps, *self.trends)

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
        if isinstance(finding, Jump):
            return False
        if after == before:
            return True
        kept = (self.level_now - before) / (after - before)
        ratio = self.level_now / before
        return kept <= 0.0 or (kept <= 0.5 and max(ratio, 1.0 / ratio) < 1.0 + 0.1)

    def status(self, last: float = RECENT) -> str:
        """Return the verdict on the last days, one of `VERDICTS`.

        Parameters
        ----------
        last : float
            Days; or observations, where no times were given.
        """
        return Verdicts(detection=self).status(self.times[-1] - last * self.day)

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
                f"Observations {regime.start} to {regime.stop - 1} switch between two levels."
                for regime in self.regimes
                if regime.switching
            ),
            *(run.explain() for run in self.outliers),
        ]
        if not self.findings:
            lines.insert(0, f"No change in {self.observations} observations.")
        return "\n".join(lines)


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst of some verdicts; "pass" if there are none."""
    return min(verdicts, key=VERDICTS.index, default=PASS)


def newest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return changes and drifts by their last observations, the newest first."""
    return tuple(sorted(findings, key=lambda each: each.last, reverse=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """The verdicts on the findings in a series.

    Times (``since``) are in the unit of `times`. A subclass with acknowledgements overrides
    `is_known`.

    Attributes
    ----------
    detection : Detection
    """

    detection: Detection

    @property
    def times(self) -> Sequence[float]:
        """When the observations were made, ascending."""
        return self.detection.times

    @property
    def smaller_is_better(self) -> bool:
        """Whether a rise is for the worse."""
        return self.detection.smaller_is_better

    def is_known(self, finding: Finding) -> bool:
        """Tell whether a person has acknowledged a change or drift."""
        return False

    def is_worse(self, finding: Finding) -> bool:
        """Tell whether a change is for the worse: a rise where smaller is better, else a fall.

        A drift is where its whole interval is, by more than `DRIFT`.
        """
        if isinstance(finding, ChangePoint):
            return (finding.effect > 0.0) == self.smaller_is_better
        low, high = finding.effect_interval
        # A loss where more is better counts as the share by which it would have to be made up.
        return (low if self.smaller_is_better else -high / (1.0 + high)) > DRIFT

    def is_undone(self, finding: Finding) -> bool:
        """Tell whether the level recovered half of a change or drift since, or more."""
        return self.detection.is_undone(finding)

    def verdict_on(self, finding: Finding) -> str:
        """Return the verdict on a change or drift.

        "fail" for a confirmed change for the worse, "warn" for one that is not yet confirmed and
        for a drift, "pass" for all others: those for the better, undone since, or acknowledged.
        """
        if not self.is_worse(finding) or self.is_undone(finding) or self.is_known(finding):
            return PASS
        return FAIL if isinstance(finding, ChangePoint) and finding.confirmed else WARN

    def is_open(self, finding: Finding) -> bool:
        """Tell whether a change or drift is for the worse, not undone and not acknowledged."""
        return self.verdict_on(finding) != PASS

    def recent(self, since: float) -> tuple[Finding, ...]:
        """Return the changes after a time, and the drifts that end after it, the newest first.

        A jump of the newest nights belongs to them if it is for the worse.

        A slowdown that was mostly undone after it, soon after it began, but not to the level
        before, belongs to them: without it, a spike would hide the slowdown that it leaves.
        """
        changes = self.detection.changes
        first = sum(self.times[change.index] <= since for change in changes)
        if 0 < first < len(changes):
            before, after = changes[first - 1], changes[first]
            soon = self.times[after.index] - self.times[before.index] <= RECENT * self.detection.day
            if soon and not self.is_worse(after) and self.is_open(before):
                first -= 1
        others: list[Finding] = [*self.detection.trends]
        jump = self.detection.jump
        if jump is not None and self.is_worse(jump):
            others.append(jump)
        late = [other for other in others if self.times[other.last] > since]
        return newest_first([*changes[first:], *late])

    def open_before(self, since: float) -> tuple[Finding, ...]:
        """Return the open changes and drifts up to a time, the newest first.

        A series given up has none.
        """
        if self.is_silent(since - SILENT_DAYS * self.detection.day):
            return ()
        recent = self.recent(since)
        older = (finding for finding in self.detection.findings if finding not in recent)
        return newest_first(filter(self.is_open, older))

    def is_silent(self, since: float) -> bool:
        """Tell whether there is no result after a time."""
        return bool(self.times[-1] <= since)

    def is_unjudged(self, since: float) -> bool:
        """Tell whether the level after a time is unknown, because too many results are outliers."""
        found = self.detection
        return any(
            # Outliers in a row, too many for a disturbance, have no level; nor have most results
            # outliers.
            run.stop - run.start >= 7 and self.times[run.stop - 1] > since
            for run in found.outliers
        ) or any(
            regime.n < KNOWN * (regime.stop - regime.start) and self.times[regime.stop - 1] > since
            for regime in found.regimes
        )

    def status(self, since: float) -> str:
        """Return the worst verdict on what happened after a time.

        The verdicts on its changes and drifts, "open" where only older ones are; "unknown" for a
        series that is too short to judge, has no result after that time, or whose last observations
        cannot be judged.
        """
        if self.detection.too_short or self.is_silent(since):
            return UNKNOWN
        verdict = worst(self.verdict_on(change) for change in self.recent(since))
        if verdict == PASS and self.is_unjudged(since):
            return UNKNOWN
        return OPEN if verdict == PASS and self.open_before(since) else verdict

    def visible_step(self, since: float) -> float:
        """Return the relative step after a time that is as likely to be found as to be missed.

        Infinite if there are too few observations after it to find one; NaN if the method does not
        tell.
        """
        steps = self.detection.visible_steps
        if not steps:
            return math.nan
        after = sum(time > since for time in self.times)
        return min(steps[:after], default=math.inf)
