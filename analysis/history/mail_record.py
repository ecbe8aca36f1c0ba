"""What was mailed of a history, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from hindmost.analysis.history.dates import date_of
from hindmost.analysis.readers.history import SeriesName, Time
from hindmost.models.changepoint.detection import VERDICTS, WARN
from hindmost.records import RecordError
from hindmost.text import choose

DIGEST_DAYS = 7
ItemKind = Literal["change", "drift", "failure", "silence"]
CHANGE: Final = "change"
DRIFT: Final = "drift"
FAILURE: Final = "failure"
SILENCE: Final = "silence"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailedItem:
    """Something that was mailed, or is to be mailed.

    Attributes
    ----------
    kind : str
        What was found.
    name : SeriesName
        With empty parts where the kind has none.
    first, last : float
        Its place: seconds since 1970, UTC.
    rises : bool
        Whether the values rise.
    badge : str
        The verdict when it was mailed.
    mailed : float
        When it was mailed last: seconds since 1970, UTC.
    """

    kind: ItemKind
    name: SeriesName
    first: Time
    last: Time
    rises: bool = False
    badge: str = WARN
    mailed: Time

    def __post_init__(self) -> None:
        if self.badge not in VERDICTS:
            raise RecordError(choose(VERDICTS, self.badge), "badge", found=self.badge)

    def is_same(self, other: MailedItem) -> bool:
        """Tell whether two items are the same finding, which may have moved a little."""
        mine, theirs = ((each.kind, each.name, each.rises) for each in (self, other))
        return mine == theirs and self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRecord:
    """What was mailed so far.

    Attributes
    ----------
    digest : float or None
        When the last digest was mailed, seconds since 1970, UTC; None before the first mail (which
        is a digest).
    items : tuple of MailedItem
    """

    digest: Time | None = None
    items: tuple[MailedItem, ...] = ()


def is_digest_due(last: float | None, now: float) -> bool:
    """Tell whether a digest is due: 7 days after the last one, by dates in UTC.

    Dates, not hours, so that a mail that leaves some minutes earlier than a week ago is a digest. A
    last digest in the future is a clock error and is ignored.
    """
    if last is None:
        return True
    days = (date.fromisoformat(date_of(now)) - date.fromisoformat(date_of(last))).days
    return days >= DIGEST_DAYS or days < 0


def taken(left: list[MailedItem], item: MailedItem) -> MailedItem | None:
    """Remove and return the nearest item that is the same finding."""
    same = [each for each in left if each.is_same(item)]
    if not same:
        return None
    nearest = min(same, key=lambda each: abs(each.first - item.first) + abs(each.last - item.last))
    left.remove(nearest)
    return nearest
