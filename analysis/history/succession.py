"""Cases that succeed one another: a program with another input, on another machine, or edited.

Configurations of one program are different cases of a history, as in a folder with a study. Where
one takes the place of another, both are one series, in which the change of input or machine is
known by its night. It does

- if only what a run does not choose differs (machine, line of the loop, number of iterations), the
  two have no day in common, and the older one comes in no order or misses the night;
- if its input differs: only the latter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.history.silence import next_due
from hindmost.analysis.readers.history import Circumstances, NightlySeries

CaseName = tuple[str, str]
"""Machine and case."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nights:
    """The nights of a case.

    Attributes
    ----------
    name : CaseName
    times : float64 array, shape (night,), seconds
        Ascending.
    newest : Circumstances
    """

    name: CaseName
    times: NDArray[np.float64]
    newest: Circumstances

    @property
    def days(self) -> set[float]:
        """The days since 1970."""
        return set(np.floor(self.times / SECONDS_A_DAY).tolist())


def successors(series: Iterable[NightlySeries]) -> dict[CaseName, CaseName]:
    """Return the case that takes the place of another one, for all that were succeeded."""
    cases: dict[CaseName, Nights] = {}
    for each in series:
        if each.circumstances and each.circumstances[-1].question:
            name = (each.name.machine, each.name.case)
            if name not in cases or len(cases[name].times) < len(each.times):
                cases[name] = Nights(name=name, times=each.times, newest=each.circumstances[-1])
    found: dict[CaseName, CaseName] = {}
    for question in dict.fromkeys(case.newest.question for case in cases.values()):
        alike = [case for case in cases.values() if case.newest.question == question]
        alike.sort(key=lambda each: float(each.times[-1]))
        while len(alike) > 1:
            now = alike.pop()
            before = next((each for each in reversed(alike) if succeeds(now, each)), None)
            if before is None:
                continue
            alike.remove(before)
            found |= {name: now.name for name, to in found.items() if to == before.name}
            found[before.name] = now.name
            times = np.sort(np.concatenate([before.times, now.times]))
            alike.append(Nights(name=now.name, times=times, newest=now.newest))
    return found


def succeeds(now: Nights, before: Nights) -> bool:
    """Tell whether a case takes the place of another one, whose last night is earlier."""
    if now.days & before.days:
        return False
    due = next_due(before.times)
    later = now.times[now.times > before.times[-1]]
    missed = np.floor(due / SECONDS_A_DAY) <= np.floor(float(later[0]) / SECONDS_A_DAY)
    if now.newest.inputs == before.newest.inputs:
        return bool(missed or np.isinf(due))
    return bool(missed and now.times[0] > before.times[-1])
