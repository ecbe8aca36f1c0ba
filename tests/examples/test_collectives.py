"""MPI operations over message sizes and over ranks."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import BIN
from tests.examples.conftest import DATA, Run
from tests.mpi.test_recording import assert_books_close

import hindmost
from hindmost.analysis.readers.read import read_experiment
from hindmost.analysis.runs.configuration import group_runs

CALLS = 6
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


@pytest.mark.mpi
def test_every_call_is_recorded(run: Run, example: Example, tmp_path: Path) -> None:
    start = (str(BIN / "mpiexec"), "-n", "2")
    few = ("--bytes", "8,1024", "--calls", str(CALLS), "--warmup", "2", "--repeats", "2")
    told = run("collective_calls.py", "calls", *few, before=start)
    files = sorted((tmp_path / "calls").iterdir())
    assert sorted(line.split(" ")[0] for line in told.splitlines()) == [
        f"calls/{file.name}" for file in files
    ]
    operations = set(example("collective_calls").OPERATIONS)
    assert len(files) == 2 * (2 * len(operations) - 1)
    runs = [hindmost.open(file) for file in files]
    assert {run.header.workload for run in runs} == operations
    assert {run.header.spec["parameters"]["bytes"] for run in runs} == {0, 8, 1024}
    assert len({read.header.solver for read in runs}) == 1
    for read in runs:
        assert read.durations.shape == (CALLS, 2)
        assert read.header.complete
        assert read.header.spec["between"] == "pauses"
        assert_books_close(read)
        # Of all ranks at one instant, outside of which the ranks agree on it.
        assert (read.phase("wait") > 0).all()
        assert (read.solve_time > read.durations.sum(axis=0)).all()
    # Repeats of one operation and size are repeats; each operation is a kernel over its sizes.
    assert {len(group.runs) for group in group_runs(runs)} == {2}
    over_sizes = read_experiment(tmp_path / "calls", parameters="bytes").series
    assert {series.kernel for series in over_sizes} == {
        f"loop on {name}" for name in operations - {"barrier"}
    }
