"""One timer in two histories: its ratio in words and as JSON, and whether it is worse."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hindmost.analysis.history.pairing import FEWEST
from hindmost.analysis.history.ratio_history import RatioHistory
from hindmost.analysis.readers.history import NightlySeries, SeriesName
from hindmost.models.changepoint.changes import more_and_less
from hindmost.models.inference import LEVEL, Ratio
from hindmost.text import counted, factor, p_number, p_words

ALPHA = 0.05
WIDE = 2.0
"""Factor from which on results of one side differ widely, and an interval decides nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSeries:
    """A timer that both histories have.

    Attributes
    ----------
    first, second : NightlySeries
    paired_by : str
        "nights", "commits", "order" or "none".
    pairs : (int, int)
        Observations, or pairs, on either side.
    ratio : Ratio
        Second over first.
    p_adjusted : float or None
        For the number of series compared, by Holm's procedure.
    comparisons : int
        That number.
    history : RatioHistory or None
        The ratio over time, of series that are paired by nights or commits. ``ratio`` is then that
        since its last change, or at the end of an ongoing drift.
    """

    first: NightlySeries
    second: NightlySeries
    paired_by: str
    pairs: tuple[int, int]
    ratio: Ratio
    p_adjusted: float | None = None
    comparisons: int = 1
    history: RatioHistory | None = None

    JSON = (
        "**first.name second=second.name unit=first.unit "
        "smaller_is_better=first.smaller_is_better observations=pairs paired_by "
        "ratio=ratio.value interval=ratio.interval level p_value=ratio.p_value "
        "p_adjusted significant=is_significant correlation=ratio.correlation words "
        "since=history.since drift ratio_changes outliers"
    )

    @property
    def name_parts(self) -> list[str]:
        """Machine, case and timer; where the two differ, both."""
        return [
            one if one == other else f"{one or '?'} | {other or '?'}"
            for one, other in zip(key_of(self.first.name), key_of(self.second.name), strict=True)
        ]

    @property
    def name(self) -> str:
        """What is compared."""
        return ", ".join(filter(None, self.name_parts))

    @property
    def level(self) -> float:
        """Of the interval."""
        return LEVEL

    @property
    def sides(self) -> tuple[NightlySeries, NightlySeries]:
        """A and B."""
        return self.first, self.second

    @property
    def by_spread(self) -> bool:
        """Whether single results are compared by the standard errors in their files."""
        return self.pairs == (1, 1) and self.ratio.interval is not None

    @property
    def is_significant(self) -> bool:
        """Whether the two differ, at 5 % for all series together."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA

    @property
    def is_undecided(self) -> bool:
        """Whether the test finds no difference, but the interval has large ones or not 1.

        An interval at 90 % without 1 leaves the test at 5 % undecided, as a wide one does.
        """
        interval, p_value = self.ratio.interval, self.ratio.p_value
        if self.is_significant or interval is None or p_value is None or p_value < ALPHA:
            return False
        low, high = interval
        return not 1.0 / WIDE <= low <= 1.0 <= high <= WIDE

    @property
    def worse_by(self) -> float:
        """By what share the second is worse; negative if it is better.

        A share of the times: of a rate, by how much longer the same amount takes.
        """
        return self.worse_share(self.ratio)

    def worse_share(self, ratio: Ratio) -> float:
        """Return what `worse_by` is for another ratio."""
        value = ratio.value
        return (value if self.first.smaller_is_better else 1.0 / value) - 1.0

    def is_confirmed_beyond(self, share: float) -> bool:
        """Tell whether it was also worse by more than a share before any unconfirmed change."""
        history = self.history
        if history is None or history.confirmed is self.ratio:
            return True
        ratio = history.confirmed
        p_value = 1.0 if ratio.p_value is None else ratio.p_value * self.comparisons
        return p_value < ALPHA and self.worse_share(ratio) > share

    def ratio_words(self, value: float) -> str:
        """Write a ratio as ``1.17x slower``."""
        larger, smaller = more_and_less(self.first.unit)
        ratio = value if value >= 1.0 else 1.0 / value
        if ratio < 1.0005:
            return "the same" if ratio == 1.0 else "the same within 0.1 %"
        return f"{factor(ratio)}x {larger if value >= 1.0 else smaller}"

    def words(self) -> str:
        """Return the comparison as ``1.17x slower (1.12 to 1.22), p = 0.002``."""
        ratio = self.ratio
        sentence = self.ratio_words(ratio.value)
        if differ_in_work(self.first, self.second):
            works = (" or ".join(sorted(side.work)) for side in self.sides)
            return f"{sentence} for {' and '.join(works)}: not judged"
        if ratio.interval is None or ratio.p_value is None:
            return f"{sentence}; too few data for an interval: add repetitions"
        low, high = ratio.interval
        if ratio.value < 1.0:
            low, high = 1.0 / high, 1.0 / low
        sentence += f" ({factor(low)} to {factor(high)})"
        if self.is_significant or ratio.p_value >= ALPHA:
            sentence += f", {p_words(ratio.p_value)}"
        if not self.is_significant and ratio.p_value >= ALPHA:
            equal = "undecided" if self.is_undecided else "no significant difference"
            sentence = f"{equal}: {sentence}"
        elif not self.is_significant:
            sentence = (
                f"not significant among {self.comparisons} comparisons ({p_words(ratio.p_value)}, "
                f"{p_number(self.p_adjusted or 1.0)} adjusted): {sentence}"
            )
        if self.by_spread and ratio.freedom < FEWEST - 1:
            sentence += "; few repetitions"
        if min(self.pairs) < FEWEST and not self.by_spread:
            sentence += f"; few data ({self.pairs[0]} and {self.pairs[1]})"
        return sentence + self.changed_words()

    def changed_words(self) -> str:
        """Return when the ratio changed, and what it was before; empty if it never changed."""
        history = self.history
        if history is None:
            return ""
        words = ""
        if history.changes:
            change, before = history.changes[-1], history.ratios[-2]
            start = history.changes[-2].index if history.changes[1:] else 0
            first, last = history.dates(change)
            when = f"since {first}" if first == last else f"changed between {first} and {last}"
            words = f"; {when}, {self.ratio_words(before.value)} "
            words += f"from {history.labels[start]} until then" if start else "before"
            if not change.confirmed:
                words += "; not yet confirmed"
        if self.drift is not None:
            words += (
                f"; it drifts from {factor(self.drift['from'])}x to {factor(self.drift['to'])}x"
            )
        elif history.drifted_until is not None:
            words += f"; it drifted until {history.drifted_until}"
        left_out = len(outliers_of(history))
        if left_out:
            words += f"; {counted(left_out, 'outlier')} left out"
            words += "" if history.plain[-1] else f", the last on {history.labels[-1]}"
        return words

    @property
    def drift(self) -> dict[str, float] | None:
        """The ratios at both ends of a drift that goes on."""
        if self.history is None or self.history.drifts_from is None:
            return None
        return {"from": self.history.drifts_from, "to": self.ratio.value}

    @property
    def ratio_changes(self) -> list[RatioChange]:
        """The changes of the ratio."""
        history = self.history
        if history is None:
            return []
        return [
            RatioChange(
                date=history.labels[change.index],
                dates=history.dates(change),
                before=before.value,
                after=after.value,
                p_value=change.p_value,
                confirmed=change.confirmed,
            )
            for change, (before, after) in zip(
                history.changes, pairwise(history.ratios), strict=True
            )
        ]

    @property
    def outliers(self) -> list[str]:
        """The labels of the pairs that the ratios leave out."""
        return [] if self.history is None else outliers_of(self.history)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioChange:
    """A change of a ratio, with the ratios on both sides."""

    date: str
    dates: tuple[str, str]
    before: float
    after: float
    p_value: float
    confirmed: bool


def differ_in_work(first: NightlySeries, second: NightlySeries) -> bool:
    """Tell whether two series are times of different work."""
    return bool(first.work and second.work and first.work != second.work)


def outliers_of(history: RatioHistory) -> list[str]:
    """Return the labels of the pairs that the ratios leave out."""
    return [history.labels[place] for place in np.flatnonzero(~history.plain)]


def key_of(name: SeriesName) -> tuple[str, str, str]:
    """Return the parts of a name."""
    return name.machine, name.case, name.timer
