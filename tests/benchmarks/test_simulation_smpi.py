"""The comparison with SMPI: both sides of it on a few ranks."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmarks.simulation_smpi import (
    GOAL_ERROR,
    HALO_BYTES,
    LINK,
    REDUCED_BYTES,
    ROOTED,
    Solve,
    both_replays,
    rooted_replays,
)


def by_hand(solve: Solve) -> float:
    """The time of a solve on four ranks, event by event."""
    halo, message = LINK.time_s(HALO_BYTES), LINK.time_s(REDUCED_BYTES)
    clock = np.zeros(4)
    for work in solve.work:
        posted = clock.max()
        padded = np.concatenate([clock[:1], clock, clock[-1:]])
        clock = np.max([padded[:-2], padded[1:-1], padded[2:]], axis=0) + halo + work
        if solve.blocking:
            clock[:] = clock.max() + 2 * message
        else:
            clock = np.maximum(clock, posted + message)
    return float(clock.max())


@pytest.mark.parametrize("blocking", [True, False])
def test_hindmost_walks_through_the_solve(blocking: bool) -> None:
    solve = Solve.of(4, 6, blocking=blocking)
    assert solve.walked()[0] == pytest.approx(by_hand(solve), rel=1e-12)


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid is not installed")
def test_smpi_replays_the_same_solve(blocking: bool) -> None:
    solve = Solve.of(4, 6, blocking=blocking)
    assert solve.replayed()[0] == pytest.approx(by_hand(solve), rel=1e-3)


def test_traces_have_all_ranks(tmp_path: Path) -> None:
    Solve.of(4, 2, blocking=False).write_trace(tmp_path)
    lines = (tmp_path / "rank1").read_text().splitlines()
    assert lines[0] == "1 init"
    assert lines[-1] == "1 finalize"
    # Three others and two neighbours, in both directions, in two iterations.
    assert sum(line.startswith(("1 isend", "1 irecv")) for line in lines) == 2 * 2 * (3 + 2)
    assert len((tmp_path / "trace").read_text().split()) == 4


@pytest.mark.skipif(
    shutil.which("smpirun") is None or shutil.which("smpicc") is None,
    reason="SimGrid is not installed",
)
@pytest.mark.parametrize(("ranks", "eager_bytes"), [(4, 0), (6, 65536)])
def test_the_trace_of_a_program_takes_as_long_in_both(ranks: int, eager_bytes: int) -> None:
    theirs_s, ours_s = both_replays(ranks, 30, eager_bytes)
    assert ours_s == pytest.approx(theirs_s, rel=GOAL_ERROR)


@pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid is not installed")
@pytest.mark.parametrize("eager_bytes", [0, 65536])
@pytest.mark.parametrize("name", ROOTED)
def test_rooted_collectives_take_as_long_in_both(name: str, eager_bytes: int) -> None:
    theirs_s, ours_s = rooted_replays(ROOTED[name], 6, eager_bytes)
    assert ours_s == pytest.approx(theirs_s, rel=GOAL_ERROR)
