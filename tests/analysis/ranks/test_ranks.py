from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.ranks.conftest import RANKS, SLOW, reduced_values
from tests.analysis.readers.test_caliper import cali
from tests.analysis.readers.test_cube import write_cubex

import hindmost
from hindmost import cli
from hindmost.analysis.ranks.report import report_run, report_table
from hindmost.analysis.ranks.run import look_at_run
from hindmost.analysis.ranks.tables import read_table
from hindmost.analysis.ranks.words import words
from hindmost.analysis.runs import solve_times
from hindmost.errors import DamagedFileError, DataError, UsageError
from hindmost.harness.runfile import reader
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind
from hindmost.models.ranks.critical import PathSum
from hindmost.models.stochastic.replay import EventBlock


def test_the_slow_rank_is_named_with_its_cost(run_path: Path, values: dict[str, object]) -> None:
    work = np.asarray(values["phase_duration"])[:, :, 3].astype(np.float32).astype(float)
    report = report_run(hindmost.open(run_path), share=0.1)
    late = report.lateness
    assert late is not None
    last = work.argmax(axis=1)
    assert late.last[SLOW] == (last == SLOW).sum() > 50
    np.testing.assert_allclose(late.charged_s.sum(), (work.max(axis=1)[:, None] - work).sum())
    assert late.nodes[int(late.node_charged_s.argmax())] == "node2"
    text = words(report)
    assert f"rank {SLOW} on node2: last in {late.last[SLOW]} of 60 bodies" in text
    assert "by chance" not in text
    assert re.search(rf"least waiting: +{SLOW} ", text)
    assert report.kept is not None
    kept = [rank for ranks in report.kept.values() for rank in ranks]
    assert SLOW in kept
    assert len(kept) == len(set(kept)) == 2
    assert len(text.splitlines()) < 40


