"""Sections of one kind of an attached program, put together and written as run files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.files import make_folder
from hindmost.harness.attach.bodies import (
    NS,
    Found,
    clock_of,
    joined,
    on_common_clock,
    recording_of,
    solve_bodies,
)
from hindmost.harness.attach.folder import Journal, Report, refuse_without_memory
from hindmost.harness.attach.header import LOOP, failure_of, header_of
from hindmost.harness.attach.loops import Ends, loop_bodies
from hindmost.harness.attach.raw import Frame, RawProgram, RawRank
from hindmost.harness.attach.sections import Matched
from hindmost.harness.attach.settings import FIND
from hindmost.harness.loops.names import places_of
from hindmost.harness.memory import available_bytes
from hindmost.harness.runfile.bodies import INJECTED, PHASES, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun, SolveOfBody
from hindmost.harness.runfile.contexts import CallContexts, merged
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.writer import write_run_as
from hindmost.harness.solo import Solo
from hindmost.text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The sections that make one run file.

    Attributes
    ----------
    group : tuple of Matched
    found : tuple of (list of Found)
        In the same order, of every rank.
    generic : str
        Why the bodies are those of any solver; empty if they follow the pattern.
    """

    group: tuple[Matched, ...]
    found: tuple[list[Found], ...]
    generic: str

    @property
    def none(self) -> int:
        """Solves that ended before their first iteration."""
        return sum(each[0].bodies is None for each in self.found)


