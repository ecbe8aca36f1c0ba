"""Ranks that are converted block by block make the same run file as all of them at once."""

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest
from tests.harness.attach.raw_files import RECORDS, US, Raw, Stream, cg, gmres, write_all

from hindmost.harness.attach import blocks, section_group
from hindmost.harness.attach.convert import convert
from hindmost.harness.attach.iterations import RankLoops
from hindmost.harness.loops import tree
from hindmost.harness.recorder import bodies
from hindmost.harness.runfile import event_order

RANKS = 4
Made = Callable[[], list[Raw]]


def made(**program: Any) -> list[Raw]:
    """Return the empty raw files of the ranks, whose clocks differ."""
    return [Raw(rank, RANKS, program=program, offset_ns=300 * rank) for rank in range(RANKS)]


def solves() -> list[Raw]:
    """Two solves that follow their pattern, and one that does not."""
    ranks = made()
    for rank in ranks:
        first = gmres(50 * US, 40, work=(5 + rank.rank) * US, step=20 * US)
        other = cg(first.at, 7, work=5 * US, step=9 * US)
        again = gmres(other.at, 6, work=5 * US, step=9 * US)
        next_rank = ((rank.rank + 1) % RANKS, 41, 41 * 800)
        rank.section(first, edges=(next_rank,)).contexts(len(first.records))
        rank.section(other, iterations=7).section(again)
    return ranks


