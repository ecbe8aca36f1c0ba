"""Reading a feed while it is written, torn or foreign; what a viewer may ask."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.watch.feeds import Feed, frame, head

from hindmost.errors import DataError, NotARunFileError, UnknownSchemaError
from hindmost.harness.runfile.feed import (
    FeedReader,
    bin_edges_ns,
    control_file,
    find_feed,
    write_control,
)

FORESEEN = {
    "cycle": 2, "next_ns": [10, None], "error_percent": [1.5, None], "decides": 0,
    "interval_ns": [5, 20], "rest_ns": None,
}  # fmt: skip


def test_lines_come_once_and_whole(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    with FeedReader(feed.path) as reader:
        assert reader.head.ranks == 4
        assert reader.read_lines() == []
        feed.solve()
        assert [line["kind"] for line in reader.read_lines()] == ["solve"]
        os.write(feed.writer.handle, b'{"kind": "end", "sta')
        assert reader.read_lines() == []
        os.write(feed.writer.handle, b'tus": "done"}\n')
        assert [line["kind"] for line in reader.read_lines()] == ["end"]


def test_what_is_no_line_is_skipped(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    torn = [
        b'{"kind": "frame", "t_ns"',
        b"[]",
        b"null",
        b"\xff\x00",
        b"[" * 100_000,
        b'{"kind": "x"}',
        b'{"kind": ["x"]}',
        b'{"kind": {"x": 1}}',
    ]
    torn.append(b'{"kind": "end", "status": NaN}')
    os.write(feed.writer.handle, b"\n".join(torn) + b"\n")
    feed.solve()
    with FeedReader(feed.path) as reader:
        assert [line["kind"] for line in reader.read_lines()] == ["solve"]
        assert reader.skipped == len(torn)


@pytest.mark.parametrize(
    "change",
    [
        {"t_ns": "x"},
        {"t_ns": 10**400},
        {"t_ns": -1},
        {"window_ns": None},
        {"window_ns": True},
        {"phase_ns": [1, 2, 3]},
        {"bins": {}},
        {"extrema": []},
        {"extrema": [[0, 1]] * 4 + [[4, 1]]},
        {"heat": []},
        {"heat": [0, 0, 0, "1"]},
        {"metric": 99},
        {"period": -1},
        {"foreseen": None},
        {"foreseen": {**FORESEEN, "decides": 2}},
        {"foreseen": {**FORESEEN, "next_ns": [1, "x"]}},
        {"foreseen": {**FORESEEN, "error_percent": []}},
        {"foreseen": {**FORESEEN, "interval_ns": [1]}},
    ],
)
def test_a_frame_that_cannot_be_is_skipped(tmp_path: Path, change: dict[str, Any]) -> None:
    feed = Feed(tmp_path)
    feed.solve()
    for line in (frame(0), {**frame(1), **change}, {**frame(2), "foreseen": FORESEEN}):
        os.write(feed.writer.handle, json.dumps(line).encode() + b"\n")
    os.write(feed.writer.handle, b'{"kind": "frame", "t_ns": 1e999}\n')
    with FeedReader(feed.path) as reader:
        assert [line.get("frame") for line in reader.read_lines()] == [None, 0, 2]
        assert reader.skipped == 2


@pytest.mark.parametrize("change", [{"ranks": 0}, {"ranks": "two"}, {"phases": []}, {"host": 5}])
def test_a_head_that_cannot_be_is_no_feed(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "x.live.jsonl"
    path.write_text(json.dumps({**head().line(), **change}) + "\n")
    with pytest.raises(NotARunFileError):
        FeedReader(path)


def test_names_of_a_feed_move_no_cursor(tmp_path: Path) -> None:
    feed = Feed(tmp_path, replace(head(), workload="a", host="\x1b]0;title\x07"))
    feed.end("failed", "no \x1b[2Jmemory")
    with FeedReader(feed.path) as reader:
        assert reader.head.host == "\\x1b]0;title\\x07"
        assert reader.read_lines()[0]["failure"] == "no \\x1b[2Jmemory"


def test_what_is_no_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.live.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="it is a pipe"):
        FeedReader(pipe)
    with pytest.raises(DataError, match="neither a live feed"):
        find_feed(tmp_path)
    feed = Feed(tmp_path)
    assert find_feed(tmp_path) == feed.path


def test_the_end_is_told_after_a_line_that_a_full_disk_has_torn(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    os.write(feed.writer.handle, b'{"kind": "solve", "sol')
    feed.end()
    with FeedReader(feed.path) as reader:
        assert [line["kind"] for line in reader.read_lines()] == ["end"]
        assert reader.skipped == 1


def test_what_was_asked_of_a_killed_run_is_not_asked_of_the_next(tmp_path: Path) -> None:
    path = tmp_path / "laplacian-1d-p4-0.live.jsonl"
    control_file(path).write_text("2 1\n")
    feed = Feed(tmp_path)
    assert feed.path == path
    assert not control_file(path).exists()


def test_foreign_and_newer_files_are_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "x.live.jsonl"
    for text in ("", "{}\n", "no JSON\n", '{"kind": "end", "status": "done"}\n'):
        foreign.write_text(text)
        with pytest.raises(NotARunFileError):
            FeedReader(foreign)
    foreign.write_text(json.dumps({**head().line(), "version": 99}) + "\n")
    with pytest.raises(UnknownSchemaError, match="version 99"):
        FeedReader(foreign)
    with pytest.raises(DataError, match="cannot be read"):
        FeedReader(tmp_path / "none.live.jsonl")


def test_a_writer_that_is_gone_is_told_from_a_slow_one(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    with FeedReader(feed.path) as reader:
        assert reader.is_written() is True
        feed.die()
        assert reader.is_written() is False


def test_a_feed_is_found_by_its_folder(tmp_path: Path) -> None:
    old, new = Feed(tmp_path), Feed(tmp_path)
    assert old.path != new.path
    os.utime(old.path, ns=(0, 0))
    assert find_feed(tmp_path) == new.path
    assert find_feed(old.path) == old.path
    with pytest.raises(DataError, match="No such file or directory"):
        find_feed(tmp_path / "b-0.h5")


def test_only_what_the_lists_hold_can_be_asked(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    lists = head()
    write_control(feed.path, lists, 2.0, "wait")
    asked = control_file(feed.path)
    assert asked.read_text() == "4 2\n"
    assert asked.stat().st_mode & 0o777 == 0o600
    for period, metric in ((3.0, "wait"), (2.0, "x"), (float("nan"), "wait"), (2.0, "")):
        with pytest.raises(DataError, match="choose from"):
            write_control(feed.path, lists, period, metric)
    assert asked.read_text() == "4 2\n"
    feed.end()
    assert not asked.exists()


def test_bins_are_four_an_octave() -> None:
    assert bin_edges_ns(0, 8) == [256, 320, 384, 448, 512, 640, 768, 896, 1024]
