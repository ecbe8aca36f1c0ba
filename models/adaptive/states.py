"""The words for a change of the machine's state; levels are logarithms, 0 is the baseline."""

from __future__ import annotations

import math

from hindmost.models.adaptive.cycle_verdict import CycleKind


def change_of_machine(old: float, new: float, *, usual: bool, place: str) -> tuple[CycleKind, str]:
    """Return the kind of a change and its words.

    Parameters
    ----------
    old, new : float
        Level before and after.
    usual : bool
        Whether the new level equals the baseline within its uncertainty.
    place : str
        Where a slower machine spends more time.
    """
    slower = new > old
    kind = CycleKind.SLOWER if slower else CycleKind.FASTER
    before = "" if old == 0.0 else f" (before: {math.exp(old):.2f}x)"
    if usual:
        return kind, f"the machine is back at its baseline{before}."
    where = f", {place}" if slower and new > 0.0 else ""
    word = "slower" if slower else "faster"
    return kind, f"the machine is {word}: {math.exp(new):.2f}x its baseline time{before}{where}."
