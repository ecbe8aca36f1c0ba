"""The time of a checkpoint: a file written and flushed to the disk, against its size.

One rank writes, as in hindmost's checkpoints: into a new file, which is on the disk before it takes
the name of the previous one. The bytes are random, because some file systems compress.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from hindmost.errors import UsageError
from hindmost.files import write_atomically
from hindmost.harness.probes.section import SEED, ProbeResult, ProbeSection, ProbeSetting
from hindmost.harness.turns import among
from hindmost.text import bandwidth, seconds

SIZES = tuple(2**power for power in range(20, 27))
"""1 to 64 MiB."""
QUICK_SIZES = SIZES[:4]


def measure_checkpoint(
    folder: Path, sizes: Sequence[int] = SIZES, *, repeats: int
) -> dict[int, list[float]]:
    """Write files of every size into a folder in random order, and remove them.

    Returns
    -------
    dict of int to list of float
        Seconds of each repeat, by size in bytes.

    Raises
    ------
    UsageError
        The folder cannot be written, or is full.
    """
    random = np.random.default_rng(SEED)
    content = random.bytes(max(sizes))
    taken: dict[int, list[float]] = {size: [] for size in sizes}
    try:
        with tempfile.TemporaryDirectory(prefix=".hindmost-probe-", dir=folder) as scratch:
            target = Path(scratch) / "checkpoint"
            write_atomically(target, content[: min(sizes)])
            for _ in range(repeats):
                for size in random.permutation(np.asarray(sizes)):
                    part = content[: int(size)]
                    begin = time.perf_counter()
                    write_atomically(target, part)
                    taken[int(size)].append(time.perf_counter() - begin)
    except OSError as error:
        raise UsageError(
            f"{folder}: a checkpoint of up to {max(sizes) // 2**20} MiB cannot be written there "
            f"({error.strerror}); start the probe in a folder with room for two of them."
        ) from error
    return taken


def latency_and_bandwidth(sizes: ArrayLike, times: ArrayLike) -> tuple[float, float]:
    """Fit latency + bytes / bandwidth, by least squares of the relative error.

    Parameters
    ----------
    sizes : array, shape (size,), bytes
    times : array, shape (size,), seconds
        Median of each size.

    Returns
    -------
    (float, float)
        Latency in seconds, at least 0, and bytes per second. If larger files take no longer, the
        bandwidth is that of the largest file.
    """
    from hindmost.models.simulation.network import line

    size, taken = np.asarray(sizes, float), np.asarray(times, float)
    latency, per_byte, _ = line(size, taken)
    if per_byte == 0.0:
        latency, per_byte = 0.0, float(taken[size.argmax()] / size.max())
    return latency, 1.0 / per_byte


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Write files on rank 0 while the others sleep; collective."""
    times = None
    with among(setting.communicator, [0]) as writer:
        if writer is not None:
            times = measure_checkpoint(
                Path(),
                QUICK_SIZES if setting.quick else SIZES,
                repeats=setting.repeats,
            )
    if times is None:
        return None
    latency, per_s = latency_and_bandwidth(list(times), np.median(list(times.values()), axis=1))
    return ProbeResult(
        changes={"checkpoint_latency_s": latency, "checkpoint_bytes_per_s": per_s},
        samples={
            "folder": str(Path().resolve()),
            "sizes": [{"bytes": size, "seconds": taken} for size, taken in times.items()],
        },
        rows=(("latency", seconds(latency)), ("bandwidth", bandwidth(per_s))),
    )


CHECKPOINT = ProbeSection(
    name="checkpoint", summary="write and flush files of 1 to 64 MiB in this folder", take=take
)
