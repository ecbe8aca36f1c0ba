"""Turn what an attached program left into run files.

A raw folder is removed when all of its run files are written. What has been written is noted in it,
so that a conversion that was interrupted goes on where it stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.errors import DataError
from hindmost.harness.attach.bodies import (
    NS,
    Found,
    clock_of,
    joined,
    on_common_clock,
    recording_of,
    solve_bodies,
)
from hindmost.harness.attach.folder import (
    JOURNAL,
    Journal,
    Report,
    UnusableError,
    is_fresh,
    locked,
    note_unusable,
    refuse_without_memory,
    remove,
    torn,
)
from hindmost.harness.attach.frames import Frame
from hindmost.harness.attach.header import LOOP, failure_of, header_of, origins_of
from hindmost.harness.attach.loops import loop_bodies
from hindmost.harness.attach.marks import why_no_loop, why_nothing
from hindmost.harness.attach.period import UnsureError
from hindmost.harness.attach.ranks import on_ranks
from hindmost.harness.attach.raw import (
    RawProgram,
    RawRank,
    UnreadableVersionError,
    read_program,
)
from hindmost.harness.attach.sections import Matched, how_killed, sections_of
from hindmost.harness.attach.settings import FIND
from hindmost.harness.krylov.memory import available_bytes
from hindmost.harness.runfile.bodies import INJECTED, PHASES, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun, SolveOfBody
from hindmost.harness.runfile.naming import RunName
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.writer import write_run_as
from hindmost.printable import shell_word
from hindmost.text import counted

MOST_MESSAGES = (1 << 31) - 1


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
    with locked(folder):
        program = readable(folder)
        if iterate_at is not None and program.first.program.mark_call != FIND:
            given = program.first.program.mark_call
            ends = f"at calls of {given} (--iterate-at)" if given else "at its marks"
            raise DataError(
                f"The iterations of {folder.name} end {ends}: only a program that was recorded "
                f"with --iterate-at {FIND} can be converted with another call. Leave out "
                "--iterate-at, or record the program again."
            )
        for why in (*program.unreadable, *torn(program)):
            report(why)
        sections = sections_of(program)
        for why in sections.left_out if sections.groups else ():
            report(f"{folder.name}: {why}")
        if sections.left_out and not sections.groups:
            call = program.first.program.mark_call
            why = why_no_loop(program) if call and program.finished else f"{sections.left_out[0]}."
            note_unusable(folder, why)
            raise UnusableError(folder, why)
        if not sections.groups:
            report(why_nothing(program))
        tell_unused(program, report)
        killed = how_killed(program)
        if (
            killed
            and sections.groups
            and all(group[0].parts[0].facts.what != LOOP for group in sections.groups)
        ):
            report(f"{folder.name}: {killed}; a solve that it had not finished is lost")
        origins = origins_of(program, origins)
        journal = Journal(folder / JOURNAL, out)
        files: list[Path] = []
        for number, group in enumerate(sections.groups):
            try:
                files += write_group(
                    program, group, out, origins, (journal, number), report, iterate_at
                )
            except UnsureError as error:
                why = f"{error} {how_to_choose(folder)}"
                note_unusable(folder, why)
                raise DataError(f"{folder.name}: {why}") from error
        remove(folder, report)
    return tuple(files)


def readable(folder: Path) -> RawProgram:
    """Read a raw folder; one that never will be readable is noted as such."""
    try:
        return read_program(folder)
    except UnreadableVersionError:
        raise
    except DataError as error:
        if is_fresh(folder):  # its program may be starting
            raise
        note_unusable(folder, str(error))
        raise UnusableError(folder, str(error)) from error


def how_to_choose(folder: Path) -> str:
    """Say how the iterations of a program are chosen whose calls are all recorded."""
    return (
        "Its records are kept. Choose the call: hindmost attach --convert "
        f"{shell_word(folder)} --out {shell_word(folder.parent)} --iterate-at CALL[:N]. Or delete "
        f"them: rm -r {shell_word(folder)}"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The sections that make one run file, as one rank has them.

    Attributes
    ----------
    group : tuple of Matched
    found : tuple of Found
        In the same order.
    generic : str
        Why the bodies are those of any solver; empty if they follow the pattern.
    """

    group: tuple[Matched, ...]
    found: tuple[Found, ...]
    generic: str

    @property
    def none(self) -> int:
        """Solves that ended before their first iteration."""
        return sum(each.bodies is None for each in self.found)


