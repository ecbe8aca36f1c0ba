"""Time-independent traces of SimGrid's SMPI: work in flops and messages in bytes, but no times.

``smpirun -trace-ti -trace-file FILE`` writes FILE, a list of files with the actions of one rank
each; a single file with the actions of all ranks is read too, as ``smpirun -replay`` does. A line
is ``RANK ACTION ARGUMENTS``. Requests are named by source, target and tag; datatypes by a number.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from hindmost.analysis.readers.format import TraceFormat, TraceRequest
from hindmost.analysis.readers.formats.smpi_actions import FIRST, RankReader
from hindmost.analysis.readers.formats.smpi_lines import Line
from hindmost.analysis.readers.text_files import first_line, head_of, read_text, split_lines
from hindmost.errors import DataError, UsageError
from hindmost.models.simulation.message_matching import RankTrace, message_program
from hindmost.models.simulation.messages import MOST_OPERATIONS, MessageProgram
from hindmost.parsing import shown

MOST_FILES = 1 << 20


def read_smpi_trace(path: Path, request: TraceRequest) -> MessageProgram:
    """Read a trace.

    Raises
    ------
    DataError
        It is truncated, or contradicts itself.
    UsageError
        The rate that turns flops into seconds is missing.
    """
    if request.flops_per_s is None:
        raise UsageError(
            f"{path} counts work in flops: give --flops-per-second, with the rate at which it was "
            "traced ('smpi/host-speed' of SMPI) for the machine that ran the program."
        )
    files = files_of(path)
    merged = files == [path]
    ranks = ranks_in(path) if merged else len(files)
    readers = {
        rank: RankReader(RankTrace(rank, str(path if merged else files[rank])), request.flops_per_s)
        for rank in range(ranks)
    }
    count = 0
    for number, file in enumerate(files):
        for line, words in numbered(file):
            count += 1
            if count > MOST_OPERATIONS:
                raise DataError(
                    f"{path} has over {MOST_OPERATIONS:,} actions, which replays hold in memory. "
                    "Trace fewer iterations."
                )
            rank = rank_of(file, line, words, ranks)
            reader = readers[rank if merged else number]
            here = Line(
                file=str(file),
                number=line,
                action=words[1] if len(words) > 1 else "",
                words=words[2:],
                ranks=ranks,
                default=reader.default,
            )
            if not merged and rank != number:
                raise here.error(
                    f"an action of rank {rank} in the trace of rank {number}: {path} lists the "
                    "files in another order, or twice."
                )
            reader.read(here)
    return message_program([each.close() for each in readers.values()])


def files_of(path: Path) -> list[Path]:
    """Return the traces that a file lists, or the file itself if it has actions.

    Raises
    ------
    DataError
        A listed file does not exist.
    """
    lines = numbered(path)
    if lines and lines[0][1][0].isdecimal():
        return [path]
    if not 0 < len(lines) <= MOST_FILES:
        raise DataError(f"{path} lists {len(lines):,} files; allowed are 1 to {MOST_FILES:,}.")
    found = []
    for number, words in lines:
        name = " ".join(words)
        file = listed_file(path.parent, name)
        if file is None:
            raise DataError(
                f"{path}, line {number}: {shown(name)} is not a file. Copy the folder of the "
                "traces along with their list, and use the names that the list has."
            )
        found.append(file)
    return found


def listed_file(folder: Path, name: str) -> Path | None:
    """Return a file of a list: from its folder, or in the folder of that name next to the list."""
    for file in (folder / name, folder.joinpath(*Path(name).parts[-2:])):
        with suppress(OSError, ValueError):  # such as a name that is too long
            if file.is_file():
                return file
    return None


def ranks_in(path: Path) -> int:
    """Return how many ranks a file with the actions of all has; they are numbered from 0."""
    found = {rank_of(path, line, words, 0) for line, words in numbered(path)}
    missing = next(rank for rank in range(len(found) + 1) if rank not in found)
    if missing < len(found):
        raise DataError(f"{path} has actions of rank {max(found)}, and none of rank {missing}.")
    return len(found)


def numbered(path: Path) -> list[tuple[int, list[str]]]:
    """Return the lines of a file that are not blank, as words, with their numbers."""
    lines = split_lines(read_text(path))
    return [
        (number, words)
        for number, line in enumerate(lines, 1)
        if (words := line.split()) and not words[0].startswith("#")
    ]


def rank_of(file: Path, number: int, words: list[str], ranks: int) -> int:
    """Return the rank of a line."""
    return Line(file=str(file), number=number, action="rank", words=words[:1], ranks=ranks).whole(0)


def recognises(path: Path, head: bytes) -> bool:
    """Tell whether a file has actions, or begins with the name of a file that has."""
    first = first_line(head)
    if not first.isprintable():
        return False
    words = first.split()
    if len(words) > 1 and words[0].isdecimal():
        return words[1] == FIRST
    listed = listed_file(path.parent, first) if first else None
    try:
        return listed is not None and listed != path and is_begin(listed)
    except DataError:
        return False


def is_begin(path: Path) -> bool:
    """Tell whether a file begins with the first action of a rank."""
    words = first_line(head_of(path)).split()
    return len(words) > 1 and words[0].isdecimal() and words[1] == FIRST


SMPI_TRACE = TraceFormat(
    name="smpi-trace",
    looks_like="lines such as '0 compute 1e6', or a list of files with them (smpirun -trace-ti)",
    recognises=recognises,
    read=read_smpi_trace,
    assumes=(
        "All collectives are of all ranks: these traces do not name communicators.",
        "The end of several requests waits for all that are open, as in SMPI's replay.",
    ),
)
