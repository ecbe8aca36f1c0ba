"""What `show` says of communication between nodes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import made_header, run_values

from hindmost.analysis.runs.summary import link_words, summarise_run
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.ranks.links import LinkCost


def network(folder: Path, **other: Any) -> list[str]:
    """Return the lines on the network of a run whose reductions take 3 us after the last rank."""
    values = {**run_values(iterations=40, ranks=3, restart=10, seed=1), **other}
    summary = summarise_run(open_run(write_whole(folder, made_header(), values)))
    return [line for line in summary.lines() if line.startswith("  network")]


def test_the_two_nodes_are_named(tmp_path: Path) -> None:
    (line,) = network(tmp_path, host=["büro-1", "büro-2", "büro-1"])
    assert line.startswith("  network     between büro-1 and büro-2: 3.00 us a reduction (5 % of")


def test_nothing_is_said_without_two_nodes_or_events(tmp_path: Path) -> None:
    assert network(tmp_path) == []
    kept = run_values(iterations=40, ranks=3, restart=10, seed=1)
    without = {name: each for name, each in kept.items() if not name.startswith("event_")}
    run = open_run(write_whole(tmp_path, made_header(), {**without, "host": ["a", "b", "b"]}))
    assert summarise_run(run).links == []


@pytest.mark.parametrize("name", ["event_work", "event_duration"])
def test_nothing_is_said_of_impossible_events(tmp_path: Path, name: str) -> None:
    wrong = np.full((40, 3, 1), np.nan, np.float32)
    assert network(tmp_path, host=["a", "b", "a"], **{name: wrong}) == []


@pytest.mark.parametrize(("clock_s", "said"), [(1e-5, False), (2e-3, True)])
def test_the_dearest_link_and_what_it_compares_with(clock_s: float, said: bool) -> None:
    def link(*nodes: str, message_s: float, share: float) -> LinkCost:
        return LinkCost(
            nodes=nodes, message_s=message_s, reduction_s=None, clock_s=clock_s, share=share
        )

    words = link_words(
        [
            link("a", message_s=1e-6, share=0.5),
            link("b", "c", message_s=2e-3, share=0.3),
            link("a", "b", message_s=3e-5, share=0.0),
            link("a", "c", message_s=5e-5, share=0.0),
        ]
    )
    clocks = ", to +-2.00 ms of the clocks" if said else ""
    assert words == (
        f"between b and c: 2.00 ms a message{clocks} (30 % of the ranks' time); "
        "between other nodes: 40.0 us a message; within a node: 1.00 us a message"
    )
