"""One number of a raw file is odd: it costs its own field or record, and nothing else."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness.attach.raw_files import US, Raw, Stream, gmres, two_ranks

import hindmost
from hindmost.harness.attach.convert import convert
from hindmost.harness.attach.raw import OF_RANKS, OF_SECTIONS, PARTS, Frame

ODD = (-1, -2, -(10**6), 0, 1, 7, 2**31, 2**32 + 1, 2**53 + 1, 2**63 - 1, -(2**62), 1e300)
ARRAYS = {**OF_SECTIONS, **OF_RANKS, **{part: OF_SECTIONS[of] for part, of in PARTS.items()}}


def solves() -> list[Raw]:
    """Return two ranks with two solves of 5 and 6 iterations."""
    ranks = two_ranks()
    for rank in ranks:
        first = gmres(1000 * US, 5, work=5 * US, step=9 * US)
        second = gmres(first.at + US, 6, work=5 * US, step=9 * US)
        edges = ((1 - rank.rank, 10, 800),)
        rank.section(first, edges).section(second, edges)
    return ranks


def marks() -> list[Raw]:
    """Return two ranks with a loop of 11 iterations between marks."""
    ranks = two_ranks()
    for rank in ranks:
        stream = Stream(1000 * US)
        for iteration in range(11):
            stream.mark("I", iteration).work((10 - rank.rank) * US)
            stream.call("MPI_Allreduce", (2 + rank.rank) * US).mark(999, 64)
        rank.section(stream.mark("I", 11), what="loop", type="loop", other_ns={"MPI_File_sync": 3})
    return ranks


def found() -> list[Raw]:
    """Return two ranks with a loop of 11 iterations, which is found by its call contexts."""
    ranks = two_ranks(mark_call="auto")
    for rank in ranks:
        stream = Stream(1000 * US)
        for _ in range(12):
            stream.work((10 - rank.rank) * US).call("MPI_Allreduce", (2 + rank.rank) * US)
            stream.work(US).call("MPI_Waitall", US)
        rank.section(stream, what="loop", type="loop").contexts(len(stream.records))
    return ranks


PROGRAMS: dict[str, tuple[Callable[[], list[Raw]], int]] = {
    "solves": (solves, 11),
    "marks": (marks, 11),
    "found": (found, 11),
}
TABLES = (Frame.PLACES, Frame.CHAINS, Frame.CHAIN_ENDS, Frame.CONTEXTS)
"""Of these, and of flags, only a number that cannot be is known to be odd."""
UNKNOWABLE = ("iterations", "solve", "rows", "restart", "comm_size", "comm_rank", "comm_leader")
"""Numbers of a solve that say which solve it is: of those that can be, none is odd."""


def numbers_in(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the places of all numbers in JSON."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in members:
        if isinstance(one, dict | list):
            yield from numbers_in(one, (*path, key))
        elif isinstance(one, int | float) and not isinstance(one, bool):
            yield (*path, key)


def made_odd(payload: bytes, kind: int, chance: random.Random) -> tuple[bytes, str]:
    """Return a frame's payload with one odd number in place of another, and which; or no name."""
    value = chance.choice(ODD)
    if kind in ARRAYS:
        entries: Any = np.frombuffer(payload, ARRAYS[Frame(kind)]).copy()
        if not entries.size:
            return payload, ""
        at, name = chance.randrange(entries.size), chance.choice([*(entries.dtype.names or ("",))])
        numbers = entries[name] if name else entries
        bits = np.array([int(value) & (2**64 - 1)], "u8")
        numbers[at] = value if numbers.dtype.kind == "f" else bits.astype(numbers.dtype)[0]
        known = range(2**31) if kind in TABLES else range(64) if name == "flags" else ()
        if int(numbers[at]) in known:
            return payload, ""
        return entries.tobytes(), f"{Frame(kind).name} {name}[{at}] = {value}"
    document = json.loads(payload)
    paths = [path for path in numbers_in(document) if path[-1] not in UNKNOWABLE]
    if not paths:
        return payload, ""
    *path, last = chance.choice(paths)
    inner = document
    for key in path:
        inner = inner[key]
    inner[last] = value
    return json.dumps(document).encode(), f"{Frame(kind).name} {[*path, last]} = {value}"


@pytest.mark.parametrize("rounds", [12, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_odd_number_costs_only_itself(program: str, rounds: int, tmp_path: Path) -> None:
    chance = random.Random(rounds)
    make, iterations = PROGRAMS[program]
    for number in range(rounds):
        ranks = make()
        ranks = [rank.end() for rank in ranks]
        frames = ranks[1].parts
        at = chance.randrange(len(frames))
        payload, which = made_odd(frames[at][1], frames[at][0], chance)
        frames[at] = (frames[at][0], payload)
        folder = tmp_path / f"app-{number}.raw"
        for each in ranks:
            each.write(folder)
        files = convert(folder, tmp_path / str(number))
        runs = [hindmost.open(file) for file in files]
        for run in runs:
            run.verify()
        assert sum(run.bodies for run in runs) >= iterations - 1, which
        assert all(run.durations.shape[1] == 2 for run in runs), which
