"""Loops whose ranks wait for each other in many ways are recorded, and replayed as they were."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.mpi.parts import replayed_parts
from tests.programs.attaching import ATTACH, Program, compiled, record_all

from hindmost.analysis.runs.tallies import solve_times
from hindmost.analysis.whatif.study import MISSES
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind

pytestmark = pytest.mark.mpi

Replayed = Callable[..., tuple[Run, slice]]

REDUCE, SEND, RECEIVE = EventKind.REDUCE, EventKind.SEND, EventKind.RECEIVE
POST, COMPLETE = EventKind.POST, EventKind.COMPLETE
KINDS = {
    "rooted": [EventKind.FROM_ROOT, EventKind.TO_ROOT],
    "irooted": [POST, COMPLETE, POST, COMPLETE],
    "gather": [EventKind.FROM_ROOT, EventKind.TO_ROOT],
    "scan": [EventKind.IN_ORDER, EventKind.IN_ORDER],
    "self": [SEND, RECEIVE],
    "onlyself": [REDUCE],
    "nobody": [SEND, RECEIVE, SEND, RECEIVE],
    "persistent": [SEND, RECEIVE],
    "any": [SEND, RECEIVE],
    "some": [SEND, RECEIVE],
    "neighbours": [SEND, RECEIVE],
    "ineighbours": [SEND, RECEIVE],
    "part": [REDUCE, EventKind.FROM_ROOT, SEND, RECEIVE],
    "fence": [REDUCE, SEND, REDUCE],
    "epoch": [SEND, RECEIVE, SEND, RECEIVE],
    "lock": [SEND, REDUCE],
}
"""Of an iteration."""
TRIES, IN_A_ROW, STEPS = 4, 10, 40
ROOTS = {"rooted": 0, "gather": 1}
NEEDED = {0: [0, -1, 0, -1], 1: [0, -1, -1, -1]}
"""Whom each rank needs at the events of ``irooted``: a broadcast from 0, a reduction to 1."""


MESSAGES = ("sweep", "tasks", "master", "communicators")
"""Those whose messages overtake each other, or are sent ahead."""
MARKED: dict[str, tuple[int, tuple[str, ...]]] = {
    "two": (2, tuple(KINDS)),
    "messages": (2, MESSAGES),
    "file": (2, ("file",)),
    "four": (4, ("part", "directions", "sends")),
}
"""Runs of one way after the other: how many ranks, and which ways."""
FOUND = ("rooted", "self", "some")
"""Those whose loop is looked for, without marks."""


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("patterns"), "patterns", f"-I{ATTACH}")


def marked(patterns: Path, ranks: int, ways: Sequence[str]) -> Program:
    return Program(command=(patterns, ",".join(ways), "marks"), ranks=ranks)


def unmarked(patterns: Path, way: str) -> Program:
    return Program(command=(patterns, way), words=("--iterate-at", "auto"), ranks=2)


@pytest.fixture(scope="module")
def recorded(patterns: Path) -> dict[str, list[Run]]:
    """Return the runs of all ways."""
    programs = {name: marked(patterns, *ways) for name, ways in MARKED.items()}
    programs |= {f"{way} found": unmarked(patterns, way) for way in FOUND}
    return record_all(patterns.parent, programs)


@pytest.fixture
def replayed(recorded: dict[str, list[Run]], patterns: Path) -> Replayed:
    """Return what finds the run of a way, and its iterations, of which some in a row are replayed.

    These take as long in a replay as they did. On a busy machine a rank may lose its core inside a
    call, which no replay explains, but not in all iterations. If it does, the way is recorded
    again.
    """

    def of_way(name: str, way: str = "") -> tuple[Run, slice]:
        ranks, ways = MARKED.get(name, (2, ()))
        way = way or name.partition(" ")[0]
        runs, place = recorded[name], ways.index(way) if ways else 0
        misses: list[float] = []
        for attempt in range(TRIES):
            loops = [run for run in runs if run.path.name.startswith("patterns-loop")]
            run = max(loops, key=lambda run: run.path.stat().st_mtime)  # not that of the set-up
            rows = slice(place * STEPS, (place + 1) * STEPS if ways else None)
            parts = replayed_parts(run, IN_A_ROW, rows)
            misses += [abs(part.total_s / recorded_s - 1.0) for part, recorded_s in parts]
            if min(misses, default=1.0) <= MISSES:
                return run, rows
            again, place = f"{way} {attempt}", 0
            program = marked(patterns, ranks, (way,)) if ways else unmarked(patterns, way)
            runs = record_all(patterns.parent, {again: program})[again]
        raise AssertionError(f"{name} {way}: replays miss by {misses}")

    return of_way


@pytest.mark.parametrize("how", KINDS)
def test_a_loop_is_replayed_as_it_was(how: str, replayed: Replayed) -> None:
    run, rows = replayed("two", how)
    kinds, group = run.variable("event_kind")[rows], run.variable("event_group")[rows]
    for row in kinds.tolist():
        assert [kind for kind in row if kind] == KINDS[how]
    if how in ROOTS:
        assert (group[kinds[:, None, :].repeat(2, axis=1) > 0] == ROOTS[how]).all()
    if how == "irooted":
        for rank, needed in NEEDED.items():
            assert (group[:, rank, : len(needed)] == needed).all()


@pytest.mark.parametrize("how", MESSAGES)
def test_each_receipt_waits_for_the_message_that_it_got(how: str, replayed: Replayed) -> None:
    run, rows = replayed("messages", how)
    kind, needs = run.variable("event_kind")[rows], run.variable("event_needs")[rows]
    assert not (kind == EventKind.UNKNOWN).any()
    assert "events_left_out" not in run.header.spec
    # No receipt of a message is of unknown source: each rank has one neighbour, or needs nobody.
    assert np.isin(needs.transpose(0, 2, 1)[kind == RECEIVE], (0, 1)).all()
    if how == "communicators" and run.has("event_behind"):
        # The message of the other communicator was sent last, though the tag is the same.
        assert (run.variable("event_behind")[rows][5:] == 0).all()


@pytest.mark.parametrize("how", FOUND)
def test_set_up_before_a_found_loop_is_not_replayed(how: str, replayed: Replayed) -> None:
    run, _ = replayed(f"{how} found")
    assert run.starts[0].min() > 0.1 > run.lead_in.max()  # five times 20 ms


def test_collectives_of_some_ranks(replayed: Replayed) -> None:
    run, rows = replayed("four", "part")
    group = run.variable("event_group")[rows]
    assert group[5, :, 0].tolist() == [0, 0, 2, 2]
    assert group[5, :, 1].tolist() == [0, 0, 2, 2]
    assert (group[5, :, 2:] == -1).all()


def test_each_direction_waits_for_its_own_neighbour(replayed: Replayed) -> None:
    run, rows = replayed("four", "directions")
    edges, needs = run.edges, run.variable("event_needs")[rows]
    kinds = run.variable("event_kind")[rows]
    assert (kinds[:, :4] == [SEND, RECEIVE, SEND, RECEIVE]).all()
    assert not kinds[:, 4:].any()
    for rank in range(4):
        sources = edges.source[edges.target == rank].tolist()
        assert sorted(sources) == sorted([(rank - 1) % 4, (rank + 1) % 4])
        wanted = [1 << sources.index((rank + way) % 4) for way in (-1, 1)]
        assert (needs[:, rank, :4] == [-1, wanted[0], -1, wanted[1]]).all()
    third = rows.start + 3
    of_fit = solve_times(run).event_block(slice(third, third + 2)).group
    assert of_fit is not None
    assert np.array_equal(of_fit, needs[3:5])


def test_a_blocking_send_needs_nobody(replayed: Replayed) -> None:
    """Nor does who is told something wait until its sender sends to others, a millisecond later."""
    run, rows = replayed("four", "sends")
    spent, needs = (run.variable(f"event_{name}")[rows][:, 3] for name in ("duration", "needs"))
    receipt = (run.variable("event_kind")[rows] == RECEIVE) & (spent > 0.0)
    last = receipt.shape[1] - 1 - receipt[:, ::-1].argmax(axis=1)
    assert (needs[np.arange(len(needs)), last] == 0).all()  # the last is a send


def test_access_to_files_is_not_the_network(replayed: Replayed) -> None:
    run, _ = replayed("file", "file")
    assert (run.phase("unclassified").sum(axis=0) > 0.0).all()
    kinds = run.variable("event_kind")
    inside = np.where(kinds[:, None, :] > 0, run.variable("event_duration"), 0.0).sum(axis=(0, 2))
    halo_wait = run.phase("halo") + run.phase("wait") + run.phase("post")
    np.testing.assert_allclose(inside, halo_wait.sum(axis=0), rtol=1e-3)
