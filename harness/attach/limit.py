"""When the time of a watched program is up, how it is told, and what is kept free for its end."""

from __future__ import annotations

import re
import signal
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from hindmost.errors import DataError, UsageError
from hindmost.harness.attach.background import Background
from hindmost.harness.attach.raw import SUFFIX
from hindmost.harness.batch_job import job_left_s
from hindmost.harness.runfile.time_left import TimeUse, time_use_of
from hindmost.text import parse_duration, seconds

LAG = 1
"""Iterations that begin after a program is told, where nothing was learnt of it."""
END_S = 30.0
"""What is kept free for the end of the program, where nothing was said or learnt of it."""
RESERVE, FLOOR_S = 1.25, 2.0
"""The end may take a quarter longer than that of the last run, with what follows until its run file
is written, and two seconds more: the launcher ends after it."""
MAX_LAG = 100
"""A program in which more iterations began did not react."""
ASK_AHEAD_S, ASK_EVERY_S = 60.0, 20.0
"""So long before a program would be told, and so often from then on, its job is asked for its end:
limits are changed."""
CHANGED_S = 5.0
"""Schedulers round the end of a job."""
BY_OPTION, BY_JOB = "--stop-before", "the end of its job"
ASSUMED, LEARNT, GIVEN = "assumed", "as in its last run", "--end-takes"
OF_JOB = "job"
"""Of ``--stop-before``: the end of the job, as without it."""
FILES_TRIED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest:
    """How a program is told to stop, and when its time is up.

    Attributes
    ----------
    limit_s : float
        From now on.
    limit_by : str
        Who set it.
    signal : Signals or None
        For the first rank.
    file : Path or None
        That is made.
    end_s : float or None
        What is kept free for the end of the program, if that was given.
    """

    limit_s: float
    limit_by: str = BY_OPTION
    signal: signal.Signals | None = None
    file: Path | None = None
    end_s: float | None = None

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
        given = stop_before != OF_JOB and stop_before
        limit_s = seconds_of("--stop-before", stop_before) if given else job_left_s()
        if limit_s is None:
            raise UsageError(
                "When does the time of the program end? Give --stop-before, as 2h; without it, "
                "hindmost asks the job of Slurm or PBS around it, and there is none that tells."
            )
        if limit_s <= 0.0:
            raise UsageError(
                f"The time of the program is up {seconds(-limit_s)} before it starts. Give a later "
                "--stop-before."
            )
        number = None
        if signal_name:
            word = signal_name.upper().removeprefix("SIG")
            if f"SIG{word}" not in signal.Signals.__members__:
                raise UsageError(f"--signal {signal_name}: no such signal; write it as USR1.")
            number = signal.Signals[f"SIG{word}"]
        return cls(
            limit_s=limit_s,
            limit_by=BY_OPTION if given else BY_JOB,
            signal=number,
            file=Path(file).resolve() if file else None,
            end_s=seconds_of("--end-takes", end_takes) if end_takes else None,
        )


def seconds_of(option: str, text: str) -> float:
    """Read a duration that an option was given."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from None


@dataclass(slots=True, kw_only=True)
class Limit:
    """When the time of the program is up; a job is asked for it anew before that.

    Attributes
    ----------
    begin_s, end_s : float
        On the monotonic clock.
    by : str
    """

    begin_s: float
    end_s: float
    by: str
    _asked_s: float = field(default=float("-inf"), init=False)
    _answer: Background[float | None] | None = field(default=None, init=False)

    @property
    def left_s(self) -> float:
        """Time until then."""
        return self.end_s - time.monotonic()

    @property
    def limit_s(self) -> float:
        """Time from the begin on."""
        return self.end_s - self.begin_s

    def renew(self, free_s: float) -> float:
        """Ask anew if it is time; return by how much the end has moved, in seconds.

        Parameters
        ----------
        free_s : float
            Time until the program would be told.
        """
        if self.by != BY_JOB:
            return 0.0
        now_s = time.monotonic()
        if free_s < ASK_AHEAD_S and now_s >= self._asked_s + ASK_EVERY_S:
            self._asked_s, self._answer = now_s, Background(end_of_job_s)
        if self._answer is None or not self._answer.is_answered:
            return 0.0
        end_s, self._answer = self._answer.answer(), None
        if end_s is None or abs(end_s - self.end_s) < CHANGED_S:
            return 0.0
        moved_s, self.end_s = end_s - self.end_s, end_s
        return moved_s


def end_of_job_s() -> float | None:
    """Ask the scheduler for the end of the job, on the monotonic clock; None if unknown."""
    left_s = job_left_s(anew=True)
    return None if left_s is None else time.monotonic() + left_s


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFree:
    """What is kept free of the limit, beside the next iteration and a checkpoint.

    Attributes
    ----------
    lag : int
        Iterations that begin after the program is told.
    end_s : float
    lag_by, end_by : str
        Where they are from.
    """

    lag: int = LAG
    end_s: float = END_S
    lag_by: str = ASSUMED
    end_by: str = ASSUMED

    @classmethod
    def of(cls, given_s: float | None, last: TimeUse | None) -> KeptFree:
        """Return what is known: by option, from the last run of the program, or assumed."""
        kept = cls()
        if last is not None and last.end_seen_s is not None:
            end_s = RESERVE * (last.end_seen_s + (last.written_after_s or 0.0)) + FLOOR_S
            kept = replace(kept, end_s=end_s, end_by=LEARNT)
        if last is not None and last.lag_seen is not None:
            kept = replace(kept, lag=max(LAG, last.lag, last.lag_seen), lag_by=LEARNT)
        return kept if given_s is None else replace(kept, end_s=given_s, end_by=GIVEN)


def last_time_use(out: Path, raw_folder: Path) -> TimeUse | None:
    """Return how the time of the last run of a program was used; None if no run file says so.

    Parameters
    ----------
    out : Path
        Of its run files.
    raw_folder : Path
        Of the run that began now.
    """
    from hindmost.harness.attach.header import KIND, file_name
    from hindmost.harness.runfile.reader import open_run

    name = file_name(re.sub(r"-\d+$", "", raw_folder.name.removesuffix(SUFFIX)))
    paths = sorted(out.glob(f"{name}-*.h5"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in paths[:FILES_TRIED]:
        try:
            attached = open_run(path).header.spec.get(KIND, {})
        except (DataError, OSError):
            continue
        if attached.get("name") == name and (use := time_use_of(attached)) is not None:
            return use
    return None
