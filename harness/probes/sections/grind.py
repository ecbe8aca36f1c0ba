"""The section ``grind``: time per cell over cells, and the speed at which it was measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindmost.harness.probes.grind import (
    QUICK_REPEATS,
    REPEATS,
    GrindTimes,
    load_kernel,
    measure_grind,
)
from hindmost.harness.probes.sections.section import Outcome, Section, Setting
from hindmost.harness.probes.sections.speed import readings_alone
from hindmost.harness.probes.sections.words import seconds

DRIFT = 0.05
"""A change of speed above which the curve's points are not of one state of the machine."""


def check(setting: Setting) -> None:
    """Raise what is wrong with the kernel."""
    load_kernel(setting.kernel)


def take(setting: Setting) -> Outcome | None:
    """Measure the curve between two readings of the speed; collective."""
    communicator = setting.communicator
    measure = load_kernel(setting.kernel)
    before = readings_alone(communicator)
    times = measure_grind(
        communicator,
        measure,
        setting.cells,
        repeats=QUICK_REPEATS if setting.quick else REPEATS,
        seed=setting.seed,
    )
    after = readings_alone(communicator)
    if communicator.rank != 0:
        return None
    return described(times, setting.kernel, before, after)


def described(
    times: Sequence[GrindTimes], kernel: str, before: Sequence[float], after: Sequence[float]
) -> Outcome:
    """Put the points together and tell."""
    points = tuple(point for each in times for point in each.points())
    first, last = float(np.median(before)), float(np.median(after))
    warnings = []
    if abs(last / first - 1) > DRIFT:
        warnings.append(
            f"the machine's speed changed by {100 * (last / first - 1):+.1f} % while grind was "
            "measured: points of the curve are of different states; probe again on a quiet machine"
        )
    samples = {
        "kernel": kernel,
        "speed_before_s": list(before),
        "speed_after_s": list(after),
        "sizes": [
            {"ranks_per_node": each.ranks_per_node, "cells": each.cells, "phases": each.phases}
            for each in times
        ],
    }
    rows = [
        (
            f"{point.phase}, {point.cells:.0f} cells a rank, "
            f"{point.ranks_per_node} rank{'s' if point.ranks_per_node > 1 else ''}",
            f"{seconds(point.seconds_per_cell)} a cell",
        )
        for point in sorted(points, key=lambda each: (each.phase, each.ranks_per_node, each.cells))
    ]
    return Outcome(
        changes={"grind": points, "speed_s": float(np.median([*before, *after]))},
        samples=samples,
        rows=tuple(rows),
        warnings=tuple(warnings),
    )


GRIND = Section(
    name="grind",
    summary="time per cell over cells, on one rank and with every rank of a node at work",
    check=check,
    take=take,
)
