"""Turn what an attached program left into run files.

A raw folder is removed when all of its run files are written. What has been written is noted in it,
so that a conversion that was interrupted goes on where it stopped: a launcher kills its ranks while
one converts, if another rank of the program ended with an error.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hindmost.errors import DataError
from hindmost.harness.attach.folder import (
    JOURNAL,
    Journal,
    Report,
    UnusableError,
    locked,
    note_unusable,
    remove,
    torn,
)
from hindmost.harness.attach.header import origins_of
from hindmost.harness.attach.iterations import UnsureError
from hindmost.harness.attach.missing_marks import (
    advice,
    calls_listed,
    makes_no_call_twice,
    why_no_loop,
    why_nothing,
)
from hindmost.harness.attach.raw import RawProgram, read_program
from hindmost.harness.attach.raw_json import LOOP
from hindmost.harness.attach.section_group import SectionGroup
from hindmost.harness.attach.sections import how_killed, sections_of
from hindmost.harness.attach.settings import FIND
from hindmost.harness.attach.stopped import where_ranks_stood
from hindmost.harness.runfile.provenance import Origins
from hindmost.output import ProgressLine
from hindmost.printable import shell_word
from hindmost.text import counted


def convert(
    folder: Path,
    out: Path,
    origins: Origins | None = None,
    report: Report = lambda _: None,
    iterate_at: tuple[str, int] | None = None,
) -> tuple[Path, ...]:
    """Convert a raw folder into run files, and remove it.

    Parameters
    ----------
    folder : Path
        ``NAME.raw``, of a program that has ended.
    out : Path
        For the run files.
    origins : Origins, optional
        Where the program ran, as its launcher found it; by default what its ranks wrote.
    report : callable
        Takes sentences on what was left out.
    iterate_at : tuple of str, int, optional
        The call at which iterations end, and how many of these; only where all calls were recorded
        to find it.

    Returns
    -------
    tuple of Path
        The run files; none if the program recorded nothing.

    Raises
    ------
    DataError
        Nothing in the folder can be used, or a run file cannot be written; the folder stays.
    """
    with locked(folder), ProgressLine(folder.name) as line:
        report = partial(said, line, report)
        program = read_program(folder, line)
        if iterate_at is not None and program.first.program.mark_call != FIND:
            given = program.first.program.mark_call
            ends = f"at calls of {given} (--iterate-at)" if given else "at its marks"
            raise DataError(
                f"The iterations of {folder.name} end {ends}: only a program that was recorded "
                f"with --iterate-at {FIND} can be converted with other iterations. Leave out "
                "--iterate-at, or record the program again."
            )
        for why in (*program.unreadable, *torn(program)):
            report(why)
        stood = where_ranks_stood(program)
        if stood:
            report(f"{folder.name}: when the program was ended, {stood}")
        groups, left_out = sections_of(program)
        for why in left_out if groups else ():
            report(f"{folder.name}: {why}")
        if left_out and not groups:
            call = program.first.program.mark_call
            why = why_no_loop(program) if call and program.finished else f"{left_out[0]}."
            note_unusable(folder, why)
            raise UnusableError(folder, why)
        if not groups:
            report(why_nothing(program))
        tell_unused(program, report)
        killed = how_killed(program)
        if killed and groups and all(group[0].parts[0].facts.what != LOOP for group in groups):
            report(f"{folder.name}: {killed}; a solve that it had not finished is lost")
        origins = origins_of(program, origins)
        journal = Journal(folder / JOURNAL, out)
        files: list[Path] = []
        for number, group in enumerate(groups):
            try:
                files += SectionGroup(
                    program=program,
                    sections=group,
                    out=out,
                    origins=origins,
                    journal=journal,
                    number=number,
                    report=report,
                    iterate_at=iterate_at,
                    line=line,
                ).write()
            except UnsureError as error:
                if makes_no_call_twice(program):
                    report(f"Nothing was recorded: {advice(program)}")
                    break
                why = " ".join(
                    filter(None, (str(error), calls_listed(program), how_to_choose(folder)))
                )
                note_unusable(folder, why)
                raise DataError(f"{folder.name}: {why}") from error
        remove(folder, report)
    return tuple(files)


def said(line: ProgressLine, report: Report, sentence: str) -> None:
    """Report a sentence; the line of progress makes room for it."""
    line.clear()
    report(sentence)


def how_to_choose(folder: Path) -> str:
    """Say how the iterations of a program are chosen whose calls are all recorded."""
    return (
        "Its records are kept. Choose a loop or a call: hindmost attach --convert "
        f"{shell_word(folder)} --out {shell_word(folder.parent)} --iterate-at LOOP|CALL[:N]. "
        f"Or delete them: rm -r {shell_word(folder)}"
    )


def tell_unused(program: RawProgram, report: Report) -> None:
    """Say which marks of iterations were not kept."""
    ends = [raw.end for raw in program.ranks.values() if raw.end is not None]
    unused = max((end.marks_in_solves for end in ends), default=0)
    if unused:
        said = program.first.program
        why = "they lie inside solves"
        if said.chooses_solves:
            why = "--only, --every and --most choose solves"
        if said.mark_call:
            why = "--iterate-at says where iterations end"
        report(f"{program.folder.name}: {counted(unused, 'mark')} of iterations not kept: {why}")
