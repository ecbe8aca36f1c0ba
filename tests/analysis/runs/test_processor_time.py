"""What processor times tell: stragglers of a starved machine, and threads that nobody sampled."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.runs.test_stretches import BODIES, RANKS, contexts, run_of

from hindmost.analysis.runs.cores import other_threads
from hindmost.analysis.runs.run_facts import facts_of
from hindmost.analysis.runs.straggler import verdict_of
from hindmost.analysis.show.facts import UnequalWork
from hindmost.analysis.show.phrases import text
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import CodeStack, RankSamples, variables_of

AFTER_EXCHANGE = (1, 2)
"""Contexts of the exchange, which the extra work follows."""


@pytest.fixture
def loop_header(header: Header) -> Header:
    """Return the header of a loop."""
    return replace(header, ranks=RANKS, iterations=BODIES, restart=0, solver="loop")


def sampled(spent_s: NDArray[np.float64]) -> dict[str, Any]:
    """Return samples of ranks with some processor time after the exchange: shape (rank,)."""
    ranks = []
    for own_s in spent_s:
        context_s = np.full(contexts().count, 0.0)
        context_s[[AFTER_EXCHANGE[0], 3]] = own_s, BODIES * 1e-3
        ranks.append(
            RankSamples(
                period_s=1e-3,
                thread=np.zeros(1, np.int64),
                context=np.full(1, AFTER_EXCHANGE[0]),
                stack=np.zeros(1, np.int64),
                count=np.full(1, round(own_s / 1e-3)),
                kind=np.zeros(1, np.uint8),
                part=np.zeros(1, np.uint8),
                stacks=(CodeStack(places=(CodePlace("heavy", "a.c", 25),)),),
                threads=np.zeros(1, np.int64),
                thread_s=np.full(1, own_s),
                context_s=context_s,
            )
        )
    return variables_of(ranks)


def starved(folder: Path, header: Header, times: float) -> Run:
    """Return a run in which rank 2 works some times as long, and all lose their core for 60 ms."""
    own_s = np.array([1e-3, 1e-3, times * 1e-3])
    work = np.full((BODIES, RANKS, 2), 1e-3)
    work[:, :, 1] = own_s
    random = np.random.default_rng(5)
    lost = random.random((BODIES, RANKS)) < 0.6
    work[:, :, 1] += np.where(lost, 60e-3, 0.0)
    values = sampled(own_s * float(BODIES)) | {
        "core_wait": 60e-3 * lost.sum(axis=0),
        "solve_time": np.full(RANKS, work.sum(axis=2).max(axis=1).sum()),
    }
    return run_of(folder, header, work, alike=True, values=values)


def test_a_starved_machine_hides_no_straggler(tmp_path: Path, loop_header: Header) -> None:
    """Its extra work is 1 % of the time that passes, and a quarter of that without disturbance."""
    run = starved(tmp_path, loop_header, 1.5)
    culprit = verdict_of(run).culprit
    assert culprit is not None
    assert (culprit.rank, culprit.sure, culprit.processor, culprit.undisturbed) == (
        2, True, True, True,
    )  # fmt: skip
    assert culprit.cost_s < 0.01 * run.solve_time_s
    assert culprit.cost_s == pytest.approx(BODIES * 0.5e-3 * 2 / 3, rel=0.1)
    assert culprit.share == pytest.approx(culprit.cost_s / (BODIES * 2.5e-3), rel=0.2)
    first = facts_of(run)[0]
    assert isinstance(first, UnequalWork)
    assert "of the time that the run takes without disturbances" in text(first)


def test_a_starved_machine_makes_no_straggler(tmp_path: Path, loop_header: Header) -> None:
    culprit = verdict_of(starved(tmp_path, loop_header, 1.0)).culprit
    assert culprit is None or not culprit.processor


def test_threads_that_are_not_sampled_are_told(tmp_path: Path, loop_header: Header) -> None:
    work = np.full((BODIES, RANKS, 2), 1e-3)
    values: dict[str, Any] = {"threads": np.array([3, 7, 3]), "others_cpu": np.array([0.0, 0.6, 0])}
    run = run_of(tmp_path, loop_header, work, values=values)
    others = other_threads(run)
    assert others is not None
    assert (others.rank, others.threads, others.sampled) == (1, 7, False)
    assert others.share == pytest.approx(0.6 / run.solve_time[1])
    (said,) = (text(fact) for fact in facts_of(run) if fact.quantity == "Other threads")
    assert "Threads of rank 1 that are not the one that calls MPI use 600 ms" in said
    assert said.endswith(
        "7 threads at its end, those of MPI too. What they do is not seen: 'attach --sample'."
    )


@pytest.mark.parametrize("spent_s", [[0.0, 1e-6, 0.0], [np.nan] * 3])
def test_idle_and_unknown_threads_are_not_told(
    tmp_path: Path, loop_header: Header, spent_s: list[float]
) -> None:
    values = {"threads": np.array([3, 3, 3]), "others_cpu": np.array(spent_s)}
    run = run_of(tmp_path, loop_header, np.full((BODIES, RANKS, 2), 1e-3), values=values)
    assert not [fact for fact in facts_of(run) if fact.quantity == "Other threads"]


def test_sampled_threads_are_told_with_their_time(tmp_path: Path, loop_header: Header) -> None:
    work = np.full((BODIES, RANKS, 2), 1e-3)
    values = sampled(np.full(RANKS, BODIES * 1e-3)) | {
        "threads": np.array([3, 7, 3]),
        "others_cpu": np.array([0.0, 0.6, 0.0]),
    }
    run = run_of(tmp_path, loop_header, work, values=values)
    (said,) = (text(fact) for fact in facts_of(run) if fact.quantity == "Other threads")
    assert "--sample" not in said
