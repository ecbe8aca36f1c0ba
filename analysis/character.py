"""What kind of run it is, beside its models: whether ranks and nodes are alike, what was slow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs import MOST_IN_MEMORY
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import Run
from hindmost.models.stochastic.kolmogorov import compare_all, compare_with_reference
from hindmost.models.stochastic.nodes import spread_over_nodes
from hindmost.models.stochastic.slow import find_slow_groups

FEWEST_RANKS_READ = 2


def character_of(run: Run) -> dict[str, Any]:
    """Return the tests of a run as JSON: each with what it explains, or why it was refused."""
    return {
        "ranks_alike": told(lambda: compare(run, "bodies")),
        "ranks_alike_in_work": told(lambda: compare(run, "work")),
        "nodes": told(lambda: over_nodes(run)),
        "slow_groups": told(lambda: slow_groups(run)),
    }


def told(test: Any) -> dict[str, Any]:
    """Return what a test gives, or its refusal."""
    try:
        result: dict[str, Any] = test()
    except DataError as error:
        return {"refused": str(error)}
    return result


def compare(run: Run, what: str) -> dict[str, Any]:
    """Compare rank 0 with all others, and all pairs."""
    times, ranks = some_ranks(run, what)
    reference, every = compare_with_reference(times), compare_all(times)
    return {
        "text": every.explain(),
        "ranks_read": ranks.size,
        "all_pairs": every.to_json(),
        "rank_0_with_others": reference.to_json(),
    }


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
    step = min(step, max(1, ranks // FEWEST_RANKS_READ))
    kept = run.kind != BodyKind.FILL
    blocks = [
        (run.work_in(rows) if what == "work" else run.variable("duration", rows))[
            kept[rows], ::step
        ]
        for rows in run.blocks()
    ]
    times = np.concatenate(blocks)
    return times, np.arange(ranks)[::step]


def over_nodes(run: Run) -> dict[str, Any]:
    """Compare the spread within nodes with that between them."""
    hosts = run.hosts
    names = list(dict.fromkeys(hosts))
    node = np.array([names.index(host) for host in hosts])
    times, ranks = some_ranks(run, "bodies")
    spread = spread_over_nodes(times, node[ranks])
    return {"text": spread.explain(), **spread.to_json()}


def slow_groups(run: Run) -> dict[str, Any]:
    """Find groups of slow bodies."""
    slowest = np.concatenate([run.variable("duration", rows).max(axis=1) for rows in run.blocks()])
    kept = run.kind != BodyKind.FILL
    groups = find_slow_groups(slowest[kept], run.position[kept])
    return {"text": groups.explain(), **groups.to_json()}
