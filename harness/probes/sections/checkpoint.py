"""The section ``checkpoint``: latency and bandwidth of files that are flushed to the disk."""

from __future__ import annotations

import numpy as np

from hindmost.harness.probes.checkpoint import (
    QUICK_REPEATS,
    QUICK_SIZES,
    REPEATS,
    SIZES,
    latency_and_bandwidth,
    measure_checkpoint,
)
from hindmost.harness.probes.sections.contract import ProbeResult, ProbeSection, ProbeSetting
from hindmost.harness.probes.turns import among
from hindmost.text import bandwidth, seconds


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Write files on rank 0 while the others sleep; collective."""
    times = None
    with among(setting.communicator, [0]) as writer:
        if writer is not None:
            times = measure_checkpoint(
                setting.folder,
                QUICK_SIZES if setting.quick else SIZES,
                repeats=QUICK_REPEATS if setting.quick else REPEATS,
                seed=setting.seed,
            )
    if times is None:
        return None
    latency, per_s = latency_and_bandwidth(times.sizes, np.median(times.seconds, axis=1))
    return ProbeResult(
        changes={"checkpoint_latency_s": latency, "checkpoint_bytes_per_s": per_s},
        samples={
            "folder": str(setting.folder.resolve()),
            "sizes": [
                {"bytes": size, "seconds": list(taken)}
                for size, taken in zip(times.sizes, times.seconds, strict=True)
            ],
        },
        rows=(("latency", seconds(latency)), ("bandwidth", bandwidth(per_s))),
    )


CHECKPOINT = ProbeSection(
    name="checkpoint", summary="write and flush files of 1 to 64 MiB in --dir", take=take
)
