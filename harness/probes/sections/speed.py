"""The section ``speed``: the reference kernel, on one rank alone and on all at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from hindmost.harness.probes.sections.contract import ProbeResult, ProbeSection, ProbeSetting
from hindmost.harness.probes.speed import readings, warm_up
from hindmost.harness.probes.turns import among, in_turn
from hindmost.models.adaptive.machine import SpeedPoint
from hindmost.text import seconds


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Read the speed; collective.

    The first node's readings are stored: of a single rank, and of all its ranks at once.
    """
    communicator = setting.communicator
    alone = readings_alone(communicator)
    communicator.Barrier()
    together = communicator.gather(readings())
    if together is None:
        return None
    medians = [float(np.median(each)) for each in together]
    here = [median for median, node in zip(medians, setting.nodes, strict=True) if node == 0]
    own = float(np.median(alone))
    speed = {1: own, len(here): max(here) if len(here) > 1 else own}
    rows = [("reference kernel, one rank", seconds(own))]
    samples = {"alone_s": list(alone), "together_s": [list(each) for each in together]}
    if len(medians) > 1:
        told = f"{seconds(max(medians))} on the slowest, {seconds(min(medians))} on the fastest"
        rows.append((f"reference kernel, {len(medians)} ranks at once", told))
    points = tuple(SpeedPoint(ranks_per_node=count, seconds=each) for count, each in speed.items())
    return ProbeResult(changes={"speed": points}, samples=samples, rows=tuple(rows))


def readings_alone(communicator: Any) -> tuple[float, ...]:
    """Read the speed of the first rank while the others sleep; collective."""
    in_turn(communicator, warm_up)
    with among(communicator, [0]) as alone:
        mine = readings() if alone is not None else ()
    return communicator.bcast(mine)  # type: ignore[no-any-return]


SPEED = ProbeSection(
    name="speed", summary="a reference kernel, to see the state of the machine", take=take
)
