"""Joint findings that were held until later nights refuted them, each told with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of
from hindmost.analysis.history.joint_findings import MOST_FINDINGS, MOST_TIMERS, JointFinding
from hindmost.analysis.history.joint_memory import JointMemory
from hindmost.analysis.history.terms import more, timer_name
from hindmost.models.changepoint.changes import relative
from hindmost.models.changepoint.joint_held import SAME
from hindmost.text import signed_percent


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawnJoint:
    """A step in many series that was held until later nights refuted it.

    Attributes
    ----------
    machine : str
    timers : tuple of str
    cases : tuple of str
        Those whose series showed it.
    time, at : float
        When it began, and when it was withdrawn: seconds since 1970, UTC.
    effect : float
        Relative: the median over the series that showed it.
    reason : str
    """

    machine: str
    timers: tuple[str, ...]
    cases: tuple[str, ...]
    time: float
    at: float
    effect: float
    reason: str

    def sentence(self) -> str:
        """Return it in words."""
        timers = ", ".join(map(timer_name, self.timers[:MOST_TIMERS]))
        return (
            f"{', '.join(part for part in (self.machine, timers) if part)}"
            f"{more(len(self.timers) - MOST_TIMERS)}: the joint change of "
            f"{signed_percent(self.effect)} on {date_of(self.time)} was withdrawn on "
            f"{date_of(self.at)}: {self.reason}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return it under the keys of the ``history`` contract."""
        return {
            "machine": self.machine,
            "timers": list(self.timers),
            "date": date_of(self.time),
            "withdrawn": date_of(self.at),
            "effect_percent": 100.0 * self.effect,
            "reason": self.reason,
        }


def withdrawn_joints(
    memory: JointMemory, findings: Sequence[JointFinding]
) -> tuple[WithdrawnJoint, ...]:
    """Return the joint changes that were withdrawn and that no finding tells of, in that order."""
    rows: dict[tuple[str, int, bool], list[WithdrawnJoint]] = {}
    for panel in memory.panels:
        for each in panel.withdrawn:
            change = each.change
            one = WithdrawnJoint(
                machine=panel.machine,
                timers=(panel.timer,),
                cases=change.members,
                time=change.night * SECONDS_A_DAY,
                at=each.at * SECONDS_A_DAY,
                effect=relative(change.shift),
                reason=each.reason,
            )
            if not any(tells_of(finding, one) for finding in findings):
                place = (panel.machine, change.night, change.shift > 0.0)
                rows.setdefault(place, []).append(one)
    every = [
        replace(
            same[-1],
            timers=tuple(dict.fromkeys(timer for each in same for timer in each.timers)),
            cases=tuple(dict.fromkeys(case for each in same for case in each.cases)),
        )
        for same in rows.values()
    ]
    return tuple(sorted(every, key=lambda each: (each.at, each.machine, each.time)))


def tells_of(finding: JointFinding, withdrawn: WithdrawnJoint) -> bool:
    """Tell whether a joint change that was withdrawn is found or held after all."""
    return (
        finding.machine == withdrawn.machine
        and (finding.effect > 0.0) == (withdrawn.effect > 0.0)
        and abs(finding.time - withdrawn.time) <= SAME * SECONDS_A_DAY
    )


def withdrawn_joint_lines(
    withdrawn: Sequence[WithdrawnJoint], since: float, most: int = MOST_FINDINGS
) -> Iterator[str]:
    """Yield the joint findings that were withdrawn after a time."""
    recent = [each for each in withdrawn if each.at > since]
    for each in recent[:most]:
        yield f"joint: withdrawn  {each.sentence()}"
    if len(recent) > most:
        yield f"joint:{more(len(recent) - most)} withdrawn; --json lists all"
