"""A walk through a program message by message: the earliest time at which each operation is over.

With s the time at which a message is sent, r that at which its receive is posted, and T how long it
takes, it is there at s + T if it is small (eager), and else at max(s, r) + T (rendezvous), until
when it keeps its sender too. A rank goes on at the largest time that it waits for. These are maxima
of sums, as in `hindmost.models.simulation.event_simulator`; here each rank walks on its own until
it waits for what has not happened, and the ranks that it releases walk on after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from benchmarks.traces.messages import (
    Exchange,
    JointCall,
    MessageProgram,
    Operation,
    Pattern,
)
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.compiled import declared
from hindmost.models.simulation.event_simulator import FEW_EVENTS
from hindmost.models.simulation.network import Link, NodeNetwork, Nodes
from hindmost.models.simulation.path import PathTimes
from hindmost.text import first_of


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

    unlike = dict.fromkeys(program.collectives)
    steps = {one: collective_s(one, program.ranks, link.time_s) for one in unlike}
    carried = {one: branch_bytes(one, program.ranks) for one in unlike}
    branches = {one: [link.time_s(size) for size in sizes] for one, sizes in carried.items()}
    waiting = {one: [size > eager_bytes for size in sizes] for one, sizes in carried.items()}
    columns = 2 * levels_of(program.ranks)
    return MessageCosts(
        message_s=message_s,
        collective_s=np.array([steps[one] for one in program.collectives]),
        branch_s=np.array([branches[one] for one in program.collectives]).reshape(-1, columns),
        waits=program.synchronous | (program.bytes > eager_bytes),
        in_step=np.array([waiting[one] for one in program.collectives]).reshape(-1, columns),
        largest_first=np.array([one.name == "bcast" for one in program.collectives], np.bool_),
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


def levels_of(ranks: int) -> int:
    """Return how many levels of branches a tree of ranks has, at least one."""
    return max((ranks - 1).bit_length(), 1)


def branch_bytes(one: JointCall, ranks: int) -> list[float]:
    """Return the bytes along a whole branch of each level of a tree, and along its last branch.

    A whole branch of a level has 2^level ranks. The last one may have fewer.
    """
    sizes = [1 << level for level in range(levels_of(ranks))]
    # The last branch of a level begins at the greatest odd multiple of its size.
    lasts = [ranks - size * (2 * ((ranks - size - 1) // (2 * size)) + 1) for size in sizes]
    held = [*sizes, *map(min, sizes, lasts)]
    return [one.bytes * (each if one.exchange is Exchange.GROWING else 1) for each in held]


NOTHING, SEND, POST, SENT, RECEIVED, ENTER, LEAVE = (int(each) for each in Operation)
ALL, FROM_ROOT, TO_ROOT, PREFIX, DOUBLING = (int(each) for each in Pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCosts:
    """How long messages take, and the steps of collectives.

    Attributes
    ----------
    message_s : float64 array, shape (message,), seconds
    collective_s : float64 array, shape (collective,), seconds
        Of all steps, once the last rank has come; not of trees and doubling.
    branch_s : float64 array, shape (collective, 2 x level), seconds
        Of a message along whole branches of a tree, and along the last one of each level; see
        `branch_bytes`.
    waits : bool array, shape (message,)
        Whether a message leaves only when its receiver has come (rendezvous).
    in_step : bool array, shape (collective, 2 x level)
        Whether messages of trees and doubling leave only when their receivers have come.
    largest_first : bool array, shape (collective,)
        Whether a rank serves the largest branch of a tree first.
    near_s, far_s : float64 array, shape (collective,), seconds
        Of a message of it within a node, and between nodes.
    node : int64 array, shape (rank,)
    """

    message_s: NDArray[np.float64]
    collective_s: NDArray[np.float64]
    branch_s: NDArray[np.float64]
    waits: NDArray[np.bool_]
    in_step: NDArray[np.bool_]
    largest_first: NDArray[np.bool_]
    near_s: NDArray[np.float64]
    far_s: NDArray[np.float64]
    node: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageWalk:
    """Where a walk leads.

    Attributes
    ----------
    end_s : float64 array, shape (rank,), seconds
        When each rank is through.
    path : PathTimes
        The longest path.
    """

    end_s: NDArray[np.float64]
    path: PathTimes

    @property
    def total_s(self) -> float:
        """When the last rank is through."""
        return float(self.end_s.max(initial=0.0))


def walk_messages(
    program: MessageProgram, costs: MessageCosts, slowness: NDArray[np.float64]
) -> MessageWalk:
    """Walk through a program, and back along its longest path.

    Parameters
    ----------
    program : MessageProgram
    costs : MessageCosts
    slowness : float64 array, shape (rank,)
        Factor of the work of each rank.

    Raises
    ------
    DataError
        Ranks wait for each other in a circle.
    """
    ranks, operations = program.ranks, program.kind.size
    work = program.work * slowness[program.rank_of]
    clock = np.zeros(ranks)
    next_one = program.first[:-1].copy()
    by, cost = np.full(operations, -1, np.int64), np.zeros(operations)
    collectives = program.collectives
    walk = advance.loop if operations < FEW_EVENTS else advance
    walk(
        program.first,
        program.kind,
        program.target,
        work,
        program.source.astype(np.int64),
        program.destination.astype(np.int64),
        costs.message_s,
        costs.waits,
        np.array([collective.pattern for collective in collectives], np.int64),
        np.array([collective.root for collective in collectives], np.int64),
        costs.collective_s,
        costs.branch_s,
        costs.in_step,
        costs.largest_first,
        costs.near_s,
        costs.far_s,
        costs.node,
        clock,
        next_one,
        by,
        cost,
    )
    if (next_one < program.first[1:]).any():
        raise DataError(circle(program, next_one))
    after = program.after * slowness
    end = clock + after
    path, last = PathTimes.none(ranks), int(end.argmax())
    path.work[last] += after[last]
    path.visits[last] += 1
    loop = follow.loop if operations < FEW_EVENTS else follow
    loop(program.first, program.rank_of, work, by, cost, last, path.work, path.cost, path.visits)
    return MessageWalk(end_s=end, path=path)


@declared(
    "(i8[::1], u1[::1], i8[::1], f8[::1], i8[::1], i8[::1], f8[::1], b1[::1], i8[::1], "
    "i8[::1], f8[::1], f8[:,::1], b1[:,::1], b1[::1], f8[::1], f8[::1], i8[::1], f8[::1], "
    "i8[::1], i8[::1], f8[::1])"
)
def advance(
    first: NDArray[np.int64],
    kind: NDArray[np.uint8],
    target: NDArray[np.int64],
    work: NDArray[np.float64],
    source: NDArray[np.int64],
    destination: NDArray[np.int64],
    message_s: NDArray[np.float64],
    waits: NDArray[np.bool_],
    pattern: NDArray[np.int64],
    root: NDArray[np.int64],
    collective_s: NDArray[np.float64],
    branch_s: NDArray[np.float64],
    in_step: NDArray[np.bool_],
    largest_first: NDArray[np.bool_],
    near_s: NDArray[np.float64],
    far_s: NDArray[np.float64],
    node: NDArray[np.int64],
    clock: NDArray[np.float64],
    next_one: NDArray[np.int64],
    by: NDArray[np.int64],
    cost: NDArray[np.float64],
) -> None:
    """Advance the clock of every rank as far as it goes.

    ``by`` is filled with the operation that released each one, -1 where nobody was waited for, and
    ``cost`` with how long it took from then on.
    """
    ranks = clock.size
    sent, posted = np.full(source.size, -1.0), np.full(source.size, -1.0)
    send_at, post_at = np.zeros(source.size, np.int64), np.zeros(source.size, np.int64)
    # Of collectives, by number x ranks + rank: when ranks came and may leave, and who says so.
    entered = np.zeros(pattern.size * ranks)
    entered_at = np.zeros(pattern.size * ranks, np.int64)
    released = np.zeros(pattern.size * ranks)
    releasing = np.zeros(pattern.size * ranks, np.int64)
    missing = np.full(pattern.size, ranks)
    # Ranks that may go on, as a stack in which each is at most once.
    stack, there = np.arange(ranks), np.ones(ranks, np.bool_)
    height = ranks
    worked = np.zeros(ranks, np.bool_)  # whether a rank that waits has done its work before
    while height > 0:
        height -= 1
        rank = stack[height]
        there[rank] = False
        while next_one[rank] < first[rank + 1]:
            here = next_one[rank]
            what, aim = kind[here], target[here]
            if not worked[rank]:
                clock[rank] += work[here]
                worked[rank] = True
            wakes = -1
            if what == SEND:
                sent[aim], send_at[aim] = clock[rank], here
                wakes = destination[aim]
            elif what == POST:
                posted[aim], post_at[aim] = clock[rank], here
                wakes = source[aim]
            elif what == ENTER:
                number = aim // ranks
                begin = number * ranks
                entered[aim], entered_at[aim] = clock[rank], here
                missing[number] -= 1
                if missing[number] == 0:
                    # All ranks have come: when may each leave, and whom did it wait for?
                    origin = root[number]
                    if pattern[number] == DOUBLING:
                        power = 1
                        while 2 * power <= ranks:
                            power *= 2
                        folded = ranks - power
                        for slot in range(begin, begin + ranks):
                            released[slot], releasing[slot] = entered[slot], slot
                        # Of each pair of the first ranks, the even one hands its data to the odd
                        # one (distance 0), and gets the result in the end (distance ``power``).
                        distance = 0
                        while distance <= power:
                            fold = distance == 0 or distance == power
                            for place in range(folded if fold else power):
                                other = place if fold else place ^ distance
                                if other < place:
                                    continue
                                one = 2 * place + 1 if place < folded else place + folded
                                two = 2 * other + 1 if other < folded else other + folded
                                if fold:
                                    two = one - 1
                                far = node[one] != node[two]
                                took = far_s[number] if far else near_s[number]
                                left, right = begin + one, begin + two
                                at_left, at_right = released[left], released[right]
                                by_left, by_right = releasing[left], releasing[right]
                                if in_step[number, 0]:
                                    # Both wait until both have come and the message is there.
                                    if at_right > at_left:
                                        at_left, by_left = at_right, by_right
                                    released[left] = released[right] = at_left + took
                                    releasing[left] = releasing[right] = by_left
                                    continue
                                if distance < power and at_right + took > at_left:
                                    released[left], releasing[left] = at_right + took, by_right
                                if distance > 0 and at_left + took > at_right:
                                    released[right], releasing[right] = at_left + took, by_left
                            distance = 2 * distance if distance else 1
                    elif pattern[number] == ALL or pattern[number] == PREFIX:
                        latest = begin
                        if pattern[number] == ALL:
                            for slot in range(begin, begin + ranks):
                                if entered[slot] > entered[latest]:
                                    latest = slot
                        for slot in range(begin, begin + ranks):
                            if pattern[number] == PREFIX and entered[slot] > entered[latest]:
                                latest = slot
                            released[slot] = entered[latest] + collective_s[number]
                            releasing[slot] = latest
                    else:
                        # Trees: counted from the root, a rank's parent lacks its lowest bit. A
                        # broadcast goes down the largest branch first, all else the smallest.
                        for slot in range(begin, begin + ranks):
                            released[slot], releasing[slot] = entered[slot], slot
                        down = pattern[number] == FROM_ROOT
                        for step in range(ranks):
                            place = step if down else ranks - 1 - step
                            children = 0
                            while place + (1 << children) < ranks and not place >> children & 1:
                                children += 1
                            for each in range(children):
                                level = children - 1 - each if largest_first[number] else each
                                child = place + (1 << level)
                                giver = begin + (place + origin) % ranks
                                taker = begin + (child + origin) % ranks
                                if child + (1 << level) > ranks:  # the last branch
                                    level += branch_s.shape[1] // 2
                                if not down:
                                    giver, taker = taker, giver
                                come, reason = released[giver], releasing[giver]
                                if in_step[number, level] and released[taker] > come:
                                    come, reason = released[taker], releasing[taker]
                                come += branch_s[number, level]
                                if come > released[taker]:
                                    released[taker], releasing[taker] = come, reason
                                if in_step[number, level]:
                                    released[giver], releasing[giver] = come, reason
                    for other in range(ranks):
                        if other != rank and not there[other]:
                            stack[height] = other
                            there[other] = True
                            height += 1
            elif what != NOTHING:
                # Until when is the rank kept? It stops here if that is not known yet.
                until, reason, took = -1.0, -1, 0.0
                if what == LEAVE:
                    if missing[aim // ranks] > 0:
                        break
                    until, reason = released[aim], entered_at[releasing[aim]]
                    took = until - entered[releasing[aim]]
                elif what == RECEIVED or waits[aim]:
                    if sent[aim] < 0.0 or (waits[aim] and posted[aim] < 0.0):
                        break
                    until, reason, took = sent[aim], send_at[aim], message_s[aim]
                    if waits[aim] and posted[aim] > until:
                        until, reason = posted[aim], post_at[aim]
                    until += took
                if until > clock[rank]:
                    clock[rank] = until
                    by[here], cost[here] = reason, took
            if wakes >= 0 and wakes != rank and not there[wakes]:
                stack[height] = wakes
                there[wakes] = True
                height += 1
            next_one[rank] += 1
            worked[rank] = False


@declared("(i8[::1], i8[::1], f8[::1], i8[::1], f8[::1], i8, f8[::1], f8[::1], i8[::1])")
def follow(
    first: NDArray[np.int64],
    rank_of: NDArray[np.int64],
    work: NDArray[np.float64],
    by: NDArray[np.int64],
    cost: NDArray[np.float64],
    rank: int,
    works: NDArray[np.float64],
    costs: NDArray[np.float64],
    visits: NDArray[np.int64],
) -> None:
    """Follow what released each operation, from the last one of a rank back."""
    here = first[rank + 1] - 1
    while here >= first[rank]:
        if by[here] >= 0:
            costs[rank] += cost[here]
            here = by[here]
            if rank_of[here] != rank:
                rank = rank_of[here]
                visits[rank] += 1
        works[rank] += work[here]
        here -= 1


def circle(program: MessageProgram, next_one: NDArray[np.int64]) -> str:
    """Say which ranks wait for each other in a circle."""
    stuck = np.flatnonzero(next_one < program.first[1:])
    rank, seen = int(stuck[0]), list[int]()
    while rank not in seen:
        seen.append(rank)
        here = int(next_one[rank])
        what, aim = int(program.kind[here]), int(program.target[here])
        if what == LEAVE:
            # Some rank has not begun this collective: it is stuck before.
            number = aim // program.ranks
            entering = (program.kind == ENTER) & (program.target // program.ranks == number)
            rank = next(
                int(program.rank_of[each])
                for each in np.flatnonzero(entering)
                if each >= next_one[program.rank_of[each]]
            )
        else:
            rank = int((program.source if what == RECEIVED else program.destination)[aim])
    ring = seen[seen.index(rank) :]
    named = first_of([f"rank {each} {says(program, int(next_one[each]))}" for each in ring], "; ")
    return (
        f"Ranks wait for each other in a circle: {named}. Either the traces do not belong "
        "together, or the program relies on messages that leave before their receivers have come."
    )


def says(program: MessageProgram, operation: int) -> str:
    """Say what an operation waits for, and where it stands."""
    what, aim = int(program.kind[operation]), int(program.target[operation])
    where = program.at(operation)
    if what == LEAVE:
        return f"waits in {program.collectives[aim // program.ranks].name} ({where})"
    if what == RECEIVED:
        return f"waits for a message of rank {program.source[aim]} ({where})"
    return f"waits until rank {program.destination[aim]} receives its message ({where})"