def write_group(
    program: RawProgram,
    group: Sequence[Matched],
    out: Path,
    origins: Origins,
    place: tuple[Journal, int],
    report: Report,
    iterate_at: tuple[str, int] | None = None,
) -> list[Path]:
    """Write the run files of sections of one kind: one, or two if some solves left their pattern.

    Parameters
    ----------
    place : tuple of Journal, int
        Where it is noted, and the number of the group in it.
    """
    refuse_without_memory(program, group, available_bytes())
    raws = [program.ranks[rank] for rank in group[0].ranks]
    zero_ns = on_common_clock(raws[0], group[0].parts[0].facts.begin_ns)
    injecting = bool(program.first.program.injected)
    seen = len(raws) == 1 or not all(raw.end and raw.end.mpi_calls == 0 for raw in raws)
    journal, number = place
    said = raws[0].program
    calls_at = (said.call_names, *(iterate_at or (FIND, 1))) if said.mark_call == FIND else None

    def work(communicator: Any) -> list[Path]:
        rank = communicator.rank
        raw, clock = raws[rank], clock_of(raws[rank], zero_ns)
        found = []
        for each in group:
            part = each.parts[rank]
            recording = recording_of(part, raw, clock, seen=seen, injecting=injecting)
            if part.facts.what == LOOP:
                names = own_phases(each, injecting=injecting)
                found.append(loop_bodies(part, recording, communicator, names, calls_at))
            else:
                cut = not each.whole
                found.append(solve_bodies(part, recording, communicator, cut=cut))
        if rank == 0:
            tell_none(program, found, report)
        files = []
        for chosen in choices(group, found):
            run = f"{number}{'-generic' if chosen.generic else ''}"
            before = communicator.bcast(journal.written(run) if rank == 0 else None)
            if before is not None:
                files.append(before)
                continue
            bodies, norms = joined(chosen.found)
            counts = bodies.work_amount
            work = communicator.allgather(None if counts is None else float(counts.sum()))
            header = None
            if rank == 0:
                cut = any(each.cut for each in chosen.found)
                header = header_of(
                    program,
                    chosen.group,
                    bodies,
                    generic=chosen.generic,
                    none=chosen.none,
                    failure=failure_of(program, chosen.group, bodies, counts_differ=cut),
                    seen=seen,
                    origins=origins,
                    period=chosen.found[0].period,
                    others=chosen.found[0].others,
                    work=None if None in work else min(round(sum(work)), 1 << 53),
                )
                out.mkdir(parents=True, exist_ok=True)
            header = communicator.bcast(header)
            mine = rank_run(raw, rank, chosen, bodies, norms, seen=seen)
            path = write_run_as(RunName.of(out, header), header, mine, communicator)
            if rank == 0:
                journal.note(run, path)
            files.append(path)
        return files

    return on_ranks(len(raws), work)[0]


def own_phases(each: Matched, *, injecting: bool) -> list[str]:
    """Return the phases that the ranks of a loop mark, without those that every run has."""
    names = dict.fromkeys(name for part in each.parts for name in part.facts.phases)
    taken = (*PHASES, INJECTED) if injecting else PHASES
    return [name for name in names if name and name not in taken]


def tell_none(program: RawProgram, found: Sequence[Found], report: Report) -> None:
    """Say of which sections nothing is left."""
    for why, count in Counter(each.why_none for each in found if each.why_none).items():
        report(f"{program.folder.name}: {counted(count, 'section')} left out: {why}")


