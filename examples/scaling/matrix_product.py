"""A naive matrix product over sizes across the caches: seconds per floating-point operation.

    python examples/scaling/matrix_product.py OUT [--sizes 21] [--repetitions 5] [--seconds 0.1]

The three loops run in the order i, j, k without reassociation, so that B is read down its columns.
Only as many rows of the product are computed as a measurement needs: each row reads all of B. A
measurement lasts some milliseconds. A repetition is the least of many, spread over the whole run:
where others use the machine too, they slow a measurement down, and never speed it up.

All sizes lie in one buffer, so that they have the same kind of pages. The order of the matrices is
odd, so that a column spreads over all sets of a cache, and so that its rows reach a new cache line
at different columns: where all reach it at once, a core asks for so many lines at a time that the
memory hardly shows.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from caches import read_caches
from extrap_text import write_text
from findings import tell
from numpy.typing import NDArray

from hindmost.models.compiled import compiled

SMALLEST, LARGEST = 150_000, 110_000_000
"""Bytes of a matrix."""
PASSES = 4
"""Over all sizes, of which a repetition is the least."""
BATCH_S = 4e-3
MIN_BATCHES = 3


def product_rows(
    a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64], count: int
) -> None:
    """Compute so many rows of c = a b, again from the first one after the last."""
    n = a.shape[0]
    for row in range(count):
        i = row % n
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def orders(count: int, smallest: int = SMALLEST, largest: int = LARGEST) -> list[int]:
    """Return odd orders of matrices whose bytes grow by about the same factor."""
    rows = np.sqrt(np.geomspace(smallest, largest, count) / 8)
    return sorted({2 * int(n / 2) + 1 for n in rows})


def least(task: Callable[[int], Any], seconds: float) -> float:
    """Return the least seconds that one unit of a task takes, in batches of some milliseconds."""
    count = 1
    while True:
        began = time.perf_counter()
        task(count)
        if time.perf_counter() - began >= BATCH_S:
            break
        count *= 2
    best, done, end = np.inf, 0, time.perf_counter() + seconds
    while done < MIN_BATCHES or time.perf_counter() < end:
        began = time.perf_counter()
        task(count)
        best = min(best, (time.perf_counter() - began) / count)
        done += 1
    return float(best)


def measure(sizes: list[int], repetitions: int, seconds: float) -> list[list[float]]:
    """Return the seconds of one operation: for each order the repetitions."""
    rows = compiled(product_rows)
    space = [np.full(max(sizes) ** 2, value) for value in (0.5, 0.25, 0.0)]
    found = np.full((len(sizes), repetitions), np.inf)
    for number in range(PASSES * repetitions):
        for at, n in enumerate(sizes):
            a, b, c = (each[: n * n].reshape(n, n) for each in space)
            rows(a, b, c, 1)
            row_s = least(partial(rows, a, b, c), seconds)
            slot = at, number % repetitions
            found[slot] = min(found[slot], row_s / (2 * n * n))
    return [[float(value) for value in each] for each in found]


def pin() -> str:
    """Stay on the last core that is allowed, where the system can do so; say on which."""
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core}"


def main() -> None:
    """Measure, write the experiment, tell what hindmost makes of it."""
    parser = argparse.ArgumentParser(description="A naive matrix product across the caches.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--sizes", type=int, default=21, help="number of sizes")
    parser.add_argument("--largest", type=int, default=LARGEST, help="bytes of the largest matrix")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each measurement")
    asked = parser.parse_args()
    sizes = orders(asked.sizes, largest=asked.largest)
    where = pin()
    found = measure(sizes, asked.repetitions, asked.seconds)
    write_text(
        asked.out,
        parameter="bytes",
        points=[n * n * 8 for n in sizes],
        values={("matrix-product", "time"): found},
        remarks=[
            "what: seconds per floating-point operation of a naive matrix product, over the bytes "
            "of a matrix",
            f"caches: {', '.join(map(str, read_caches())) or 'not told by the system'}",
            f"machine: {platform.machine()}, {os.cpu_count()} cores, {where}",
        ],
    )
    print(tell(asked.out))


if __name__ == "__main__":
    main()
