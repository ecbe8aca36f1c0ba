"""Run files of 24 ranks on 3 nodes, of which one is slow."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import LOCAL, run_values

from hindmost.harness.runfile.bodies import PHASES, BodyKind
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.ranks.body_extremes import digest_of_ranks
from hindmost.models.ranks.lateness import lateness

RANKS, SLOW = 24, 17


@pytest.fixture
def values() -> dict[str, object]:
    """Return a run of 24 ranks on 3 nodes in which rank 17 does 20 % more."""
    made = run_values(iterations=60, ranks=RANKS, restart=30, seed=3)
    phases = np.asarray(made["phase_duration"]).copy()
    work = phases[:, :, LOCAL] * np.where(np.arange(RANKS) == SLOW, 1.2, 1.0)
    longest = work.max(axis=1, keepdims=True)
    phases[:, :, LOCAL], phases[:, :, PHASES.index("wait")] = work, longest - work
    duration = np.repeat(longest, RANKS, axis=1)
    gaps = np.zeros(longest.size)
    gaps[30] = 20e-6
    start = 10e-6 + np.cumsum(longest[:, 0]) - longest[:, 0] + np.cumsum(gaps)
    return made | {
        "phase_duration": phases,
        "duration": duration,
        "start": np.repeat(start[:, None], RANKS, axis=1),
        "solve_time": 40e-6 + duration.sum(axis=0),
        "event_work": work[:, :, None].astype(np.float32),
        "event_duration": (duration - work)[:, :, None].astype(np.float32),
        "host": [f"node{rank // 8}" for rank in range(RANKS)],
    }


def without_events(values: dict[str, object]) -> dict[str, object]:
    """Return the same run as a recorder without events leaves it."""
    return {name: each for name, each in values.items() if not name.startswith("event_")}


@pytest.fixture
def run_path(tmp_path: Path, header: Header, values: dict[str, object]) -> Path:
    return write_whole(tmp_path, replace(header, ranks=RANKS, iterations=60, restart=30), values)


def reduced_values(values: dict[str, object], kept: list[int]) -> dict[str, object]:
    """Return what a run that kept these ranks has, without what models need."""
    made = without_events(values)
    for name, each in values.items():
        if name in ("restart_duration", "duration", "start", "phase_duration"):
            made[name] = np.asarray(each)[:, kept]
        elif name in ("instructions", "cycles"):
            made.pop(name)
        elif name in ("host", "cpuset") or np.asarray(each).shape == (RANKS,):
            made[name] = [list(np.asarray(each))[rank] for rank in kept]
    phases = np.asarray(values["phase_duration"])
    made |= {
        "kept_rank": np.array(kept),
        "profile_phase": phases.reshape(6, 10, RANKS, len(PHASES)).sum(axis=1),
        "interval_bodies": np.full(6, 10),
        "every_solve_time": np.asarray(values["solve_time"]) + np.arange(RANKS) * 1e-9,
    }
    work = phases[:, :, LOCAL].astype(np.float32).astype(float)
    late = lateness(work, [str(name) for name in np.asarray(values["host"])])
    edges = np.geomspace(work.min(), work.max() * 1.001, 21)
    start, duration = np.asarray(values["start"]), np.asarray(values["duration"])
    ends = (start + duration).max(axis=1)
    run_time = np.zeros(6)
    run_time[[0, 3]] = ends[29] - start[0].min(), ends[59] - start[30].min()
    return made | {
        "every_last": late.last,
        "every_waited": late.waited_s,
        "every_charged": late.charged_s,
        "every_lost": late.lost_s,
        "every_deviation": late.deviation_s,
        "every_longest": late.longest_s,
        "every_longest_body": late.longest_body,
        "every_drift": late.drift,
        "every_host": list(np.asarray(values["host"])),
        "interval_start": start[::10].min(axis=1),
        "interval_run_time": run_time,
        "work_bin_from": np.append(0.0, edges),
        "work_bin_count": np.concatenate([[0], np.histogram(work, edges)[0], [0]]),
    }


def with_bodies_of_all(values: dict[str, object], made: dict[str, object]) -> dict[str, object]:
    """Return a reduced run with the sums and extremes of the bodies of all ranks, for models."""
    fill = np.asarray(values["body"]) == BodyKind.FILL
    found = digest_of_ranks(np.asarray(values["duration"]), fill)
    return made | {
        "all_least": found.fastest,
        "all_most": found.slowest,
        "all_mean": found.middle,
        "all_bin_count": found.sample.count.astype(int),
        "all_bin_mean": found.sample.point,
        "all_bin_deviation": np.sqrt(found.sample.variance),
    }
