"""The ranks of a run in blocks, so that a program of many ranks is converted in little memory.

What all ranks have to agree on is found by going through all of them, and only that is kept. What a
run file has of each rank is then made, written and dropped, block by block. The records stay in
their files, so they may be read again; where all ranks are one block, nothing is made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from hindmost.harness.attach.raw import RawProgram
from hindmost.harness.attach.sections import Matched
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.runfile.writer import BLOCK_BYTES
from hindmost.output import ProgressLine

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Blocks:
    """The ranks of a run in blocks.

    Attributes
    ----------
    program : RawProgram
    blocks : tuple of range
        Of ranks, by their place in the run.
    line : ProgressLine
        For the person who waits.
    """

    program: RawProgram
    blocks: tuple[range, ...]
    line: ProgressLine

    @classmethod
    def of(cls, program: RawProgram, sections: Sequence[Matched], line: ProgressLine) -> Blocks:
        """Divide the ranks of a run of some sections."""
        blocks, first, total = [], 0, 0
        kept = [[part.facts.kept for part in section.parts] for section in sections]
        sizes = [sum(of_rank) * RECORD.itemsize for of_rank in zip(*kept, strict=True)]
        for rank, size in enumerate(sizes):
            if rank > first and total + size > BLOCK_BYTES:
                blocks.append(range(first, rank))
                first, total = rank, 0
            total += size
        return cls(program, (*blocks, range(first, len(sizes))), line)

    def once(self, make: Callable[[int], T]) -> Callable[[int], T]:
        """Return what makes something of a rank; it keeps that if all ranks are one block."""
        return cache(make) if len(self.blocks) == 1 else make

    def each(self, what: str) -> Iterator[int]:
        """Go through all ranks.

        Parameters
        ----------
        what : str
            What is done with them, for the person who waits.
        """
        for block in self.blocks:
            yield from self.within(block, what)

    def within(self, block: range, what: str) -> Iterator[int]:
        """Go through the ranks of a block; their records need no memory afterwards."""
        ranks = self.blocks[-1].stop
        for rank in block:
            self.line.show(what, rank / ranks)
            yield rank
            self.line.show(what, (rank + 1) / ranks)
        self.program.release()


@dataclass(frozen=True, slots=True)
class PerBlock(Generic[T]):
    """What is made of each rank, block by block, as often as somebody goes through it."""

    blocks: Blocks
    make: Callable[[int], T]
    what: str

    def __iter__(self) -> Iterator[Sequence[T]]:
        """Go through the blocks."""
        for block in self.blocks.blocks:
            yield [self.make(rank) for rank in self.blocks.within(block, self.what)]
