"""A trace of messages replayed on a machine with a change, message by message."""

from __future__ import annotations

from pathlib import Path

from benchmarks.traces.message_walk import message_costs, walk_messages
from benchmarks.traces.smpi_trace import read_smpi_trace

from hindmost.analysis.whatif.targets import network_of
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.network import nodes_of
from hindmost.models.simulation.rerun import ReplayedSolve

EAGER_BYTES = 1 << 16
"""The largest message that leaves before its receiver has come, if nothing else is said."""


def replay_trace(
    path: Path,
    machine: Machine,
    flops_per_s: float,
    *,
    change: Change | None = None,
    eager_bytes: int = EAGER_BYTES,
) -> ReplayedSolve:
    """Replay a trace of SMPI on a machine.

    Parameters
    ----------
    flops_per_s : float
        Of the ranks.
    change : Change, optional
        Of latency, bandwidth or speeds.
    eager_bytes : int
        The largest message that leaves before its receiver has come.

    Raises
    ------
    DataError
        The trace cannot be read, the machine has no network, or ranks wait for each other in a
        circle.
    """
    change = change or Change()
    program = read_smpi_trace(path, flops_per_s)
    network = network_of(machine, ()).network.changed(
        change.latency, change.more_latency_s, change.bandwidth
    )
    node = nodes_of(program.ranks, machine.ranks_per_node)
    costs = message_costs(program, network, node, eager_bytes)
    found = walk_messages(program, costs, change.slowness(program.ranks))
    return ReplayedSolve(total_s=found.total_s, iterating_s=found.total_s, path=found.path)
