"""Run files of collectives under ``hindmost scale``: each a kernel over ranks."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.cli import main
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

RANKS = (2, 4, 8, 16, 32, 64)
GROWTH: dict[str, tuple[Callable[[int], float], list[int]]] = {
    "allreduce-8B": (lambda p: 2e-6 + 1e-6 * np.log2(p), [0, 1]),
    "allreduce-65536B": (lambda p: 30e-6 + 5e-6 * np.log2(p), [0, 1]),
    "alltoall-1024B": (lambda p: 1e-6 + 3e-6 * p, [1, 0]),
}


def test_each_collective_and_size_is_a_kernel_over_ranks(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    for solver, (seconds, _) in GROWTH.items():
        operation, size = solver.removesuffix("B").split("-")
        for ranks in RANKS:
            values = run_values(iterations=40, ranks=ranks, restart=1, seed=1)
            # The root is quicker than the rest: the slowest rank counts.
            values["duration"] = np.full((40, ranks), seconds(ranks)) * np.linspace(0.5, 1, ranks)
            made = replace(
                header, workload="collectives", solver=solver, ranks=ranks, iterations=40,
                restart=1, spec={"operation": operation, "bytes": int(size), "repeat": 0},
            )  # fmt: skip
            write_whole(tmp_path, made, values)
    assert main(["scale", str(tmp_path), "--json"]) == 0
    models = {each["kernel"]: each for each in json.loads(capsys.readouterr().out)["models"]}
    assert set(models) == {f"{solver} on collectives" for solver in GROWTH}
    for solver, (_, exponents) in GROWTH.items():
        [segment] = models[f"{solver} on collectives"]["segments"]
        found = [term["exponents"] for term in segment["terms"]]
        assert [each for each in found if each] == [{"ranks": exponents}], solver
