"""Joint changes that are held: found once, they stay until later nights refute them.

More nights give the series of a panel other changes of their own, and what those leave may no
longer show a joint change that is still there. So a panel is read again as it grew. A joint change
that a reading finds, and that is old enough, is held if the medians of its series before and after
it differ by half of its size or more. Later readings withdraw it only where they no longer do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.changes import WITHIN, relative
from hindmost.models.changepoint.detection import RECOVERED
from hindmost.models.changepoint.joint import (
    APART,
    FEWEST_BESIDE,
    NOW,
    SPAN,
    JointChange,
    Leftover,
)
from hindmost.rules import Rule, Text
from hindmost.text import counted, signed_percent

REVIEW = 5
"""Days between two readings of a panel."""
WATCHED = 60
"""Days before a reading in which a joint change begins that is held from then on."""
TOLD = 30
"""Days for which it is told that a joint change was withdrawn."""
HELD_AFTER = 7
"""Nights after which a joint change is held."""
SAME = 4
"""Nights by which a joint change may move and still be the same."""

Night = Annotated[
    int, Rule(least=-718432, most=2932531, words="a day since 1970, of a year from 3 to 9998")
]
Shift = Annotated[float, Rule(least=-700.0, most=700.0, words="a difference of logarithms")]
Effect = Annotated[float, Rule(least=-1.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSeries:
    """A series of a panel up to a night.

    Attributes
    ----------
    name : str
        Of the series in its panel.
    nights : int64 array, shape (observation,)
    logs : float64 array, shape (observation,)
        Logarithms of the values.
    rest : Leftover
    """

    name: str
    nights: NDArray[np.int64]
    logs: NDArray[np.float64]
    rest: Leftover


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldJointChange:
    """A joint change as it was when it was first held.

    Attributes
    ----------
    night, interval, effect, effect_interval, p_value, measured
        As of `JointChange`.
    shift : float
        The median over the members: a difference of logarithms.
    members : tuple of str
        Names of the series that showed it.
    since : int
        The night from which it is held.
    """

    night: Night
    interval: tuple[Night, Night]
    effect: Effect
    effect_interval: tuple[Effect, Effect]
    p_value: Annotated[float, Rule(least=0.0, most=1.0)]
    measured: Annotated[int, Rule(least=1)]
    shift: Shift
    members: Annotated[tuple[Text, ...], Rule(least=1, words="names of series")]
    since: Night

    def is_same(self, change: JointChange) -> bool:
        """Tell whether a joint change of a later reading is this one."""
        return change.rises == (self.shift > 0.0) and abs(change.night - self.night) <= SAME


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawnJointChange:
    """A joint change that was held until later nights refuted it.

    Attributes
    ----------
    change : HeldJointChange
    at : int
        The night of the reading that withdrew it.
    reason : str
        In words.
    """

    change: HeldJointChange
    at: Night
    reason: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedPanel:
    """What the readings of a panel so far came to.

    Attributes
    ----------
    held : tuple of HeldJointChange
    withdrawn : tuple of WithdrawnJointChange
        Of the last `TOLD` days.
    """

    held: tuple[HeldJointChange, ...] = ()
    withdrawn: tuple[WithdrawnJointChange, ...] = ()

    def review(
        self, panel: Sequence[PanelSeries], found: Sequence[JointChange], night: int
    ) -> ReviewedPanel:
        """Return what one more reading makes of it.

        Parameters
        ----------
        panel : sequence of PanelSeries
            Up to that night.
        found : sequence of JointChange
            In the panel; their members are places in it.
        night : int
            The last one that was read.
        """
        series = {each.name: each for each in panel}
        held, withdrawn = [], [each for each in self.withdrawn if each.at > night - TOLD]
        others = [*(each.night for each in self.held), *(change.night for change in found)]
        for each in self.held:
            reason = "" if is_found(each, found) else refutation(each, series, others)
            if reason:
                withdrawn.append(WithdrawnJointChange(change=each, at=night, reason=reason))
            else:
                held.append(each)
        nights = [each.nights for each in panel]
        calendar = np.unique(np.concatenate(nights)) if nights else np.zeros(0, np.int64)
        for change in found:
            new = held_from(change, panel, night)
            if (
                change.confirmed
                and change.night > night - WATCHED
                and np.count_nonzero(calendar >= change.night) >= HELD_AFTER
                and not any(each.is_same(change) for each in held)
                and not refutation(new, series, others)
            ):
                held.append(new)
        return ReviewedPanel(held=tuple(held), withdrawn=tuple(withdrawn))

    def all_of(
        self, panel: Sequence[PanelSeries], found: Sequence[JointChange]
    ) -> tuple[JointChange, ...]:
        """Return the joint changes that are found, and those that are held without being found.

        Parameters
        ----------
        panel : sequence of PanelSeries
            With all nights.
        found : sequence of JointChange
            In the panel; their members are places in it.
        """
        every = []
        for change in found:
            since = [each.since for each in self.held if each.is_same(change)]
            names = [panel[member] for member in change.members]
            every.append(
                replace(change, since=min(since, default=None), now=last_shift(change.night, names))
            )
        for each in self.held:
            members = [row for row, own in enumerate(panel) if own.name in each.members]
            if members and not is_found(each, found):
                every.append(as_change(each, panel, tuple(members)))
        return tuple(every)


def is_found(held: HeldJointChange, found: Sequence[JointChange]) -> bool:
    """Tell whether a reading finds a joint change that is held."""
    return any(held.is_same(change) for change in found)


def held_from(change: JointChange, panel: Sequence[PanelSeries], night: int) -> HeldJointChange:
    """Return a joint change of a reading as it is held from then on."""
    return HeldJointChange(
        night=change.night,
        interval=change.interval,
        effect=change.effect,
        effect_interval=change.effect_interval,
        p_value=change.p_value,
        measured=change.measured,
        shift=float(np.median(change.shifts)),
        members=tuple(panel[member].name for member in change.members),
        since=night,
    )


def as_change(
    held: HeldJointChange, panel: Sequence[PanelSeries], members: tuple[int, ...]
) -> JointChange:
    """Return a joint change that is held, and that the present reading does not find."""
    begin, end = (held.interval[0] - WITHIN, held.interval[1] + WITHIN)
    now = last_shift(held.night, [panel[member] for member in members])
    return JointChange(
        night=held.night,
        interval=held.interval,
        effect=held.effect,
        effect_interval=held.effect_interval,
        p_value=held.p_value,
        confirmed=True,
        undone=now is not None and now / held.shift <= RECOVERED,
        members=members,
        shifts=(held.shift,) * len(members),
        own=tuple(
            member
            for member in members
            if any(begin <= night <= end for night in panel[member].rest.changes)
        ),
        measured=held.measured,
        found=False,
        since=held.since,
        now=now,
    )


def refutation(
    held: HeldJointChange, series: Mapping[str, PanelSeries], others: Sequence[int]
) -> str:
    """Return why the series of a joint change refute it; empty where they do not.

    Parameters
    ----------
    held : HeldJointChange
    series : mapping
        Name to series of the panel.
    others : sequence of int
        Nights of the joint changes of the panel, that one too.
    """
    members = [series[name] for name in held.members if name in series]
    if not members:
        return "its series have no results any more"
    now = shift_of_members(held.night, members, others)
    if now is None or now / held.shift >= RECOVERED:
        return ""
    return (
        f"the nights after it differ by {signed_percent(relative(now))} from those before, in the "
        f"median of the {counted(len(members), 'series')} that showed it; when it was found, by "
        f"{signed_percent(relative(held.shift))}"
    )


def shift_of_members(
    night: int, members: Sequence[PanelSeries], others: Sequence[int]
) -> float | None:
    """Return the median over series of the shift of their medians before and after a night.

    Of `SPAN` nights on either side, fewer where there is another change; None if no series has
    results on both sides.

    Parameters
    ----------
    night : int
    members : sequence of PanelSeries
    others : sequence of int
        Nights of other joint changes.
    """
    shifts = []
    for each in members:
        own = [*others, *each.rest.changes.tolist()]
        far = [other for other in own if abs(other - night) >= APART]
        first = max((other for other in far if other < night), default=int(each.nights[0]))
        last = min((other for other in far if other > night), default=int(each.nights[-1]) + 1)
        before = each.logs[(each.nights >= first) & (each.nights < night)][-SPAN:]
        after = each.logs[(each.nights >= night) & (each.nights < last)][:SPAN]
        if min(before.size, after.size) >= FEWEST_BESIDE:
            shifts.append(float(np.median(after) - np.median(before)))
    return float(np.median(shifts)) if shifts else None


def last_shift(night: int, members: Sequence[PanelSeries]) -> float | None:
    """Return by how much the last nights of series differ from those before a night.

    Returns
    -------
    float or None
        The median over the series: a difference of logarithms.
    """
    shifts = []
    for each in members:
        before = each.logs[each.nights < night][-SPAN:]
        after = each.logs[each.nights >= night][-NOW:]
        if min(before.size, after.size) >= FEWEST_BESIDE:
            shifts.append(float(np.median(after) - np.median(before)))
    return float(np.median(shifts)) if shifts else None