def solves_cut() -> list[Raw]:
    """A solve of which one rank lost records, and one that the program ended inside of."""
    ranks = made()
    for rank in ranks:
        stream = gmres(0, 25, restart=10, work=5 * US, step=9 * US)
        whole, end = len(stream.records), stream.at
        if rank.rank == 2:
            stream.records = stream.records[: whole // 2]
        rank.section(stream, seen=whole, iterations=25, restart=10)
        cut = cg(end, 9 - rank.rank, work=5 * US, step=9 * US)
        rank.section(cut, type="cg", iterations=-1, complete=False, reason="")
    return ranks


def chain() -> list[Raw]:
    """A loop of marks with phases and work, in which each rank sends to the next one only."""
    ranks = made()
    for rank in ranks:
        stream = Stream(1000 * US)
        for iteration in range(9 + (rank.rank == 1)):
            stream.mark("I", iteration).mark(1000).work((3 + rank.rank) * US).mark(1001)
            if rank.rank:
                stream.call("MPI_Waitall", (2 + rank.rank) * US)
            if rank.rank < RANKS - 1 and iteration % 3:
                stream.work(US).call("MPI_Startall", US)
            stream.work(US).call("MPI_Allreduce", (9 - rank.rank) * US).mark(999, 64 + iteration)
        sent = ((rank.rank + 1, 10, 100),) if rank.rank < RANKS - 1 else ()
        rank.section(stream, sent, what="loop", type="loop", phases=["assembly"], polls=3)
    return ranks


def found_loops() -> list[Raw]:
    """Two loops, one after the other, that only the contexts of calls show."""
    ranks = made(mark_call="auto")
    for rank in ranks:
        stream, number = Stream(1000 * US), []
        for context, steps in ((1, 40), (3, 30)):
            for _ in range(steps):
                stream.work((3 + rank.rank) * US).call("MPI_Allreduce", (9 - rank.rank) * US)
                stream.work(US).call("MPI_Allreduce", 2 * US)
                number += [context, context + 1]
        rank.section(stream, what="loop", type="loop")
        places = [
            (0x1010 + 16 * (at % 2) + 256 * (at // 2), 0x1000 + 256 * (at // 2), 64, 0, 0)
            for at in range(4)
        ]
        rank.contexts(
            len(number),
            places=places,
            ends=[1, 2, 3, 4],
            chains=[0, 1, 2, 3],
            contexts=number,
            polls=[0, 1, 2, 3, rank.rank],
        )
    return ranks


PROGRAMS: dict[str, tuple[Made, int]] = {
    "solves": (solves, 2),
    "solves that were cut": (solves_cut, 2),
    "a chain": (chain, 1),
    "loops that are found": (found_loops, 2),
}


def contents(path: Path) -> dict[str, tuple[object, ...]]:
    """Return all that a run file has, bit for bit."""
    with h5py.File(path) as file:
        values: dict[str, tuple[object, ...]]
        values = {f"attribute {name}": (value,) for name, value in file.attrs.items()}
        for name, each in file.items():
            value = each[()]
            raw = value.tolist() if value.dtype == object else value.tobytes()
            values[name] = (each.shape, each.maxshape, each.chunks, str(each.dtype), raw)
    return {name: value for name, value in values.items() if name != "attribute summary"}


def converted(folder: Path, ranks: list[Raw]) -> dict[str, dict[str, tuple[object, ...]]]:
    """Convert a program, and return its run files by name."""
    files = convert(write_all(ranks, folder / "app-0.raw"), folder)
    return {path.name: contents(path) for path in files}


@pytest.mark.parametrize("name", PROGRAMS)
def test_blocks_of_ranks_make_the_same_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, files = PROGRAMS[name]
    whole = converted(tmp_path / "whole", program())
    assert len(whole) == files
    of_rank = max(
        sum(len(payload) for kind, payload in each.parts if kind == RECORDS) for each in program()
    )
    for size in (0, 2 * of_rank):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
        assert converted(tmp_path / str(size), program()) == whole
    for size in (1, 5, 100):  # nor does it matter how many records are looked at together
        monkeypatch.setattr(bodies, "PART_RECORDS", size)
        monkeypatch.setattr(tree, "BLOCK_CALLS", size)
        assert converted(tmp_path / f"parts of {size}", program()) == whole


def test_events_that_differ_are_put_into_one_sequence_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = converted(tmp_path / "whole", chain()).values()
    shape, *_ = whole["event_kind"]
    assert shape == (8, 7)  # more than any rank has: a message goes through all of them
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 0)
    monkeypatch.setattr(event_order, "MAX_ALIGNED", 5)
    (left_out,) = converted(tmp_path / "blocks", chain()).values()
    assert "event_kind" not in left_out
    assert "too many to put in order" in str(left_out["attribute spec"])


def test_only_what_is_of_a_block_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank is assembled once; what is made waits in a file until it is written."""
    made_runs: list[int] = []
    alive: list[int] = []
    refs: list[weakref.ref[Any]] = []
    rank_run = vars(section_group)["rank_run"]

    def spied(recordings: Any, *others: Any, **named: Any) -> Any:
        run = rank_run(recordings, *others, **named)
        refs.append(weakref.ref(run.bodies.duration))
        made_runs.append(recordings[0].cpu)  # each rank of these has its own
        alive.append(sum(ref() is not None for ref in refs))
        return run

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 0)
    monkeypatch.setattr(section_group, "rank_run", spied)
    ranks = [Raw(rank, 12) for rank in range(12)]
    for each in ranks:
        each.section(cg(0, 9, work=5 * US, step=9 * US), type="cg", iterations=9)
    convert(write_all(ranks, tmp_path / "app-0.raw"), tmp_path)
    assert made_runs == [*range(12)]
    assert max(alive) <= 3  # of 12: rank 0, whose facts head the file, and a block


@pytest.mark.parametrize("block_bytes", [0, 1 << 30])
def test_loops_are_looked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    looked = 0
    of = RankLoops.of

    def spied(*given: Any) -> RankLoops:
        nonlocal looked
        looked += 1
        return of(*given)

    monkeypatch.setattr(RankLoops, "of", spied)
    assert len(converted(tmp_path, found_loops())) == 2
    assert looked == RANKS


def test_ranks_are_divided_by_the_size_of_their_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 10)
    sizes = dict(enumerate((3, 4, 10, 30, 5, 5), 7))
    found = blocks.blocks_of(sizes)
    assert found == (range(7, 9), range(9, 10), range(10, 11), range(11, 13))
