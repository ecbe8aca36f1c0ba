"""SMPI's time-independent traces; the specimen is as SimGrid 3.32 writes them."""

from pathlib import Path

import pytest
from benchmarks.traces.messages import MessageProgram, Operation
from benchmarks.traces.smpi_trace import DATATYPE_BYTES, read_smpi_trace
from tests.benchmarks.traces.smpi_files import ONE, ZERO, written

from hindmost.errors import DataError

RATE = 1e9


def read(folder: Path, *ranks: str) -> MessageProgram:
    return read_smpi_trace(written(folder, *ranks), RATE)


def test_a_trace_is_read(tmp_path: Path) -> None:
    program = read(tmp_path, ZERO, ONE)
    assert program.ranks == 2
    # The flops of the program, those that the reduction combines, and a sleep.
    assert program.work_s.tolist() == pytest.approx([1e-3 + 2e-3 + 1e-3 + 336188e-9, 0.5])
    assert program.source.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert program.bytes.tolist() == [4000.0, 80.0, 40.0, 40.0, 4000.0, 80.0, 8.0]
    assert program.synchronous.tolist() == 3 * [False] + [True] + 3 * [False]
    named = [(collective.name, collective.bytes) for collective in program.collectives]
    assert named == [
        ("bcast", 80.0),
        ("barrier", 0.0),
        ("allreduce", 8.0),
        ("allreduce", 8.0),
        ("reduce", 8.0),
        ("gatherv", 8.0),
        ("alltoallv", 6.0),
    ]
    received = program.kind == Operation.RECEIVED
    assert program.line[received].tolist() == [8, 10, 20, 6, 8, 9, 12]


def test_one_file_with_all_ranks_is_the_same(tmp_path: Path) -> None:
    parts = read(tmp_path, ZERO, ONE)
    whole = tmp_path / "whole.ti"
    whole.write_text(ONE + ZERO)
    merged = read_smpi_trace(whole, RATE)
    assert merged.kind.tolist() == parts.kind.tolist()
    assert merged.target.tolist() == parts.target.tolist()


def test_datatypes_default_to_bytes_or_as_init_says(tmp_path: Path) -> None:
    texts = ["0 init\n0 send 1 0 10\n0 finalize\n", "1 init 1\n1 recv 0 0 10\n1 finalize\n"]
    assert read(tmp_path, *texts).bytes.tolist() == [10.0]
    assert read(tmp_path, texts[0].replace("init", "init 1"), texts[1]).bytes.tolist() == [80.0]
    assert sorted(set(DATATYPE_BYTES.values())) == [1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize(
    ("line", "instead", "said"),
    [
        ("0 finalize\n", "", "rank-0.txt, line 20: the trace of rank 0 ends without 'finalize'"),
        ("0 init\n", "", 'line 1: "compute" where the trace of a rank should begin with .init.'),
        ("0 waitall 2\n", "", "line 6: rank 0 begins to send a message and never waits for it"),
        ("0 compute 1e6", "0 compute nan", 'line 2: "nan" is not an amount'),
        ("0 compute 1e6", "0 compute", "line 2: compute has 0 of at least 1 arguments"),
        ("isend 1 7 500 0", "isend 2 7 500 0", "line 6: 2 is not from 0 to 1"),
        ("isend 1 7 500 0", "isend 1 7 500 -1", "line 6: datatype -1 is none of MPI's own"),
        ("isend 1 7 500 0", "isend 1 8 500 0", "line 4: rank 1 receives a message from rank 0 wi"),
        ("0 waitall 2", "0 wait 0 1 8", "line 8: rank 0 waits for a message from rank 0 to rank 1"),
        ("0 waitall 2", "0 waitAny 2", 'line 8: the action "waitAny" cannot be replayed'),
        ("0 barrier", "0 scan 1 0 0", "rank 0 calls scan .*line 4.*rank 1 calls barrier .*line 3"),
        ("0 barrier", "1 barrier", "line 4: an action of rank 1 in the trace of rank 0"),
        ("0 barrier", "x barrier", 'line 4: "x" is not a whole number'),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(
    tmp_path: Path, line: str, instead: str, said: str
) -> None:
    assert line in ZERO
    with pytest.raises(DataError, match=said):
        read(tmp_path, ZERO.replace(line, instead, 1), ONE)


def test_a_missing_file_or_rank_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, ZERO, ONE)
    (tmp_path / "trace.ti_files" / "rank-1.txt").unlink()
    with pytest.raises(DataError, match=r'line 2: "trace.ti_files/rank-1.txt" is not a file'):
        read_smpi_trace(path, RATE)
    path.write_text(ONE)
    with pytest.raises(DataError, match="has actions of rank 1, and none of rank 0"):
        read_smpi_trace(path, RATE)
