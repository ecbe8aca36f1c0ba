"""Run files as a history: timers, cases, machines and versions."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.analysis.readers.read import read_history
from hindmost.errors import DamagedFileError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

CASE = "gmres on laplacian-1d: 300 unknowns, 3 ranks, 40 iterations, restart 10"


def write(folder: Path, header: Header, day: int, **changes: Any) -> dict[str, Any]:
    """Write the run of a day."""
    values = run_values(iterations=40, ranks=3, restart=10, seed=day)
    made = replace(header, t0_utc=f"2026-01-{day:02}T03:04:05.500000+00:00", **changes)
    write_whole(folder, made, values)
    return values


def test_a_run_is_an_observation(tmp_path: Path, header: Header) -> None:
    second = write(tmp_path, header, 2, git={"commit": "b" * 40, "dirty": True})
    first = write(tmp_path, header, 1, git={"commit": "a" * 40, "dirty": False})
    history = read_history(tmp_path)
    found = {each.name.timer: each for each in history.series}
    assert {(each.name.machine, each.name.case) for each in history.series} == {("büro", CASE)}
    # The runs have no halo and post nothing.
    counts = ("iterations", "instructions", "instructions per cycle")
    assert set(found) == {"solve", "iteration", "wait", "local", *counts}
    assert history.parents == dict.fromkeys(("iteration", "wait", "local", *counts), "solve")
    assert found["instructions"].values[0] == pytest.approx(
        first["instructions"].sum() / len(first["instructions"])
    )
    assert not found["instructions per cycle"].smaller_is_better
    solve, iteration = found["solve"], found["iteration"]
    day_s = datetime(2026, 1, 1, 3, 4, 5, 500000, tzinfo=UTC).timestamp()
    assert solve.times.tolist() == [day_s, day_s + 86400]
    assert solve.values.tolist() == [each["solve_time"].max() for each in (first, second)]
    assert solve.unit == "s"
    slowest = first["duration"].sum(axis=0).argmax()
    batches = first["duration"][:, slowest].reshape(10, 4)
    assert solve.spread is not None
    assert solve.freedom is not None
    assert solve.spread[0] == pytest.approx(40 * batches.mean(axis=1).std(ddof=1) / math.sqrt(10))
    assert solve.freedom.tolist() == [9.0, 9.0]
    assert solve.work == {"40 iterations"}
    assert not iteration.work
    medians = [np.median(each["duration"], axis=0).max() for each in (first, second)]
    assert iteration.values.tolist() == medians
    place = np.median(first["duration"], axis=0).argmax()
    times = first["duration"][:, place]
    low, high = np.quantile(times, (0.25, 0.75))
    alone = math.sqrt(math.pi / 2) * (high - low) / 1.349 / math.sqrt(40)
    scatter = np.median(times.reshape(10, 4), axis=1).std(ddof=1) / math.sqrt(10)
    assert iteration.spread is not None
    assert iteration.spread[0] == pytest.approx(max(alone, scatter), rel=1e-3)
    assert solve.commits == ("aaaaaaaaaaaa, PETSc none", "bbbbbbbbbbbb with changes, PETSc none")
    assert solve.commit_parts[0] == {"": "a" * 40, "PETSc": "none"}


def test_configurations_are_cases_and_clusters_machines(tmp_path: Path, header: Header) -> None:
    write(tmp_path, header, 1)
    write(tmp_path, header, 2, solver="cg", restart=0, spec={"petsc_options": ["-pc_type", "none"]})
    write(tmp_path, header, 3, scheduler={"SLURM_CLUSTER_NAME": "blake"})
    found = {(each.name.machine, each.name.case) for each in read_history(tmp_path).series}
    assert found == {
        ("büro", CASE),
        ("büro", "cg on laplacian-1d: 3 ranks, 40 iterations (-pc_type none)"),
        ("blake", CASE),
    }


def test_an_incomplete_run_failed(tmp_path: Path, header: Header) -> None:
    write(tmp_path, header, 1)
    write(tmp_path, header, 2, complete=False, records_lost=1)
    history = read_history(tmp_path)
    assert all(len(each.values) == 1 for each in history.series)
    (failure,) = history.failures
    assert (failure.machine, failure.case) == ("büro", CASE)
    assert "is incomplete" in failure.reason


def test_damaged_files(tmp_path: Path, header: Header) -> None:
    write(tmp_path, header, 1)
    whole = next(tmp_path.glob("*.h5")).read_bytes()
    bad = tmp_path / "cut.h5"
    bad.write_bytes(whole[: len(whole) // 2])
    history = read_history(tmp_path)
    assert "cut.h5" in history.warnings[0]
    assert history.warnings[0].endswith("The file is left out.")
    with pytest.raises(DamagedFileError):
        read_history(bad)
