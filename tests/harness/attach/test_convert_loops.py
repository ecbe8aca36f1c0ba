"""Raw files of programs that mark the iterations of a loop become run files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.harness.attach.raw_files import US, Stream, balance, two_ranks, write_all

import hindmost
from hindmost.analysis.runs.efficiency.withheld import why_withheld
from hindmost.harness.attach.convert import convert
from hindmost.harness.runfile.bodies import PHASES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "app-0.raw"


def loop(rank: int, *, marks: int = 6, phases: bool = True) -> Stream:
    """Return a loop with marks, an exchange as a phase of its own and one called halo."""
    stream = Stream(1000 * US)
    for iteration in range(marks):
        stream.mark("I", iteration)
        if iteration == marks - 1:
            break
        if phases:
            stream.mark(1000).work(3 * US).call("MPI_Allreduce", 2 * US).mark(1001)
            stream.mark(1002).work(US).call("MPI_Waitall", US).work(US).mark(1003)
        stream.work((10 - rank) * US).call("MPI_Allreduce", (2 + rank) * US).mark(999, 64)
    return stream


def test_a_loop_of_marks(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for each in ranks:
        facts = {"what": "loop", "type": "loop", "phases": ["assembly", "halo"], "polls": 3}
        each.section(loop(each.rank), ((1 - each.rank, 10, 100),), **facts)
    (path,) = convert(write_all(ranks, folder), tmp_path)
    assert path.name == "app-loop-p2-0.h5"
    run = hindmost.open(path)
    run.verify()
    assert run.phases == (*PHASES, "assembly")
    assert (run.bodies, run.restarts, run.header.solver) == (5, 0, "loop")
    np.testing.assert_allclose(run.durations, 20e-6)
    np.testing.assert_allclose(run.phase("assembly"), 3e-6, rtol=1e-5)
    np.testing.assert_allclose(run.phase("halo"), 3e-6, rtol=1e-5)  # as a whole
    np.testing.assert_allclose(run.phase("wait"), np.tile([4e-6, 5e-6], (5, 1)), rtol=1e-5)
    np.testing.assert_allclose(run.phase("local"), np.tile([10e-6, 9e-6], (5, 1)), rtol=1e-5)
    assert balance(run) < 1e-9
    assert run.edges.bytes.tolist() == [20, 20]
    spec = run.header.spec
    assert (spec["attached"]["work"], spec["polls"]) == (2 * 5 * 64, 6)
    np.testing.assert_array_equal(run.variable("work_amount"), np.full((5, 2), 64.0))
    assert not run.has("solve")
    assert run.has("event_kind")


def test_ranks_that_mark_differently_keep_what_all_have(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for each in ranks:
        stream = loop(each.rank, marks=6 + each.rank, phases=False)
        each.section(stream, what="loop", type="loop")
    (path,) = convert(write_all(ranks, folder), tmp_path)
    run = hindmost.open(path)
    assert (run.bodies, run.header.complete) == (5, False)
    failure = run.header.spec["failure"]
    assert run.header.spec["attached"]["work"] == 2 * 5 * 64  # of what is kept
    assert "rank 0 made 6 marks, rank 1 7; kept are the first 5 iterations of each" in failure
    assert "rank 1 7, so iterations of the same number may be different ones" in why_withheld(run)
    assert balance(run) < 1e-9


def test_a_rank_that_lacks_its_last_parts_ends_a_loop_that_was_found(
    folder: Path, tmp_path: Path
) -> None:
    """Killed ranks wrote at different times: the loop is that of what all of them wrote."""
    found: list[Path] = []
    for more in (0, 400):
        ranks = two_ranks(mark_call="auto")
        for each in ranks:
            stream = Stream(1000 * US)
            for _ in range(20 + more * each.rank):
                stream.work((10 - each.rank) * US).call("MPI_Allreduce", (2 + each.rank) * US)
                stream.work(US).call("MPI_Waitall", US)
            each.section(stream, what="loop", type="loop", complete=not more)
            each.contexts(len(stream.records))
        found += convert(write_all(ranks, folder), tmp_path)
    whole, cut = map(hindmost.open, found)
    assert (whole.header.complete, cut.header.complete) == (True, False)
    np.testing.assert_allclose(cut.durations, whole.durations)
