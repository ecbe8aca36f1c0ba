"""Sections of one kind of an attached program, put together and written as run files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.files import append_line, make_folder, read_text
from hindmost.harness.attach.blocks import Blocks, Kept, PerBlock
from hindmost.harness.attach.bodies import (
    Agreed,
    agreed_on_solve,
    clock_of,
    joined,
    on_common_clock,
    recording_of,
)
from hindmost.harness.attach.cycle_notes import CycleNotes
from hindmost.harness.attach.header import failure_of, header_of
from hindmost.harness.attach.loops import LoopOfRanks
from hindmost.harness.attach.odd_numbers import MAX_COUNT
from hindmost.harness.attach.own_iterations import BETWEEN
from hindmost.harness.attach.raw import EDGE, Frame, RawRank, RawSection
from hindmost.harness.attach.raw_json import LOOP, Section
from hindmost.harness.attach.raw_program import RawProgram, handed_over
from hindmost.harness.attach.samples import StackNames, samples_of
from hindmost.harness.attach.sections import Matched
from hindmost.harness.attach.settings import FIND
from hindmost.harness.loops.names import with_places
from hindmost.harness.rank_failures import on_all, on_root
from hindmost.harness.recorder.library import NS
from hindmost.harness.recorder.recording import Recording, rank_run
from hindmost.harness.reduction.kept import write_kept
from hindmost.harness.runfile.attributes import Attached, SummedCalls
from hindmost.harness.runfile.bodies import INJECTED, PHASES, RankBodies
from hindmost.harness.runfile.contents import (
    Edges,
    Header,
    RankRun,
    SolveOfBody,
    SummedStretches,
)
from hindmost.harness.runfile.contexts import merged_over
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.provenance import Origins
from hindmost.output import ProgressLine
from hindmost.parsing import is_plain_name, parse_json
from hindmost.text import counted

Report = Callable[[str], None]
"""Takes a sentence for the person."""
NO_EDGES = np.empty(0, EDGE)
JOURNAL = "converted.jsonl"
"""In the raw folder: the run files that were written from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What the run files of a program have in common.

    Attributes
    ----------
    program : RawProgram
    out : Path
        For the run files.
    origins : Origins
    journal : Journal
    report : callable
        Takes sentences on what was left out.
    iterate_at : tuple of str, int; None
        As `convert` takes it.
    line : ProgressLine
        For the person who waits.
    name : RunName, optional
        Of the run file; by default its workload names it.
    keep : float, optional
        Share of the ranks whose full records are kept; by default as the program was recorded.
    """

    program: RawProgram
    out: Path
    origins: Origins
    journal: Journal
    report: Report
    iterate_at: tuple[str, int] | None
    line: ProgressLine
    name: RunName | None = None
    keep: float | None = None

    def write(self, number: int, sections: tuple[Matched, ...]) -> list[Path]:
        """Write the run files of some sections of one kind; collective.

        Parameters
        ----------
        number : int
            Of these sections in the journal.
        """
        program, ranks = self.program, sections[0].ranks
        everybody = program.communicator
        raws = handed_over(program.here, ranks, everybody)
        if everybody.size <= len(ranks):
            return SectionGroup(self, number, sections, raws, everybody).write()
        some = everybody.Split(0 if raws else 1)  # each process of a run has a rank of it

        def write() -> list[Path]:
            return SectionGroup(self, number, sections, raws, some).write() if raws else []

        try:
            files = on_all(everybody, write)
        finally:
            some.Free()
        return list(everybody.bcast(files))


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledRun:
    """What is known of a run before it is written.

    Attributes
    ----------
    group : tuple of Matched
        Its sections, in the order of time.
    agreed : tuple of Agreed
        What the ranks agreed on, by section.
    rank : callable
        Returns what a rank of this process brings to it, by its place in the run.
    """

    group: tuple[Matched, ...]
    agreed: tuple[Agreed, ...]
    rank: Kept[RankRun]

    @property
    def generic(self) -> str:
        """Why the bodies are those of any solver; empty if they follow their pattern."""
        return next(agreed.generic for agreed in self.agreed if agreed.phases)


class SectionGroup:
    """Sections of one kind, and what their ranks have to know to write them; collective.

    Parameters
    ----------
    conversion : Conversion
    number : int
        Of the group in the journal.
    sections : tuple of Matched
    raws : mapping of int to RawRank
        The ranks of this process, in the order of the run.
    communicator : MPI.Intracomm or Solo
        Of the processes that have ranks of these sections.
    """

    def __init__(
        self,
        conversion: Conversion,
        number: int,
        sections: tuple[Matched, ...],
        raws: Mapping[int, RawRank],
        communicator: Any,
    ) -> None:
        self._conversion, self._number, self._sections = conversion, number, sections
        self._communicator = communicator
        self._program = program = conversion.program
        self._ranks = ranks = [program.ranks[rank] for rank in sections[0].ranks]
        self._zero_ns = on_common_clock(ranks[0], sections[0].parts[0].facts.begin_ns)
        places = {rank: place for place, rank in enumerate(sections[0].ranks)}
        self._raws = {places[rank]: raw for rank, raw in raws.items()}
        # Whether the recorder saw MPI calls; a rank alone need not make any.
        self._seen = len(ranks) == 1 or not all(
            rank.end and rank.end.mpi_calls == 0 for rank in ranks
        )
        self._about = program.first.program.recording
        if self._about:
            self._seen = bool(self._about.get("mpi_seen"))
        notes = {place: CycleNotes.of(raw, self._about) for place, raw in self._raws.items()}
        self._notes = {place: each for place, each in notes.items() if each is not None}
        self._injecting = bool(program.first.program.injected)
        finds = ranks[0].program.mark_call == FIND
        self._iterate_at = (conversion.iterate_at or (FIND, 1)) if finds else None
        self._blocks = Blocks.of(
            self._raws, sections, communicator, program.folder, conversion.line
        )
        # The contexts of all ranks, and in these the numbers of those of each rank.
        table, numbers = merged_over(communicator, [raw.contexts for raw in self._raws.values()])
        self._numbers = dict(zip(self._raws, numbers, strict=True))
        self._contexts = on_root(communicator, lambda: with_places(table))
        self._names = StackNames()

    def write(self) -> list[Path]:
        """Write the run files.

        One; two if some solves left their pattern; one for each loop that the program does one
        after the other.
        """
        agreed = [self.agreed_on(section) for section in self._sections]
        tell_none(self._program, [each[0] for each in agreed], self._conversion.report)
        return [
            self.write_run(chosen, phase)
            for phase, of_phase in enumerate(zip(*agreed, strict=False))
            for chosen in choices(self._sections, of_phase)
        ]

    def section_of(self, section: Matched, place: int) -> RawSection:
        """Return a section of a rank of this process."""
        return self._raws[place].sections[section.parts[place].number]

    def agreed_on(self, section: Matched) -> list[Agreed]:
        """Return what the ranks of a section agree on; of several loops, one after the other."""
        raws, injecting = self._raws, self._injecting
        own = partial(self.section_of, section)

        def recorded(place: int) -> Recording:
            raw, numbers = raws[place], self._numbers[place]
            clock = clock_of(raw, self._zero_ns)
            return recording_of(
                own(place), raw, clock, numbers, seen=self._seen, injecting=injecting
            )

        if section.parts[0].facts.what != LOOP:
            return [agreed_on_solve(section, recorded, own, self._blocks, injecting=injecting)]
        return LoopOfRanks(
            section=section,
            recorded=recorded,
            blocks=self._blocks,
            names=own_phases(section, injecting=injecting),
            injecting=injecting,
            iterate_at=self._iterate_at,
            calls=self._ranks[0].program.call_names,
            contexts=self._contexts,
            delimited=bool(self._about),
            apart=BETWEEN in self._about.get("spec", {}),
            noted={place: len(each.notes) for place, each in self._notes.items()},
        ).agreed()

    def polls_of(self, place: int) -> NDArray[np.int64]:
        """Return the calls of a rank that found nothing, shape (context,)."""
        numbers, polls = self._numbers[place], self._raws[place].polls
        known = min(polls.size, numbers.size)
        counts = np.bincount(numbers[:known], polls[:known], self._contexts.count)
        return counts.astype(np.int64)

    def threads_of(self, place: int, parts: Sequence[RawSection]) -> dict[str, NDArray[Any]]:
        """Return the calls of other threads of a rank, and their seconds, by context."""
        numbers = self._numbers[place]
        calls, seconds = np.zeros((2, self._contexts.count))
        for facts in (part.facts for part in parts):
            sites = [site for thread in facts.threads for site in thread.sites]
            own = np.array([site.context for site in sites], np.int64)
            context = np.append(numbers, 0)[np.minimum(own, numbers.size)]  # 0: it was not written
            np.add.at(calls, context, [site.count for site in sites])
            np.add.at(seconds, context, [min(site.ns * NS, facts.seconds) for site in sites])
        return {"thread_calls_by_context": calls.astype(np.int64), "thread_s_by_context": seconds}

    def stretches_of(self, place: int, section: RawSection) -> SummedStretches | None:
        """Return where the time of a rank went; None if some of it is not known."""
        found, numbers = section.array(Frame.STRETCHES), self._numbers[place]
        good = (found["before"] < numbers.size) & (found["after"] < numbers.size)
        for name in ("calls", "work_ns", "in_mpi_ns"):
            good &= (found[name] >= 0) & (found[name] <= MAX_COUNT)
        if not found.size or not good.all():
            return None
        return SummedStretches(
            rank=np.full(found.size, place, np.int32),
            after=numbers[found["before"]],
            before=numbers[found["after"]],
            calls=found["calls"],
            work_s=found["work_ns"] * NS,
            mpi_s=found["in_mpi_ns"] * NS,
        )

    def assembled(self, chosen: Sequence[tuple[Matched, Agreed]]) -> AssembledRun:
        """Return what the ranks of this process bring to a run."""
        group, agreed = zip(*chosen, strict=True)
        seen, contexts = self._seen, self._contexts

        def run_of(place: int) -> RankRun:
            found = [each.of(place) for each in agreed]
            bodies = joined(found)
            if self._about and not self._about.get("with_mpi"):
                bodies = replace(bodies, events_left_out="")
            raw, parts = self._raws[place], [self.section_of(each, place) for each in group]
            more: dict[str, Any] = {}
            if contexts.known:
                shared = contexts if not place else None
                more |= {"contexts": shared, "polls_by_context": self.polls_of(place)}
                more |= self.threads_of(place, parts)
            spans_ns = [(part.facts.begin_ns, part.facts.end_ns) for part in parts]
            numbers = self._numbers[place]
            clock = clock_of(raw, self._zero_ns)
            more["samples"] = samples_of(
                raw, spans_ns, bodies, clock, numbers, contexts.count, self._names
            )
            summed = any(part.facts.unit for part in group[0].parts)
            if summed and (agreed[0].iterations or {}).get("no_loop"):
                more["stretches"] = self.stretches_of(place, parts[0])
            incoming = edges_of(parts, place, counted_bodies(agreed, bodies))
            if place in self._notes:
                notes, count = self._notes[place], bodies.duration.size
                bodies, incoming = notes.bodies(bodies), notes.incoming(count)
                more["cycles"] = notes.cycles(count)
            if parts[0].facts.what != LOOP and not place and not self._about:
                more["solves"] = solves_of([part.facts for part in parts], found)
            return rank_run(
                [recording_of(part, raw, clock_of(raw, 0), None, seen=seen) for part in parts],
                bodies,
                incoming=incoming,
                seen=seen or (bool(self._about) and parts[0].facts.what == LOOP),
                **more,
            )

        return AssembledRun(group=group, agreed=agreed, rank=self._blocks.once(run_of))

    def header_of(self, run: AssembledRun, phase: int) -> Header:
        """Return the header of a run; on the process that has its first rank."""
        agreed, iterations, first = run.agreed, run.agreed[0].iterations, run.rank(0).bodies
        work = [each.work for each in agreed if each.work is not None]
        failure = failure_of(
            self._program,
            run.group,
            first,
            counts_differ=any(each.cut for each in agreed),
            iterations=iterations or Attached(),
        )
        return header_of(
            self._program,
            run.group,
            first,
            generic=run.generic,
            none=sum(not each.phases for each in agreed),
            failure=failure or next(filter(None, (each.missing for each in agreed)), ""),
            seen=self._seen,
            origins=self._conversion.origins,
            iterations=iterations,
            phase=phase,
            work=min(round(sum(work)), 1 << 53) if work else None,
        )

    def write_run(self, chosen: Sequence[tuple[Matched, Agreed]], phase: int) -> Path:
        """Write a run file, unless an interrupted conversion wrote it."""
        conversion, communicator = self._conversion, self._communicator
        run = self.assembled(chosen)
        entry = f"{self._number}{'-generic' if run.generic else ''}{f'-{phase}' if phase else ''}"
        if (run.agreed[0].iterations or {}).get("no_loop"):
            entry += "-program"
        before = on_root(communicator, lambda: conversion.journal.written(entry))
        if before is not None:
            return before

        on_root(communicator, lambda: make_folder(conversion.out, "--out"))
        of_run = on_root(communicator, lambda: self.header_of(run, phase))
        runs = PerBlock(self._blocks, run.rank, "assembling the run")
        if self._about:
            tell_missing(of_run, conversion.report)
        name = conversion.name or RunName.of(conversion.out, of_run)
        share = conversion.keep or self._program.first.program.keep
        path, _ = write_kept(name, of_run, runs, share, communicator)
        on_root(communicator, lambda: conversion.journal.note(entry, path))
        return path


def tell_missing(header: Header, report: Report) -> None:
    """Say what a run file does not have of what the program wanted to be recorded."""
    if not header.complete:
        report(f"{header.spec['failure']}; the run is marked incomplete")
    further = header.spec.get("solves_left_out", 0)
    if further:
        report(
            f"{counted(further, 'further solve')} in one record_ksp not recorded; use one "
            "record_ksp, and one file, for each solve."
        )


def own_phases(each: Matched, *, injecting: bool) -> list[str]:
    """Return the phases that the ranks of a loop mark, without those that every run has."""
    names = dict.fromkeys(name for part in each.parts for name in part.facts.phases)
    taken = (*PHASES, INJECTED) if injecting else PHASES
    return [name for name in names if name and name not in taken]


def tell_none(program: RawProgram, agreed: Sequence[Agreed], report: Report) -> None:
    """Say of which sections nothing is left."""
    for why, count in Counter(each.why_none for each in agreed if each.why_none).items():
        report(f"{program.folder.name}: {counted(count, 'section')} left out: {why}")


def choices(
    sections: Sequence[Matched], agreed: Sequence[Agreed]
) -> Iterator[list[tuple[Matched, Agreed]]]:
    """Yield the sections of each run file: those that follow the pattern, then the others.

    A solve without iterations is counted with the first file. Loops differ by their phases.
    """
    kinds = list(dict.fromkeys(kind_of(each) for each in agreed if each.phases))
    for kind in kinds:
        yield [
            (section, each)
            for section, each in zip(sections, agreed, strict=True)
            if (kind_of(each) == kind if each.phases else kind == kinds[0] and not each.why_none)
        ]


def kind_of(agreed: Agreed) -> tuple[bool, tuple[str, ...]]:
    """Return what the sections of one file have in common."""
    return bool(agreed.generic), agreed.phases


def solves_of(facts: Sequence[Section], found: Sequence[RankBodies | float]) -> SolveOfBody:
    """Return which solve each body is of."""
    counts = [0 if isinstance(each, float) else each.duration.size for each in found]
    steps = {
        name: np.repeat(np.array([getattr(fact, name) for fact in facts], np.int32), counts)
        for name in ("snes_step", "time_step")
    }
    return SolveOfBody(
        solve=np.repeat(np.array([fact.solve for fact in facts], np.uint32), counts),
        **{name: step if (step >= 0).any() else None for name, step in steps.items()},
    )


def summed_of(agreed: Sequence[Agreed]) -> SummedCalls | None:
    """Return what is kept of a loop some of whose calls are summed; else None."""
    return (agreed[0].iterations or {}).get("summed")


def counted_bodies(agreed: Sequence[Agreed], bodies: RankBodies) -> float:
    """Return the bodies in which messages were counted; 0 if there were more than are known."""
    summed = summed_of(agreed)
    return bodies.duration.size if summed is None else summed["passes"] / summed["unit"]


def edges_of(parts: Sequence[RawSection], rank: int, bodies: float) -> Edges:
    """Return to whom a rank sent, with the mean messages and bytes of a body."""
    sent = [part.array(Frame.EDGES) for part in parts] if bodies else [NO_EDGES]
    to, messages, sizes = (
        np.concatenate([each[name] for each in sent]) for name in ("peer", "messages", "bytes")
    )
    return Edges.sent(rank, to, messages, sizes, bodies)


class Journal:
    """Which run files were written from a raw folder.

    Parameters
    ----------
    path : Path
    out : Path
        Where the run files are.
    """

    def __init__(self, path: Path, out: Path) -> None:
        self._path, self._out = path, out
        self._files: dict[str, str] = {}
        with suppress(OSError, UnicodeDecodeError):
            for line in read_text(path).splitlines():
                with suppress(ValueError):
                    entry = parse_json(line)
                    if isinstance(entry, dict) and isinstance(entry.get("file"), str):
                        self._files[str(entry.get("run"))] = entry["file"]

    def written(self, run: str) -> Path | None:
        """Return the file of a run, None if it has none yet."""
        name = self._files.get(run, "")
        path = self._out / name
        return path if is_plain_name(name) and path.is_file() else None

    def note(self, run: str, path: Path) -> None:
        """Note that a run has a file."""
        append_line(self._path, json.dumps({"run": run, "file": path.name}))
