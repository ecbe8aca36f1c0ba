"""Judging each cycle: a slower machine, other work, or noise.

The test runs on x = log(measured / baseline). The baseline must not follow the change. It is the
offline model, by which the paper recognizes a machine below its usual performance (section 4), or
levels of the phases that learn from undisturbed cycles only.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.predictors import KEPT, ShapeLevel
from hindmost.models.adaptive.work import PHASES, Spent, Work, iterations_done

CLIP = math.log(1.6)
"""Deviation at which a cycle is clipped: no cycle alone is a change, two of this size are."""
START = 8
"""First cycles, in which no change is detected."""
LEAST = math.log(1.1)
"""The smallest slowdown that is detected."""
BOUND = 1.8
"""Of the sums, in clipped cycles."""
TAIL, WINDOW = 0.97, 200
"""The quantile of the deviations of the last undisturbed cycles that raises no sum."""
HYDRO, HEAT, ADAPTION = (PHASES.index(name) for name in ("hydro", "heat", "adaption"))


class CycleKind(StrEnum):
    """What a cycle shows."""

    STEADY = "steady"
    NOISE = "noise"
    """A single outlier."""
    SLOWER = "machine slower"
    FASTER = "machine faster"
    """The machine is back at its baseline, or faster."""
    WORK = "work changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleVerdict:
    """The verdict on the cycles up to this one.

    Attributes
    ----------
    kind : CycleKind
    cycle : int
        From 0.
    factor : float
        Measured over baseline time of this cycle; 1 at the usual level.
    level : float
        The same for the assumed state of the machine: 1 if undisturbed.
    keep : int
        Cycles of a new state, including this one; 0 if none begins.
    step : float
        New level over the old one.
    words : str
    """

    kind: CycleKind
    cycle: int
    factor: float
    level: float
    keep: int = 0
    step: float = 1.0
    words: str = ""

    @property
    def change(self) -> bool:
        """Whether a new state begins, so that predictors should forget earlier cycles."""
        return self.keep > 0

    def explain(self) -> str:
        """Return the verdict in a sentence."""
        return f"Cycle {self.cycle}: {self.words}"


class Interference:
    """A CUSUM test on clipped logarithms of measured over baseline, with one threshold.

    Notes
    -----
    The first `START` cycles are assumed to be undisturbed. Let z be the deviation of x from its
    running level, clipped at c = log 1.6. The sums g = max(0, g + z - k), and the same for -z, are
    compared with h = 1.8 (c - k): one cycle never reaches h, however slow, and two do if they are
    close to c. The reference k is the logarithm of the smallest slowdown, more where undisturbed
    cycles deviate by more, at most c / 2.
    """

    def __init__(self) -> None:
        self.cycle = -1
        self._centre = 0.0  # level of x on the undisturbed machine
        self._shift = 0.0  # of the present state from it; 0 if undisturbed
        self._up = self._down = 0.0
        self._age = START  # cycles of the present state
        self._places: deque[float] = deque(maxlen=KEPT)
        self._sizes: deque[float] = deque(maxlen=WINDOW)
        self._held: list[float] = []  # deviations that may be the begin of a change

    @property
    def usual(self) -> float:
        """Current estimate of measured over baseline on the undisturbed machine."""
        return math.exp(self._centre)

    @property
    def suspicious(self) -> bool:
        """Whether a baseline should not learn from this cycle."""
        return self._shift != 0.0 or bool(self._held)

    def observe(self, measured_s: float, baseline_s: float) -> CycleVerdict:
        """Observe a cycle and return the verdict.

        Parameters
        ----------
        measured_s, baseline_s : float
            Times of the cycle; the baseline for the number of iterations that were done.
        """
        self.cycle += 1
        place = math.log(measured_s / baseline_s)
        self._places.append(place)
        if self.cycle < START:
            self._centre = median(self._places)
            self._sizes.append(abs(place - self._centre))
            return self._verdict(CycleKind.STEADY, place, "too early to judge.")
        off = place - self._centre - self._shift
        reference = self._reference()
        clipped = min(CLIP, max(-CLIP, off))
        self._up = max(0.0, self._up + clipped - reference)
        self._down = max(0.0, self._down - clipped - reference)
        if max(self._up, self._down) >= BOUND * (CLIP - reference):
            return self._changed(place, reference)
        self._age += 1
        step = max(0.05, 1.0 / self._age) * min(reference, max(-reference, off))
        self._held.append(abs(off))
        if self._shift != 0.0:
            self._shift += step
        if self._up == self._down == 0.0:
            if self._shift == 0.0:
                self._sizes.extend(self._held)
                self._centre += step
            self._held.clear()
        if 0.0 < abs(self._shift) < 0.5 * reference:  # the state has turned out to be the usual one
            kind = CycleKind.FASTER if self._shift > 0.0 else CycleKind.SLOWER
            step, keep = -self._shift, min(KEPT, self._age)
            self._shift, self._age = 0.0, KEPT
            words = "the machine is back at its baseline: the disturbance has passed."
            return self._verdict(kind, place, words, keep=keep, step=step)
        if abs(off) > (0.6 * CLIP):
            words = f"this cycle alone took {math.exp(off):.2f}x its baseline time."
            return self._verdict(CycleKind.NOISE, place, words)
        words = "as expected."
        if self._shift > 0.0:
            words = f"still {math.exp(self._shift):.2f}x its baseline time."
        return self._verdict(CycleKind.STEADY, place, words)

    def pass_over(self, why: str) -> CycleVerdict:
        """Observe a cycle without a baseline; it is not tested."""
        self.cycle += 1
        return self._verdict(CycleKind.STEADY, self._centre + self._shift, why)

    def blame_work(self, verdict: CycleVerdict, words: str, *, learns: bool) -> CycleVerdict:
        """Turn the change that was found last into one of the work; the machine stays as it was.

        Parameters
        ----------
        learns : bool
            Whether the baseline learns that work; else measured over baseline has a new level.
        """
        step = math.log(verdict.step)
        self._shift -= step
        if abs(self._shift) < 1e-12:  # what is left of rounding
            self._shift = 0.0
        if not learns:
            self._centre += step
        level = math.exp(self._shift)
        return replace(verdict, kind=CycleKind.WORK, level=level, words=words)

    def _reference(self) -> float:
        """Return k, a logarithm."""
        sizes = sorted(self._sizes)
        tail = sizes[min(len(sizes) - 1, math.ceil(TAIL * len(sizes)))]
        return min(0.5 * CLIP, max(LEAST, tail))

    def _changed(self, place: float, reference: float) -> CycleVerdict:
        """Begin a new state: its level and its first cycle."""
        keep = 1
        since = len(self._held)
        for before in list(self._places)[-2 : -since - 2 : -1]:
            if abs(before - place) > reference:
                break  # the change happened within that cycle
            keep += 1
        old, new = self._shift, median(list(self._places)[-keep:]) - self._centre
        usual = old != 0.0 and abs(new) <= reference
        self._shift, self._age = (0.0, KEPT) if usual else (new, keep)
        self._up = self._down = 0.0
        self._held.clear()
        kind, words = change_of_machine(old, new, usual=usual)
        return self._verdict(kind, place, words, keep=keep, step=self._shift - old)

    def _verdict(
        self, kind: CycleKind, place: float, words: str, *, keep: int = 0, step: float = 0.0
    ) -> CycleVerdict:
        return CycleVerdict(
            kind=kind,
            cycle=self.cycle,
            factor=math.exp(place - self._centre),
            level=math.exp(self._shift),
            keep=keep,
            step=math.exp(step),
            words=words[0].upper() + words[1:],
        )


def change_of_machine(old: float, new: float, *, usual: bool) -> tuple[CycleKind, str]:
    """Return the kind of a change of the machine and its words.

    Parameters
    ----------
    old, new : float
        Level before and after: logarithms, 0 is the baseline.
    usual : bool
        Whether the new level equals the baseline within its uncertainty.
    """
    slower = new > old
    kind = CycleKind.SLOWER if slower else CycleKind.FASTER
    before = "" if old == 0.0 else f" (before: {math.exp(old):.2f}x)"
    if usual:
        return kind, f"the machine is back at its baseline{before}."
    word = "slower" if slower else "faster"
    return kind, f"the machine is {word}: {math.exp(new):.2f}x its baseline time{before}."


class CycleJudge:
    """The test with its baseline: the offline model, or levels of undisturbed cycles.

    Parameters
    ----------
    model : OfflineModel, optional
        The baseline; by default the levels of undisturbed cycles.
    """

    def __init__(self, model: OfflineModel | None = None) -> None:
        self._model = model
        self._levels = ShapeLevel()
        self._test = Interference()
        self._cycles: deque[tuple[Spent, Work, tuple[float, ...]]] = deque(maxlen=KEPT)

    @property
    def usual(self) -> float:
        """Current estimate of measured over baseline on the undisturbed machine."""
        return self._test.usual

    def observe(self, spent: Spent, work: Work) -> CycleVerdict:
        """Observe a cycle and return the verdict."""
        iterations = iterations_done(spent, work)
        levels, learns = self._levels, self._model is None
        if self._model is not None:
            parts = self._model.phases_s(work, iterations)
        elif levels.knows(work):
            parts = levels.expected_phases_s(work, iterations)
        else:
            levels.observe(spent, work)
            return self._test.pass_over("the first cycle of its kind: no baseline yet.")
        verdict = self._test.observe(spent.seconds, sum(parts) or spent.seconds)
        self._cycles.append((spent, work, log_ratios(spent.phases_s, parts)))
        if verdict.change:
            verdict = self._attributed(verdict)
            if learns and verdict.kind is CycleKind.WORK:
                for last_spent, last_work, _ in list(self._cycles)[-verdict.keep :]:
                    levels.observe(last_spent, last_work)
                levels.restart(verdict.keep)
        elif learns and not self._test.suspicious and verdict.kind is not CycleKind.NOISE:
            levels.observe(spent, work)
        return verdict

    def _attributed(self, verdict: CycleVerdict) -> CycleVerdict:
        """Return a change with its cause: the work, or where a slower machine spends more time."""
        # By how much each phase changed: logarithms, NaN if it did not run before or since.
        columns = zip(*(each for _, _, each in self._cycles), strict=False)
        moved = [
            middle(column[-verdict.keep :]) - middle(column[: -verdict.keep]) for column in columns
        ]
        if len(moved) == len(PHASES):
            blame = work_behind(moved, math.log(verdict.step), self._cycles[-1][0])
            if blame:
                words = f"The work changed: {blame}."
                return self._test.blame_work(verdict, words, learns=self._model is None)
        if verdict.kind is CycleKind.SLOWER and verdict.level > 1.0:
            where = "for the same work"
            if moved and abs(moved[HYDRO]) < math.log(1.05):
                where = "in communication or in waiting for other ranks, not in computation"
            return replace(verdict, words=f"{verdict.words[:-1]}, {where}.")
        return verdict


def log_ratios(measured_s: Iterable[float], baseline_s: Iterable[float]) -> tuple[float, ...]:
    """Return logarithms of measured over baseline by phase; NaN if a phase did not run."""
    return tuple(
        math.log(took / should) if took > 0.0 and should > 0.0 else math.nan
        for took, should in zip(measured_s, baseline_s, strict=False)
    )


def middle(values: Iterable[float]) -> float:
    """Return the median of the values that are not NaN; NaN if there are none."""
    known = [value for value in values if not math.isnan(value)]
    return median(known) if known else math.nan


def work_behind(moved: list[float], size: float, last: Spent) -> str:
    """Return the work that the baseline misses; empty if hydro changed as well.

    Hydro does the same work for every cell and step: if its time is unchanged, so is the machine.
    The phases that are named must also be large enough to explain the change: if adaption takes a
    hundredth of a cycle, it does not double the time of the cycle.

    Parameters
    ----------
    moved : list of float
        Change of each phase, a logarithm.
    size : float
        Change of the whole cycle, a logarithm.
    last : Spent
        The last cycle.
    """
    if not abs(moved[HYDRO]) <= 0.3 * abs(size):
        return ""
    causes = [phase for phase in (HEAT, ADAPTION) if abs(moved[phase]) > 0.7 * abs(size)]
    changed_s = -math.expm1(-size) * last.seconds
    theirs_s = sum(-math.expm1(-moved[phase]) * last.phases_s[phase] for phase in causes)
    if not causes or theirs_s * changed_s < 0.5 * changed_s**2:
        return ""
    words = [
        f"{PHASES[cause]} takes {math.exp(moved[cause]):.2f}x its baseline time" for cause in causes
    ]
    return " and ".join(words) + ", hydro is unchanged for its cells"
