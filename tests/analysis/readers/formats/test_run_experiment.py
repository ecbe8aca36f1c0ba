"""Run files as an experiment: metrics, parameters, kernels and repetitions."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import LOCAL, run_values

from hindmost.analysis.readers.formats.run_experiment import METRICS
from hindmost.analysis.readers.read import read_experiment
from hindmost.analysis.runs.check import findings_in
from hindmost.errors import DamagedFileError, DataError, UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

Study = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def study(tmp_path: Path, header: Header) -> Study:
    """Return what writes runs of given ranks and unknowns, and returns their variables."""

    def write(
        *sizes: tuple[int, int],
        repeats: int = 1,
        environment: dict[str, Any] | None = None,
        hosts: int = 1,
        **changes: Any,
    ) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = []
        for ranks, unknowns in sizes:
            for repeat in range(repeats):
                values = run_values(
                    iterations=40, ranks=ranks, restart=10, seed=len(list(tmp_path.iterdir()))
                )
                values["host"] = [f"node-{rank % hosts}" for rank in range(ranks)]
                made = replace(
                    header,
                    ranks=ranks,
                    spec={"unknowns": unknowns, "repeat": repeat},
                    environment={**header.environment, **(environment or {})},
                    **changes,
                )
                write_whole(tmp_path, made, values)
                written.append(values)
        return written

    return write


def test_a_strong_scaling_study(tmp_path: Path, study: Study) -> None:
    written = study((4, 300), (2, 300), repeats=3, hosts=2)
    experiment = read_experiment(tmp_path)
    assert experiment.parameters == ("ranks",)
    (series,) = experiment.series
    assert (series.kernel, series.metric, series.unit) == (
        "gmres on laplacian-1d",
        "median-iteration",
        "s",
    )
    assert series.points.tolist() == [[2], [4]]
    medians = [np.median(values["duration"], axis=0).max() for values in written]
    np.testing.assert_array_equal(series.values, [medians[3:], medians[:3]])
    assert experiment.warnings == ()


def test_metrics_are_of_the_slowest_rank(tmp_path: Path, study: Study) -> None:
    (values,) = study((3, 300))
    names = ["solve-time", "local", "wait"]
    found = {
        series.metric: series.values.item()
        for series in read_experiment(tmp_path, metric=names).series
    }
    local = np.asarray(values["phase_duration"], np.float32)[:, :, LOCAL].astype(np.float64)
    wait = np.asarray(values["phase_duration"], np.float32)[:, :, 1].astype(np.float64)
    assert found == {
        "solve-time": values["solve_time"].max(),
        "local": pytest.approx(local.mean(axis=0).max(), rel=1e-12),
        "wait": pytest.approx(wait.mean(axis=0).max(), rel=1e-12),
    }
    assert found["local"] > local.mean(axis=0).min()


def test_only_regular_iterations_count(tmp_path: Path, header: Header) -> None:
    values = run_values(iterations=40, ranks=3, restart=10, seed=1)
    kind = np.zeros(40, np.uint8)
    kind[:25] = 1
    write_whole(tmp_path, header, {**values, "body": kind})
    (series,) = read_experiment(tmp_path).series
    expected = np.median(np.asarray(values["duration"])[25:], axis=0).max()
    assert series.values.item() == expected


def test_a_large_run_is_read_some_ranks_at_a_time(
    tmp_path: Path, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    study((5, 300))
    no_tolerance = [name for name in METRICS if name != "time-to-tolerance"]
    names = [*no_tolerance, "local"]
    whole = read_experiment(tmp_path, metric=names).series
    monkeypatch.setattr("hindmost.analysis.readers.formats.run_experiment.BLOCK_BYTES", 40 * 8 * 2)
    assert read_experiment(tmp_path, metric=names).series == whole


def test_a_weak_scaling_study_is_one_kernel(tmp_path: Path, study: Study) -> None:
    # 1000 a rank, as a mesh that does not divide gives it
    study((2, 2001), (3, 3000), (4, 3999))
    (series,) = read_experiment(tmp_path).series
    assert series.kernel == "gmres on laplacian-1d"
    assert series.points.ravel().tolist() == [2, 3, 4]
    over_unknowns = read_experiment(tmp_path, parameters="unknowns").series
    assert over_unknowns[0].points.ravel().tolist() == [2001, 3000, 3999]


def test_a_grid_has_a_kernel_for_every_size(tmp_path: Path, study: Study) -> None:
    study(*((ranks, unknowns) for ranks in (2, 3, 4) for unknowns in (3000, 6000)))
    over_ranks = read_experiment(tmp_path)
    assert [series.kernel for series in over_ranks.series] == [
        "gmres on laplacian-1d, 3,000 unknowns",
        "gmres on laplacian-1d, 6,000 unknowns",
    ]
    over_unknowns = read_experiment(tmp_path, parameters=["unknowns"])
    assert [series.kernel for series in over_unknowns.series] == [
        f"gmres on laplacian-1d, {ranks} ranks" for ranks in (2, 3, 4)
    ]
    both = read_experiment(tmp_path, parameters=["ranks", "unknowns-per-rank"])
    (series,) = both.series
    assert both.parameters == ("ranks", "unknowns-per-rank")
    assert series.points[0].tolist() == [2, 1500]
    assert len(series.points) == 6


def test_what_else_tells_runs_apart_is_in_the_kernel(tmp_path: Path, study: Study) -> None:
    study((2, 300), (3, 300))
    study((2, 300), (3, 300), restart=20)
    study((2, 300), (3, 300), environment={"machine": {"cpu_model": "fast", "cores": 8}})
    study((2, 300), solver="cg", restart=0)
    kernels = {series.kernel for series in read_experiment(tmp_path).series}
    own = "machine None, 3 cores"
    assert kernels == {
        "cg on laplacian-1d",
        f"gmres on laplacian-1d, restart 10, {own}",
        f"gmres on laplacian-1d, restart 20, {own}",
        "gmres on laplacian-1d, restart 10, machine fast, 8 cores",
    }


def test_incomplete_and_foreign_files_are_left_out(tmp_path: Path, study: Study) -> None:
    study((2, 300))
    study((3, 300), complete=False, records_lost=1)
    (tmp_path / "other.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
    experiment = read_experiment(tmp_path)
    assert experiment.series[0].points.tolist() == [[2]]
    told = "\n".join(experiment.warnings)
    assert "is incomplete" in told
    assert "other.h5" in told


def test_a_copy_of_a_run_is_no_repetition(tmp_path: Path, study: Study) -> None:
    study((4, 300), (2, 300), repeats=2)
    first = sorted(tmp_path.glob("*.h5"))[0]
    (tmp_path / "again").mkdir()
    for copy in ("again.h5", "again/run.h5"):
        shutil.copy(first, tmp_path / copy)
    experiment = read_experiment(tmp_path)
    (series,) = experiment.series
    assert series.values.shape == (2, 2)
    assert not np.isnan(series.values).any()
    assert sum("a copy counts once" in warning for warning in experiment.warnings) == 2
    assert len(findings_in([tmp_path])) == len(findings_in(sorted(tmp_path.glob("laplacian*"))))


def test_faults(tmp_path: Path, study: Study, header: Header) -> None:
    study((2, 300))
    with pytest.raises(UsageError, match="No parameter 'cores' of runs; choose ranks, unkn"):
        read_experiment(tmp_path, parameters="cores")
    with pytest.raises(UsageError, match=r"No metric 'time'.*median-iteration, .*halo, wait"):
        read_experiment(tmp_path, metric="time")
    foreign = tmp_path / "inner"
    foreign.mkdir()
    (foreign / "other.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
    with pytest.raises(DamagedFileError, match="or is not a run file"):
        read_experiment(foreign)
    whole = next(tmp_path.glob("*.h5")).read_bytes()
    (foreign / "cut.h5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedFileError):
        read_experiment(foreign / "cut.h5")


def test_runs_that_do_not_say_their_size(tmp_path: Path, header: Header) -> None:
    values = run_values(iterations=40, ranks=3, restart=10, seed=1)
    write_whole(tmp_path, replace(header, spec={}), values)
    assert read_experiment(tmp_path).series[0].points.tolist() == [[3]]
    with pytest.raises(DataError, match=r"does not record its unknowns.*use ranks or iter"):
        read_experiment(tmp_path, parameters="unknowns")


def test_a_number_that_separates_kernels_is_offered_as_a_parameter(
    tmp_path: Path, study: Study
) -> None:
    study((2, 300), (2, 600), (2, 1200))
    experiment = read_experiment(tmp_path)
    assert len(experiment.series) == 3
    (warning,) = experiment.warnings
    assert "runs that differ in unknowns are separate kernels" in warning
    assert warning.endswith("--parameter unknowns.")
    assert read_experiment(tmp_path, parameters="unknowns").warnings == ()
