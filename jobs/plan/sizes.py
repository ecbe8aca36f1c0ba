"""How many nodes a number of ranks takes, and what a machine refuses."""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.errors import UsageError
from hindmost.jobs.study.machine import Machine


@dataclass(frozen=True, slots=True)
class Size:
    """Ranks on nodes, as evenly as can be."""

    ranks: int
    ranks_per_node: int
    nodes: int


def size_on(machine: Machine, ranks: int, ranks_per_node: int | None = None) -> Size:
    """Put ranks on the nodes of a machine.

    Parameters
    ----------
    ranks_per_node : int or None
        None for as few nodes as hold one rank a core, all with equally many, or one less on the
        last.

    Raises
    ------
    UsageError
        More ranks on a node than cores, or more nodes than there are.
    """
    most = machine.nodes
    each = ranks_per_node or machine.cores_per_node
    nodes = -(-ranks // each)
    if most is not None and nodes > most and machine.oversubscribe and ranks_per_node is None:
        nodes = most
    if ranks_per_node is None:
        each = -(-ranks // nodes)
    each = min(each, ranks)
    if each > machine.cores_per_node and not machine.oversubscribe:
        raise UsageError(
            f"{each} ranks on a node of '{machine.name}', which has {machine.cores_per_node} "
            f"cores: choose fewer ranks_per_node, or set machine.{machine.name}.oversubscribe = "
            "true."
        )
    if most is not None and nodes > most:
        cores = f"{machine.cores_per_node} core{'s' if machine.cores_per_node > 1 else ''}"
        raise UsageError(
            f"{ranks} ranks need {nodes} nodes of '{machine.name}' ({cores} each), and an "
            f"allocation has at most {most}: choose fewer ranks (--set ranks=..., or sweep.only), "
            f"another machine, or set machine.{machine.name}.oversubscribe = true."
        )
    return Size(ranks, each, nodes)
