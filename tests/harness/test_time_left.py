"""How the time of a watched program was used: what is said of it, and what a damaged note is."""

from pathlib import Path

import pytest

from hindmost.harness.runfile.time_left import (
    KEY,
    NOTE,
    BandPoint,
    CheckpointWritten,
    StopDecision,
    StopReason,
    TimeUse,
    read_time_use,
    time_use_of,
)
from hindmost.output import strict_json
from hindmost.records import to_document

STOP = StopDecision(
    reason=StopReason.NEXT,
    at_s=6900.0,
    left_s=299.5,
    iteration=366_000,
    count=2,
    next_s=0.5,
    checkpoint_s=2.0,
    end_s=297.0,
    by=("SIGUSR1 to rank 0",),
)
USE = TimeUse(
    began_utc_s=1e9,
    at_s=7000.0,
    limit_s=7200.0,
    limit_by="the end of its job",
    loop="Verlet::run",
    iterations=366_010,
    level_s=0.02,
    bound_s=0.3,
    lag=1,
    end_s=297.0,
    lag_by="assumed",
    end_by="as in its last run",
    checkpoint_s=2.0,
    checkpoints=tuple(
        CheckpointWritten(at_s=at_s, written_bytes=1 << 30, extra_s=1.8) for at_s in (9, 57, 106)
    ),
    band=(
        BandPoint(iteration=1, at_s=1.0, level_s=0.04, bound_s=0.3),
        BandPoint(iteration=200_001, at_s=4001.0, level_s=0.016, bound_s=0.3),
        BandPoint(iteration=360_001, at_s=8001.0, level_s=0.02, bound_s=0.3),
    ),
    stop=STOP,
    status=0,
)


def test_what_is_said_at_the_end() -> None:
    assert USE.ending() == (
        "Used 1:56:40 of 2:00:00 (the end of its job): 2.8 % unused. 366,010 iterations of "
        "Verlet::run seen. It was told to stop in iteration 366,000, 100 s before its end: "
        "300 s are left; 2 iterations may take 500 ms; kept for a checkpoint: 2.00 s, for the "
        "end: 297 s."
    )


def test_what_still_fits() -> None:
    assert USE.more == 0
    early = TimeUse(began_utc_s=1e9, at_s=100.0, limit_s=7200.0, level_s=0.02, end_s=100.0)
    assert early.more == 350_000
    assert TimeUse(began_utc_s=1e9, at_s=100.0, level_s=0.02).more is None


def test_trend_and_checkpoints() -> None:
    assert USE.trend == pytest.approx(1.25)
    assert USE.checkpoint_interval_s == 48.5


def test_a_note_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / NOTE).write_text(strict_json(to_document(USE)))
    assert read_time_use(tmp_path) == USE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"began_utc_s": 1, "at_s": -1}',
        '{"began_utc_s": 1, "at_s": 1, "level_s": 0}',
    ],
)
def test_a_damaged_note_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / NOTE).write_text(text)
    assert read_time_use(tmp_path) is None


def test_a_newer_version_may_say_more() -> None:
    document = to_document(USE)
    assert time_use_of({KEY: {**document, "weather": "fine"}}) == USE
    assert time_use_of({}) is None
