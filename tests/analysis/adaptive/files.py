"""Run files of an adaptive code that was never run: what its cycles took is known."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.synthetic.cycles import Cycles
from numpy.typing import NDArray
from tests.conftest import cycle_values, run_values

from hindmost.harness.runfile.bodies import PHASES as BODY_PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.adaptive.machine import GrindPoint, Machine, Network
from hindmost.models.simulation.network import Link, Piece

NAMES = (*BODY_PHASES, "hydro", "heat", "adaption", "balance", "checkpoint")
OF_MODELS = ("hydro", "halo", "heat", "wait", "adaption", "balance")
DECK = 'name = "timing-a"\nsteps = 20\n'


def machine_of(*, hydro_s: float = 33e-9, heat_s: float = 10e-9, adaption_s: float = 300e-9,
               message_s: float = 2e-6) -> Machine:  # fmt: skip
    """Return the machine whose cycles `draw_cycles` draws with its defaults."""
    costs = {"hydro": hydro_s, "heat": heat_s, "adaption": adaption_s}
    link = Link(pieces=(Piece(from_bytes=0, latency_s=message_s, per_byte_s=0.0),))
    return Machine(
        name="drawn",
        ranks_per_node=2,
        network=Network(within=link, within_both_ways=link),
        grind=tuple(
            GrindPoint(phase=phase, ranks_per_node=1, cells=cells, seconds_per_cell=cost)
            for phase, cost in costs.items()
            for cells in (1e3, 1e5)
        ),
        checkpoint_latency_s=0.01,
        checkpoint_bytes_per_s=1e8,
    )


def write_machine(path: Path) -> Path:
    path.write_text(json.dumps(machine_of().to_json()))
    return path


def write_adaptive(
    folder: Path,
    header: Header,
    cycles: Cycles,
    *,
    predicted: Mapping[str, NDArray[np.float64]],
    spec: Mapping[str, Any] | None = None,
    checkpoint_s: Mapping[int, float] | None = None,
    complete: bool = True,
) -> Path:
    """Write the file of a run on one rank with these cycles and predictions.

    Parameters
    ----------
    checkpoint_s : mapping of int to float
        Cycle -> the checkpoint before it.
    """
    count = cycles.seconds.size
    phases = np.zeros((count, 1, len(NAMES)))
    for place, name in enumerate(OF_MODELS):
        phases[:, 0, NAMES.index(name)] = [each.phases_s[place] for each in cycles.spent]
    phases[:, 0, NAMES.index("local")] = cycles.seconds - phases[:, 0].sum(axis=1)
    for cycle, seconds in (checkpoint_s or {}).items():
        phases[cycle, 0, NAMES.index("checkpoint")] = seconds
    duration = phases.sum(axis=2)
    values = cycle_values(run_values(iterations=count, ranks=1, restart=count, seed=0), ranks=1)
    lead = 1e-5
    column = np.zeros((count, 1), np.int64)
    cells = np.array([[each.cells] for each in cycles.work], np.int64)
    values |= {
        "duration": duration,
        "start": lead + np.cumsum(duration, axis=0) - duration,
        "phase_duration": phases,
        "phase_cpu": phases,
        "position": np.arange(count),
        "lead_in": np.array([lead]),
        "lead_out": np.array([lead]),
        "solve_time": 2 * lead + duration.sum(axis=0),
        "cells": cells,
        "faces": 2 * cells,
        **dict.fromkeys(("ghosts", "messages", "bytes", "moved"), column),
        "divided": column + 3,
        "combined": column + 1,
        "heat_iterations": np.array([[each.iterations] for each in cycles.spent], np.int64),
        "switches": column,
        "epoch": np.concatenate([[0], np.cumsum(np.diff(cells[:, 0]) != 0)]),
        "predicted": np.stack([*predicted.values()], axis=1),
    }
    told = {
        "deck": DECK,
        "choices": {"threshold": 1.02},
        "base": [64, 64],
        "cycles": count,
        "first_cycle": 0,
        "repeat": 0,
        "machine": "drawn",
        "interfere": None,
        "stopped": "",
        "failure": "",
        "checkpoints": [],
        "verdicts": [],
        **(spec or {}),
    }
    folder.mkdir(exist_ok=True)
    return write_whole(
        folder,
        replace(
            header,
            workload="adaptive",
            solver="timing-a",
            ranks=1,
            iterations=count,
            restart=0,
            complete=complete,
            spec=told,
        ),
        values,
        NAMES,
        tuple(predicted),
    )


def off_by(cycles: Cycles, percent: float) -> NDArray[np.float64]:
    """Return predictions that are off by so much, now above, now below; the first is not known."""
    sign = np.where(np.arange(cycles.seconds.size) % 2 == 0, 1.0, -1.0)
    said = cycles.seconds * (1.0 + 0.01 * percent * sign)
    said[0] = np.nan
    return said
