"""The test of what models assume: that the ranks are alike, in their bodies and in their work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.model_input import MAX_IN_MEMORY
from hindmost.analysis.runs.read import reduced
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import Run
from hindmost.models.noise.kolmogorov import compare_ranks

IN_WORK = {"ranks_alike": False, "ranks_alike_in_work": True}
"""The tests by their names in JSON: whether they compare the work or the whole bodies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionTest:
    """A test of what models assume of a run, or why the run does not allow it.

    Attributes
    ----------
    name : str
    text : str
        Its result in a sentence; empty if it was refused.
    refused : str
        Why there is no result; empty if there is one.
    figures : dict
        The numbers of the result, as JSON; the keys are those of the test.
    """

    name: str
    text: str = ""
    refused: str = ""
    figures: dict[str, Any]

    JSON = "**shown"

    @property
    def shown(self) -> dict[str, Any]:
        """The sentence and the figures, or why there are none."""
        return {"refused": self.refused} if self.refused else {"text": self.text, **self.figures}


def check_assumptions(run: Run) -> tuple[AssumptionTest, ...]:
    """Return the result of every test of a run, or why it was refused."""
    if run.reduced:
        return refuse_all(reduced(run))
    try:
        return tuple(compare(name, run, work) for name, work in IN_WORK.items())
    except DataError as error:
        return refuse_all(str(error))


def refuse_all(why: str) -> tuple[AssumptionTest, ...]:
    """Return every test as refused, for one reason."""
    return tuple(AssumptionTest(name=name, refused=why, figures={}) for name in IN_WORK)


def compare(name: str, run: Run, work: bool) -> AssumptionTest:
    """Compare the ranks with each other."""
    times = some_ranks(run, work)
    every = compare_ranks(times)
    figures = {"ranks_read": times.shape[1], "all_pairs": every.to_json()}
    return AssumptionTest(name=name, text=every.explain(), figures=figures)


def some_ranks(run: Run, work: bool) -> NDArray[np.float64]:
    """Read the bodies that laws are fitted to, or their work, of as many ranks as memory allows.

    Returns
    -------
    float64 array, shape (iteration, rank), seconds
        Of evenly spaced ranks; of all if they are few enough.
    """
    step = max(1, -(-run.bodies * run.columns // (8 * MAX_IN_MEMORY)))
    step = min(step, max(1, run.columns // 2))  # a comparison needs two
    kept = run.kind != BodyKind.FILL
    blocks = [
        (run.work_in(rows) if work else run.variable("duration", rows))[kept[rows], ::step]
        for rows in run.blocks()
    ]
    return np.concatenate(blocks)
