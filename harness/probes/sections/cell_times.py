"""The section ``grind``: time per cell over cells, and a pulse at the speed of the curves."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.harness.probes.cell_times import (
    QUICK_REPEATS,
    REPEATS,
    NodeTimes,
    load_kernel,
    measure_grind,
)
from hindmost.harness.probes.sections.contract import ProbeResult, ProbeSection, ProbeSetting
from hindmost.harness.probes.speed import warm_up
from hindmost.harness.probes.turns import in_turn
from hindmost.models.adaptive.machine import EventCost, SpeedPoint
from hindmost.text import counted, seconds, signed_percent

DRIFT = 0.05
"""Change of speed above which the points of a curve belong to different states of the machine."""


def check(setting: ProbeSetting) -> None:
    """Raise the error of the kernel, if there is one."""
    load_kernel(setting.kernel)


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Measure the curves, each between two readings of the speed; collective."""
    communicator = setting.communicator
    measure = load_kernel(setting.kernel)
    in_turn(communicator, warm_up)
    times = measure_grind(
        communicator,
        measure,
        setting.cells,
        repeats=QUICK_REPEATS if setting.quick else REPEATS,
        seed=setting.seed,
    )
    return described(times, setting.kernel) if communicator.rank == 0 else None


def described(times: Sequence[NodeTimes], kernel: str) -> ProbeResult:
    """Combine the points and report."""
    sizes = [size for each in times for size in each.sizes]
    points = tuple(
        point for each in times for size in each.sizes for point in size.points(each.pulse_s)
    )
    events = tuple(event for each in times for event in each.events)
    warnings = [
        f"the machine's speed changed by {signed_percent(each.drift)} while grind was measured "
        f"with {counted(each.ranks_per_node, 'rank')} at work, so the points of the curve are not "
        "comparable; probe again on a quiet machine"
        for each in times
        if abs(each.drift) > DRIFT
    ]
    samples = {
        "kernel": kernel,
        "speed": [
            {"ranks_per_node": each.ranks_per_node, "before_s": each.before, "after_s": each.after}
            for each in times
        ],
        "sizes": [
            {
                "ranks_per_node": size.ranks_per_node,
                "asked": size.asked,
                "cells": size.cells,
                "phases": size.phases,
                "events": size.events,
                "pulses_s": size.pulses,
            }
            for size in sizes
        ],
    }
    rows = [
        (
            f"{point.phase}, {point.cells:.0f} cells per rank, "
            f"{counted(point.ranks_per_node, 'rank')}",
            f"{seconds(point.seconds_per_cell)} per cell",
        )
        for point in sorted(points, key=lambda each: (each.phase, each.ranks_per_node, each.cells))
    ]
    rows += [
        (f"{event_place(each)}, {counted(each.ranks_per_node, 'rank')}", event_told(each))
        for each in events
    ]
    return ProbeResult(
        changes={
            "grind": points,
            "events": events,
            "pulse": tuple(
                SpeedPoint(ranks_per_node=each.ranks_per_node, seconds=each.pulse_s)
                for each in times
                if each.pulse_s is not None
            ),
        },
        samples=samples,
        rows=tuple(rows),
        warnings=tuple(warnings),
    )


def event_place(cost: EventCost) -> str:
    """Return an event, and the cells beside which it was timed if they matter."""
    return cost.event if cost.cells is None else f"{cost.event}, {cost.cells:.0f} cells per rank"


def event_told(cost: EventCost) -> str:
    """Return the time of an event in words."""
    each = {"balance": "look", "exchange": "call", "reduce": "call", "loop": "step"}
    return f"{seconds(cost.seconds)} per {each.get(cost.event, 'cell')}"


GRIND = ProbeSection(
    name="grind",
    summary="time per cell against cells, on one rank and with every rank of a node busy",
    check=check,
    take=take,
)
