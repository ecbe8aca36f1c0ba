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

    def follow(self, show: Callable[[str], None]) -> TimeUse:
        """Show how far the program is until it has ended.

        Raises
        ------
        DataError
            Nothing is known of it.
        """
        last = self.time_use()
        while last.status is None and not self.is_dead(last):
            show(self.line(last))
            time.sleep(POLL_S)
            use = read_time_use(self.folder)
            if use is None:  # converted, and the folder removed
                return last
            last = use
        return last

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
        """Say how far the program is."""
        silent_s = time.time() - self.noted_s()
        silent = f" (no news for {duration(silent_s)})" if silent_s > SILENT_S else ""
        last = last_rank(use)
        return f"{self.name}: {use.progress()}{silent}{f'. {last}' if last else ''}"

    def ending(self, use: TimeUse) -> str:
        """Say how the program ended."""
        if use.lost:
            return (
                f"{self.name} is gone after {duration(use.at_s)}, and did not write its run file: "
                f"hindmost attach --convert {shell_word(self.folder)} makes one of its records."
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


def find_program(path: Path) -> WatchedProgram | None:
    """Return the program that was noted last in a folder of run files, or in a raw folder itself.

    None if there is none.
    """
    found = [
        WatchedProgram(folder=note.parent)
        for note in (*path.glob(NOTE), *path.glob(f"*.raw/{NOTE}"))
    ]
    return max(found, key=WatchedProgram.noted_s, default=None)
