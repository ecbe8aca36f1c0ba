"""The time of a checkpoint: a file written and flushed to the disk, against its size.

One rank writes, as in hindmost's checkpoints: into a new file, fsync, rename over the previous one,
fsync of the folder. The bytes are random, because some file systems compress.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from hindmost.errors import UsageError
from hindmost.files import replacing

MEBI = 2**20
SIZES = tuple(2**power * MEBI for power in range(7))
"""1 to 64 MiB."""
QUICK_SIZES = SIZES[:4]
REPEATS = 5
QUICK_REPEATS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointTimes:
    """The measured times.

    Attributes
    ----------
    sizes : tuple of int
        Bytes.
    seconds : tuple of tuple of float
        By size and repeat.
    """

    sizes: tuple[int, ...]
    seconds: tuple[tuple[float, ...], ...]


def measure_checkpoint(
    folder: Path, sizes: Sequence[int] = SIZES, *, repeats: int = REPEATS, seed: int = 0
) -> CheckpointTimes:
    """Write files of every size into a folder in random order, and remove them.

    Raises
    ------
    UsageError
        The folder cannot be written, or is full.
    """
    random = np.random.default_rng(seed)
    content = random.bytes(max(sizes))
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    try:
        with tempfile.TemporaryDirectory(prefix=".hindmost-probe-", dir=folder) as scratch:
            target = Path(scratch) / "checkpoint"
            write_durably(target, content[: min(sizes)])
            for _ in range(repeats):
                for size in random.permutation(np.asarray(sizes)):
                    part = memoryview(content)[: int(size)]
                    begin = time.perf_counter()
                    write_durably(target, part)
                    seconds[int(size)].append(time.perf_counter() - begin)
    except OSError as error:
        raise UsageError(
            f"{folder}: a checkpoint of up to {max(sizes) // MEBI} MiB cannot be written there "
            f"({error.strerror}); name a folder with room for two of them with --dir."
        ) from error
    return CheckpointTimes(
        sizes=tuple(sizes), seconds=tuple(tuple(seconds[size]) for size in sizes)
    )


def write_durably(target: Path, content: bytes | memoryview) -> None:
    """Write a file under another name, flush it, and rename it."""
    with replacing(target) as file:
        file.write(content)


def latency_and_bandwidth(sizes: ArrayLike, seconds: ArrayLike) -> tuple[float, float]:
    """Fit latency + bytes / bandwidth, by least squares of the relative error.

    Parameters
    ----------
    sizes : array, shape (size,), bytes
    seconds : array, shape (size,)
        Median of each size.

    Returns
    -------
    (float, float)
        Latency in seconds, at least 0, and bytes per second. If larger files take no longer, the
        bandwidth is that of the largest file.
    """
    size, taken = np.asarray(sizes, float), np.asarray(seconds, float)
    design = np.column_stack([1 / taken, size / taken])
    scale = design.max(axis=0)
    latency, per_byte = np.linalg.lstsq(design / scale, np.ones(size.size), rcond=None)[0] / scale
    if latency < 0:
        latency, per_byte = 0.0, design[:, 1].sum() / (design[:, 1] ** 2).sum()
    if per_byte <= 0:
        latency, per_byte = 0.0, taken[size.argmax()] / size.max()
    return float(latency), float(1 / per_byte)
