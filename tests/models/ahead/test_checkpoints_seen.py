"""Checkpoints among the iterations of a program, by what they write."""

from hindmost.models.ahead.checkpoints import MIN_BYTES, RESERVE, CheckpointsSeen

MB = 1 << 20


def test_logs_and_smaller_output_are_no_checkpoints() -> None:
    seen = CheckpointsSeen()
    for number, written in enumerate((MIN_BYTES - 1, 2 * MB, 100 * MB, 3 * MB, 90 * MB)):
        seen.observe(written, 1.0 + number, 1.0, ended_s=10.0 * number)
    assert [write.written_bytes for write in seen.writes] == [100 * MB, 90 * MB]
    assert [write.ended_s for write in seen.writes] == [20.0, 40.0]
    assert seen.bound_s == RESERVE * 4.0


def test_nothing_is_kept_free_for_what_was_never_seen() -> None:
    seen = CheckpointsSeen()
    seen.observe(0, 5.0, 1.0, ended_s=0.0)
    assert (seen.writes, seen.bound_s) == ((), 0.0)
