"""Run files of 24 ranks on 3 nodes, of which one is slow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

RANKS, SLOW = 24, 17


@pytest.fixture
def values() -> dict[str, object]:
    """Return a run of 24 ranks on 3 nodes in which rank 17 does 20 % more."""
    made = run_values(iterations=60, ranks=RANKS, restart=30, seed=3)
    phases = np.asarray(made["phase_duration"]).copy()
    work = phases[:, :, 3] * np.where(np.arange(RANKS) == SLOW, 1.2, 1.0)
    longest = work.max(axis=1, keepdims=True)
    phases[:, :, 3], phases[:, :, 1] = work, longest - work
    made |= {
        "phase_duration": phases,
        "duration": np.repeat(longest, RANKS, axis=1),
        "host": [f"node{rank // 8}" for rank in range(RANKS)],
    }
    return {name: each for name, each in made.items() if not name.startswith("event_")}


@pytest.fixture
def run_path(tmp_path: Path, header: Header, values: dict[str, object]) -> Path:
    return write_whole(tmp_path, replace(header, ranks=RANKS, iterations=60, restart=30), values)


def reduced_values(values: dict[str, object], kept: list[int]) -> dict[str, object]:
    """Return what a run that kept these ranks has."""
    made = dict(values)
    for name, each in values.items():
        if name in ("restart_duration", "duration", "start", "phase_duration"):
            made[name] = np.asarray(each)[:, kept]
        elif name in ("instructions", "cycles"):
            made.pop(name)
        elif name in ("host", "cpuset") or np.asarray(each).shape == (RANKS,):
            made[name] = [list(np.asarray(each))[rank] for rank in kept]
    phases = np.asarray(values["phase_duration"])
    return made | {
        "kept_rank": np.array(kept),
        "profile_phase": phases.reshape(6, 10, RANKS, 4).sum(axis=1),
        "interval_bodies": np.full(6, 10),
        "every_solve_time": np.arange(RANKS) + 1.0,
        "every_last": np.bincount(phases[:, :, 3].argmax(axis=1), minlength=RANKS),
        "every_waited": np.zeros(RANKS),
    }