def test_blocks_do_not_change_what_is_found(
    run_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = hindmost.open(run_path)
    whole = look_at_run(run)
    monkeypatch.setattr(reader, "BLOCK_BYTES", 8 * RANKS * 30)
    parts = look_at_run(run)
    np.testing.assert_array_equal(parts.lateness.last, whole.lateness.last)
    np.testing.assert_allclose(parts.metrics.values, whole.metrics.values, rtol=1e-12)
    np.testing.assert_allclose(parts.path.seconds, whole.path.seconds, rtol=1e-12)
    np.testing.assert_array_equal(parts.histogram.counts, whole.histogram.counts)
    assert parts.slopes == whole.slopes


def test_the_verb_prints_what_json_has(run_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ranks", str(run_path), "--json", "--keep", "10%"]) == 0
    [found] = json.loads(capsys.readouterr().out)["files"]
    assert found["ranks"] == RANKS
    assert np.argmax(found["hindmost"]["charged_s"]) == SLOW
    assert sum(each["size"] for each in found["clusters"]) == RANKS
    assert sum(map(len, found["kept"].values())) == 2
    for share in ("0", "200%", "many"):
        with pytest.raises(UsageError, match="write a share"):
            cli.main(["ranks", str(run_path), "--keep", share])


def test_a_reduced_run_is_used_knowingly(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    header = replace(header, ranks=RANKS, iterations=60, restart=30)
    path = write_whole(tmp_path, header, reduced_values(values, [2, 5, 20]))
    run = hindmost.open(path)
    run.verify()
    assert (run.columns, run.header.ranks, run.reduced) == (3, RANKS, True)
    assert run.solve_time_s == RANKS
    text = words(report_run(run))
    assert "Full records of 3 of 24 ranks were kept" in text
    assert f"Of all ranks, rank {SLOW} (not kept) had the most work most often" in text
    with pytest.raises(DataError, match=r"3 of 24 ranks .*no model is fitted"):
        solve_times(run)
    with pytest.raises(UsageError, match="Leave --keep out"):
        report_run(run, share=0.5)
    for kept in ([5, 2, 20], [2, 5, 24]):
        wrong = write_whole(
            tmp_path, header, reduced_values(values, [2, 5, 20]) | {"kept_rank": kept}
        )
        with pytest.raises(DamagedFileError, match="'kept_rank' should ascend"):
            hindmost.open(wrong)


CSV = """# by hand
rank,host,compute [ms],MPI_Wait [s],messages,sent [bytes]
1,b,2000,1.0,6,48
0,a,3000,0.0,6,48
2,b,1000,2.0,6,48
"""


def test_times_that_cannot_be_are_refused(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    header = replace(header, ranks=RANKS, iterations=60, restart=30)
    phases, durations = (np.array(values[name]) for name in ("phase_duration", "duration"))
    starts = np.array(values["start"])
    starts[3, 4] = np.nan
    durations[5, 6] += 1.0
    for wrong, said in (
        ({"start": starts}, "a value of 'start' is not a number"),
        ({"duration": durations}, "phases of a body do not sum"),
        ({"edge_source": [77], "edge_target": [0], "edge_bytes": [8]}, "'edge_source' holds 77"),
        ({"phase_duration": phases - 1.0}, "'phase_duration' is negative"),
    ):
        path = write_whole(tmp_path, header, {**values, **wrong})
        with pytest.raises(DataError, match=said):
            report_run(hindmost.open(path))


def test_what_a_file_names_moves_no_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("rank,host,compute [s]\n0,\x1b[31mhot\x1b]0;title\x07,2\n1,büro,1\n")
    assert cli.main(["ranks", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\x07" not in printed
    assert "rank 0 on \\x1b[31mhot" in printed


def completing(own: NDArray[np.float64]) -> EventBlock:
    """Return bodies of which each completes the reduction that the one before it has posted."""
    bodies, ranks = own.shape
    kind = np.tile(np.array([EventKind.COMPLETE, EventKind.POST], np.uint8), (bodies, 1))
    kind[0] = EventKind.POST, EventKind.NONE
    work = np.stack([own, np.zeros_like(own)], axis=2)
    return EventBlock(
        kind=kind,
        work=work,
        duration=np.zeros_like(work),
        rest=np.zeros((bodies, ranks)),
        cycle_begins=np.arange(bodies) == 0,
    )


def test_a_recorded_completion_is_of_the_oldest_post(
    tmp_path: Path, header: Header, values: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rank 1 posts late in body 2, at 11: the others wait in body 3. Rank 0 is late in the last one.
    work = np.full((6, 3), 1.0)
    work[2, 1], work[5, 0] = 9.0, 6.0
    path = PathSum(3, np.empty(0, np.int32), np.empty(0, np.int32))
    path.add(completing(work))
    assert path.result().seconds.tolist() == [1.0 + 6.0, 11.0, 0.0]
    lags: list[int] = []

    class Noted(PathSum):
        def __init__(self, ranks: int, source: Any, target: Any, lag: int = 0) -> None:
            lags.append(lag)
            super().__init__(ranks, source, target, lag)

    monkeypatch.setattr("hindmost.analysis.ranks.run.PathSum", Noted)
    events = {
        "event_kind": np.full((60, 1), EventKind.REDUCE, np.uint8),
        "event_work": np.asarray(values["phase_duration"])[:, :, 3:4],
        "event_duration": np.asarray(values["phase_duration"])[:, :, 1:2],
    }
    header = replace(header, ranks=RANKS, iterations=60, restart=30, lag=1)
    for more in ({}, events):
        look_at_run(hindmost.open(write_whole(tmp_path, header, {**values, **more})))
    assert lags == [1, 0]


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
    assert report.lateness.charged_s.tolist() == [3.0, 0.0, 0.0]
    assert "rank 0 on a: last in 1 of 1 body" in words(report)


def test_many_waits_are_put_together_as_waiting(tmp_path: Path) -> None:
    waits = [f"MPI_Recv {number} [s]" for number in range(40)]
    lines = [",".join(["rank", "compute [s]", "others [s]", *waits])]
    for rank, own in enumerate((1.0, 1.0, 2.0)):
        lines.append(",".join([str(rank), str(own), "0.001", *[str((2.0 - own) / 2)] * 40]))
    path = tmp_path / "metrics.csv"
    path.write_text("\n".join(lines))
    table = read_table(path)
    assert table.work_s is not None
    np.testing.assert_allclose(table.work_s, [1.001, 1.001, 2.001])
    # What the user calls others stays what it is; a sum of waits is known as one.
    assert table.metrics.column("others").tolist() == [0.001] * 3
    assert len(table.metrics.names) <= 32
    whole = sum(table.metrics.column(name) for name in table.metrics.names)
    np.testing.assert_allclose(whole, [21.001, 21.001, 2.001])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank,a\n1e23,1\n", "line 2: invalid literal"),
        ("rank,a\n99999999999999999999999,1\n", "ranks are numbered from 0 to 2147483647"),
        ("rank,a\n-1,1\n", "ranks are numbered from 0"),
        ("rank,a [s]\n0,1\n1,-3\n", "'a' of rank 1 is -3; no time is negative"),
        ("rank,a [s]\n0,1e308\n", "'a' of rank 0 is not a number, or above 1e\\+30"),
        ("just words\n", "neither a run file nor a table"),
        ("rank,a\n0,1\n0,2\n", "every rank should have one row"),
        ("rank,a\n0,x\n", "line 2: .*numbers are wanted"),
        ("rank,a\n0\n", "line 2: 1 fields under 2 columns"),
        ("rank,a\n0,nan\n", "'a' of rank 0 is not a number"),
        ("rank\n0\n", "neither a run file nor a table"),
        ("rank,host\n0,a\n", "at least one metric"),
        ("a,a\n0,1\n", "a column comes twice"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_table(path)


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
