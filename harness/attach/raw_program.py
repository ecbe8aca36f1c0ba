"""The raw files of all nodes of a program, which one or several processes read.

Each process reads some files, and each rank then belongs to one process, which alone looks at its
records. What all processes know of a rank are its `RankFacts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError
from hindmost.files import matching, reason
from hindmost.harness.attach.raw import (
    PATTERN,
    SUFFIX,
    TABLES,
    VERSION,
    RawRank,
    UnreadableError,
    kept_once,
    read_node,
)
from hindmost.harness.attach.raw_json import End, Program
from hindmost.harness.attach.samples import where_threads_stood
from hindmost.harness.rank_failures import on_all, on_root
from hindmost.harness.runfile.contexts import PYTHON, CallContexts, line_of
from hindmost.harness.solo import Solo, of_all
from hindmost.output import ProgressLine


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFacts:
    """What is known of a rank without its records.

    Attributes
    ----------
    program : Program
    clocks, options, end, torn, odd
        See `RawRank`.
    sections : int
        How many it began.
    stood : str
        The innermost line of Python of its last call, in parentheses; empty without any.
    threads : tuple of str
        Where its threads stood when a signal ended it, as far as samples tell.
    """

    program: Program
    clocks: NDArray[np.int64]
    options: dict[str, str]
    end: End | None
    torn: str
    odd: tuple[str, ...]
    sections: int
    stood: str
    threads: tuple[str, ...]

    @classmethod
    def of(cls, raw: RawRank) -> RankFacts:
        """Return those of a rank that was read."""
        return cls(
            program=raw.program,
            clocks=raw.clocks.copy(),
            options=raw.options,
            end=raw.end,
            torn=raw.torn,
            odd=tuple(raw.odd),
            sections=len(raw.sections),
            stood=python_place(raw),
            threads=where_threads_stood(raw) if raw.end is not None and raw.end.signal else (),
        )

    def shared(self) -> RankFacts:
        """Return them with the names of calls that other ranks have, too, kept once."""
        names, classes = self.program.call_names, self.program.call_classes
        program = replace(
            self.program, call_names=kept_once(names), call_classes=kept_once(classes)
        )
        return replace(self, program=program)


def python_place(raw: RawRank) -> str:
    """Return the innermost line of Python of the last call; empty for a program without any."""
    table, end = raw.contexts, raw.end
    if end is None or end.last_context >= table.count:
        return ""
    lines = [at for at in table.chain(end.last_context).tolist() if table.module[at] == PYTHON]
    if not lines:
        return ""
    code = table.codes[int(table.function[lines[-1]])]
    file = code.file.rpartition("/")[2]
    return f" ({code.function}, {file}:{line_of(int(table.offset[lines[-1]]))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawProgram:
    """A raw folder.

    Attributes
    ----------
    folder : Path
    ranks : dict of int to RankFacts
        Those that left a readable file.
    here : dict of int to RawRank
        Of these, those of this process.
    size : int
        Ranks of the program.
    unreadable : tuple of str
        Why files of ranks could not be read.
    communicator : MPI.Intracomm or Solo
        Of the processes that convert it.
    """

    folder: Path
    ranks: dict[int, RankFacts]
    here: dict[int, RawRank]
    size: int
    unreadable: tuple[str, ...]
    communicator: Any

    @property
    def name(self) -> str:
        """The folder's name, which is that of the program and a number."""
        return self.folder.name.removesuffix(SUFFIX)

    @property
    def first(self) -> RankFacts:
        """The first rank that left a file."""
        return self.ranks[min(self.ranks)]

    @property
    def finished(self) -> bool:
        """Whether every rank wrote its end."""
        return len(self.ranks) == self.size and all(rank.end for rank in self.ranks.values())


def read_program(
    folder: Path, line: ProgressLine | None = None, communicator: Any = None
) -> RawProgram:
    """Read a raw folder; collective.

    Parameters
    ----------
    line : ProgressLine, optional
        For the person who waits.
    communicator : MPI.Intracomm, optional
        Of the processes that share the ranks; None for this one alone.

    Raises
    ------
    UnreadableError
        The folder or a file cannot be read here.
    DataError
        No rank left a usable file, or the files are of different programs.
    """
    communicator = communicator or Solo()
    paths = on_root(communicator, lambda: raw_files(folder))

    def read_mine() -> list[tuple[int, dict[int, RawRank], list[str]]]:
        found = []
        for number in range(communicator.rank, len(paths), communicator.size):
            if line is not None:
                line.show("reading", number / len(paths))
            found.append((number, *read_node(paths[number])))
        return found

    read = on_all(communicator, read_mine)
    here = {rank: raw for _, ranks, _ in read for rank, raw in ranks.items()}
    files = of_all(communicator, [(number, list(ranks), why) for number, ranks, why in read])
    unreadable: list[str] = []
    known = set[int]()
    for number, ranks, why in sorted(files):
        if twice := known.intersection(ranks):
            raise DamagedFileError(
                f"{paths[number]}: another file has records of rank {min(twice)}, too."
            )
        known.update(ranks)
        unreadable += why
    if not known:
        why_none = unreadable[0] if unreadable else f"{folder} has no raw file ({PATTERN})."
        raise DataError(f"Nothing can be converted: {why_none}")
    here = with_tables_of_others(here, communicator)
    facts = of_all(communicator, [(rank, RankFacts.of(raw)) for rank, raw in here.items()])
    of_rank = {rank: each.shared() for rank, each in sorted(facts)}
    refuse_other_versions(folder, of_rank)
    return RawProgram(
        folder=folder,
        ranks=of_rank,
        here=handed_over(here, sorted(of_rank), communicator),
        size=size_of(folder, of_rank),
        unreadable=tuple(unreadable),
        communicator=communicator,
    )