@dataclass(frozen=True, slots=True)
class CommonContexts:
    """The call contexts of all ranks of a run, and what each rank's own are in them.

    Attributes
    ----------
    table : CallContexts
    numbers : tuple of uint32 array, shape (context,)
        Of each rank.
    """

    table: CallContexts
    numbers: tuple[NDArray[np.uint32], ...]

    def polls_of(self, rank: int, raw: RawRank) -> NDArray[np.int64]:
        """Return the calls of a rank that found nothing, shape (context,)."""
        known = min(raw.polls.size, self.numbers[rank].size)
        return np.bincount(self.numbers[rank][:known], raw.polls[:known], self.table.count).astype(
            np.int64
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionGroup:
    """Sections of one kind, and what their ranks have to know to write them.

    Attributes
    ----------
    program : RawProgram
    sections : tuple of Matched
    out : Path
        For the run files.
    origins : Origins
    journal : Journal
    number : int
        Of the group in the journal.
    report : callable
        Takes sentences on what was left out.
    iterate_at : tuple of str, int; None
        As `convert` takes it.
    """

    program: RawProgram
    sections: tuple[Matched, ...]
    out: Path
    origins: Origins
    journal: Journal
    number: int
    report: Report
    iterate_at: tuple[str, int] | None

    @property
    def raws(self) -> list[RawRank]:
        """The raw files of the ranks of the run."""
        return [self.program.ranks[rank] for rank in self.sections[0].ranks]

    def ends(self, contexts: CallContexts, phase: int) -> Ends | None:
        """Return where iterations end; None if the program marked them."""
        said = self.raws[0].program
        if said.mark_call != FIND:
            return None
        at, every = self.iterate_at or (FIND, 1)
        return Ends(names=said.call_names, at=at, every=every, contexts=contexts, phase=phase)

    @property
    def mpi_seen(self) -> bool:
        """Whether the recorder saw MPI calls; a rank alone need not make any."""
        raws = self.raws
        return len(raws) == 1 or not all(raw.end and raw.end.mpi_calls == 0 for raw in raws)

    def write(self) -> list[Path]:
        """Write the run files.

        One; two if some solves left their pattern; one for each loop that the program does one
        after the other.
        """
        refuse_without_memory(self.program, self.sections, available_bytes())
        table, numbers = merged(raw.contexts for raw in self.raws)
        named = places_of(table, range(table.module.size))
        places = tuple(str(named[frame]) for frame in range(table.module.size))
        contexts = CommonContexts(replace(table, places=places), numbers)
        files: list[Path] = []
        phase, phases = 0, 1
        while phase < phases:
            found = [self.found_in(each, contexts, phase) for each in self.sections]
            if not phase:
                tell_none(self.program, [each[0] for each in found], self.report)
            files += [
                self.write_run(each, contexts, phase) for each in choices(self.sections, found)
            ]
            loop = found[0][0].iterations
            phase, phases = phase + 1, 1 if loop is None else loop.chosen
        return files

    def found_in(self, section: Matched, contexts: CommonContexts, phase: int) -> list[Found]:
        """Return the bodies of a section on every rank."""
        raws = self.raws
        zero_ns = on_common_clock(raws[0], self.sections[0].parts[0].facts.begin_ns)
        seen, injecting = self.mpi_seen, bool(self.program.first.program.injected)
        recordings = [
            recording_of(part, raw, clock_of(raw, zero_ns), numbers, seen=seen, injecting=injecting)
            for part, raw, numbers in zip(section.parts, raws, contexts.numbers, strict=True)
        ]
        cut = not section.whole
        if section.parts[0].facts.what != LOOP:
            return solve_bodies(section.parts, recordings, cut=cut)
        names = own_phases(section, injecting=injecting)
        ends = self.ends(contexts.table, phase)
        return loop_bodies(section.parts, recordings, names, ends, cut=cut)

    def write_run(self, chosen: Chosen, contexts: CommonContexts, phase: int) -> Path:
        """Write a run file, unless an interrupted conversion wrote it."""
        seen = self.mpi_seen
        run = f"{self.number}{'-generic' if chosen.generic else ''}{f'-{phase}' if phase else ''}"
        before = self.journal.written(run)
        if before is not None:
            return before
        ranks = [joined(of_rank) for of_rank in zip(*chosen.found, strict=True)]
        counts = [bodies.work_amount for bodies, _ in ranks]
        work = [float(each.sum()) for each in counts if each is not None]
        cut = any(each[0].cut for each in chosen.found)
        first = ranks[0][0]
        header = header_of(
            self.program,
            chosen.group,
            first,
            generic=chosen.generic,
            none=chosen.none,
            failure=failure_of(self.program, chosen.group, first, counts_differ=cut),
            seen=seen,
            origins=self.origins,
            iterations=chosen.found[0][0].iterations,
            phase=phase,
            work=None if len(work) < len(ranks) else min(round(sum(work)), 1 << 53),
        )
        make_folder(self.out, "--out")
        runs = []
        for rank, (bodies, norms) in enumerate(ranks):
            mine = rank_run(self.raws[rank], rank, chosen, bodies, norms, seen=seen)
            if contexts.table.known:
                polls = contexts.polls_of(rank, self.raws[rank])
                mine = replace(mine, contexts=contexts.table, polls_by_context=polls)
            runs.append(mine)
        path = write_run_as(RunName.of(self.out, header), header, runs, Solo())
        self.journal.note(run, path)
        return path


def own_phases(each: Matched, *, injecting: bool) -> list[str]:
    """Return the phases that the ranks of a loop mark, without those that every run has."""
    names = dict.fromkeys(name for part in each.parts for name in part.facts.phases)
    taken = (*PHASES, INJECTED) if injecting else PHASES
    return [name for name in names if name and name not in taken]


def tell_none(program: RawProgram, found: Sequence[Found], report: Report) -> None:
    """Say of which sections nothing is left."""
    for why, count in Counter(each.why_none for each in found if each.why_none).items():
        report(f"{program.folder.name}: {counted(count, 'section')} left out: {why}")


def choices(group: Sequence[Matched], found: Sequence[list[Found]]) -> Iterator[Chosen]:
    """Yield the sections of each run file: those that follow the pattern, then the others.

    A solve without iterations is counted with the first file. Loops differ by their phases.

    Parameters
    ----------
    found : sequence of (list of Found)
        Of every section, what is found on every rank.
    """
    first = [each[0] for each in found]
    kinds = list(dict.fromkeys(kind_of(each) for each in first if each.bodies is not None))
    for kind in kinds:
        place = [
            at
            for at, each in enumerate(first)
            if (kind_of(each) == kind if each.bodies else kind == kinds[0] and not each.why_none)
        ]
        yield Chosen(
            group=tuple(group[at] for at in place),
            found=tuple(found[at] for at in place),
            generic=next(first[at].generic for at in place if first[at].bodies is not None),
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
        core_wait_s=sum(each.core_wait_s for each in facts),
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
        bodies = found[rank].bodies
        if bodies is not None:
            facts.append(each.parts[rank].facts)
            counts.append(bodies.duration.size)
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
    to, messages, sizes = (
        np.concatenate([each[name] for each in sent]) for name in ("peer", "messages", "bytes")
    )
    return Edges.sent(rank, to, messages, sizes, bodies)
