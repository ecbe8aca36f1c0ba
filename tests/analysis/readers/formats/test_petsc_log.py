"""PETSc's logs: a row for every stage, event and rank, and the text of the slowest rank."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from hindmost.analysis.ranks.read_tables import read_table
from hindmost.analysis.readers.read import read_experiment, read_history
from hindmost.errors import DataError

HEADER = (
    "Stage Name,Event Name,Rank,Count,Time,Num Messages,Message Length,Num Reductions,FLOP,"
    "dof0,dof1,dof2,dof3,dof4,dof5,dof6,dof7,e0,e1,e2,e3,e4,e5,e6,e7"
)
STAGES = ("Main Stage", "Set up, twice")


def seconds(stage: int, event: str, rank: int, size: int) -> float:
    """Return the time of an event, by which each row can be told from all others."""
    return (1.0 + stage + len(event) / 64.0 + rank / 1024.0) / size


def write_csv(folder: Path, size: int) -> Path:
    """Write a log: rows of events may have all columns of the header, or stop at the flops."""
    lines = [f"{HEADER},{size}"]
    for number, stage in enumerate(STAGES):
        for event in ("summary", "KSPSolve", "MatMult", "Never"):
            for rank in range(size):
                time = 0.0 if event == "Never" else seconds(number, event, rank, size)
                row = f"{stage},{event},{rank},{int(time > 0)},{time:.9g},0.,0.,30.,1e8"
                lines.append(row + (",0" * 16 if event == "MatMult" else ""))
    path = folder / f"log{size}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_events_over_ranks(tmp_path: Path) -> None:
    paths = [write_csv(tmp_path, size) for size in (1, 2, 4)]
    for over_ranks, join in (("mean", np.mean), ("maximum", np.max)):
        experiment = read_experiment(paths, over_ranks=over_ranks)
        assert experiment.parameters == ("ranks",)
        kernels = {each.kernel: each for each in experiment.series}
        assert set(kernels) == {
            name for stage in STAGES for name in (stage, f"{stage}->KSPSolve", f"{stage}->MatMult")
        }
        for number, stage in enumerate(STAGES):
            series = kernels[f"{stage}->MatMult"]
            assert (series.metric, series.unit) == ("time", "s")
            wanted = [
                join([seconds(number, "MatMult", rank, size) for rank in range(size)])
                for size in (1, 2, 4)
            ]
            np.testing.assert_allclose(series.values[:, 0], wanted, rtol=1e-6)


def test_events_of_each_rank(tmp_path: Path) -> None:
    table = read_table(write_csv(tmp_path, 3))
    assert table.numbers.tolist() == [0, 1, 2]
    column = table.metrics.names.index("Set up, twice->KSPSolve")
    wanted = [seconds(1, "KSPSolve", rank, 3) for rank in range(3)]
    np.testing.assert_allclose(table.metrics.values[:, column], wanted, rtol=1e-6)
    # A solve has its products: the sum of these times is nobody's work.
    assert table.work_s is None


TEXT = """\
---------------------------- PETSc Performance Summary: ----------------------------

./app on a arch named n1 with {size} {word}, by me Mon Nov  2 10:00:00 2026

--- Event Stage 0: Main Stage

MatMult              200 1.0 {time:.4e} 1.3 5.00e+07 1.1 1.2e+03 5.3e+02 0.0e+00 27 40 99 99  0 280
KSPSolve               1 1.0 2.5000e+00 1.0 1.20e+08 1.1 1.2e+03 5.3e+02 4.0e+02 64 99 99 99 92 300
SFSetUp                0 0.0 0.0000e+00 0.0 0.00e+00 0.0 0.0e+00 0.0e+00 0.0e+00  0  0  0  0  0 0
------------------------------------------------------------------------------------
Object Type          Creations   Destructions. Reports information only for process 0.

--- Event Stage 0: Main Stage

              Matrix     3              3
"""


def test_the_text_has_the_slowest_rank(tmp_path: Path) -> None:
    for size, word in ((1, "processor"), (2, "processors"), (4, "process(es)")):
        text = TEXT.format(size=size, word=word, time=0.5 / size)
        (tmp_path / f"log{size}.txt").write_text(text)
    experiment = read_experiment(tmp_path)
    kernels = {each.kernel: each.values.ravel().tolist() for each in experiment.series}
    assert kernels == {
        "Main Stage->MatMult": [0.5, 0.25, 0.125],
        "Main Stage->KSPSolve": [2.5, 2.5, 2.5],
    }
    assert ":log.csv:ascii_csv writes all" in experiment.warnings[0]


def test_logs_are_nights(tmp_path: Path) -> None:
    for night in (20, 21):
        write_csv(tmp_path, 2).rename(tmp_path / f"ex5-2026-11-{night}.csv")
    history = read_history(tmp_path)
    found = {each.name.timer: each for each in history.series}
    assert {each.name.case for each in history.series} == {"ex5, 2 ranks"}
    assert set(found) == {
        name for stage in STAGES for name in (stage, f"{stage}->KSPSolve", f"{stage}->MatMult")
    }
    slowest = seconds(0, "MatMult", 1, 2)
    assert found["Main Stage->MatMult"].values.tolist() == [pytest.approx(slowest)] * 2
    assert history.parents["Main Stage->MatMult"] == "Main Stage"


def test_the_text_says_when_and_where_it_ran(tmp_path: Path) -> None:
    path = tmp_path / "ex5.txt"
    path.write_text(TEXT.format(size=2, word="processors", time=0.25))
    history = read_history(path)
    found = {each.name.timer: each for each in history.series}
    product = found["Main Stage->MatMult"]
    assert (product.name.machine, product.name.case) == ("n1", "ex5, 2 ranks")
    assert product.values.tolist() == [0.25]
    at = datetime(2026, 11, 2, 10, tzinfo=UTC).timestamp()
    assert product.times.tolist() == [at]
    assert history.warnings == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.rsplit("\n", 4)[0] + "\n", "has 1 of 2 ranks; the file was cut off"),
        (lambda text: text + text.split("\n", 1)[1], "rank 0 of 2 again"),
        (lambda text: text.replace(",2\n", ",many\n", 1), "'many' is not the number of ranks"),
        (lambda text: text + "Main Stage,Oops\n", "not the row of an event"),
    ],
)
def test_damaged_logs_are_plain_errors(tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    path = write_csv(tmp_path, 2)
    lines = [line for line in path.read_text().split("\n") if "Never" not in line]
    path.write_text(change("\n".join(lines)))
    with pytest.raises(DataError, match=message):
        read_experiment(path)
