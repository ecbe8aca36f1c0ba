"""Tell a program to stop while its last safe iteration runs, before its time is up."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.harness.attach.pairs import Handler, PairsPage
from hindmost.harness.attach.watch import LoopIterations, LoopWatcher
from hindmost.models.ahead.next_iterations import time_left
from hindmost.text import counted, duration, parse_duration, percent, seconds

POLL_S = 0.02
LAG = 1
"""Iterations that still begin after the program was told, as it looks at their ends."""
END_S = 30.0
"""What is kept free for the end of the program, where nothing was said of it."""
PLAIN_SHARE = 0.95
"""Of the limit, after which a program is told whose loop is not known."""
END_VARIABLE = "SLURM_JOB_END_TIME"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest:
    """How a program is told to stop, and when its time is up.

    Attributes
    ----------
    limit_s : float
        From now on.
    signal : Signals or None
        For the first rank.
    file : Path or None
        That is made.
    end_s : float
        What is kept free for a last look at the flag and the end of the program.
    """

    limit_s: float
    signal: signal.Signals | None = None
    file: Path | None = None
    end_s: float = END_S

    @classmethod
    def of(
        cls, stop_before: str, signal_name: str, file: str, end_takes: str
    ) -> StopRequest | None:
        """Read the options of the command; None if none was given.

        Raises
        ------
        UsageError
            One of them is not right, or no limit is known.
        """
        if not (stop_before or signal_name or file or end_takes):
            return None
        limit_s = seconds_of("--stop-before", stop_before) if stop_before else job_left_s()
        if limit_s is None:
            raise UsageError(
                "When does the time of the program end? Give --stop-before, as 2h; without it, "
                f"hindmost asks the job around it, and no job of Slurm is ({END_VARIABLE})."
            )
        number = None
        if signal_name:
            word = signal_name.upper().removeprefix("SIG")
            if f"SIG{word}" not in signal.Signals.__members__:
                raise UsageError(f"--signal {signal_name}: no such signal; write it as USR1.")
            number = signal.Signals[f"SIG{word}"]
        return cls(
            limit_s=limit_s,
            signal=number,
            file=Path(file).resolve() if file else None,
            end_s=seconds_of("--end-takes", end_takes) if end_takes else END_S,
        )


def seconds_of(option: str, text: str) -> float:
    """Read a duration that an option was given."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from None


def job_left_s() -> float | None:
    """Return the time that is left of the job around this process; None if it does not say."""
    end = os.environ.get(END_VARIABLE, "")
    return int(end) - time.time() if end.isdecimal() else None


@dataclass(slots=True, kw_only=True)
class StopInTime:
    """Watches a program and tells it to stop; `poll` is called every `POLL_S` while it runs.

    Attributes
    ----------
    request : StopRequest
    page : PairsPage
    say : callable
        Tells the person a line.
    """

    request: StopRequest
    page: PairsPage
    say: Callable[[str], None]
    raw_file: Callable[[], Path | None]
    watcher: LoopWatcher = field(init=False)
    begin_s: float = field(init=False)
    told_s: float | None = field(default=None, init=False)
    told_in: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.watcher, self.begin_s = LoopWatcher(self.page), time.monotonic()
        self.page["end_ns"] = round(self._end_s * 1e9)

    @property
    def _end_s(self) -> float:
        return self.begin_s + self.request.limit_s

    def poll(self) -> None:
        """Look once."""
        if self.told_s is not None or not self.page["pid"]:
            return
        if (path := self.raw_file()) is not None:
            self.watcher.follow(path)
        changed = self.watcher.poll()
        iterations = self.watcher.iterations
        if changed and iterations is not None:
            self.say(self._watching(iterations))
        why = self._why_plain() if iterations is None else self._why(iterations)
        if why:
            self._tell(why)

    def end(self, status: int) -> None:
        """Say how the time was used."""
        left_s = self._end_s - time.monotonic()
        used = f"{duration(self.request.limit_s - left_s)} of {duration(self.request.limit_s)}"
        iterations = self.watcher.iterations
        count = f", {counted(iterations.count, 'iteration')} seen" if iterations else ""
        if left_s < 0.0:
            used = f"{used}: OVER the limit by {seconds(-left_s)}"
        else:
            used = f"{used}, {percent(left_s / self.request.limit_s)} unused"
        if self.told_s is None:
            told = "it was not told to stop"
        else:
            told = f"told in iteration {self.told_in + 1}" if self.told_in else "told"
            told = f"{told}, {seconds(time.monotonic() - self.told_s)} before its end"
        self.say(f"The program ended with status {status} after {used}{count}; {told}.")

    def _watching(self, iterations: LoopIterations) -> str:
        level_s, left_s = iterations.next.level, self._end_s - time.monotonic()
        more = max(0, int(left_s / level_s))
        text = (
            f"Watching {self.watcher.name}: {1.0 / level_s:.3g} iterations a second; "
            f"{duration(left_s)} left: about {more:,} more. {seconds(self.request.end_s)} are kept "
            "free for its end"
        )
        number = self.request.signal
        if number is not None and self.page.handler(number) is not Handler.OF_PROGRAM:
            return f"{text}. The program has no handler for {number.name}: it will not be sent."
        return f"{text}."

    def _why(self, iterations: LoopIterations) -> str:
        """Return why to stop now; empty while another iteration fits."""
        checkpoint_s = iterations.checkpoints.bound_s
        reserved_s = checkpoint_s + self.request.end_s + 2.0 * POLL_S
        begin_s = (iterations.begin_ns or 0) * 1e-9
        now_s = time.monotonic()
        fits = time_left(
            iterations.next,
            left_s=self._end_s - max(begin_s, now_s if iterations.begin_ns is None else 0.0),
            lag=LAG,
            reserved_s=reserved_s,
        )
        kept = f"{seconds(self.request.end_s)} for its end"
        if iterations.checkpoints.count:
            kept = f"{kept} and {seconds(checkpoint_s)} for a checkpoint"
        else:
            kept = f"{kept}, nothing for a checkpoint, as none was seen"
        if not fits:
            return f"{fits.explain().removeprefix('Stop: ')[:-1]} ({kept})"
        if self._end_s - now_s < iterations.next.bound_s() + reserved_s:
            return f"the iteration that runs leaves no time for another ({kept})"
        return ""

    def _why_plain(self) -> str:
        share = min(PLAIN_SHARE, 1.0 - self.request.end_s / self.request.limit_s)
        if time.monotonic() < self.begin_s + share * self.request.limit_s:
            return ""
        return f"no loop is known, so it is told after {percent(share)} of the limit"

    def _tell(self, why: str) -> None:
        iterations = self.watcher.iterations
        self.told_s, self.told_in = time.monotonic(), iterations.count if iterations else 0
        self.page["must_stop"] = 1
        ways = []
        number = self.request.signal
        if number is not None:
            if self.page.handler(number) is Handler.OF_PROGRAM:
                with suppress(ProcessLookupError):
                    os.kill(self.page["pid"], number)
                ways.append(f"{number.name} to rank 0")
            else:
                ways.append(f"{number.name} was NOT sent, as the program has no handler for it")
        if self.request.file is not None:
            try:
                self.request.file.touch()
                ways.append(f"the file {self.request.file}")
            except OSError as error:
                ways.append(f"the file {self.request.file} could NOT be made ({error.strerror})")
        told_by = ", ".join(ways) or "hindmost_should_stop()"
        self.say(f"Told the program to stop: {why}; by {told_by}.")
