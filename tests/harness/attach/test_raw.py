"""Raw files that are cut off or damaged."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness.attach.raw_files import (
    BACK,
    END,
    PROGRAM,
    RECORDS,
    SECTION,
    US,
    Raw,
    cg,
    frame,
    framed,
    gmres,
    two_ranks,
    write_all,
)

import hindmost
from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.attach.convert import convert
from hindmost.harness.attach.raw import read_node
from hindmost.harness.attach.raw_program import read_program
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.runfile.contexts import PYTHON


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "app-0.raw"


def two_solves(folder: Path) -> Path:
    ranks = two_ranks()
    for rank in ranks:
        first = gmres(0, 5, work=5 * US, step=9 * US)
        rank.section(first).section(gmres(first.at, 6, work=5 * US, step=9 * US))
    return write_all(ranks, folder)


def test_the_recorders_crc_is_zlibs() -> None:
    (made,) = framed([(7, b"{}")])
    assert made[28:32] == struct.pack("<I", zlib.crc32(made[:28] + b"{}"))


@pytest.mark.parametrize(("left", "kept"), [(1, [0, 1]), (60, [0, 1]), (1100, [0])])
def test_a_torn_file_is_good_up_to_its_last_whole_frame(
    folder: Path, tmp_path: Path, left: int, kept: list[int]
) -> None:
    path = two_solves(folder) / "node-0000001.raw"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - left])
    ranks, _ = read_node(path)
    found = ranks[1]
    assert "cut off" in found.torn
    assert found.end is None
    said: list[str] = []
    (file,) = convert(folder, tmp_path, report=said.append)
    run = hindmost.open(file)
    assert sorted(set(run.variable("solve").tolist())) == kept
    assert run.header.spec["attached"]["finished"] is False
    assert "rank 1 end early" in said[0]


def test_a_rank_whose_disk_was_full_says_so(folder: Path, tmp_path: Path) -> None:
    """Its end is read behind a frame that is missing."""
    ranks = two_ranks()
    for rank in ranks:
        first = gmres(0, 5, work=5 * US, step=9 * US)
        rank.section(first).section(gmres(first.at, 6, work=5 * US, step=9 * US))
        rank.end(failure=28 * rank.rank, finalized=True)
    ranks[0].write(folder)
    frames = framed(ranks[1].parts, 1)
    (folder / "node-0000001.raw").write_bytes(b"".join([*frames[:6], *frames[7:]]))
    said: list[str] = []
    (file,) = convert(folder, tmp_path, report=said.append)
    assert hindmost.open(file).bodies == 5
    assert "rank 1 end early: No space left on device" in said[0]


def test_every_flipped_byte_is_found(folder: Path) -> None:
    path = two_solves(folder) / "node-0000000.raw"
    whole = path.read_bytes()
    random = np.random.default_rng(1)
    for at in random.integers(0, len(whole), 200).tolist():
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        ranks, unreadable = read_node(path)
        assert unreadable or ranks[0].torn, at


def test_the_ranks_of_a_node_write_one_file_in_turn(folder: Path, tmp_path: Path) -> None:
    """Rank 1 is killed within a frame, rank 2 takes back what it wrote first."""
    ranks = [Raw(rank, 3) for rank in range(3)]
    stream = gmres(0, 5, work=5 * US, step=9 * US)
    for each in ranks:
        if each.rank == 2:
            before = len(each.parts)
            each.section(gmres(0, 9, work=US, step=9 * US)).add(BACK, struct.pack("<I", before))
            each.sections = 0
        each.section(stream).end()
    frames = [framed(rank.parts, rank.rank) for rank in ranks]
    frames[1] = [*frames[1][:-2], frames[1][-1][:-7]]  # its end is not whole, the clock is missing
    mixed = b"".join(
        frame[at] for at in range(max(map(len, frames))) for frame in frames if at < len(frame)
    )
    folder.mkdir()
    (folder / "node-0000000.raw").write_bytes(mixed)
    found, unreadable = read_node(folder / "node-0000000.raw")
    assert not unreadable
    assert ["missing" in each.torn or "checksum" in each.torn for each in found.values()] == [
        False, True, False,
    ]  # fmt: skip
    said: list[str] = []
    (path,) = convert(folder, tmp_path, report=said.append)
    run = hindmost.open(path)
    assert run.durations.shape == (5, 3)
    assert "records of rank 1 end early" in said[0]


def test_a_kind_of_frame_that_is_not_known_is_passed_over(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for rank in ranks:
        rank.add(77, b"of a later version").section(gmres(0, 5, work=5 * US, step=9 * US))
    assert len(convert(write_all(ranks, folder), tmp_path)) == 1


def test_another_version_is_refused_by_name(folder: Path, tmp_path: Path) -> None:
    write_all(two_ranks(version=5), folder)
    with pytest.raises(DataError, match="version 5 of raw files"):
        convert(folder, tmp_path)
    assert folder.exists()


def test_the_last_word_on_the_program_holds(folder: Path) -> None:
    ranks = two_ranks(petsc_version="")
    for rank in ranks:
        said = {**json.loads(rank.parts[0][1]), "petsc_version": "3.18.5"}
        rank.json(PROGRAM, said)
    assert read_program(write_all(ranks, folder)).first.program.petsc_version == "3.18.5"


SECTIONS_THAT_CANNOT_BE: dict[str, dict[str, Any]] = {
    "negative count": {"kept": -1},
    "text for a number": {"begin_ns": "now"},
    "ends before it begins": {"end_ns": -5},
    "before its records": {"end_ns": 10 * US},
    "after its records": {"begin_ns": 40 * US},
    "negative wait": {"core_wait_ns": -227307},
}


@pytest.mark.parametrize("what", SECTIONS_THAT_CANNOT_BE)
def test_a_number_of_a_section_that_cannot_be_costs_no_record(
    folder: Path, tmp_path: Path, what: str
) -> None:
    ranks = two_ranks()
    for rank in ranks:
        rank.section(gmres(0, 5, work=5 * US, step=9 * US), **SECTIONS_THAT_CANNOT_BE[what])
    said: list[str] = []
    (path,) = convert(write_all(ranks, folder), tmp_path, report=said.append)
    run = hindmost.open(path)
    run.verify()
    np.testing.assert_allclose(run.durations, 9e-6)
    assert "numbers that cannot be were left out or set right: of rank 0, " in said[0]
    assert "and numbers of 1 other rank" in said[0]


def test_a_section_of_an_unknown_kind_is_left_out(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for rank in ranks:
        rank.section(gmres(0, 5, work=5 * US, step=9 * US), what="poem")
    assert convert(write_all(ranks, folder), tmp_path) == ()


def records_of(**values: object) -> bytes:
    """Return the records of a solve, of which one has other values."""
    records = gmres(0, 5, work=5 * US, step=9 * US).array
    for name, value in values.items():
        records[name][6] = value  # a call
    return records.tobytes()


@pytest.mark.parametrize(
    ("records", "kept"),
    [
        (records_of(begin_ns=-(1 << 62)), 5),
        (records_of(begin_ns=1 << 62), 5),
        (records_of(end_ns=1 << 62), 5),
        (records_of()[:-30], 3),
        (b"", 0),
    ],
    ids=["far too early", "far too late", "far too late an end", "cut off", "none"],
)
def test_a_record_that_cannot_be_costs_no_other(
    folder: Path, tmp_path: Path, records: bytes, kept: int
) -> None:
    ranks = two_ranks()
    for rank in ranks:
        good = cg(0, 5, work=5 * US, step=9 * US)
        rank.section(good, type="cg", iterations=5)
        rank.section(gmres(good.at, 5, work=5 * US, step=9 * US))
        if rank.rank:
            moved = np.frombuffer(records[: len(records) // 24 * 24], RECORD).copy()
            odd = np.abs(moved["begin_ns"]) > 1 << 40
            moved["begin_ns"][~odd] += good.at
            calls = (moved["what"] <= 0) & (moved["end_ns"] < 1 << 40)
            moved["end_ns"][calls] += good.at
            rank.parts[-3] = (RECORDS, moved.tobytes())
    said: list[str] = []
    files = convert(write_all(ranks, folder), tmp_path, report=said.append)
    bodies = {path.name: hindmost.open(path).bodies for path in files}
    assert bodies["app-cg-p2-0.h5"] == 5
    assert bodies.get("app-gmres-p2-0.h5", 0) == kept
    assert any("left out" in each for each in said)


def test_names_are_made_printable(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks(host="n\x1b[2J7", program=["a\nb", "../../etc"], mpi_library="x\u202ey")
    for rank in ranks:
        stream = gmres(0, 5, work=5 * US, step=9 * US)
        rank.section(stream, prefix="../\x07up_", type="gm/res", pc_type="\x1bx", iterations=5)
    (path,) = convert(write_all(ranks, folder), tmp_path / "out")
    assert path.parent == tmp_path / "out"
    header = hindmost.open(path).header
    texts = json.dumps([header.spec, header.environment, header.mpi_library, header.workload])
    assert texts.isprintable()
    assert "\\u001b" not in texts
    assert "/" not in path.name


def test_many_inner_solves_and_long_texts_fit_into_a_header(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks(program=["app", *["x" * 900] * 300])
    for rank in ranks:
        inner = [{"prefix": f"p{n}_", "type": "cg", "count": 1, "ns": n} for n in range(1000)]
        rank.section(gmres(0, 5, work=5 * US, step=9 * US), inner=inner)
        rank.json(8, {f"option_{n}": "y" * 500 for n in range(500)})
    (path,) = convert(write_all(ranks, folder), tmp_path)
    header = hindmost.open(path).header
    assert header.spec["attached"]["inner"][0]["prefix"] == "p999_"
    assert header.environment["command"][-1] == "..."


def test_a_rank_without_a_file(folder: Path, tmp_path: Path) -> None:
    two_solves(folder)
    (folder / "node-0000001.raw").unlink()
    said: list[str] = []
    with pytest.raises(DataError, match="only 1 of 2 ranks"):
        convert(folder, tmp_path, report=said.append)
    assert "1 rank left no file" in said[0]
    assert folder.exists()


def test_files_of_another_program_or_rank_are_refused(folder: Path, tmp_path: Path) -> None:
    two_solves(folder)
    path = folder / "node-0000001.raw"
    (folder / "node-0000002.raw").write_bytes(path.read_bytes())
    with pytest.raises(DamagedFileError, match="another file has records of rank 1"):
        convert(folder, tmp_path)
    (folder / "node-0000002.raw").unlink()
    Raw(1, 3).end().write(folder)
    Raw(3, 2).end().write(folder)
    with pytest.raises(DamagedFileError, match="programs of 2, 3 ranks"):
        convert(folder, tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HMRN",
        b"\x89HDF\r\n\x1a\n" + bytes(100),
        frame(END, b"{}", 0),
        frame(PROGRAM, b'{"version": 2}', 0),
        struct.pack("<4sIQIIII", b"HMRN", 1, 1 << 62, 0, 0, 0, 0),
    ],
)
def test_what_is_no_raw_file(folder: Path, tmp_path: Path, data: bytes) -> None:
    folder.mkdir()
    (folder / "node-0000000.raw").write_bytes(data)
    with pytest.raises(DataError, match="Nothing can be converted"):
        convert(folder, tmp_path)


def test_a_frame_in_a_place_of_its_own(folder: Path, tmp_path: Path) -> None:
    """Arrays before any section, and a second section without arrays."""
    ranks = two_ranks()
    for rank in ranks:
        rank.add(RECORDS, b"x" * 24)
        rank.section(gmres(0, 5, work=5 * US, step=9 * US))
        rank.add(SECTION, rank.parts[-3][1] if rank.parts[-3][0] == SECTION else b"{}")
    assert len(convert(write_all(ranks, folder), tmp_path)) == 1


def with_contexts(folder: Path, **given: Any) -> Path:
    """Leave a solve on two ranks, of which the second says something else of its contexts."""
    ranks = two_ranks()
    for rank in ranks:
        stream = gmres(0, 5, work=5 * US, step=9 * US)
        rank.section(stream).contexts(len(stream.records), **(given if rank.rank else {}))
    return write_all(ranks, folder)


def test_contexts_of_records_become_those_of_events(folder: Path, tmp_path: Path) -> None:
    (path,) = convert(with_contexts(folder, polls=[0, 1, 2]), tmp_path)
    run = hindmost.open(path)
    table = run.contexts
    assert [table.chain(at).tolist() for at in range(table.count)] == [[], [0], [0, 1]]
    assert (table.module.tolist(), table.offset.tolist()) == ([0, PYTHON], [0x1010, 7])
    assert table.codes[0].function == "step"
    assert set(run.variable("event_context").ravel().tolist()) == {1, 2}
    assert run.variable("context_polls").tolist() == [0, 6, 2]


@pytest.mark.parametrize(
    "given",
    [
        {"modules": {"first": 1, "entries": []}},
        {"ends": [3, 1]},
        {"chains": [0, 9, 0]},
        {"chains": [0]},
        {"contexts": [99] * 30},
        {"contexts": [1]},
    ],
)
def test_torn_contexts_are_not_known(folder: Path, tmp_path: Path, given: dict[str, Any]) -> None:
    try:
        paths = convert(with_contexts(folder, **given), tmp_path)
    except DataError:
        return
    run = hindmost.open(paths[0])
    run.verify()
    assert int(run.variable("event_context").max()) < run.contexts.count
