"""Who is last while a program runs, by the pages of its ranks."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.harness.attach import rank_work
from hindmost.harness.attach.pairs import PairsPage
from hindmost.harness.attach.rank_work import MAX_WINDOWS, NodeWork, RankWork
from hindmost.models.ranks.culprit import Doubt

WINDOW_NS = 10**9
RANKS, SLOW = 3, 2


def followed(folder: Path, work: NDArray[np.float64]) -> RankWork:
    """Follow ranks whose own work is given, of shape (window, rank), in parts of a window."""
    pages = [PairsPage(folder / str(10 * rank)) for rank in range(work.shape[1])]
    found = RankWork(folder)
    for number, own in enumerate(work, start=1):
        for page, part in zip(pages, own, strict=True):
            page["last_end_ns"] += WINDOW_NS
            page.head["phase_ns"][0, 1] += round((1.0 - part) * WINDOW_NS)
        found.poll(10 * number)
    return found


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_work, "WINDOW_S", 0.0)


@pytest.mark.parametrize("windows", [20, 2 * MAX_WINDOWS + 3])
def test_the_rank_with_more_work_is_named_by_its_number(windows: int, tmp_path: Path) -> None:
    work = np.full((windows, RANKS), 0.4)
    work[:, SLOW] = 0.8
    culprit = followed(tmp_path, work).culprit()
    assert culprit is not None
    assert culprit.sure
    assert culprit.rank == 10 * SLOW
    assert culprit.times == pytest.approx(2.0)
    assert culprit.share == pytest.approx(0.4 * (RANKS - 1) / RANKS, rel=0.01)


def test_of_equal_work_nobody_is_named(tmp_path: Path) -> None:
    work = np.random.default_rng(5).normal(0.5, 0.005, (50, RANKS))
    assert followed(tmp_path, work).culprit() is None


def test_work_that_is_more_at_times_is_in_doubt(tmp_path: Path) -> None:
    work = np.full((40, RANKS), 0.4)
    work[10:20, SLOW] = 0.8
    culprit = followed(tmp_path, work).culprit()
    assert culprit is not None
    assert culprit.doubt is Doubt.AT_TIMES


def test_a_loop_that_does_not_go_on_has_no_windows(tmp_path: Path) -> None:
    PairsPage(tmp_path / "0")
    found = RankWork(tmp_path)
    for _ in range(5):
        found.poll(0)
    assert found.culprit() is None


@pytest.mark.parametrize("slow", [0, 1, 2, 3])
def test_ranks_of_another_node_are_waited_for_as_well(slow: int, tmp_path: Path) -> None:
    nodes = [tmp_path / "near", tmp_path / "far"]
    pages = []
    for first, folder in zip((0, 2), nodes, strict=True):
        folder.mkdir()
        for rank in (first, first + 1):
            pages.append(PairsPage(folder / str(rank)))
            pages[-1].begin(tmp_path / f"node-{first:07}.raw")
    near, far = RankWork(nodes[0]), NodeWork(nodes[1])
    for number in range(1, 30):
        for rank, page in enumerate(pages):
            page["last_end_ns"] += WINDOW_NS
            page.head["phase_ns"][0, 1] += WINDOW_NS // (5 if rank == slow else 2)
        far.poll()
        near.poll(number)
    culprit = near.culprit()
    assert near.ranks == 4
    assert culprit is not None
    assert (culprit.rank, culprit.sure) == (slow, True)
    assert culprit.times == pytest.approx(1.6)
