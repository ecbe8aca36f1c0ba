"""Traces replayed on a machine: times by hand."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks.traces.replay import replay_trace

from hindmost.errors import DataError
from hindmost.models.adaptive.machine import Machine, Network
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.network import Link, Piece

LINK, FAR = (
    Link(pieces=(Piece(from_bytes=0, latency_s=each, per_byte_s=1e-6),)) for each in (1e-3, 5e-3)
)
NEAR = Machine(name="small", ranks_per_node=2, network=Network(within=LINK, within_both_ways=LINK))
SPREAD = Machine(
    name="spread",
    ranks_per_node=1,
    network=Network(within=LINK, within_both_ways=LINK, across=FAR),
)
TRACE = """\
0 init
0 compute 2e6
0 send 1 0 1000 2
0 finalize
1 init
1 recv 0 0 1000 2
1 compute 1e6
1 finalize
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.ti"
    path.write_text(TRACE)
    return path


@pytest.mark.parametrize(
    ("change", "expected_s"),
    [
        ({}, 5e-3),  # 2 ms of work, 1 ms and 1000 bytes of a message, 1 ms of work
        ({"latency": 2.0}, 6e-3),
        ({"more_latency_s": 3e-3}, 8e-3),
        ({"bandwidth": 0.5}, 6e-3),
        ({"every_speed": 2.0}, 3.5e-3),
        ({"speed": {1: 0.5}}, 6e-3),
    ],
)
def test_changes_change_the_time(trace: Path, change: dict[str, Any], expected_s: float) -> None:
    found = replay_trace(trace, NEAR, 1e9, change=Change(**change))
    assert found.total_s == pytest.approx(expected_s)
    assert found.path.work.sum() + found.path.cost.sum() == pytest.approx(expected_s)


def test_ranks_on_several_nodes_take_the_link_between_them(trace: Path) -> None:
    assert replay_trace(trace, SPREAD, 1e9).total_s == pytest.approx(9e-3)


def test_large_messages_wait_for_their_receiver(trace: Path) -> None:
    late = TRACE.replace("1 recv", "1 compute 4e6\n1 recv")
    for bytes, expected_s in (("1000", 5e-3), ("100000", 4e-3 + 101e-3 + 1e-3)):
        trace.write_text(late.replace("1000", bytes))
        assert replay_trace(trace, NEAR, 1e9).total_s == pytest.approx(expected_s)


def test_a_circle_names_file_and_line(trace: Path) -> None:
    trace.write_text(
        "0 init\n0 Ssend 1 0 1\n0 recv 1 0 1\n0 finalize\n"
        "1 init\n1 Ssend 0 0 1\n1 recv 0 0 1\n1 finalize\n"
    )
    with pytest.raises(DataError, match=r"circle: rank 0 waits until .*trace\.ti, line 2"):
        replay_trace(trace, NEAR, 1e9)
