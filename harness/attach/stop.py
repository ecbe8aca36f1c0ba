"""Watch a program while it runs, and tell it to stop while its last safe iteration runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hindmost.harness.attach.background import Background
from hindmost.harness.attach.limit import (
    MAX_LAG,
    KeptFree,
    Limit,
    StopRequest,
    last_time_use,
)
from hindmost.harness.attach.pairs import Handler, PairsPage
from hindmost.harness.attach.rank_work import RankWork
from hindmost.harness.attach.watch import NS, LoopIterations, LoopWatcher
from hindmost.harness.runfile.time_left import (
    NOTE,
    WHOLE,
    BandPoint,
    CheckpointWritten,
    StopDecision,
    StopReason,
    TimeUse,
    WatchedPart,
    WorkPlace,
)
from hindmost.models.ahead.next_iterations import time_left
from hindmost.models.ranks.culprit import Culprit
from hindmost.output import strict_json
from hindmost.records import to_document
from hindmost.text import duration, percent

POLL_S = 0.02
PLAIN_SHARE = 0.95
"""Of the limit, after which a program is told whose loop is not known."""
QUIET_S, QUIET_SHARE = 30.0, 0.25
"""After so long, or so much of the limit, it is said that no loop is known."""
NOTE_EVERY_S, PLACE_EVERY_S = 1.0, 3.0
MAX_BAND = 64
"""Points of the band that are kept; then every second one goes."""
MAX_CHECKPOINTS = 50
NO_LIMIT_NS = 2**63 - 1


class ProgramWatch:
    """Watches a program, and tells it to stop in time if that is asked for.

    Parameters
    ----------
    pages : Path
        Folder of the pages of the ranks.
    request : StopRequest or None
    out : Path
        Where run files of earlier runs are.
    say : callable
        Tells the person a line.
    part : WatchedPart
    """

    def __init__(
        self,
        pages: Path,
        request: StopRequest | None,
        out: Path = Path(),
        say: Callable[[str], None] = lambda _: None,
        *,
        part: WatchedPart = WHOLE,
    ) -> None:
        self.page = PairsPage(pages / "0")
        self.request, self._say = request, say
        self._watcher = LoopWatcher(self.page)
        self._pages, self._work = pages, RankWork(pages)
        self._failure = ""
        self._place: tuple[int, WorkPlace | None] = -1, None
        self._look_for_place: Background[tuple[int, WorkPlace | None]] | None = None
        self._place_looked_s = 0.0
        self._out, self._part = out, part
        self._folder: Path | None = None
        self._begin_s, self._began_utc_s = time.monotonic(), time.time()
        self._limit: Limit | None = None
        self._kept = KeptFree()
        if request is not None:
            self._kept = KeptFree.of(request.end_s, None)
            end_s = self._begin_s + request.limit_s
            self._limit = Limit(begin_s=self._begin_s, end_s=end_s, by=request.limit_by)
        self._last_run: Background[TimeUse | None] | None = None
        self._band: list[BandPoint] = []
        self._stride = 1
        self._stop: StopDecision | None = None
        self._told_in: LoopIterations | None = None
        self._told_begun = 0
        self._was_quiet, self._is_announced, self._noted_s = False, False, 0.0
        self._set_end()

    def _set_end(self) -> None:
        self.page["end_ns"] = round(self._limit.end_s / NS) if self._limit else NO_LIMIT_NS

    @property
    def _iterations(self) -> LoopIterations | None:
        return None if self._failure else self._watcher.iterations

    @property
    def _is_learning(self) -> bool:
        """Whether it is not known yet what the last run of the program needed."""
        return self._folder is None or self._last_run is not None

    def poll(self) -> None:
        """Look once."""
        if not self._failure:
            try:
                self._follow()
            except Exception as error:
                self._failure = f"{type(error).__name__}: {error}"
                self._say(f"The loop of the program cannot be watched ({self._failure}).")
        if self._limit is not None and self._stop is None:
            self._decide(self._limit)
        if time.monotonic() >= self._noted_s + NOTE_EVERY_S:
            self._write_note(self._use())

    def _follow(self) -> None:
        """Take in what the program did."""
        if self._folder is None and (path := self.page.raw_file) is not None:
            folder = self._folder = path.parent
            self._watcher.follow(path)
            if self._limit is not None:
                self._last_run = Background(lambda: last_time_use(self._out, folder))
        if self._last_run is not None and self._last_run.is_answered:
            assert self.request is not None
            self._kept = KeptFree.of(self.request.end_s, self._last_run.answer())
            self._last_run = None
        if self.page["pid"] and self._watcher.poll():
            self._band, self._stride, self._is_announced = [], 1, False
            self._work = RankWork(self._pages)
        if self._iterations is None:
            return
        if self._work.poll(self._iterations.count) and self._folder is not None:
            windows = self._work.windows()
            if windows is not None:
                windows.write(self._folder)
        if not self._is_announced and not self._is_learning:
            self._is_announced = True
            if self._limit is not None:
                self._say(f"{self._use().watching()}{self._no_handler()}")
        self._note_band()

    def _note_band(self) -> None:
        iterations = self._watcher.iterations
        assert iterations is not None
        last = self._band[-1].iteration if self._band else -self._stride
        if iterations.count < last + self._stride:
            return
        self._band.append(
            BandPoint(
                iteration=iterations.count,
                at_s=time.monotonic() - self._begin_s,
                level_s=iterations.next.level,
                bound_s=iterations.next.bound_s(),
            )
        )
        if len(self._band) == MAX_BAND:
            self._band, self._stride = self._band[::2], 2 * self._stride

    def _decide(self, limit: Limit) -> None:
        """Tell the program to stop if another iteration may not fit."""
        iterations = None if self._is_learning else self._iterations
        decision = self._plain(limit) if iterations is None else self._by_loop(limit, iterations)
        free_s = limit.left_s - decision.next_s - decision.checkpoint_s - decision.end_s
        if iterations is None:
            free_s = self._plain_share(limit) * limit.limit_s - decision.at_s
        if moved_s := limit.renew(free_s):
            self._set_end()
            self._say(
                f"The job now ends {duration(abs(moved_s))} {'later' if moved_s > 0 else 'earlier'}"
                f": {duration(max(0.0, limit.left_s))} left."
            )
        elif decision.by:
            self._tell(decision)

    def _by_loop(self, limit: Limit, iterations: LoopIterations) -> StopDecision:
        """Return what is decided now; ``by`` is empty while another iteration fits."""
        lag, checkpoint_s = self._kept.lag, iterations.checkpoints.bound_s
        reserved_s = checkpoint_s + self._kept.end_s + 2.0 * POLL_S
        now_s = time.monotonic()
        begin_s = now_s if iterations.begin_ns is None else iterations.begin_ns * NS
        fits = time_left(
            iterations.next, left_s=limit.end_s - begin_s, lag=lag, reserved_s=reserved_s
        )
        # In a long iteration: will those that still begin fit after it?
        after_s = iterations.next.bound_s(max(1, lag))
        is_late = limit.end_s - now_s < after_s + reserved_s
        return StopDecision(
            reason=StopReason.RUNNING if fits else StopReason.NEXT,
            at_s=now_s - self._begin_s,
            left_s=limit.end_s - (now_s if fits else begin_s),
            iteration=iterations.begun,
            count=max(1, lag) if fits else 1 + lag,
            next_s=after_s if fits else fits.needed_s - reserved_s,
            checkpoint_s=checkpoint_s,
            end_s=self._kept.end_s,
            by=() if fits and not is_late else self._ways(),
        )

    def _plain_share(self, limit: Limit) -> float:
        end_s = 0.0 if self._is_learning else self._kept.end_s
        return max(0.0, min(PLAIN_SHARE, 1.0 - end_s / limit.limit_s))

    def _plain(self, limit: Limit) -> StopDecision:
        at_s, share = time.monotonic() - self._begin_s, self._plain_share(limit)
        quiet_s = min(QUIET_S, QUIET_SHARE * limit.limit_s)
        if not self._was_quiet and not self._is_learning and at_s >= quiet_s:
            self._was_quiet = True
            self._say(
                "No loop of the program is known yet. If none will be, it is told to stop after "
                f"{percent(share)} of its time, {duration(share * limit.limit_s)}."
                f"{self._no_handler()}"
            )
        return StopDecision(
            reason=StopReason.PLAIN,
            at_s=at_s,
            left_s=limit.left_s,
            iteration=0,
            count=0,
            next_s=0.0,
            checkpoint_s=0.0,
            end_s=self._kept.end_s,
            by=self._ways() if at_s >= share * limit.limit_s else (),
        )

    @property
    def _signal(self) -> signal.Signals | None:
        """The signal that the program is sent; None if it has no handler for it."""
        number = self.request.signal if self.request is not None else None
        is_handled = number and self.page["pid"] and self.page.handler(number) is Handler.OF_PROGRAM
        return number if is_handled else None

    def _no_handler(self) -> str:
        number = self.request.signal if self.request is not None else None
        if number is None or self._signal is not None:
            return ""
        if not self.page["pid"]:
            return f" {number.name} is not sent, since the program is not recorded (yet)."
        return f" The program has no handler for {number.name} so far; without one it is not sent."

    def _ways(self) -> tuple[str, ...]:
        """Return how the program is told."""
        assert self.request is not None
        ways = [f"{self._signal.name} to rank 0"] if self._signal is not None else []
        if self.request.file is not None:
            ways.append(f"the file {self.request.file}")
        return tuple(ways) or ("hindmost_should_stop()",)

    def _tell(self, decision: StopDecision) -> None:
        assert self.request is not None
        self._stop, self.page["must_stop"] = decision, 1
        self._told_in = self._iterations
        self._told_begun = self._told_in.begun if self._told_in is not None else 0
        more = self._no_handler()
        if self._signal is not None:
            with suppress(ProcessLookupError):
                os.kill(self.page["pid"], self._signal)
        if self.request.file is not None:
            try:
                self.request.file.touch()
            except OSError as error:
                more += f" {self.request.file} could NOT be made ({error.strerror})."
        by = ", ".join(decision.by)
        self._say(f"Told the program to stop: {decision.explain()}; by {by}.{more}")

    def end(self, status: int) -> None:
        """Note how the time was used; say so where it was limited."""
        if self.page["pid"] and not self._failure:
            with suppress(Exception):
                self._watcher.poll()
        use = self._use(status)
        self._write_note(use)
        if use.limit_s is not None:
            self._say(use.ending())

    def _place_of(self, culprit: Culprit | None) -> WorkPlace | None:
        """Return where a rank works more than others, as it was found lately."""
        looking, now_s = self._look_for_place, time.monotonic()
        if looking is not None and looking.is_answered:
            with suppress(Exception):  # of a program that is watched, whatever its names are
                self._place = looking.answer()
            self._look_for_place = None
        elif looking is None and culprit and now_s >= self._place_looked_s + PLACE_EVERY_S:
            self._place_looked_s, work, rank = now_s, self._work, culprit.rank
            self._look_for_place = Background(lambda: (rank, work.place(rank)))
        return self._place[1] if culprit and culprit.rank == self._place[0] else None

    def lose(self) -> None:
        """Note that the program is gone, and nobody knows how it has ended."""
        self._write_note(replace(self._use(), lost=True))

    def _write_note(self, use: TimeUse) -> None:
        if self._folder is None:
            return
        self._noted_s = time.monotonic()
        part = self._folder / f".{NOTE}"
        with suppress(OSError):  # a folder that is gone, a disk that is full
            part.write_text(strict_json(to_document(use)))
            part.replace(self._folder / NOTE)

    def _use(self, status: int | None = None) -> TimeUse:
        now_s, iterations = time.monotonic(), self._iterations
        use = TimeUse(
            began_utc_s=self._began_utc_s,
            at_s=now_s - self._begin_s,
            limit_s=self._limit.limit_s if self._limit else None,
            limit_by=self._limit.by if self._limit else "",
            lag=self._kept.lag,
            end_s=self._kept.end_s,
            lag_by=self._kept.lag_by,
            end_by=self._kept.end_by,
            stop=self._stop,
            status=status,
            run=self._part.run,
            runs=self._part.runs,
        )
        if iterations is None:
            return use
        culprit = self._work.culprit()
        level_s, checkpoint_s = iterations.next.level, iterations.checkpoints.bound_s
        lag_seen = end_seen_s = None
        if status is not None:
            if self._told_in is iterations and iterations.begun - self._told_begun <= MAX_LAG:
                lag_seen = iterations.begun - self._told_begun
            if iterations.begin_ns is not None and status == 0:
                end_s = now_s - iterations.begin_ns * NS - checkpoint_s
                end_seen_s = max(0.0, end_s - (0.0 if self._watcher.is_marked else level_s))
        return replace(
            use,
            loop=(self._watcher.is_marked and self._part.title) or self._watcher.name,
            total=self._part.total,
            iterations=iterations.count,
            level_s=level_s,
            bound_s=iterations.next.bound_s(),
            culprit=culprit,
            place=self._place_of(culprit),
            ranks=self._work.ranks,
            checkpoint_s=checkpoint_s,
            checkpoints=tuple(
                CheckpointWritten(
                    at_s=max(0.0, write.ended_s - self._begin_s),
                    written_bytes=write.written_bytes,
                    extra_s=write.extra_s,
                )
                for write in iterations.checkpoints.writes[-MAX_CHECKPOINTS:]
            ),
            band=tuple(self._band),
            lag_seen=lag_seen,
            end_seen_s=end_seen_s,
        )
