"""Control flow of a function as a graph: its loops, and how control comes from here to there.

Loops are nested strongly connected components: a component that control enters from outside at a
block, its header, is a loop; without the edges into that header, the components in it are the loops
inside (Havlak's definition, which takes loops with several entries, too).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

FORWARD = -1
"""Control comes there without beginning an iteration of a loop around both."""
NEVER = -2
"""Control cannot come there without leaving the function."""


@dataclass(frozen=True, slots=True)
class FlowGraph:
    """Blocks 0, 1, ... of a function.

    Attributes
    ----------
    successors : sequence of sequence of int
        Where control can go from each block.
    entry : int
        The block at which the function begins.
    nest : list of tuple of int
        For each block, the headers of the loops that it is in, the outermost first.
    loops : dict of int to set of int
        By header, the blocks of a loop.
    """

    successors: Sequence[Sequence[int]]
    entry: int = 0
    nest: list[tuple[int, ...]] = field(init=False)
    loops: dict[int, set[int]] = field(init=False)
    _ahead: dict[tuple[int, int | None], set[int]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        size = len(self.successors)
        object.__setattr__(self, "nest", [()] * size)
        object.__setattr__(self, "loops", {})
        place = dict.fromkeys(reverse_postorder(self.successors, self.entry))
        place |= dict.fromkeys(range(size))  # what control never reaches comes last
        self._split(set(range(size)), None, (), {block: at for at, block in enumerate(place)})

    def _split(
        self,
        blocks: set[int],
        header: int | None,
        around: tuple[int, ...],
        place: Mapping[int, int],
    ) -> None:
        """Find the loops among some blocks, without the edges into a header."""
        edges = {
            block: [to for to in self.successors[block] if to in blocks and to != header]
            for block in blocks
        }
        for part in components(edges):
            if len(part) == 1 and not any(block in edges[block] for block in part):
                continue
            outside = set(range(len(self.successors))) - part
            entered = {to for block in outside for to in self.successors[block] if to in part}
            if self.entry in part:
                entered.add(self.entry)
            own = min(entered or part, key=place.__getitem__)
            self.loops[own] = part
            for block in part:
                self.nest[block] = (*around, own)
            self._split(part, own, (*around, own), place)

    def step(self, begin: int, end: int, *, later: bool) -> int:
        """Tell how control comes from a place in one block to one in another.

        Parameters
        ----------
        begin, end : int
            Blocks.
        later : bool
            Whether the second place lies behind the first one, if the blocks are the same.

        Returns
        -------
        int
            `FORWARD`, `NEVER`, or the header of the innermost loop around both, which iterates.
        """
        if begin == end and later:
            return FORWARD
        header = shared_loop(self.nest[begin], self.nest[end])
        if (begin, header) not in self._ahead:
            body, avoided = (None, ()) if header is None else (self.loops[header], (header,))
            self._ahead[begin, header] = self.reached(self.successors[begin], body, avoided)
        if end in self._ahead[begin, header]:
            return FORWARD
        return NEVER if header is None else header

    def reached(
        self,
        begins: Iterable[int],
        inside: Collection[int] | None = None,
        avoided: Collection[int] = (),
    ) -> set[int]:
        """Return the blocks to which control comes from the begins of some, these included.

        Parameters
        ----------
        begins : iterable of int
        inside : collection of int, optional
            The blocks in which it stays; else all.
        avoided : collection of int
            Blocks that it does not pass.
        """
        seen: set[int] = set()
        waiting = list(begins)
        while waiting:
            block = waiting.pop()
            if block in seen or block in avoided or (inside is not None and block not in inside):
                continue
            seen.add(block)
            waiting += self.successors[block]
        return seen


def shared_loop(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Return the innermost loop of two nests, None if they share none."""
    shared = None
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        shared = mine
    return shared


def reverse_postorder(successors: Sequence[Sequence[int]], entry: int) -> list[int]:
    """Return the blocks that control reaches from the entry, each before those behind it."""
    seen, order = {entry}, []
    stack: list[tuple[int, Iterator[int]]] = [(entry, iter(successors[entry]))]
    while stack:
        block, rest = stack[-1]
        following = next((to for to in rest if to not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors[following])))
    return order[::-1]


def components(edges: Mapping[int, Collection[int]]) -> Iterable[set[int]]:
    """Return the strongly connected components of a graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {block: at for at, block in enumerate(edges)}
    pairs = [(number[block], number[to]) for block in edges for to in edges[block]]
    begins, ends = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(begins.size), (begins, ends)), shape=(len(edges), len(edges)))
    parts: dict[int, set[int]] = {}
    for block, part in zip(
        edges, connected_components(graph, connection="strong")[1].tolist(), strict=True
    ):
        parts.setdefault(part, set()).add(block)
    return parts.values()
