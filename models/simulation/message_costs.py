"""What messages and collectives of a program cost on a network."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.layout import NodeNetwork, Nodes
from hindmost.models.simulation.message_walk import MessageCosts
from hindmost.models.simulation.messages import Exchange, JointCall, MessageProgram
from hindmost.models.simulation.network import Link


def message_costs(
    program: MessageProgram, network: NodeNetwork, node: Nodes, eager_bytes: float
) -> MessageCosts:
    """Return what a program costs on a network.

    Messages do not contend for it. Collectives of ranks on several nodes take messages between
    nodes in each step.

    Parameters
    ----------
    node : int array, shape (rank,)
    eager_bytes : float
        The largest message that leaves before its receiver has come.
    """
    away = node[program.source] != node[program.destination]
    message_s = np.where(
        away, times_s(network.across, program.bytes), times_s(network.within, program.bytes)
    )
    link = network.across if np.unique(node).size > 1 else network.within

    levels = max((program.ranks - 1).bit_length(), 1)
    unlike = dict.fromkeys(program.collectives)
    steps = {one: collective_s(one, program.ranks, link.time_s) for one in unlike}
    branches = {
        one: [branch_s(one, level, link.time_s) for level in range(levels)] for one in unlike
    }
    return MessageCosts(
        message_s=message_s,
        collective_s=np.array([steps[one] for one in program.collectives]),
        branch_s=np.array([branches[one] for one in program.collectives]).reshape(-1, levels),
        waits=program.synchronous | (program.bytes > eager_bytes),
        in_step=np.array([one.bytes > eager_bytes for one in program.collectives], np.bool_),
        near_s=np.array([network.within.time_s(one.bytes) for one in program.collectives]),
        far_s=np.array([network.across.time_s(one.bytes) for one in program.collectives]),
        node=np.asarray(node, np.int64),
    )


def times_s(link: Link, bytes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time of messages: float64, of the same shape, seconds."""
    sizes, which = np.unique(bytes, return_inverse=True)
    each_s = np.array([link.time_s(size) for size in sizes.tolist()])
    return np.asarray(each_s[which.reshape(-1)])


def collective_s(one: JointCall, ranks: int, message_s: Callable[[float], float]) -> float:
    """Return the time of a collective's steps once the last rank has come, in seconds.

    Steps are those of doubling: after k of them, a rank has heard of 2^k.

    Parameters
    ----------
    message_s : callable
        Seconds of a message of a number of bytes.
    """
    rounds = (ranks - 1).bit_length()
    if one.exchange is Exchange.PAIRS:
        return (ranks - 1) * message_s(one.bytes)
    if one.exchange is Exchange.GROWING:
        known = [1 << each for each in range(rounds)]
        return sum(message_s(one.bytes * min(each, ranks - each)) for each in known)
    if one.exchange is Exchange.HALVING:
        return sum(message_s(one.bytes / (2 << each)) for each in range(rounds))
    return rounds * message_s(one.bytes)


def branch_s(one: JointCall, level: int, message_s: Callable[[float], float]) -> float:
    """Return the time of a message along a branch of a tree that has 2^level ranks, in seconds."""
    carried = 1 << level if one.exchange is Exchange.GROWING else 1
    return message_s(one.bytes * carried)
