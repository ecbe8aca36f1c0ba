"""CUBE and Caliper profiles, from files that follow the formats' descriptions."""

import gzip
import io
import struct
import tarfile
import zlib
from pathlib import Path

import pytest
from tests.analysis.readers.experiment_files import assert_sound

from hindmost.analysis.readers.provenance import parameters_in
from hindmost.analysis.readers.read import EXPERIMENT_FORMATS, read_experiment, recognise
from hindmost.errors import DataError, MissingError, UsageError


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # every form that Extra-P's description of its formats names
        ("mm.a1.1b1.1c1.1", {"a": 1.1, "b": 1.1, "c": 1.1}),
        ("mm.x1y1z1.r1", {"x": 1, "y": 1, "z": 1}),
        ("mm.a1,1.b1,1.c1,1.r1", {"a": 1.1, "b": 1.1, "c": 1.1}),
        ("mm.x1.1,y1,1,z1.1.r1", {"x": 1.1, "y": 1.1, "z": 1.1}),
        ("x1y1z1", {"x": 1, "y": 1, "z": 1}),
        ("PREFIX.p4.n10.r12", {"p": 4, "n": 10}),
        ("lulesh-2.ranks64", {"ranks": 64}),
        ("mm.problem_size30.r1", {"problem_size": 30}),
        ("scorep-20200101_1200_123456789", {}),
        ("mm.p4.p8", {}),
    ],
)
def test_parameters_in_the_names_of_folders(name: str, parameters: dict[str, float]) -> None:
    assert parameters_in(name) == parameters


ANCHOR = """<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.7"><metrics>
<metric id="0" type="EXCLUSIVE"><disp_name>Time</disp_name><uniq_name>time</uniq_name>
<dtype>DOUBLE</dtype><uom>sec</uom><url/><descr/></metric>
<metric id="1" type="INCLUSIVE"><disp_name>Visits</disp_name><uniq_name>visits</uniq_name>
<dtype>UINT64</dtype><uom>occ</uom><url/><descr/></metric>
<metric id="2" type="EXCLUSIVE"><disp_name>Bytes</disp_name><uniq_name>bytes</uniq_name>
<dtype>UINT64</dtype><uom>bytes</uom><url/><descr/></metric>
</metrics><program>
<region id="0" mod="" begin="0" end="0"><name>main</name></region>
<region id="1" mod="" begin="0" end="0"><name>compute</name></region>
<region id="2" mod="" begin="0" end="0"><name>io</name></region>
<cnode id="0" calleeId="0"><cnode id="1" calleeId="1"/>{io}</cnode>
</program><system><systemtreenode Id="0" class="machine"><name>m</name>
<locationgroup Id="0"><name>rank 0</name><rank>0</rank><type>process</type>
<location Id="0"><name>t</name><rank>0</rank><type>thread</type></location></locationgroup>
<locationgroup Id="1"><name>rank 1</name><rank>1</rank><type>process</type>
<location Id="1"><name>t</name><rank>0</rank><type>thread</type></location></locationgroup>
</systemtreenode></system></cube>
"""
IO = '<cnode id="2" calleeId="2"/>'


def write_cubex(
    path: Path, times: list[list[float]], visits: list[list[int]], *, packed: bool = False
) -> None:
    """Write a profile of main and its callees: time of itself, visits with what it calls."""
    path.parent.mkdir(parents=True, exist_ok=True)
    anchor = ANCHOR.replace("{io}", IO if len(times) > 2 else "").encode()
    index = b"CUBEX.INDEX" + struct.pack("<ihbi", 1, 0, 0, len(times))
    index += struct.pack(f"<{len(times)}i", *range(len(times)))
    members = {"anchor.xml": gzip.compress(anchor) if packed else anchor}
    packed_rows = (
        b"".join(struct.pack("<2d", *row) for row in times),
        b"".join(struct.pack("<2Q", *row) for row in visits),
    )
    for number, raw in enumerate(packed_rows):
        members[f"{number}.index"] = index
        members[f"{number}.data"] = b"CUBEX.DATA" + raw
        if packed:
            small = zlib.compress(raw)
            members[f"{number}.data"] = b"ZCUBEX.DATA" + struct.pack("<4q", 1, 0, 0, len(small))
            members[f"{number}.data"] += small
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def write_study(folder: Path) -> None:
    for p in (2, 4, 8):
        for r in (1, 2):
            write_cubex(
                folder / f"mm.p{p}n10.r{r}" / "profile.cubex",
                [[1.0 * p * r, 3.0 * p * r], [10.0 * p, 10.0 * p], [0.0, 5.0]][: 3 if p > 2 else 2],
                [[8, 8], [4, 6], [1, 1]][: 3 if p > 2 else 2],
                packed=r == 2,
            )
            (folder / f"mm.p{p}n10.r{r}" / "scorep.cfg").write_text("SCOREP_X=1\n")


