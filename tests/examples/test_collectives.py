"""MPI operations over message sizes and over ranks."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import BIN, ROOT
from tests.examples.conftest import CASES, DATA, Run

from hindmost.analysis.readers.read import read_experiment

Example = Callable[[str], ModuleType]
EAGER = ("ping-pong", "gather")
"""Of those that the page says, two: each takes a second."""
OMPI_INFO = """\
mca:btl:vader:param:btl_vader_eager_limit:value:4096
mca:btl:vader:param:btl_vader_eager_limit:source:default
mca:coll:tuned:param:coll_tuned_use_dynamic_rules:value:"false"
mca:btl:vader:param:btl_vader_eager_limit:help:Maximum size: of "short" messages
"""


@pytest.mark.parametrize(
    ("file", "first"),
    [
        ("collectives.txt", 4096),
        pytest.param("collectives-eager-32768.txt", 32768, marks=pytest.mark.slow),
        pytest.param("collectives-mpich.txt", 8192, marks=pytest.mark.slow),
        pytest.param("collectives-mpich-eager-32768.txt", 32768, marks=pytest.mark.slow),
    ],
)
def test_the_eager_limit_is_found_in_the_shipped_data(
    example: Example, file: str, first: int
) -> None:
    variables = example("extrap_text").remarks_of(DATA / file)["control variables"]
    assert re.search(rf"(eager_limit|P2P_THRESHOLD) = {first}\b", variables)
    for kernel in EAGER:
        found = example("findings").found(DATA / file, metric="least", kernel=kernel)
        ((_, _, model),) = found
        assert first in [change.high for change in model.segmentation.changes], kernel


@pytest.mark.parametrize("first", [8192, pytest.param(32768, marks=pytest.mark.slow)])
def test_the_forced_algorithm_is_found_in_the_shipped_data(example: Example, first: int) -> None:
    for _, _, model in example("findings").found(
        DATA / f"collectives-pieces-{first}.txt", metric="least"
    ):
        assert [change.high for change in model.segmentation.changes] == [first]


def test_control_variables_in_what_ompi_info_prints(example: Example) -> None:
    assert example("control_variables").told_by_ompi_info(OMPI_INFO) == {
        "btl_vader_eager_limit": "4096",
        "coll_tuned_use_dynamic_rules": "false",
    }


TINY = ["--smallest", "256", "--largest", "1024", "--repetitions", "2", "--calls", "5"]


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_program_measures_and_says_the_limit(
    run: Run, example: Example, tmp_path: Path, ranks: int
) -> None:
    start = (str(BIN / "mpiexec"), "-n", str(ranks))
    told = run("collectives.py", "some.txt", *TINY, "--eager-limit", "16384", before=start)
    assert told.count("ping-pong, least") == 1
    experiment = read_experiment(tmp_path / "some.txt")
    assert len(experiment.series) == 10
    assert all(series.values.shape == (5, 2) for series in experiment.series)
    # The library itself says that the setting has reached it.
    heads = example("extrap_text").remarks_of(tmp_path / "some.txt")
    assert re.search(r"(eager_limit|P2P_THRESHOLD) = 16384\b", heads["control variables"])


def test_over_ranks_each_size_is_a_kernel(run: Run, tmp_path: Path) -> None:
    data = DATA / "collectives.txt"
    run("over_ranks.py", "all.jsonl", f"2={data}", f"4={data}")
    one, many = read_experiment(data), read_experiment(tmp_path / "all.jsonl")
    assert many.parameters == ("p",)
    assert len(many.series) == sum(series.points.shape[0] for series in one.series)
    gathered = next(each for each in many.series if each.kernel == "gather->4096")
    assert gathered.points[:, 0].tolist() == [2, 4]


@pytest.mark.mpi
def test_the_study_over_ranks_runs(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "RANKS": "1 2",
        "SCHEDULER": "none",
        "PYTHON": str(BIN / "python"),
        "OPERATIONS": "gather",
        "SMALLEST": "64",
        "LARGEST": "128",
        "CALLS": "3",
    }
    for what in ("submit", "gather"):
        subprocess.run(
            ["sh", str(CASES / "collectives-over-ranks.sh"), what, str(tmp_path / "some")],
            check=True,
            capture_output=True,
            timeout=600,
            env=environment,
            cwd=ROOT,
        )
    found = read_experiment(tmp_path / "some" / "over-ranks.jsonl")
    assert {series.points.shape[0] for series in found.series} == {2}


@pytest.mark.parametrize(
    ("scheduler", "command", "asked"),
    [("slurm", "sbatch", "--ntasks=128 --nodes=2"), ("pbs", "qsub", "select=2:ncpus=64")],
)
def test_the_study_asks_a_scheduler(
    tmp_path: Path, scheduler: str, command: str, asked: str
) -> None:
    fake = tmp_path / command
    fake.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    fake.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["sh", str(CASES / "collectives-over-ranks.sh"), "submit", str(tmp_path / "some")],
        check=True,
        timeout=600,
        env={**os.environ, "PATH": path, "RANKS": "16 128", "SCHEDULER": scheduler},
    )
    lines = (tmp_path / "asked").read_text().splitlines()
    assert len(lines) == 2
    assert asked in lines[1]
