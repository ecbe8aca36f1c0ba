"""Parameters and metrics of run files, also of those that kept full records of some ranks only."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.adaptive.files import DECK
from tests.analysis.ranks.conftest import RANKS, reduced_values
from tests.conftest import LOCAL, run_values

from hindmost.analysis.readers.read import read_experiment, read_history
from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole


def write(folder: Path, header: Header, ranks: int = 2, **changes: Any) -> dict[str, Any]:
    values = run_values(iterations=40, ranks=ranks, restart=10, seed=1)
    values["host"] = [f"node{rank // 2}" for rank in range(ranks)]
    write_whole(folder, replace(header, ranks=ranks, **changes), values)
    return values


def of_threads(header: Header, count: int) -> dict[str, Any]:
    variables = {"OMP_NUM_THREADS": str(count), "OPENBLAS_NUM_THREADS": str(count)}
    return {**header.environment, "variables": variables}


def test_a_collective_over_bytes_is_one_kernel(tmp_path: Path, header: Header) -> None:
    for size in (8, 64, 512):
        write(
            tmp_path, header, workload="collectives", solver=f"allreduce-{size}B",
            spec={"operation": "allreduce", "bytes": size, "repeat": 0},
        )  # fmt: skip
    (series,) = read_experiment(tmp_path, parameters="bytes").series
    assert series.kernel == "allreduce on collectives"
    assert series.points.ravel().tolist() == [8, 64, 512]


def test_nodes_are_counted_by_their_hosts(tmp_path: Path, header: Header) -> None:
    for ranks in (2, 4, 8):
        write(tmp_path, header, ranks, spec={"unknowns": 300, "repeat": 0})
    (series,) = read_experiment(tmp_path, parameters="nodes").series
    assert series.points.ravel().tolist() == [1, 2, 4]


def test_threads_are_those_that_the_environment_gave(tmp_path: Path, header: Header) -> None:
    for threads in (1, 2, 4):
        write(tmp_path, header, environment=of_threads(header, threads))
    (series,) = read_experiment(tmp_path, parameters="threads").series
    assert series.points.ravel().tolist() == [1, 2, 4]
    assert series.kernel == "gmres on laplacian-1d"


def test_what_a_loop_was_given_is_a_parameter(tmp_path: Path, header: Header) -> None:
    for size in (100, 200, 400):
        spec = {"mpi_seen": True, "parameters": {"n": size, "name": "dense"}}
        write(tmp_path, header, workload="own", solver="lu", spec=spec)
    (series,) = read_experiment(tmp_path, parameters="n").series
    assert series.points.ravel().tolist() == [100, 200, 400]
    with pytest.raises(
        UsageError, match=r"No parameter 'name'.*bytes, cells.*threads, restart or n"
    ):
        read_experiment(tmp_path, parameters="name")
    for name in ("bytes", "cells", "threads"):
        with pytest.raises(DataError, match=f"does not record its {name}"):
            read_experiment(tmp_path, parameters=name)


def test_cells_of_adaptive_runs_are_those_of_all_ranks(tmp_path: Path, header: Header) -> None:
    for columns in (32, 64, 128):
        values = run_values(iterations=4, ranks=2, restart=4, seed=1)
        owned = np.full((4, 2), columns * 8) + np.arange(4)[:, None]
        deck = DECK.replace("columns = 64", f"columns = {columns}")
        made = replace(
            header, workload="adaptive", solver=f"deck-{columns}", ranks=2, iterations=4,
            restart=0, spec={"deck": deck, "repeat": 0},
        )  # fmt: skip
        write_whole(tmp_path, made, {**values, "cells": owned})
    (series,) = read_experiment(tmp_path, parameters="cells").series
    assert series.points.ravel().tolist() == [515, 1027, 2051]
    (series,) = read_experiment(tmp_path, parameters="cells-per-rank").series
    assert series.points.ravel().tolist() == [257.5, 513.5, 1025.5]


@pytest.fixture
def reduced(tmp_path: Path, header: Header) -> tuple[Path, dict[str, Any]]:
    """Write a run of 24 ranks, of which three were kept but not the slowest, rank 17."""
    values = run_values(iterations=60, ranks=RANKS, restart=30, seed=3)
    phases = np.asarray(values["phase_duration"]).copy()
    phases[:, 17, LOCAL] *= 3.0
    values |= {"phase_duration": phases, "duration": phases.sum(axis=2)}
    values = {name: each for name, each in values.items() if not name.startswith("event_")}
    values["host"] = ["node"] * RANKS
    made = replace(header, ranks=RANKS, iterations=60, restart=30)
    kept = reduced_values(values, [0, 5, 23])
    return write_whole(tmp_path, made, kept), values | {"of_all": kept["every_solve_time"]}


def test_phases_and_solves_of_reduced_runs_are_of_all_ranks(
    reduced: tuple[Path, dict[str, Any]],
) -> None:
    path, values = reduced
    experiment = read_experiment(path, metric=["local", "solve-time"])
    found = {each.metric: each.values.item() for each in experiment.series}
    local = np.asarray(values["phase_duration"])[:, 17, LOCAL].mean()
    assert found["local"] == pytest.approx(local, rel=1e-6)
    assert found["solve-time"] == np.max(values["of_all"])
    assert experiment.warnings == ()


def test_iterations_of_reduced_runs_are_marked(
    reduced: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = reduced
    (warning,) = read_experiment(path).warnings
    assert "median-iteration covers the 3 of 24 ranks with full records" in warning
    assert "solve-time and the phases (" in warning
    history = read_history(path)
    assert any("3 of 24 ranks with full records" in warning for warning in history.warnings)
    assert main(["compare", str(path), str(path)]) == 0
    assert "3 of 24 ranks" in " ".join(capsys.readouterr().err.split())