def test_profiles_are_recognised_by_their_first_member(tmp_path: Path) -> None:
    write_study(tmp_path)
    profile = tmp_path / "mm.p2n10.r1" / "profile.cubex"
    renamed = profile.rename(profile.with_name("anything"))
    assert recognise(renamed, EXPERIMENT_FORMATS) is EXPERIMENT_FORMATS["cube"]


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    try:
        import pycubexr  # noqa: F401
    except ImportError:
        write_study(tmp_path)
        with pytest.raises(MissingError, match=r"pip install 'hindmost\[cube\]'"):
            read_experiment(tmp_path)


def test_a_folder_that_names_no_parameters(tmp_path: Path) -> None:
    write_cubex(tmp_path / "scorep-20200101_12" / "profile.cubex", [[1, 1], [1, 1]], [[1, 1]] * 2)
    with pytest.raises(DataError, match="names no parameters; call it PREFIX"):
        read_experiment(tmp_path)


def test_folders_that_name_different_parameters(tmp_path: Path) -> None:
    for name in ("mm.p2", "mm.q4"):
        write_cubex(tmp_path / name / "profile.cubex", [[1, 1], [1, 1]], [[1, 1]] * 2)
    with pytest.raises(DataError, match=r"the parameters are q, but p in"):
        read_experiment(tmp_path)


def test_a_study(tmp_path: Path) -> None:
    pytest.importorskip("pycubexr")
    write_study(tmp_path)
    experiment = read_experiment(tmp_path)
    assert experiment.parameters == ("p",)  # n is the same everywhere
    by_name = {(series.kernel, series.metric): series for series in experiment.series}
    main = by_name["main", "time"]
    assert main.unit == "s"
    assert main.points.ravel().tolist() == [2, 4, 8]
    assert main.values.tolist() == [[4, 8], [8, 16], [16, 32]]  # mean of the ranks
    assert by_name["main->compute", "time"].values[:, 0].tolist() == [20, 40, 80]
    assert by_name["main->io", "time"].points.ravel().tolist() == [4, 8]
    # visits are stored with what is called, and wanted without
    assert by_name["main", "visits"].values[:, 0].tolist() == [3, 2, 2]
    assert by_name["main", "visits"].unit == "occ"
    told = "\n".join(experiment.warnings)
    assert "No value of time at p = 2 for main->io" in told
    assert "has no data for bytes; left out." in told


def test_ways_over_ranks_and_inclusive_values(tmp_path: Path) -> None:
    pytest.importorskip("pycubexr")
    write_study(tmp_path)
    largest = read_experiment(tmp_path, metric="time", kernel="main", over_ranks="maximum")
    assert largest.series[0].values.tolist() == [[6, 12], [12, 24], [24, 48]]
    total = read_experiment(tmp_path, metric="time", kernel="main", over_ranks="sum")
    assert total.series[0].values[0].tolist() == [8, 16]
    inclusive = read_experiment(tmp_path, metric="time", kernel="main", inclusive=True)
    assert inclusive.series[0].values[:, 0].tolist() == [24, 8 + 40 + 2.5, 16 + 80 + 2.5]
    visits = read_experiment(tmp_path, metric="visits", kernel="main", inclusive=True)
    assert visits.series[0].values[:, 0].tolist() == [8, 8, 8]
    with pytest.raises(
        UsageError, match="No metric 'flops' in the profiles; choose time, visits or bytes"
    ):
        read_experiment(tmp_path, metric="flops")


def test_a_constant_parameter_may_be_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("pycubexr")
    write_study(tmp_path)
    experiment = read_experiment(tmp_path, parameters=["p", "n"], kernel="main", metric="time")
    assert experiment.series[0].points.tolist() == [[2, 10], [4, 10], [8, 10]]


def test_damaged_profiles_are_plain_errors(tmp_path: Path) -> None:
    pytest.importorskip("pycubexr")
    file = tmp_path / "mm.p2" / "profile.cubex"
    write_cubex(file, [[1, 1], [2, 2]], [[1, 1], [1, 1]])
    whole = file.read_bytes()
    for step in range(40):
        place = step * len(whole) // 40
        for data in (whole[:place], whole[:place] + b"\xff\xfe garbage" + whole[place + 10 :]):
            file.write_bytes(data)
            try:
                experiment = read_experiment(file, format="cube")
            except DataError:
                continue
            assert_sound(experiment)


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


def test_a_missing_reader_of_caliper_is_named(folder: Path) -> None:
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
