"""What to call a change of the machine's state: levels are logarithms, 0 the usual one."""

from __future__ import annotations

import math

from hindmost.models.dynamic.cycle_verdict import CycleKind


def change_of_machine(old: float, new: float, *, usual: bool, place: str) -> tuple[CycleKind, str]:
    """Return the kind of a change and its words.

    Parameters
    ----------
    old, new : float
        Level before and after.
    usual : bool
        Whether the new level cannot be told from the usual one.
    place : str
        Where a slower machine loses its time.
    """
    before, after = f"{math.exp(old):.2f}", f"{math.exp(new):.2f}"
    if new > old:
        if old == 0.0:
            return CycleKind.SLOWER, f"the machine is {after} times as slow as it was, {place}."
        if usual:
            return (
                CycleKind.SLOWER,
                f"the machine is as slow as before, after {before} times the time.",
            )
        if old > 0.0:
            words = f"the machine is slower still: {after} times the time, after {before}, {place}."
        elif new > 0.0:
            words = f"the machine is at {after} times the usual time, after {before}, {place}."
        else:
            words = (
                f"the machine is slower than it was: {after} times the usual time, after {before}."
            )
        return CycleKind.SLOWER, words
    if old <= 0.0:
        words = f"the machine is faster than it was: {after} times the usual time."
    elif usual:
        words = f"the machine is as fast as before, after {before} times the time."
    elif new < 0.0:
        words = f"the machine is faster than ever: {after} times the usual time, after {before}."
    else:
        words = f"the machine is at {after} times the time, after {before}."
    return CycleKind.FASTER, words
