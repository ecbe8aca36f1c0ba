"""``hindmost whatif --balance``: blocks of adaptive runs on other ranks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.whatif.files import answer, said
from tests.conftest import PREDICTORS, cycle_values, run_values

from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.phases import NAMES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

CYCLES, RANKS, BLOCKS = 20, 2, 6
LOADS = np.array([[8, 4, 4, 2, 2, 2], [8, 8, 4, 2, 2, 2]])
"""Cells of the blocks on two meshes, the second from cycle 10 on."""
OWNERS = np.array([0, 0, 0, 1, 1, 1])


def adaptive_values(**changes: Any) -> dict[str, object]:
    """Cycles whose work is a millisecond for each cell, on six blocks in a row."""
    values = cycle_values(
        run_values(iterations=CYCLES, ranks=RANKS, restart=CYCLES, seed=0), ranks=RANKS
    )
    epoch = np.repeat([0, 1], CYCLES // 2)
    cells = np.array([np.bincount(OWNERS, load, RANKS) for load in LOADS])[epoch].astype(np.int64)
    phases = np.zeros((CYCLES, RANKS, len(NAMES)))
    phases[:, :, NAMES.index("hydro")] = 1e-3 * cells
    phases[:, :, NAMES.index("halo")] = 1e-4
    slowest = phases.sum(axis=2).max(axis=1, keepdims=True)
    phases[:, :, NAMES.index("wait")] = slowest - phases.sum(axis=2)
    duration = phases.sum(axis=2)
    row = np.arange(BLOCKS - 1)
    source, target = np.concatenate([row, row + 1]), np.concatenate([row + 1, row])
    return values | {
        "duration": duration,
        "start": np.cumsum(duration, axis=0) - duration,
        "phase_duration": phases,
        "phase_cpu": phases,
        "position": np.arange(CYCLES),
        "lead_in": np.zeros(RANKS),
        "lead_out": np.zeros(RANKS),
        "solve_time": duration.sum(axis=0),
        "cells": cells,
        "epoch": epoch,
        "moved": np.zeros((CYCLES, RANKS), np.int64),
        "predicted": np.zeros((CYCLES, len(PREDICTORS))),
        "block_place": np.tile(np.arange(BLOCKS), 2),
        "block_load": LOADS.ravel().astype(float),
        "block_owner": np.tile(OWNERS, 2),
        "block_epoch": np.repeat([0, 1], BLOCKS),
        "block_edge_source": np.tile(source, 2),
        "block_edge_target": np.tile(target, 2),
        "block_edge_bytes": np.full(2 * source.size, 64),
        "block_edge_epoch": np.repeat([0, 1], source.size),
        **changes,
    }


@pytest.fixture
def adaptive(header: Header) -> Header:
    return replace(
        header,
        workload="adaptive",
        solver="timing-a",
        ranks=RANKS,
        iterations=CYCLES,
        restart=0,
        spec={},
    )


def write(folder: Path, header: Header, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    values = adaptive_values(**changes)
    values = {name: value for name, value in values.items() if value is not None}
    return write_whole(folder, header, values, NAMES, PREDICTORS)


def test_balanced_blocks_take_the_time_of_an_even_share(
    tmp_path: Path, adaptive: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, adaptive)
    greedy, refine, none = answer(capsys, file, "--balance", "greedy,refine,none")
    recorded_s = 10 * (16 + 20) * 1e-3 + CYCLES * 1e-4
    for each in (greedy, refine, none):
        assert each["recorded_s"] == pytest.approx(recorded_s)
        assert each["replayed_s"] == pytest.approx(recorded_s)
    assert none["predicted_s"] == pytest.approx(recorded_s)
    # 22 cells are 11 and 11 at best, 26 are 14 and 12.
    even_s = 10 * (12 + 14) * 1e-3
    assert greedy["interval_s"][0] <= greedy["predicted_s"] <= greedy["interval_s"][1]
    assert 10 * (11 + 13) * 1e-3 < greedy["interval_s"][0] <= even_s + 6 * CYCLES * 1e-4
    assert refine["predicted_s"] < none["predicted_s"]
    assert refine["moved_cells"] <= greedy["moved_cells"]
    assert greedy["imbalance"] < greedy["recorded_imbalance"]
    assert greedy["changes"] == {"balance": "greedy"}


def test_it_is_told_in_sentences(
    tmp_path: Path, adaptive: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "runs", adaptive)
    printed = said(capsys, file, "--balance", "none,greedy")
    assert "With balance greedy: predicted" in printed
    assert "replayed without a change" in printed


def test_what_has_no_blocks_or_contradicts_itself(
    tmp_path: Path, adaptive: Header, run_file: Path
) -> None:
    no_edges = {f"block_edge_{name}": None for name in ("source", "target", "bytes", "epoch")}
    old = write(tmp_path / "old", adaptive, **no_edges)
    loads = LOADS.ravel() + np.eye(1, 2 * BLOCKS)[0]
    wrong = write(tmp_path / "wrong", adaptive, block_load=loads)
    edges = adaptive_values()["block_edge_target"]
    far = write(tmp_path / "far", adaptive, block_edge_target=np.asarray(edges) + 90)
    places = np.tile(np.arange(BLOCKS), 2)
    twice = write(tmp_path / "twice", adaptive, block_place=np.where(places == 1, 0, places))
    other = np.where(np.arange(2 * BLOCKS) == 2 * BLOCKS - 1, BLOCKS, places)
    unlike = write(tmp_path / "unlike", adaptive, block_place=other)
    for file, words, kind in (
        (twice, "blocks of mesh 0 are not", DataError),
        (unlike, "blocks of mesh 1 are not", DataError),
        (run_file, "no objects that could move", UsageError),
        (old, "does not say which blocks exchange", DataError),
        (wrong, "contradict each other", DataError),
        (far, "one that its mesh does not have", DataError),
    ):
        with pytest.raises(kind, match=words):
            main(["whatif", str(file), "--balance", "greedy"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--balance", "best"], "choose greedy, refine, none."),
        (["--balance", "greedy", "--latency", "x2"], "--latency and --balance are answered apart"),
        (["--balance", "greedy", "--ranks", "8"], "--ranks and --balance are answered apart"),
    ],
)
def test_requests_that_cannot_be_met(run_file: Path, words: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        main(["whatif", str(run_file), *words])
