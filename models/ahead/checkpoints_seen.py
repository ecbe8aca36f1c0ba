"""What a checkpoint of a program costs, learnt from what its iterations write."""

from __future__ import annotations

from dataclasses import dataclass

MIN_BYTES = 1 << 20
"""Less is a log."""
CHECKPOINT_SHARE = 0.5
"""A write of at least this share of the largest is a checkpoint; others are output."""
RESERVE = 1.1
"""The last one may take longer than all before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSeen:
    """A write of an iteration.

    Attributes
    ----------
    ended_s : float
        When the iteration ended.
    extra_s : float
        How much longer the iteration was.
    """

    ended_s: float
    written_bytes: int
    extra_s: float


class CheckpointsSeen:
    """The checkpoints among the iterations so far.

    Attributes
    ----------
    writes : tuple of CheckpointSeen
        The last ones, at most 100.
    """

    def __init__(self) -> None:
        self.writes: tuple[CheckpointSeen, ...] = ()

    def observe(
        self, written_bytes: int, measured_s: float, level_s: float, *, ended_s: float
    ) -> None:
        """Observe an iteration.

        Parameters
        ----------
        written_bytes : int
            In it, to file systems.
        measured_s, level_s : float
            Its time, and that of iterations like it which write nothing.
        ended_s : float
            When it ended.
        """
        if written_bytes < MIN_BYTES:
            return
        most = max((write.written_bytes for write in self.writes), default=0)
        if written_bytes < CHECKPOINT_SHARE * most:
            return
        seen = CheckpointSeen(
            ended_s=ended_s,
            written_bytes=written_bytes,
            extra_s=max(0.0, measured_s - level_s),
        )
        least = CHECKPOINT_SHARE * max(most, written_bytes)
        kept = [write for write in self.writes if write.written_bytes >= least]
        self.writes = (*kept[-99:], seen)

    @property
    def bound_s(self) -> float:
        """What the next one takes at most, in seconds; 0 if there was none."""
        return RESERVE * max((write.extra_s for write in self.writes), default=0.0)
