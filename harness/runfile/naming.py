"""The name of a run file: reserved before writing, given to the complete file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from hindmost.errors import DataError, UsageError
from hindmost.files import publish
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.schema import SUFFIX


@dataclass(frozen=True, slots=True)
class RunName:
    """The name of a new run: the first free ``STEM-N.h5`` of a folder, or one path."""

    folder: Path
    stem: str
    numbered: bool = True

    @classmethod
    def of(cls, folder: Path, header: Header) -> RunName:
        """Return the name of a run in a folder."""
        return cls(folder, f"{header.workload}-{header.solver}-p{header.ranks}")

    def candidates(self) -> Iterator[Path]:
        """Yield the possible names, in order."""
        numbers: Iterable[str] = (f"-{n}" for n in count()) if self.numbered else ("",)
        for number in numbers:
            yield self.folder / f"{self.stem}{number}{SUFFIX}"

    def refuse_taken(self) -> None:
        """Raise a UsageError if no name is free, before the run."""
        if not self.numbered and next(self.candidates()).exists():
            raise UsageError(f"{next(self.candidates())} exists; hindmost never overwrites a run.")

    def reserve(self) -> Path:
        """Create the preliminary file of the first free name."""
        for path in self.candidates():
            part = path.with_name(path.name + ".part")
            if path.exists():
                continue
            try:
                part.touch(exist_ok=False)
            except FileExistsError:
                continue
            except OSError as error:
                raise unwritable(part, error) from error
            return part
        raise UsageError(f"{path} exists, or is being written; hindmost never overwrites a run.")

    def publish(self, part: Path) -> Path:
        """Give a finished file the first free name; never replace a file."""
        for path in self.candidates():
            try:
                publish(part, path)
            except FileExistsError:
                continue
            return path
        raise UsageError(f"{path} appeared in the meantime; hindmost never overwrites a run.")


def unwritable(path: Path, error: OSError) -> DataError:
    """Say why a file cannot be written."""
    return DataError(
        f"{path} cannot be written: {error.strerror}. Nothing was left behind; free some space or "
        "choose another folder with --out."
    )
