"""The ranks of a run that belong to this process, so that many are converted in little memory.

What all ranks have to agree on is found by going through all of them, and only that is kept in
memory. What is made of each rank is made once. Where the ranks of a process are several blocks, it
waits in a file without a name until it is written, block by block.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from hindmost.errors import DataError
from hindmost.harness.attach.raw import RawRank
from hindmost.harness.attach.sections import Matched
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.runfile.writer import BLOCK_BYTES
from hindmost.harness.solo import of_all
from hindmost.output import ProgressLine

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """The ranks of a run that belong to this process, in blocks.

    Attributes
    ----------
    raws : mapping of int to RawRank
        The ranks, by their place in the run.
    blocks : tuple of range
        Of places.
    communicator : MPI.Intracomm or Solo
        Of the processes that have ranks of the run.
    scratch : Path
        A folder for what does not stay in memory.
    line : ProgressLine
        For the person who waits.
    """

    raws: Mapping[int, RawRank]
    blocks: tuple[range, ...]
    communicator: Any
    scratch: Path
    line: ProgressLine

    @classmethod
    def of(
        cls,
        raws: Mapping[int, RawRank],
        sections: Sequence[Matched],
        communicator: Any,
        scratch: Path,
        line: ProgressLine,
    ) -> Blocks:
        """Divide the ranks of a process that take part in some sections."""
        sizes = {
            place: sum(section.parts[place].facts.kept for section in sections) * RECORD.itemsize
            for place in raws
        }
        blocks = blocks_of(sizes)
        return cls(raws=raws, blocks=blocks, communicator=communicator, scratch=scratch, line=line)

    def once(self, make: Callable[[int], T]) -> Kept[T]:
        """Return what makes something of a rank, but no second time."""
        return Kept(make, None if len(self.blocks) == 1 else self.scratch)

    def each(self, what: str) -> Iterator[int]:
        """Go through the ranks of this process.

        Parameters
        ----------
        what : str
            What is done with them, for the person who waits.
        """
        for block in self.blocks:
            yield from self.within(block, what)

    def within(self, block: range, what: str) -> Iterator[int]:
        """Go through the ranks of a block; their records need no memory afterwards."""
        first, last = self.blocks[0].start, self.blocks[-1].stop
        for place in block:
            self.line.show(what, (place - first) / (last - first))
            yield place
        self.line.show(what, (block.stop - first) / (last - first))
        for file in {id(raw.file): raw.file for raw in self.raws.values()}.values():
            file.release()

    def of_all(self, what: str, make: Callable[[int], T]) -> list[T]:
        """Return something of every rank of the run; collective."""
        return of_all(self.communicator, [make(place) for place in self.each(what)])


def blocks_of(sizes: Mapping[int, int]) -> tuple[range, ...]:
    """Divide neighbouring places by the bytes that each takes."""
    blocks, total = list[range](), 0
    first = next(iter(sizes))
    for place, size in sizes.items():
        if place > first and total + size > BLOCK_BYTES:
            blocks.append(range(first, place))
            first, total = place, 0
        total += size
    return (*blocks, range(first, max(sizes) + 1))


class Kept(Generic[T]):
    """What was made of each rank: in memory, or in a file.

    Parameters
    ----------
    make : callable
        Makes it of a rank.
    folder : Path or None
        For the file; None to keep all in memory.
    """

    def __init__(self, make: Callable[[int], T], folder: Path | None) -> None:
        self._make = make
        self._made: dict[int, T] = {}
        self._at: dict[int, int] = {}
        self._file = None
        if folder is not None:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (open as long as this)

    def __call__(self, rank: int) -> T:
        """Return it."""
        if self._file is None:
            if rank not in self._made:
                self._made[rank] = self._make(rank)
            return self._made[rank]
        if rank in self._at:
            self._file.seek(self._at[rank])
            kept: T = pickle.load(self._file)
            return kept
        made = self._make(rank)
        try:
            self._at[rank] = self._file.seek(0, 2)
            pickle.dump(made, self._file, pickle.HIGHEST_PROTOCOL)
            self._file.flush()
        except OSError as error:
            raise DataError(
                f"What was made of {rank + 1} ranks cannot be kept: {error.strerror}. Free some "
                "space where the raw folder is, or convert with more processes."
            ) from error
        return made

    def __del__(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def take(self, rank: int) -> T:
        """Return it for the last time."""
        made = self(rank)
        self._made.pop(rank, None)
        return made


@dataclass(frozen=True, slots=True)
class PerBlock(Sequence[Sequence[T]]):
    """What was made of each rank, block by block."""

    blocks: Blocks
    make: Callable[[int], T]
    what: str

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.blocks.blocks)

    def __getitem__(self, number: Any) -> Any:
        """Return a block."""
        block = self.blocks.blocks[number]
        return [self.make(rank) for rank in self.blocks.within(block, self.what)]
