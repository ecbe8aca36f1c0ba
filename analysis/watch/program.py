"""A program while it is recorded, from what the process that watches it notes in its folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hindmost.analysis.runs.stretches import between, parting
from hindmost.analysis.show.facts import UnequalWork
from hindmost.analysis.show.phrases import on_one_run
from hindmost.errors import DataError
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.rank_windows import read_windows
from hindmost.harness.runfile.time_left import NOTE, TimeUse, read_time_use
from hindmost.printable import shell_word
from hindmost.processes import how_ended
from hindmost.text import duration

POLL_S = 1.0
SILENT_S, DEAD_S = 10.0, 60.0
"""Notes come every second: from when on their absence is said, and nobody waits for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedProgram:
    """A program that is attached to, or was.

    Attributes
    ----------
    folder : Path
        Its raw folder.
    """

    folder: Path

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.folder.stem.rpartition("-")[0] or self.folder.stem

    def noted_s(self) -> float:
        """Return when the last note was written; 0 if it is gone."""
        try:
            return (self.folder / NOTE).stat().st_mtime
        except OSError:
            return 0.0

    def is_dead(self, use: TimeUse) -> bool:
        """Tell whether the program is gone, or its last note too old for one that runs."""
        return use.lost or 0.0 < self.noted_s() < time.time() - DEAD_S

    def time_use(self) -> TimeUse:
        """Return what was noted last.

        Raises
        ------
        DataError
            The note is gone or damaged.
        """
        use = read_time_use(self.folder)
        if use is None:
            raise DataError(
                f"{self.folder / NOTE} cannot be read: if the program has ended, its run file says "
                "more: hindmost show."
            )
        return use

    def line(self, use: TimeUse) -> str:
        """Say how far the program is, and who is last."""
        last = last_rank(use)
        return f"{self.progress(use)}{f'. {last}' if last else ''}"

    def progress(self, use: TimeUse) -> str:
        """Say how far the program is."""
        silent_s = time.time() - self.noted_s()
        silent = f" (no news for {duration(silent_s)})" if silent_s > SILENT_S else ""
        return f"{self.name}: {use.progress()}{silent}"

    def ending(self, use: TimeUse) -> str:
        """Say how the program ended."""
        if use.lost:
            return (
                f"{self.name} is gone after {duration(use.at_s)}, and did not write its run file. "
                "What is left of its records becomes one with hindmost attach --convert "
                f"{shell_word(self.folder)}."
            )
        if use.status is None:
            if self.is_dead(use):
                silent = duration(time.time() - self.noted_s())
                return f"No news of {self.name} for {silent}: it was killed, or its disk hangs."
            return f"{self.name} has ended; its run file says more."
        used = f" {use.ending()}" if use.limit_s is not None else ""
        return f"{self.name} {how_ended(use.status)} after {duration(use.at_s)}.{used}"


def last_rank(use: TimeUse) -> str:
    """Say for which rank the others wait, whether that is in doubt, and where; empty: unknown."""
    if use.culprit is None:
        return ""
    where = ""
    if use.place is not None:
        chains = (list(map(CodePlace.read, end)) for end in (use.place.after, use.place.before))
        where = between(*map(str, parting(*chains)))
    fact = UnequalWork(
        quantity="Unequal work",
        culprit=use.culprit,
        subject=f"rank {use.culprit.rank} (of {use.ranks})",
        ranks=use.ranks,
        iterations=0,
        where=where,
        where_share=use.place.share if use.place else 0.0,
    )
    return " ".join(sentence.text for sentence in on_one_run(fact) if not sentence.rank)


class WatchedFolder:
    """What is noted of the programs in a folder, one after the other.

    Attributes
    ----------
    program : WatchedProgram
        The last one.
    use : TimeUse
        What was noted of it last.
    windows : RankWindows or None
    is_over : bool
        Whether it has ended, and none is awaited that follows it.

    Parameters
    ----------
    path : Path
        The folder of run files, or a raw folder.

    Raises
    ------
    DataError
        No program is noted there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        program = find_program(path)
        if program is None:
            raise DataError(
                f"{path}: no program that runs is noted there. It is once its loop is known, if "
                "'hindmost attach', 'hindmost run --live', or record(live=True) records it; if it "
                f"has ended, its run file says more: hindmost show {shell_word(path)}."
            )
        self.program, self.use = program, program.time_use()
        self.windows = read_windows(program.folder)
        self._seen_s = time.monotonic()
        self.is_over = self._has_ended(False)

    def update(self) -> None:
        """Take in what was noted since the last time."""
        program = find_program(self._path)
        use = None if program is None else read_time_use(program.folder)
        if program is not None and use is not None:
            if program.folder != self.program.folder or use.run != self.use.run:
                self.windows = None
            self.program, self.use, self._seen_s = program, use, time.monotonic()
            self.windows = read_windows(program.folder) or self.windows
        self.is_over = self._has_ended(use is None)

    def _has_ended(self, is_gone: bool) -> bool:
        if not is_gone:
            return self.use.status is not None or self.program.is_dead(self.use)
        # Converted, and the folder removed.
        return self.use.run >= self.use.runs or time.monotonic() > self._seen_s + DEAD_S

    def line(self) -> str:
        """Say how far the program is, or how it ended."""
        return (self.program.ending if self.is_over else self.program.line)(self.use)

    @property
    def status(self) -> int:
        """The exit status: a program that failed or died is a finding."""
        return int(bool(self.use.status) or self.program.is_dead(self.use))

    def follow(self, show: Callable[[str], None]) -> None:
        """Show how far the program is until it has ended."""
        while not self.is_over:
            show(self.line())
            time.sleep(POLL_S)
            self.update()


def find_program(path: Path) -> WatchedProgram | None:
    """Return the program that was noted last in a folder of run files, or in a raw folder itself.

    None if there is none.
    """
    found = [
        WatchedProgram(folder=note.parent)
        for note in (*path.glob(NOTE), *path.glob(f"*.raw/{NOTE}"))
    ]
    return max(found, key=WatchedProgram.noted_s, default=None)
