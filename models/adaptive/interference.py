"""A sequential test of each cycle: a slower machine, other work, or noise.

The test runs on x = log(measured / baseline). The baseline must not follow the change. It is the
offline model, by which the paper recognizes a machine below its usual performance (section 4), or
any other model that learns from undisturbed cycles only.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from statistics import median

from hindmost.errors import UsageError
from hindmost.models.adaptive.attribution import (
    CyclePhases,
    moved_phases,
    moved_work,
    where,
    work_behind,
)
from hindmost.models.adaptive.cycle_verdict import CycleKind, CycleVerdict
from hindmost.models.adaptive.spread import DeviationSpread
from hindmost.models.adaptive.states import change_of_machine
from hindmost.models.adaptive.work import Work

REFINED = 9
"""Cycles after which the level of a new state is known well."""
CLIP, MOST_CLIP = 1.6, 1.65
"""The deviation at which a cycle is clipped, a factor: in a quiet run, and at most. Chosen on drawn
cycles with seeds below 1000: with 1.7 and 1.8 a fourth of the slowdowns by 1.7 was not found in two
cycles, and there were as few alarms, but on a loaded machine 0.7 instead of 0.9 in 1000 cycles."""
LOG_CLIP, LOG_MOST_CLIP = math.log(CLIP), math.log(MOST_CLIP)
LOST = 0.1
"""Share of a cycle, above the usual one, in which a core that is lost explains a slow cycle."""
LOG_MOVED = math.log(1.15)
"""Change of the time of a cycle from which on a change of the work is named."""
AGAIN = "the work matches the baseline again."


class Interference:
    """A CUSUM test on clipped logarithms of measured over baseline.

    Parameters
    ----------
    scale : float, optional
        Robust standard deviation of x in an undisturbed run; by default learnt from first cycles.
    start : int
        First cycles, which are assumed to be undisturbed; no change is detected in them.
    smallest : float
        Smallest slowdown to detect, a factor.
    usual : float, optional
        Measured over baseline on an undisturbed machine, if known. Then the first cycles are
        tested as well, which detects a machine that is slow from the start. Learnt by default.

    Notes
    -----
    Let z be the deviation of x from its running level, clipped at c. The sums
    g = max(0, g + z - k), and the same for -z, are compared with h = 1.8 (c - k): one cycle never
    reaches h, however slow, and two do if they are close to c. k and c grow with the scale, which
    is enlarged if neighbouring cycles are correlated, and with the tail of undisturbed cycles. c
    stays below log 1.65, so that a slowdown by 1.7 is detected in two cycles.

    Where the cause is known, less is enough: two cycles in a row with z > k are a slower machine if
    a rank lost its core to other processes in both.
    """

    def __init__(
        self,
        *,
        scale: float | None = None,
        start: int = 8,
        smallest: float = 1.1,
        usual: float | None = None,
    ) -> None:
        if start < 2 or smallest <= 1.0 or (scale is not None and scale <= 0.0):
            raise UsageError(
                f"start = {start}, smallest = {smallest:g}, scale = {scale}; start must be at "
                "least 2, smallest above 1, and scale above 0."
            )
        if usual is not None and usual <= 0.0:
            raise UsageError(f"usual = {usual:g}; measured over baseline must be above 0.")
        self._start, self._reference = 0 if usual is not None else start, math.log(smallest)
        # k is never less, whatever the spread: smaller deviations raise no sum.
        self._calm = min(self._reference, 0.5 * LOG_CLIP)
        self._spread = DeviationSpread(scale)
        self._centre = 0.0 if usual is None else math.log(usual)
        self.learns = False
        """Whether the baseline learns the work that it missed; see `to_learn`."""
        self._of_work = False
        self._missed: float | None = None
        self._shift = self._from = 0.0
        self._up = self._down = 0.0
        self._pending: list[float] = []
        self._places: deque[float] = deque(maxlen=16)
        self._early: tuple[list[float], list[float]] = ([], [])  # without and with adaption
        self._carries: bool | None = None
        self._others: deque[float] = deque(maxlen=9)
        self._phases: deque[tuple[Sequence[float], Sequence[float], float]] = deque(maxlen=16)
        self._lost: deque[float] = deque(maxlen=16)
        self._since_up = self._since_down = 0
        self._seen = REFINED + 1
        self._works: dict[bool, tuple[Work, float, float]] = {}
        self.cycle = -1

    @property
    def slower(self) -> bool:
        """Whether the machine is assumed to be slower than its baseline."""
        return self._shift > 0.0

    @property
    def usual(self) -> float:
        """Current estimate of measured over baseline on the undisturbed machine."""
        return math.exp(self._centre)

    @property
    def suspicious(self) -> bool:
        """Whether a baseline should not learn from this cycle."""
        unsettled = self._shift != 0.0 or (self.learns and self._missed is not None)
        return unsettled or self._since_up > 0 or self._since_down > 0

    @property
    def to_learn(self) -> int:
        """Number of last cycles that show lasting work that the baseline misses."""
        lasts = self.learns and self._missed is not None and self._seen >= REFINED
        return REFINED if lasts and self._shift == 0.0 and self._up == self._down == 0.0 else 0

    def learnt(self) -> None:
        """Note that the baseline has learnt that work."""
        if self._missed is not None:
            self._centre, self._missed = self._missed, None

    def observe(
        self,
        measured_s: float,
        baseline_s: float,
        *,
        work: Work | None = None,
        iterations: float = 0.0,
        phases_s: Sequence[float] = (),
        baseline_phases_s: Sequence[float] = (),
        lost: float = 0.0,
    ) -> CycleVerdict:
        """Observe a cycle and return the verdict.

        Parameters
        ----------
        measured_s, baseline_s : float
            Times of the cycle; the baseline for the number of iterations that were done.
        work : Work, optional
            Work of the cycle; without it no verdict names a change of the work.
        iterations : float
            Iterations of the heat solver.
        phases_s, baseline_phases_s : sequences of float
            In the order of `PHASES`; they distinguish a slower machine from work that the baseline
            misses.
        lost : float
            Share of the cycle in which a rank did not have its core.
        """
        self.cycle += 1
        adapts = work is not None and work.adapts
        place = self._placed(math.log(measured_s / baseline_s), adapts)
        self._places.append(place)
        self._lost.append(lost)
        self._phases.append((phases_s, baseline_phases_s, measured_s))
        if self.cycle < self._start:
            self._spread.observe(place - self._centre)
            self._remember(work, iterations, measured_s)
            return self._verdict(CycleKind.STEADY, place, "too early to judge.")
        off = place - self._centre - self._shift
        reference, clip = self._reference, 0.0
        slower = faster = False
        if abs(off) <= self._calm and self._up == 0.0 == self._down:
            self._since_up = self._since_down = 0  # most cycles: both sums stay 0
        else:
            # Two one-sided CUSUM sums of the clipped deviation z, with reference value k.
            reference, clip = self._bounds()
            clipped = min(clip, max(-clip, off))
            self._since_up = self._since_up + 1 if self._up > 0.0 or clipped > reference else 0
            self._since_down = (
                self._since_down + 1 if self._down > 0.0 or clipped < -reference else 0
            )
            self._up = max(0.0, self._up + clipped - reference)
            self._down = max(0.0, self._down - clipped - reference)
            bound = 1.8 * (clip - reference)
            slower = self._up >= bound or (
                self._since_up >= 2 and self._loses() and off > reference
            )
            faster = self._down >= bound
        if slower or faster:
            verdict = self._changed(place, self._since_up if slower else self._since_down)
            self._remember(work, iterations, measured_s)
            return verdict
        self._settle(off, reference, carries=adapts is self._carries)
        passed = None
        if self._shift != 0.0 or self._missed is not None:
            passed = self._passed(place)
        verdict = passed or self._unchanged(place, off, clip, work, iterations, measured_s)
        self._remember(work, iterations, measured_s)
        return verdict

    def pass_over(self, why: str) -> CycleVerdict:
        """Observe a cycle without a baseline; it is not tested."""
        self.cycle += 1
        return self._verdict(CycleKind.STEADY, self._centre + self._shift, why)

    def _placed(self, place: float, adapts: bool) -> float:
        """Return the logarithm, corrected for a baseline that fits adaption cycles differently.

        Cycles with and without adaption may have different levels. Those of the kind that is more
        frequent at the start carry the level and are unchanged; the others are shifted by their
        usual distance from it.
        """
        if self.cycle < self._start:
            self._early[adapts].append(place)
            self._carries = len(self._early[True]) > len(self._early[False])
            self._centre = median(self._early[self._carries])
            others = self._early[not self._carries]
            self._others = deque((other - self._centre for other in others), 9)
        elif self._carries is None:
            self._carries = adapts
        if adapts is self._carries:
            return place
        off = place - self._centre - self._shift
        known = median(self._others) if self._others else off
        if self.cycle >= self._start and not self.suspicious:
            self._others.append(off)
        return place - known

    def _loses(self) -> bool:
        """Return whether a rank lost its core in this cycle and the last, more than before."""
        shares = list(self._lost)
        if len(shares) < 3:
            return False
        return min(shares[-2:]) > LOST + median(shares[:-2])

    def _bounds(self) -> tuple[float, float]:
        """Return k and c, in logarithms."""
        spread = self._spread
        scale = spread.scale
        reference = max(self._reference, 1.5 * scale, spread.tail(0.97))
        clip = max(LOG_CLIP, 5.0 * scale, spread.tail(0.98) + scale)
        clip = min(clip, LOG_MOST_CLIP)
        return min(reference, 0.5 * clip), clip

    def _settle(self, off: float, reference: float, *, carries: bool) -> None:
        """Update the level by undisturbed cycles, and refine the level of a new state."""
        if self._seen < REFINED:
            self._seen += 1
            level = median(list(self._places)[-self._seen :])
            if self._of_work:
                self._centre = level - self._shift
            else:
                self._shift = level - self._centre
            return
        self._seen = REFINED + 1
        quiet = self._up == 0.0 and self._down == 0.0
        step = 0.05 * min(reference, max(-reference, off)) if quiet and carries else 0.0
        if self._shift != 0.0:
            self._shift += step
            return
        self._pending.append(off)  # kept back: it may be the begin of a change
        if quiet:
            for each in self._pending:
                self._spread.observe(each)
            self._pending.clear()
            self._centre += step

    def _passed(self, place: float) -> CycleVerdict | None:
        """Return a verdict if a new state, with enough cycles, turns out to be an earlier one."""
        if self._seen < REFINED:
            return None
        few = 0.5 * max(self._reference, self._spread.scale)
        if self._missed is not None and abs(self._centre + self._shift - self._missed) < few:
            step = math.exp(self._missed - self._centre - self._shift)
            self._centre, self._shift, self._missed = self._missed, 0.0, None
            return self._verdict(CycleKind.WORK, place, AGAIN, keep=REFINED, step=step)
        if not 0.0 < abs(self._shift) < few:
            return None
        step, kind = (
            math.exp(-self._shift),
            CycleKind.FASTER if self._shift > 0.0 else CycleKind.SLOWER,
        )
        self._shift = 0.0
        if self._seen == REFINED and self._from != 0.0:
            return None  # the return was reported already; only its level was inexact
        words = "the machine is back at its baseline: the disturbance has passed."
        return self._verdict(kind, place, words, keep=REFINED, step=step)

    def _changed(self, place: float, since: int) -> CycleVerdict:
        """Begin a new state: its level, its first cycle, and its cause, machine or work."""
        near = max(3.0 * self._spread.scale, math.log(1.07))
        keep = 1
        for before in list(self._places)[-2 : -max(1, since) - 1 : -1]:
            if abs(before - place) > near:
                break  # the change happened within that cycle
            keep += 1
        level, old = median(list(self._places)[-keep:]), self._shift
        new = level - self._centre
        self._up = self._down = 0.0
        self._since_up = self._since_down = 0
        self._pending.clear()
        self._lost.clear()
        self._seen, self._from = keep, old
        step = math.exp(new - old)
        near = max(self._reference, 3.0 * self._spread.scale)
        cycles = [CyclePhases(*each) for each in self._phases]
        phases = moved_phases(cycles, keep)
        blame = work_behind(phases, new - old, cycles[-1])
        if self._missed is not None and abs(level - self._missed - old) <= near:
            self._centre, self._missed = self._missed, None
            self._seen = REFINED
            return self._verdict(CycleKind.WORK, place, AGAIN, keep=keep, step=step)
        self._of_work = bool(blame)
        if blame:
            if self._missed is None:
                self._missed = self._centre
            self._centre += new - old
            words = f"the work changed: {blame}."
            return self._verdict(CycleKind.WORK, place, words, keep=keep, step=step)
        usual = old != 0.0 and abs(new) <= near
        self._shift = 0.0 if usual else new
        if usual:
            self._seen = REFINED
        kind, words = change_of_machine(old, new, usual=usual, place=where(phases))
        return self._verdict(kind, place, words, keep=keep, step=step)

    def _unchanged(
        self,
        place: float,
        off: float,
        clip: float,
        work: Work | None,
        iterations: float,
        measured_s: float,
    ) -> CycleVerdict:
        spread = self._spread
        if abs(off) > self._calm and abs(off) > max(0.6 * clip, 4.0 * spread.scale):
            return self._verdict(
                CycleKind.NOISE,
                place,
                f"this cycle alone took {math.exp(off):.2f}x its baseline time.",
            )
        if work is not None and work.adapts in self._works:
            before, before_iterations, before_s = self._works[work.adapts]
            moved = abs(math.log(measured_s / before_s))
            if moved > LOG_MOVED and moved > 4.0 * spread.scale:
                parts = moved_work(before, before_iterations, work, iterations)
                if parts:
                    words = f"the work changed ({parts}), and the time with it."
                    return self._verdict(CycleKind.WORK, place, words)
        if self.slower:
            return self._verdict(
                CycleKind.STEADY, place, f"still {math.exp(self._shift):.2f}x its baseline time."
            )
        return self._verdict(CycleKind.STEADY, place, "as expected.")

    def _remember(self, work: Work | None, iterations: float, measured_s: float) -> None:
        if work is not None:
            self._works[work.adapts] = (work, iterations, measured_s)

    def _verdict(
        self, kind: CycleKind, place: float, words: str, *, keep: int = 0, step: float = 1.0
    ) -> CycleVerdict:
        return CycleVerdict(
            kind=kind,
            cycle=self.cycle,
            factor=math.exp(place - self._centre),
            level=math.exp(self._shift),
            keep=keep,
            step=step,
            words=words[0].upper() + words[1:],
        )
