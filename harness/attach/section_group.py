"""Sections of one kind of an attached program, put together and written as run files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.files import append_line, make_folder, read_text
from hindmost.harness.attach.blocks import Blocks, PerBlock
from hindmost.harness.attach.bodies import (
    Agreed,
    agreed_on_solve,
    clock_of,
    joined,
    on_common_clock,
    recording_of,
)
from hindmost.harness.attach.header import failure_of, header_of
from hindmost.harness.attach.loops import LoopOfRanks
from hindmost.harness.attach.raw import Frame, RawProgram, RawSection
from hindmost.harness.attach.raw_json import LOOP, Section
from hindmost.harness.attach.samples import StackNames, samples_of
from hindmost.harness.attach.sections import Matched
from hindmost.harness.attach.settings import FIND
from hindmost.harness.loops.names import places_of
from hindmost.harness.recorder.recording import Recording, rank_run
from hindmost.harness.runfile.bodies import INJECTED, PHASES, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun, SolveOfBody
from hindmost.harness.runfile.contexts import merged
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.writer import write_run_as
from hindmost.harness.solo import Solo
from hindmost.output import ProgressLine
from hindmost.parsing import is_plain_name, parse_json
from hindmost.text import counted

Report = Callable[[str], None]
"""Takes a sentence for the person."""
JOURNAL = "converted.jsonl"
"""In the raw folder: the run files that were written from it."""


class SectionGroup:
    """Sections of one kind, and what their ranks have to know to write them.

    Parameters
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
    line : ProgressLine
        For the person who waits.
    """

    def __init__(
        self,
        program: RawProgram,
        sections: tuple[Matched, ...],
        *,
        out: Path,
        origins: Origins,
        journal: Journal,
        number: int,
        report: Report,
        iterate_at: tuple[str, int] | None,
        line: ProgressLine,
    ) -> None:
        self._program, self._sections, self._report = program, sections, report
        self._out, self._origins, self._journal, self._number = out, origins, journal, number
        self._raws = raws = [program.ranks[rank] for rank in sections[0].ranks]
        # Whether the recorder saw MPI calls; a rank alone need not make any.
        self._seen = len(raws) == 1 or not all(raw.end and raw.end.mpi_calls == 0 for raw in raws)
        self._injecting = bool(program.first.program.injected)
        finds = raws[0].program.mark_call == FIND
        self._iterate_at = (iterate_at or (FIND, 1)) if finds else None
        self._blocks = Blocks.of(program, sections, line)
        # The contexts of all ranks, and in these the numbers of those of each rank.
        table, self._numbers = merged(raw.contexts for raw in raws)
        named = places_of(table, range(table.module.size))
        places = tuple(str(named[frame]) for frame in range(table.module.size))
        self._contexts = replace(table, places=places)
        self._names = StackNames()

    def write(self) -> list[Path]:
        """Write the run files.

        One; two if some solves left their pattern; one for each loop that the program does one
        after the other.
        """
        agreed = [self.agreed_on(each) for each in self._sections]
        tell_none(self._program, [each[0] for each in agreed], self._report)
        return [
            self.write_run(chosen, phase)
            for phase, of_phase in enumerate(zip(*agreed, strict=False))
            for chosen in choices(self._sections, of_phase)
        ]

    def agreed_on(self, section: Matched) -> list[Agreed]:
        """Return what the ranks of a section agree on; of several loops, one after the other."""
        raws, injecting = self._raws, self._injecting
        zero_ns = on_common_clock(raws[0], self._sections[0].parts[0].facts.begin_ns)

        def recorded(rank: int) -> Recording:
            raw, part, numbers = raws[rank], section.parts[rank], self._numbers[rank]
            clock = clock_of(raw, zero_ns)
            return recording_of(part, raw, clock, numbers, seen=self._seen, injecting=injecting)

        if section.parts[0].facts.what != LOOP:
            return [agreed_on_solve(section, recorded, self._blocks, injecting=injecting)]
        return LoopOfRanks(
            section=section,
            recorded=recorded,
            blocks=self._blocks,
            names=own_phases(section, injecting=injecting),
            injecting=injecting,
            iterate_at=self._iterate_at,
            calls=raws[0].program.call_names,
            contexts=self._contexts,
        ).agreed()

    def polls_of(self, rank: int) -> NDArray[np.int64]:
        """Return the calls of a rank that found nothing, shape (context,)."""
        numbers, polls = self._numbers[rank], self._raws[rank].polls
        known = min(polls.size, numbers.size)
        counts = np.bincount(numbers[:known], polls[:known], self._contexts.count)
        return counts.astype(np.int64)

    def write_run(self, chosen: Sequence[tuple[Matched, Agreed]], phase: int) -> Path:
        """Write a run file, unless an interrupted conversion wrote it."""
        group, agreed = zip(*chosen, strict=True)
        generic = next(each.generic for each in agreed if each.phases)
        run = f"{self._number}{'-generic' if generic else ''}{f'-{phase}' if phase else ''}"
        before = self._journal.written(run)
        if before is not None:
            return before
        seen, contexts = self._seen, self._contexts

        def run_of(rank: int) -> RankRun:
            found = [each.of(rank) for each in agreed]
            bodies = joined(found)
            raw, parts = self._raws[rank], [each.parts[rank] for each in group]
            more: dict[str, Any] = {}
            if contexts.known:
                more |= {"contexts": contexts, "polls_by_context": self.polls_of(rank)}
            spans_ns = [(each.facts.begin_ns, each.facts.end_ns) for each in parts]
            numbers = self._numbers[rank]
            more["samples"] = samples_of(raw, spans_ns, numbers, contexts.count, self._names)
            if parts[0].facts.what != LOOP and not rank:
                more["solves"] = solves_of([each.facts for each in parts], found)
            return rank_run(
                [recording_of(each, raw, clock_of(raw, 0), None, seen=seen) for each in parts],
                bodies,
                incoming=edges_of(parts, rank, bodies.duration.size),
                seen=seen,
                **more,
            )

        made = self._blocks.once(run_of)
        first = made(0).bodies
        work = [each.work for each in agreed if each.work is not None]
        cut = any(each.cut for each in agreed)
        header = header_of(
            self._program,
            group,
            first,
            generic=generic,
            none=sum(not each.phases for each in agreed),
            failure=failure_of(self._program, group, first, counts_differ=cut),
            seen=seen,
            origins=self._origins,
            iterations=agreed[0].iterations,
            phase=phase,
            work=min(round(sum(work)), 1 << 53) if work else None,
        )
        make_folder(self._out, "--out")
        runs = PerBlock(self._blocks, made, "assembling the run")
        path = write_run_as(RunName.of(self._out, header), header, runs, Solo())
        self._journal.note(run, path)
        return path


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
        name: np.repeat(np.array([getattr(each, name) for each in facts], np.int32), counts)
        for name in ("snes_step", "time_step")
    }
    return SolveOfBody(
        solve=np.repeat(np.array([each.solve for each in facts], np.uint32), counts),
        **{name: step if (step >= 0).any() else None for name, step in steps.items()},
    )


def edges_of(parts: Sequence[RawSection], rank: int, bodies: int) -> Edges:
    """Return to whom a rank sent, with the mean messages and bytes of a body."""
    sent = [each.array(Frame.EDGES) for each in parts]
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
