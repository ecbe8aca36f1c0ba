"""Sections of one kind of an attached program, put together and written as run files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.files import append_line, make_folder, read_text
from hindmost.harness.attach.blocks import Blocks, PerBlock
from hindmost.harness.attach.bodies import (
    Agreed,
    Found,
    agreed_on_solve,
    clock_of,
    joined,
    on_common_clock,
    recording_of,
)
from hindmost.harness.attach.header import failure_of, header_of
from hindmost.harness.attach.loops import Ends, LoopOfRanks
from hindmost.harness.attach.raw import Frame, RawProgram, RawRank, RawSection
from hindmost.harness.attach.raw_json import LOOP, Section
from hindmost.harness.attach.sections import Matched
from hindmost.harness.attach.settings import FIND
from hindmost.harness.loops.names import places_of
from hindmost.harness.recorder.recording import Recording, rank_run
from hindmost.harness.runfile.bodies import INJECTED, PHASES
from hindmost.harness.runfile.contents import Edges, RankRun, SolveOfBody
from hindmost.harness.runfile.contexts import CallContexts, merged
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The sections that make one run file.

    Attributes
    ----------
    group : tuple of Matched
    agreed : tuple of Agreed
        In the same order.
    generic : str
        Why the bodies are those of any solver; empty if they follow the pattern.
    """

    group: tuple[Matched, ...]
    agreed: tuple[Agreed, ...]
    generic: str

    @property
    def none(self) -> int:
        """Solves that ended before their first iteration."""
        return sum(not each.phases for each in self.agreed)


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
    line : ProgressLine
        For the person who waits.
    """

    program: RawProgram
    sections: tuple[Matched, ...]
    out: Path
    origins: Origins
    journal: Journal
    number: int
    report: Report
    iterate_at: tuple[str, int] | None
    line: ProgressLine

    @property
    def raws(self) -> list[RawRank]:
        """The raw files of the ranks of the run."""
        return [self.program.ranks[rank] for rank in self.sections[0].ranks]

    @property
    def injecting(self) -> bool:
        """Whether noise was injected into the program."""
        return bool(self.program.first.program.injected)

    def ends(self, contexts: CallContexts) -> Ends | None:
        """Return where iterations end; None if the program marked them."""
        said = self.raws[0].program
        if said.mark_call != FIND:
            return None
        at, every = self.iterate_at or (FIND, 1)
        return Ends(names=said.call_names, at=at, every=every, contexts=contexts)

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
        blocks = Blocks.of(self.program, self.sections, self.line)
        table, numbers = merged(raw.contexts for raw in self.raws)
        named = places_of(table, range(table.module.size))
        places = tuple(str(named[frame]) for frame in range(table.module.size))
        contexts = CommonContexts(replace(table, places=places), numbers)
        agreed = [self.agreed_on(each, contexts, blocks) for each in self.sections]
        tell_none(self.program, [each[0] for each in agreed], self.report)
        return [
            self.write_run(chosen, contexts, blocks, phase)
            for phase, of_phase in enumerate(zip(*agreed, strict=False))
            for chosen in choices(self.sections, of_phase)
        ]

    def agreed_on(self, section: Matched, contexts: CommonContexts, blocks: Blocks) -> list[Agreed]:
        """Return what the ranks of a section agree on; of several loops, one after the other."""
        raws, seen, injecting = self.raws, self.mpi_seen, self.injecting
        zero_ns = on_common_clock(raws[0], self.sections[0].parts[0].facts.begin_ns)

        def recorded(rank: int) -> Recording:
            raw, part, numbers = raws[rank], section.parts[rank], contexts.numbers[rank]
            clock = clock_of(raw, zero_ns)
            return recording_of(part, raw, clock, numbers, seen=seen, injecting=injecting)

        if section.parts[0].facts.what != LOOP:
            return [agreed_on_solve(section, recorded, blocks, injecting=injecting)]
        return LoopOfRanks(
            section=section,
            recorded=recorded,
            blocks=blocks,
            names=own_phases(section, injecting=injecting),
            injecting=injecting,
            ends=self.ends(contexts.table),
        ).agreed()

    def write_run(
        self, chosen: Chosen, contexts: CommonContexts, blocks: Blocks, phase: int
    ) -> Path:
        """Write a run file, unless an interrupted conversion wrote it."""
        run = f"{self.number}{'-generic' if chosen.generic else ''}{f'-{phase}' if phase else ''}"
        before = self.journal.written(run)
        if before is not None:
            return before
        raws, seen = self.raws, self.mpi_seen

        def run_of(rank: int) -> RankRun:
            found = [each.of(rank) for each in chosen.agreed]
            bodies, norms = joined(found)
            raw, parts = raws[rank], [each.parts[rank] for each in chosen.group]
            more: dict[str, Any] = {}
            if contexts.table.known:
                polls = contexts.polls_of(rank, raw)
                more |= {"contexts": contexts.table, "polls_by_context": polls}
            if parts[0].facts.what != LOOP and not rank:
                more["solves"] = solves_of([each.facts for each in parts], found)
            return rank_run(
                [recording_of(each, raw, clock_of(raw, 0), None, seen=seen) for each in parts],
                bodies,
                norms=norms,
                incoming=edges_of(parts, rank, bodies.duration.size),
                seen=seen,
                **more,
            )

        made = blocks.once(run_of)
        first = made(0).bodies
        work = [each.work for each in chosen.agreed if each.work is not None]
        cut = any(each.cut for each in chosen.agreed)
        header = header_of(
            self.program,
            chosen.group,
            first,
            generic=chosen.generic,
            none=chosen.none,
            failure=failure_of(self.program, chosen.group, first, counts_differ=cut),
            seen=seen,
            origins=self.origins,
            iterations=chosen.agreed[0].iterations,
            phase=phase,
            work=min(round(sum(work)), 1 << 53) if work else None,
        )
        make_folder(self.out, "--out")
        runs = PerBlock(blocks, made, "assembling the run")
        path = write_run_as(RunName.of(self.out, header), header, runs, Solo())
        self.journal.note(run, path)
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


def choices(group: Sequence[Matched], agreed: Sequence[Agreed]) -> Iterator[Chosen]:
    """Yield the sections of each run file: those that follow the pattern, then the others.

    A solve without iterations is counted with the first file. Loops differ by their phases.
    """
    kinds = list(dict.fromkeys(kind_of(each) for each in agreed if each.phases))
    for kind in kinds:
        place = [
            at
            for at, each in enumerate(agreed)
            if (kind_of(each) == kind if each.phases else kind == kinds[0] and not each.why_none)
        ]
        yield Chosen(
            group=tuple(group[at] for at in place),
            agreed=tuple(agreed[at] for at in place),
            generic=next(agreed[at].generic for at in place if agreed[at].phases),
        )


def kind_of(agreed: Agreed) -> tuple[bool, tuple[str, ...]]:
    """Return what the sections of one file have in common."""
    return bool(agreed.generic), agreed.phases


def solves_of(facts: Sequence[Section], found: Sequence[Found]) -> SolveOfBody:
    """Return which solve each body is of."""
    counts = [0 if each.bodies is None else each.bodies.duration.size for each in found]
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
