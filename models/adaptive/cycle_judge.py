"""The interference test with its baseline: the offline model, or levels of undisturbed cycles."""

from __future__ import annotations

from collections import deque

from hindmost.models.adaptive.cycle_verdict import CycleKind, CycleVerdict
from hindmost.models.adaptive.interference import Interference
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.shape_level import ShapeLevel
from hindmost.models.adaptive.work import Spent, Work, iterations_done


class CycleJudge:
    """Judges every cycle against a baseline.

    Parameters
    ----------
    model : OfflineModel, optional
        The baseline; by default the levels of undisturbed cycles.
    test : Interference, optional
        By default one with default settings.
    """

    def __init__(self, model: OfflineModel | None = None, test: Interference | None = None) -> None:
        self._model = model
        self._levels = ShapeLevel(name="baseline", calm=True) if model is None else None
        self._test = Interference() if test is None else test
        self._test.learns = model is None
        self._unlearnt: deque[tuple[Spent, Work]] = deque(maxlen=16)

    def observe(self, spent: Spent, work: Work) -> CycleVerdict:
        """Observe a cycle and return the verdict."""
        iterations = iterations_done(spent, work)
        levels = self._levels
        parts: tuple[float, ...] = ()
        if self._model is not None:
            parts = self._model.phases_s(work, iterations)
        elif levels is not None:
            parts = levels.expected_phases_s(work, iterations)
        if levels is not None and not levels.knows(work):
            levels.observe(spent, work)
            return self._test.pass_over("the first cycle of its kind: no baseline yet.")
        verdict = self._test.observe(
            spent.seconds,
            sum(parts) or spent.seconds,
            work=work,
            iterations=iterations,
            phases_s=spent.phases_s,
            baseline_phases_s=parts,
            lost=spent.lost,
        )
        # The baseline learns from undisturbed cycles only.
        if levels is not None:
            self._unlearnt.append((spent, work))
            if self._test.to_learn:
                levels.renew(list(self._unlearnt)[-self._test.to_learn :])
                self._test.learnt()
            elif not self._test.suspicious and verdict.kind is not CycleKind.NOISE:
                levels.observe(spent, work)
        return verdict
