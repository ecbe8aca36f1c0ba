"""The run on an ideal network: cases reckoned by hand, and the recursion with all costs at 0."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.events import EventKind
from hindmost.models.ranks.efficiency_tally import (
    BodyBlock,
    EfficiencyTally,
    RunParts,
    window_borders,
)
from hindmost.models.simulation.blocks import EventBlock, Neighbours
from hindmost.models.simulation.event_simulator import EventSimulator
from hindmost.records import to_document

REDUCE, SEND, RECEIVE = EventKind.REDUCE, EventKind.SEND, EventKind.RECEIVE
POST, COMPLETE = EventKind.POST, EventKind.COMPLETE
NO_EDGES = np.empty(0, np.int32)


def line(ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    pairs = [(p, q) for p in range(ranks) for q in range(ranks) if abs(p - q) == 1]
    source, target = np.array(pairs, np.int32).reshape(-1, 2).T
    return source, target


def tallied(
    block: BodyBlock,
    position: NDArray[np.int32],
    edges: tuple[NDArray[np.int32], NDArray[np.int32]] = (NO_EDGES, NO_EDGES),
    *,
    windows: int = 1,
    rows: int = 10**6,
) -> RunParts:
    bodies, ranks = block.duration.shape
    tally = EfficiencyTally(
        position,
        ranks,
        *edges,
        with_events=block.events is not None,
        windows=windows,
    )
    for first in range(0, bodies, rows):
        some = slice(first, first + rows)
        tally.add(
            first,
            BodyBlock(
                start=block.start[some],
                duration=block.duration[some],
                local=block.local[some],
                events=None if block.events is None else block.events.part(some),
            ),
        )
    return tally.result()


def events_of(
    work: NDArray[np.float64],
    kinds: list[EventKind],
    rest: NDArray[np.float64] | None = None,
    cycle: int = 10**6,
) -> EventBlock:
    """Return the same events in all bodies, which take no time."""
    bodies, ranks, _ = work.shape
    return EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (bodies, 1)),
        work=work,
        duration=np.zeros_like(work),
        rest=np.zeros((bodies, ranks)) if rest is None else rest,
        cycle_begins=np.arange(bodies) % cycle == 0,
    )


def run_of(work: NDArray[np.float64], kinds: list[EventKind], cost: float) -> BodyBlock:
    """Return bodies in lockstep that take the most work of any rank, and a cost beside it."""
    ranks = work.shape[1]
    local = work.sum(axis=2)
    ends = np.cumsum(work.max(axis=1).sum(axis=1) + cost)
    start = np.repeat(np.concatenate([[0.0], ends[:-1]])[:, None], ranks, axis=1)
    return BodyBlock(
        start=start,
        duration=np.repeat(ends[:, None], ranks, axis=1) - start,
        local=local,
        events=events_of(work, kinds, cycle=10),
    )


def test_ranks_that_take_turns_lose_half_to_serialisation() -> None:
    # Rank 0 works 3 s before a reduction, rank 1 then 3 s before the next: balanced, one after
    # the other; each body of 6 s costs 1.5 s beside.
    work = np.zeros((8, 2, 2))
    work[:, 0, 0] = work[:, 1, 1] = 3.0
    whole = tallied(run_of(work, [REDUCE, REDUCE], 1.5), np.arange(8, dtype=np.int32)).whole
    assert whole.run_time_s == pytest.approx(60.0)
    assert whole.load_balance == pytest.approx(1.0)
    assert whole.serialisation == pytest.approx(0.5)
    assert whole.transfer == pytest.approx(0.8)
    assert whole.parallel == pytest.approx(0.4)


def test_a_run_is_not_quicker_than_on_an_ideal_network() -> None:
    # Ranks that poll count as working while they wait for each other: the events say 6 s a body,
    # the clock 4 s.
    work = np.zeros((8, 2, 2))
    work[:, 0, 0] = work[:, 1, 1] = 3.0
    whole = tallied(run_of(work, [REDUCE, REDUCE], -2.0), np.arange(8, dtype=np.int32)).whole
    assert whole.run_time_s == pytest.approx(32.0)
    assert whole.transfer == pytest.approx(1.0)
    assert sum(whole.lost_s.values()) + whole.mean_local_s == pytest.approx(32.0)


@pytest.mark.parametrize("ranks", [1, 2, 5, 20])
def test_a_pipeline_goes_as_slow_as_its_first_rank(ranks: int) -> None:
    # Rank p needs what rank p - 1 sent in the body before; the first takes 2 s, the others 1 s.
    # The longest path to body k stays on the first rank, then moves on by a rank a body.
    bodies = 12
    source, target = np.arange(ranks - 1), np.arange(1, ranks)
    network = EventSimulator(
        ranks, Neighbours.of_edges(ranks, source.astype(np.int32), target.astype(np.int32))
    )
    work = np.zeros((bodies, ranks, 2))
    work[:, :, 1] = 1.0
    work[:, 0, 1] = 2.0
    ended = np.empty((bodies, ranks))
    network.walk_cycles(events_of(work, [RECEIVE, SEND]), ended=ended)
    body, rank = np.arange(1, bodies + 1)[:, None], np.arange(ranks)
    np.testing.assert_allclose(ended, np.maximum(2.0 * body - rank, body))


def test_parts_add_up_and_neither_blocks_nor_compiling_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(5)
    work = random.exponential(1.0, (37, 4, 2))
    position = (np.arange(37) % 10).astype(np.int32)
    block = run_of(work, [REDUCE, REDUCE], 0.25)
    parts = tallied(block, position, line(4), windows=3)
    monkeypatch.setattr("hindmost.models.simulation.event_simulator.FEW_EVENTS", 0)
    again = tallied(block, position, line(4), windows=3, rows=7)
    for one, other in (
        (parts.whole, again.whole),
        *zip(
            (window.efficiencies for window in parts.windows),
            (window.efficiencies for window in again.windows),
            strict=True,
        ),
    ):
        ours, theirs = to_document(one), to_document(other)
        assert ours.pop("lost_s") == pytest.approx(theirs.pop("lost_s"))
        assert ours == pytest.approx(theirs)
    assert [(each.first, each.last) for each in parts.windows] == [(0, 10), (10, 20), (20, 37)]
    # Bodies in lockstep: windows share the time out.
    whole = parts.whole
    assert sum(each.efficiencies.run_time_s for each in parts.windows) == pytest.approx(
        whole.run_time_s
    )
    assert whole.ideal_s == pytest.approx(work.max(axis=1).sum())


def test_without_events_nothing_is_split() -> None:
    block = run_of(np.ones((6, 2, 1)), [REDUCE], 1.0)
    bare = BodyBlock(start=block.start, duration=block.duration, local=block.local)
    parts = tallied(bare, np.arange(6, dtype=np.int32))
    assert parts.whole.ideal_s is None
    assert parts.whole.communication == pytest.approx(0.5)
    # One rank waits for nobody: what it does not work is transfer.
    one = slice(0, 1)
    alone = BodyBlock(
        start=block.start[:, one], duration=block.duration[:, one], local=block.local[:, one]
    )
    whole = tallied(alone, (np.arange(6) % 3).astype(np.int32)).whole
    assert whole.serialisation == pytest.approx(1.0)
    assert whole.transfer == pytest.approx(0.5)


def test_events_that_do_not_fit_together_are_refused() -> None:
    network = EventSimulator(1, Neighbours.of_edges(1, NO_EDGES, NO_EDGES))
    with pytest.raises(DataError, match="do not fit together"):
        network.walk_cycles(events_of(np.ones((70, 1, 1)), [POST]))


@pytest.mark.parametrize(
    ("bodies", "cycle", "windows", "borders"),
    [
        (20, 5, 2, [0, 10, 20]),
        (20, 5, 4, [0, 5, 10, 15, 20]),
        (20, 20, 4, [0, 5, 10, 15, 20]),
        (3, 3, 8, [0, 1, 2, 3]),
        (22, 5, 3, [0, 5, 15, 22]),
    ],
)
def test_windows_begin_with_cycles_where_there_are_enough(
    bodies: int, cycle: int, windows: int, borders: list[int]
) -> None:
    position = (np.arange(bodies) % cycle).astype(np.int32)
    assert window_borders(position, windows).tolist() == borders