def raw_files(folder: Path) -> list[Path]:
    """Return the raw files in a folder."""
    try:
        return matching(folder, PATTERN)
    except OSError as error:
        raise UnreadableError(f"{folder} cannot be read: {reason(error)}.") from error


def handed_over(
    here: Mapping[int, RawRank], ranks: Sequence[int], communicator: Any
) -> dict[int, RawRank]:
    """Give each process neighbouring ranks, with about as many records; collective.

    Parameters
    ----------
    here : mapping of int to RawRank
        The ranks that this process has.
    ranks : sequence of int
        Those that are to have a process, in their order. Others are left out. Processes that get
        none come last.

    Returns
    -------
    dict of int to RawRank
        Those of this process, in their order.
    """
    if communicator.size == 1:
        return {rank: here[rank] for rank in ranks}
    own = {rank: sum(section.facts.kept for section in raw.sections) for rank, raw in here.items()}
    sizes = dict(of_all(communicator, list(own.items())))
    owner = owners([sizes[rank] for rank in ranks], communicator.size)
    process_of = dict(zip(ranks, owner, strict=True))
    letters: list[dict[int, RawRank]] = [{} for _ in range(communicator.size)]
    for rank, raw in here.items():
        if rank in process_of:
            letters[process_of[rank]][rank] = raw
    mine = letters[communicator.rank]
    letters[communicator.rank] = {}  # it need not be opened again
    for part in communicator.alltoall(letters):
        mine |= part
    return {rank: mine[rank] for rank in ranks if rank in mine}


def owners(sizes: Sequence[int], processes: int) -> NDArray[np.intp]:
    """Return the process of each rank, shape (rank,): neighbouring ranks of about equal sums.

    Where there are as many ranks, each process has one.

    Parameters
    ----------
    sizes : sequence of int
        Of what each rank has.
    """
    processes = min(processes, len(sizes))
    number = np.arange(1, processes)
    sums = np.cumsum(np.asarray(sizes, np.float64) + 1.0)
    first = np.searchsorted(sums, sums[-1] * number / processes)  # ranks of processes from 1 on
    first = np.maximum.accumulate(np.append(0, first - number))[1:] + number
    first = np.minimum(first, len(sizes) - processes + number)
    return np.searchsorted(first, np.arange(len(sizes)), side="right")


def refuse_other_versions(folder: Path, ranks: Mapping[int, RankFacts]) -> None:
    """Refuse raw files of another version, by name; a damaged rank does not decide."""
    version, _ = Counter(rank.program.version for rank in ranks.values()).most_common(1)[0]
    if version != VERSION:
        raise UnreadableError(
            f"{folder} follows version {version} of raw files; this hindmost reads version "
            f"{VERSION}. Convert it with the hindmost that recorded it."
        )


def with_tables_of_others(here: Mapping[int, RawRank], communicator: Any) -> dict[int, RawRank]:
    """Return the ranks; instead of a table of contexts with an odd number, that of another rank.

    Of one that is the same but for that number: ranks of a program mostly make the same calls.
    """
    odd = of_all(communicator, [(rank, raw) for rank, raw in here.items() if raw.odd_contexts])
    whole = [(rank, raw) for rank, raw in sorted(here.items()) if not raw.odd_contexts]
    offers = of_all(
        communicator,
        [
            (rank, next(((at, one.contexts) for at, one in whole if is_table_of(one, raw)), None))
            for rank, raw in odd
        ],
    )
    tables: dict[int, tuple[int, CallContexts]] = {}
    for rank, offer in offers:
        if offer is not None and (rank not in tables or offer[0] < tables[rank][0]):
            tables[rank] = offer
    return {
        rank: replace(raw, contexts=tables[rank][1]) if rank in tables else raw
        for rank, raw in here.items()
    }


def is_table_of(one: RawRank, other: RawRank) -> bool:
    """Tell whether the tables of contexts of two ranks differ in one number at most."""
    if one.contexts.modules != other.contexts.modules or one.contexts.codes != other.contexts.codes:
        return False
    pairs = [(one.noted_array(kind), other.noted_array(kind)) for kind in TABLES]
    return all(a.size == b.size for a, b in pairs) and (
        sum(int(np.count_nonzero(a != b)) for a, b in pairs) <= 1
    )


def size_of(folder: Path, ranks: Mapping[int, RankFacts]) -> int:
    """Return how many ranks the program has, as most of them say that left a file.

    Raises
    ------
    DamagedFileError
        No size that they say fits their ranks.
    """
    sizes = Counter(rank.program.size for rank in ranks.values())
    fitting = [size for size in sizes if size > max(ranks)]
    if not fitting:
        raise DamagedFileError(
            f"{folder}: its files are of programs of {', '.join(map(str, sorted(sizes)))} ranks."
        )
    return max(fitting, key=lambda size: (sizes[size], size == len(ranks), -size))
