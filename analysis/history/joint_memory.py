"""The joint changes of a history that are held, as a state file keeps them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hindmost.analysis.readers.history import SeriesName
from hindmost.models.changepoint.joint_held import (
    HeldJointChange,
    Night,
    ReviewedPanel,
    WithdrawnJointChange,
)
from hindmost.records import RecordError
from hindmost.rules import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelMemory:
    """What is held of a timer of all cases of a machine.

    Attributes
    ----------
    machine, timer : str
    held : tuple of HeldJointChange
        The names of their members are cases.
    withdrawn : tuple of WithdrawnJointChange
    """

    machine: Text
    timer: Text
    held: tuple[HeldJointChange, ...] = ()
    withdrawn: tuple[WithdrawnJointChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JointMemory:
    """What is held of all panels of a history.

    Attributes
    ----------
    reviewed : int or None
        The last night whose panels were read: days since 1970. None before the first.
    panels : tuple of PanelMemory
        Those in which something is held or was withdrawn.
    """

    reviewed: Night | None = None
    panels: tuple[PanelMemory, ...] = ()

    def panel(self, machine: str, timer: str) -> ReviewedPanel:
        """Return what is held of a timer of a machine."""
        for each in self.panels:
            if (each.machine, each.timer) == (machine, timer):
                return ReviewedPanel(held=each.held, withdrawn=each.withdrawn)
        return ReviewedPanel()


def check_memory(memory: JointMemory, names: Collection[SeriesName], last: int | None) -> None:
    """Raise a RecordError unless what is held goes together with the series of a state.

    Parameters
    ----------
    memory : JointMemory
    names : collection of SeriesName
    last : int or None
        The newest night of the series: days since 1970.
    """
    reviewed = memory.reviewed
    if reviewed is None:
        if memory.panels:
            raise RecordError(
                "allowed: the day of a reading, as panels are held", "reviewed", found=None
            )
        return
    if last is None or reviewed > last:
        newest = "no day, as there is no series" if last is None else f"at most {last}"
        raise RecordError(f"allowed: {newest}, the newest night", "reviewed", found=reviewed)
    seen = set()
    for at, panel in enumerate(memory.panels):
        if (panel.machine, panel.timer) in seen:
            found = f"{panel.machine}, {panel.timer}"
            raise RecordError("it stands in the file before", "panels", at, found=found)
        seen.add((panel.machine, panel.timer))
        known = {
            name.case
            for name in names
            if (name.machine, name.timer) == (panel.machine, panel.timer)
        }
        try:
            for place, each in enumerate(panel.held):
                check_change(each, known, reviewed, "held", place)
            for place, gone in enumerate(panel.withdrawn):
                check_change(gone.change, known, reviewed, "withdrawn", place, "change")
                if not gone.change.since <= gone.at <= reviewed:
                    why = f"allowed: from {gone.change.since} to {reviewed}, when it was read"
                    raise RecordError(why, "withdrawn", place, "at", found=gone.at)
        except RecordError as error:
            raise error.below("panels", at) from None


def check_change(
    change: HeldJointChange, known: Collection[str], reviewed: int, *path: str | int
) -> None:
    """Raise a RecordError unless the parts of a joint change go together."""
    first, last = change.interval
    if not first <= change.night <= last:
        why = f"allowed: two days around {change.night}, the smaller first"
        raise RecordError(why, *path, "interval", found=list(change.interval))
    if change.effect_interval[0] > change.effect_interval[1]:
        why = "allowed: the smaller number first"
        raise RecordError(why, *path, "effect_interval", found=list(change.effect_interval))
    if not change.night <= change.since <= reviewed:
        why = f"allowed: from {change.night} to {reviewed}, when it was read"
        raise RecordError(why, *path, "since", found=change.since)
    if change.shift == 0.0:
        raise RecordError("allowed: a shift, not zero", *path, "shift", found=change.shift)
    for place, name in enumerate(change.members):
        if name not in known or name in change.members[:place]:
            why = "allowed: each case once that the state has a series of there"
            raise RecordError(why, *path, "members", place, found=name)
    if change.measured < len(change.members):
        why = f"allowed: at least {len(change.members)}, the number of its members"
        raise RecordError(why, *path, "measured", found=change.measured)