def choices(group: Sequence[Matched], found: Sequence[Found]) -> Iterator[Chosen]:
    """Yield the sections of each run file: those that follow the pattern, then the others.

    A solve without iterations is counted with the first file. Loops differ by their phases.
    """
    kinds = list(dict.fromkeys(kind_of(each) for each in found if each.bodies is not None))
    for kind in kinds:
        place = [
            at
            for at, each in enumerate(found)
            if (kind_of(each) == kind if each.bodies else kind == kinds[0] and not each.why_none)
        ]
        with_bodies = [found[at] for at in place if found[at].bodies is not None]
        yield Chosen(
            group=tuple(group[at] for at in place),
            found=tuple(found[at] for at in place),
            generic=with_bodies[0].generic,
        )


def kind_of(found: Found) -> tuple[bool, tuple[str, ...]]:
    """Return what the sections of one file have in common."""
    return bool(found.generic), () if found.bodies is None else found.bodies.phases


def rank_run(
    raw: RawRank,
    rank: int,
    chosen: Chosen,
    bodies: RankBodies,
    norms: Any,
    *,
    seen: bool,
) -> RankRun:
    """Return what a rank brings to a run file.

    Parameters
    ----------
    rank : int
        In the run.
    norms : float64 array, shape (body,)
    """
    facts = [each.parts[rank].facts for each in chosen.group]
    other_s = sum(sum(each.other_ns.values()) for each in facts) * NS
    clock = clock_of(raw, 0)
    is_loop = facts[0].what == LOOP
    return RankRun(
        bodies=bodies,
        residual_norm=norms,
        incoming=edges_of(chosen, rank, bodies.duration.size),
        mpi_other_s=min(other_s, bodies.solve_time_s) if seen else bodies.solve_time_s,
        context_switches=sum(each.switches for each in facts),
        foreign_calls=sum(each.foreign_calls for each in facts),
        polls=sum(each.polls for each in facts) if is_loop else 0,
        cpu=raw.program.cpu,
        cpuset=raw.program.cpuset,
        host=raw.program.host,
        load_before=facts[0].load_before,
        load_after=facts[-1].load_after,
        clock_offset_s=clock.offset_s,
        clock_uncertainty_s=clock.uncertainty_s,
        solves=None if is_loop else solves_of(chosen, rank),
    )


def solves_of(chosen: Chosen, rank: int) -> SolveOfBody:
    """Return which solve each body is of."""
    facts, counts = [], []
    for each, found in zip(chosen.group, chosen.found, strict=True):
        if found.bodies is not None:
            facts.append(each.parts[rank].facts)
            counts.append(found.bodies.duration.size)
    steps = {
        name: np.repeat(np.array([getattr(each, name) for each in facts], np.int32), counts)
        for name in ("snes_step", "time_step")
    }
    return SolveOfBody(
        solve=np.repeat(np.array([each.solve for each in facts], np.uint32), counts),
        **{name: step if (step >= 0).any() else None for name, step in steps.items()},
    )


def edges_of(chosen: Chosen, rank: int, bodies: int) -> Edges:
    """Return to whom a rank sent, with the mean messages and bytes of a body."""
    sent = [each.parts[rank].array(Frame.EDGES) for each in chosen.group]
    peers = np.concatenate([each["peer"] for each in sent])
    targets, which = np.unique(peers, return_inverse=True)
    total = np.bincount(which, np.concatenate([each["messages"] for each in sent]), targets.size)
    size = np.bincount(which, np.concatenate([each["bytes"] for each in sent]), targets.size)
    messages = np.clip(np.rint(total / bodies), 1, MOST_MESSAGES)
    return Edges(
        source=np.full(targets.size, rank, np.int32),
        target=targets.astype(np.int32),
        bytes=np.clip(np.rint(size / bodies), 0, 1 << 52).astype(np.int64),
        messages=messages.astype(np.int32),
    )
