"""Tests of what models assume: ranks and nodes that are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.model_input import MOST_IN_MEMORY
from hindmost.analysis.runs.read import reduced
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import Run
from hindmost.models.noise.kolmogorov import compare_ranks
from hindmost.models.noise.node_spread import spread_over_nodes
from hindmost.output import plain


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


def check_assumptions(run: Run) -> Iterator[AssumptionTest]:
    """Yield the result of every test of a run, or why it was refused."""
    for name, test in TESTS.items():
        try:
            text, figures = test(run)
        except DataError as error:
            yield AssumptionTest(name=name, refused=str(error), figures={})
        else:
            yield AssumptionTest(name=name, text=text, figures=figures)


def refuse_all(why: str) -> tuple[AssumptionTest, ...]:
    """Return every test as refused, for one reason."""
    return tuple(AssumptionTest(name=name, refused=why, figures={}) for name in TESTS)


def compare(what: str, run: Run) -> tuple[str, dict[str, Any]]:
    """Compare the ranks with each other."""
    refuse_reduced(run)
    times, ranks = some_ranks(run, what)
    every = compare_ranks(times)
    return every.explain(), {"ranks_read": ranks.size, "all_pairs": every.to_json()}


def refuse_reduced(run: Run) -> None:
    """Raise a DataError for a run whose bodies of every rank are not known."""
    if run.reduced:
        raise DataError(reduced(run))


def some_ranks(run: Run, what: str) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Read the bodies that laws are fitted to, or their work, of as many ranks as memory allows.

    Returns
    -------
    float64 array, shape (iteration, rank), seconds
    int array, shape (rank,)
        The ranks that were read, evenly spaced; all if they are few enough.
    """
    ranks = run.columns
    step = max(1, -(-run.bodies * ranks // (8 * MOST_IN_MEMORY)))
    step = min(step, max(1, ranks // 2))  # a comparison needs two
    kept = run.kind != BodyKind.FILL
    blocks = [
        (run.work_in(rows) if what == "work" else run.variable("duration", rows))[
            kept[rows], ::step
        ]
        for rows in run.blocks()
    ]
    times = np.concatenate(blocks)
    return times, np.arange(ranks)[::step]


def over_nodes(run: Run) -> tuple[str, dict[str, Any]]:
    """Compare the spread within nodes with that between them."""
    refuse_reduced(run)
    hosts = run.hosts
    names = list(dict.fromkeys(hosts))
    node = np.array([names.index(host) for host in hosts])
    times, ranks = some_ranks(run, "bodies")
    spread = spread_over_nodes(times, node[ranks])
    return spread.explain(), plain(spread)


Test = Callable[[Run], tuple[str, dict[str, Any]]]

TESTS: dict[str, Test] = {
    "ranks_alike": partial(compare, "bodies"),
    "ranks_alike_in_work": partial(compare, "work"),
    "nodes": over_nodes,
}
"""The tests by their names in JSON: each gives a sentence and its figures."""
