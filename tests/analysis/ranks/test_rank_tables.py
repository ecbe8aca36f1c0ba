from pathlib import Path

import numpy as np
import pytest
from tests.analysis.readers.formats.test_profiles import cali, write_cubex

from hindmost import cli
from hindmost.analysis.ranks.read_tables import read_table
from hindmost.analysis.ranks.study import report_table
from hindmost.analysis.ranks.tables import summary_lines
from hindmost.errors import DataError

CSV = """# by hand
rank,host,compute [ms],MPI_Wait [s],messages,sent [bytes]
1,b,2000,1.0,6,48
0,a,3000,0.0,6,48
2,b,1000,2.0,6,48
"""


def test_what_a_file_names_moves_no_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("rank,host,compute [s]\n0,\x1b[31mhot\x1b]0;title\x07,2\n1,büro,1\n")
    assert cli.main(["show", "--ranks", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\x07" not in printed
    assert "rank 0 on \\x1b[31mhot" in printed


def test_a_table_of_ranks(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(CSV)
    table = read_table(path)
    assert table.numbers.tolist() == [0, 1, 2]
    assert table.metrics.domains == ("time", "time", "count", "bytes")
    assert table.work_s is not None
    assert table.work_s.tolist() == [3.0, 2.0, 1.0]
    report = report_table(str(path), table)
    assert report.lateness is not None
    # both others wait 1 for the first; the rest is as much the second's
    assert report.lateness.charged_s.tolist() == pytest.approx([2.5, 0.5, 0.0])
    assert "rank 0 on a: last in 1 of 1 iteration" in "\n".join(summary_lines(report))


def test_waits_are_no_work(tmp_path: Path) -> None:
    waits = [f"MPI_Recv {number} [s]" for number in range(40)]
    lines = [",".join(["rank", "compute [s]", "others [s]", *waits])]
    for rank, own in enumerate((1.0, 1.0, 2.0)):
        lines.append(",".join([str(rank), str(own), "0.001", *[str((2.0 - own) / 2)] * 40]))
    path = tmp_path / "metrics.csv"
    path.write_text("\n".join(lines))
    table = read_table(path)
    assert table.work_s is not None
    np.testing.assert_allclose(table.work_s, [1.001, 1.001, 2.001])
    assert len(table.metrics.names) == 42


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank,a\n1e23,1\n", "line 2: '1e23' is not the number of a rank"),
        ("rank,a\n99999999999999999999999,1\n", "ranks are numbered from 0 to 2147483647"),
        ("rank,a\n-1,1\n", "ranks are numbered from 0"),
        ("rank,a [s]\n0,1\n1,-3\n", "'a' of rank 1 is -3; no time is negative"),
        ("rank,a [s]\n0,1e308\n", "'a' of rank 0 is not a number, or too large"),
        ("just words\n", "format of .*metrics.csv is unknown.*rank,host,compute"),
        ("rank,a\n0,1\n0,2\n", "every rank has one row"),
        ("rank,a\n0,x\n", "line 2: 'x' is not a number"),
        ("rank,a\n0\n", "line 2: 1 fields where the header has 2"),
        ("rank,a\n0,nan\n", "'a' of rank 0 is not a number"),
        ("rank\n0\n", "format of .*metrics.csv is unknown.*rank,host,compute"),
        ("rank,host\n0,a\n", "at least one metric"),
        ("a,a\n0,1\n", "a column appears twice"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_table(path)


@pytest.mark.parametrize("rank", ["rank", "MPI Rank", "rank_id", "Process"])
@pytest.mark.parametrize("host", ["host", "hostname", "Node", "node_name"])
def test_ranks_and_hosts_have_their_usual_names(tmp_path: Path, rank: str, host: str) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(
        f"{rank},{host},Compute(s),MPI(s),core\n3,a,2.0,1.0,7\n5,b,3.0,0.0,8\n4,a,1.0,2.0,9\n"
    )
    table = read_table(path)
    assert table.numbers.tolist() == [3, 4, 5]
    assert table.hosts == ("a", "a", "b")
    assert table.metrics.names == ("Compute", "MPI")
    assert table.work_s is not None
    assert table.work_s.tolist() == [2.0, 1.0, 3.0]


def test_a_rank_has_a_row_for_each_kind_of_access(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    rows = [
        f"{access},{rank},{10.0 * at + rank}"
        for at, access in enumerate(("write", "read"))
        for rank in range(3)
    ]
    path.write_text("\n".join(["access,rank,runtime [s]", *rows]))
    table = read_table(path)
    assert table.metrics.names == ("runtime, access = write", "runtime, access = read")
    assert table.metrics.values.tolist() == [[0.0, 10.0], [1.0, 11.0], [2.0, 12.0]]
    path.write_text("\n".join(["access,rank,runtime [s]", *rows[:-1]]))
    with pytest.raises(DataError, match="no runtime, access = read of rank 2"):
        read_table(path)


def test_a_column_of_negative_times_is_left_out_of_several(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("rank,solve [s],rest [s]\n0,2,1\n1,3,-0.5\n")
    table = read_table(path)
    assert table.metrics.names == ("solve",)
    (remark,) = table.remarks
    assert remark.startswith("rest is left out: -0.5 s of rank 1")


TAU = """{functions} templated_functions_MULTI_TIME
# Name Calls Subrs Excl Incl ProfileCalls # <metadata></metadata>
".TAU application" 1 2 {own} 9000000 0 GROUP="TAU_USER"
"MPI_Wait()" 10 0 {wait} {wait} 0 GROUP="MPI"
".TAU application => MPI_Wait()" 10 0 {wait} {wait} 0 GROUP="TAU_CALLPATH"
0 aggregates
"""


def test_profiles_of_tau(tmp_path: Path) -> None:
    for rank, own in enumerate((2.0, 1.0, 4.0, 1.0)):
        for thread in (0, 1):
            text = TAU.format(functions=3, own=own * 1e6, wait=(4.0 - own) * 1e6)
            (tmp_path / f"profile.{rank}.0.{thread}").write_text(text)
    table = read_table(tmp_path)
    assert table.metrics.names == (".TAU application", "MPI_Wait()")
    assert table.metrics.units == ("s", "s")
    np.testing.assert_allclose(table.metrics.values[:, 0], [4.0, 2.0, 8.0, 2.0])  # both threads
    assert table.work_s is not None
    assert table.work_s.argmax() == 2
    (tmp_path / "profile.1.0.0").write_text(TAU.format(functions=9, own=1, wait=1))
    with pytest.raises(DataError, match=r"profile\.1\.0\.0, line 6: not a function's line"):
        read_table(tmp_path)


def test_caliper_by_rank(tmp_path: Path) -> None:
    pytest.importorskip("caliperreader")
    path = tmp_path / "profile.cali"
    path.write_text(cali(2, 10))
    values = read_table(path).metrics.values
    assert values.shape[0] == 2
    np.testing.assert_allclose(values[1], 3.0 * values[0])  # as the file was written


def test_cube_by_rank(tmp_path: Path) -> None:
    pytest.importorskip("pycubexr")
    path = tmp_path / "profile.cubex"
    write_cubex(path, [[1.0, 3.0], [10.0, 20.0], [0.0, 5.0]], [[8, 8], [4, 6], [1, 1]])
    table = read_table(path)
    assert table.numbers.tolist() == [0, 1]
    assert table.work_s is not None
    np.testing.assert_allclose(table.work_s, [11.0, 28.0])
