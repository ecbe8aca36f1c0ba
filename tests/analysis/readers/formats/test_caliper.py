"""Caliper files, written as Caliper writes its records."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindmost.analysis.readers.read import read_experiment, recognise
from hindmost.analysis.readers.registry import EXPERIMENT_FORMATS
from hindmost.errors import DataError, MissingError, UsageError

ATTRIBUTES = """\
__rec=node,id=12,attr=10,data=64,parent=3
__rec=node,id=14,attr=8,data=attribute.unit,parent=12
__rec=node,id=63,attr=14,data=sec,parent=5
__rec=node,id=65,attr=10,data=65,parent=63
__rec=node,id=66,attr=8,data=avg#time.duration,parent=65
__rec=node,id=31,attr=10,data=268,parent=3
__rec=node,id=32,attr=8,data=function,parent=31
__rec=node,id=33,attr=32,data=main
__rec=node,id=34,attr=32,data=io\\, write,parent=33
__rec=node,id=40,attr=10,data=1,parent=1
__rec=node,id=41,attr=8,data=mpi.rank,parent=40
__rec=node,id=16,attr=10,data=1612,parent=1
__rec=node,id=17,attr=8,data=mpi.world.size,parent=16
__rec=node,id=18,attr=8,data=problem_size,parent=16
__rec=node,id=19,attr=10,data=1612,parent=3
__rec=node,id=20,attr=8,data=user,parent=19
"""


def cali(ranks: int, size: int, factor: float = 1.0) -> str:
    """Return a file of main and what it calls, on two ranks; the second takes three times as long.

    Each record of main is there twice.
    """
    lines = [ATTRIBUTES.rstrip("\n")]
    for rank in (0, 1):
        time = factor * ranks * (1 + 2 * rank)
        lines += [f"__rec=ctx,ref=33,attr=66=41,data={time / 2}={rank}"] * 2
        lines += [f"__rec=ctx,ref=34,attr=66=41,data={10 * time}={rank}"]
    lines += [
        f"__rec=node,id=50,attr=17,data={ranks}",
        f"__rec=node,id=51,attr=18,data={size},parent=50",
        "__rec=node,id=52,attr=20,data=somebody,parent=51",
        "__rec=globals,ref=52",
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for ranks in (2, 4, 8):
        for repeat in (1, 2):
            (tmp_path / f"{ranks}-{repeat}.cali").write_text(cali(ranks, 30, repeat))
    return tmp_path


def test_files_are_recognised_by_content(folder: Path) -> None:
    assert recognise(folder / "2-1.cali", EXPERIMENT_FORMATS) is EXPERIMENT_FORMATS["caliper"]
    assert (
        recognise((folder / "2-1.cali").rename(folder / "x.txt"), EXPERIMENT_FORMATS)
        is EXPERIMENT_FORMATS["caliper"]
    )


def test_a_missing_package_is_named(folder: Path) -> None:
    try:
        import caliperreader  # noqa: F401
    except ImportError:
        with pytest.raises(MissingError, match=r"pip install 'hindmost\[caliper\]'"):
            read_experiment(folder)


def test_a_study_over_ranks(folder: Path) -> None:
    pytest.importorskip("caliperreader")
    experiment = read_experiment(folder)
    assert experiment.parameters == ("mpi.world.size",)
    main, write = experiment.series
    assert (main.kernel, main.metric, main.unit) == ("main", "avg#time.duration", "s")
    assert main.points.ravel().tolist() == [2, 4, 8]
    assert main.values.tolist() == [[4, 8], [8, 16], [16, 32]]  # mean of two ranks
    assert write.kernel == "main->io, write"
    assert write.values[0].tolist() == [40, 80]
    assert experiment.warnings == ()
    largest = read_experiment(folder, over_ranks="maximum", kernel="main")
    assert largest.series[0].values[0].tolist() == [6, 12]


def test_other_globals_may_be_parameters(folder: Path) -> None:
    pytest.importorskip("caliperreader")
    for size in (40, 50):
        (folder / f"{size}.cali").write_text(cali(2, size))
    experiment = read_experiment(folder, parameters=["mpi.world.size", "problem_size"])
    assert [2, 50] in experiment.series[0].points.tolist()
    assert experiment.warnings == ()
    pooled = read_experiment(folder)
    assert "counts as a repetition of" in pooled.warnings[0]
    assert "differs in problem_size" in pooled.warnings[0]
    with pytest.raises(UsageError, match=r"a number 'user'.*mpi.world.size .3 values., problem_si"):
        read_experiment(folder, parameters="user")


def test_files_that_do_not_differ_in_ranks(tmp_path: Path) -> None:
    pytest.importorskip("caliperreader")
    for size in (30, 40):
        (tmp_path / f"{size}.cali").write_text(cali(2, size))
    with pytest.raises(DataError, match=r"name another parameter.*problem_size .2 values."):
        read_experiment(tmp_path)
    experiment = read_experiment(tmp_path, parameters="problem_size")
    assert experiment.series[0].points.ravel().tolist() == [30, 40]


def test_a_node_that_is_its_own_parent_does_not_hang(tmp_path: Path) -> None:
    pytest.importorskip("caliperreader")
    file = tmp_path / "a.cali"
    file.write_text(
        cali(2, 30).replace(
            "id=34,attr=32,data=io\\, write,parent=33", "id=34,attr=32,data=io,parent=34"
        )
    )
    with pytest.raises(DataError, match="is its own parent"):
        read_experiment(file)
