"""The sections of an attached program, matched across its ranks and put together into runs.

A section of one rank is the same solve as that of another rank if it has the same place among the
sections of both on the same ranks. Solves of one kind make one run: same prefix, type, size and
ranks. A solve that is incomplete is a run of its own kind, so that it spoils no other.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.attach.odd_numbers import (
    MAX_REPAIRS,
    known_calls,
    known_contexts,
    odd_numbers,
    records_in_order,
    strange_records,
    usable_edges,
)
from hindmost.harness.attach.raw import Frame, RawRank, RawSection
from hindmost.harness.attach.raw_json import LOOP, NO_TIME, Section
from hindmost.harness.attach.raw_program import RawProgram
from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.recorder.pattern import MONITOR
from hindmost.harness.solo import of_all
from hindmost.text import counted, named_ranks

NO_END = "killed, replaced by another program (exec), or could not write any more"
"""What is known of a rank that did not write its end."""
CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
MAX_GROUPS = 64
"""Runs of one program; there may be one for every rank, where each solves alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionFacts:
    """What other ranks have to know of a section of one rank.

    Attributes
    ----------
    facts : Section
    number : int
        Which of the rank's sections it is.
    place : tuple of int
        As `communicator_of` returns it.
    marks : int
        Marks of iterations in it.
    """

    facts: Section
    number: int
    place: tuple[int, int, int]
    marks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSummary:
    """What other ranks have to know of the sections of one rank.

    Attributes
    ----------
    rank : int
    sections : tuple of SectionFacts
    odd : tuple of str
        Remarks on numbers that cannot be.
    """

    rank: int
    sections: tuple[SectionFacts, ...]
    odd: tuple[str, ...]


def summarise(raw: RawRank, size: int) -> tuple[RawRank, RankSummary]:
    """Return a rank with the sections that are of use, and what others have to know of these.

    Parameters
    ----------
    size : int
        Ranks of the program.
    """
    odd = [*raw.odd]
    sound_ones, said = [], []
    for number, (each, place) in enumerate(usable_sections(raw, size, odd)):
        marks = sum(
            int(np.count_nonzero(part["what"] == ord(MONITOR)))
            for part in each.parts(Frame.RECORDS)
        )
        sound_ones.append(each)
        said.append(SectionFacts(facts=each.facts, number=number, place=place, marks=marks))
    raw.file.release()
    summary = RankSummary(rank=raw.program.rank, sections=tuple(said), odd=tuple(odd))
    return replace(raw, sections=tuple(sound_ones)), summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """A section of all ranks that take part in it.

    Attributes
    ----------
    ranks : tuple of int
        Of the program, in the order of the communicator.
    parts : tuple of SectionFacts
        One a rank, in the same order.
    """

    ranks: tuple[int, ...]
    parts: tuple[SectionFacts, ...]

    @property
    def whole(self) -> bool:
        """Whether it ended on all ranks and no record was lost."""
        return all(part.facts.complete and not part.facts.lost for part in self.parts)

    @property
    def kind(self) -> tuple[object, ...]:
        """What sections of one run have in common."""
        facts = self.parts[0].facts
        solver = (
            facts.prefix,
            facts.type,
            facts.rows,
            facts.restart,
            facts.mat_type,
            facts.pc_type,
        )
        return (facts.what, self.ranks, *solver, self.whole)


def sections_of(program: RawProgram) -> tuple[list[tuple[Matched, ...]], list[str], str]:
    """Match the sections of all ranks and group them; collective.

    The ranks of this process have their sound sections afterwards.

    Returns
    -------
    list of tuple of Matched
        Each a run; in the order of time.
    list of str
        Sentences on what cannot be a run.
    str
        Which numbers cannot be; empty if all can.
    """
    own = []
    for rank, raw in program.here.items():
        program.here[rank], summary = summarise(raw, program.size)
        own.append(summary)
    found: dict[tuple[int, int, int], dict[int, tuple[int, SectionFacts]]] = {}
    faults: dict[str, int] = {}
    odd: dict[int, tuple[str, ...]] = {}

    def leave_out(why: str) -> None:
        faults[why] = faults.get(why, 0) + 1

    for summary in of_all(program.communicator, own):
        rank, counts, odd[summary.rank] = summary.rank, dict[tuple[int, int], int](), summary.odd
        for each in summary.sections:
            leader, size, place = each.place
            number = counts[leader, size] = counts.get((leader, size), -1) + 1
            # A rank may do its part of a program without a call.
            why = "" if each.facts.kept or each.facts.what == LOOP else "it has no record"
            members = found.setdefault((leader, size, number), {})
            if not why and place in members:
                why = "other ranks with the same first rank solved as well"
            if why:
                leave_out(f"rank {rank}: {why}")
                continue
            members[place] = (rank, each)
    matched = []
    for (_, size, _), members in found.items():
        if len(members) < size:
            leave_out(who_has_none(program, [rank for rank, _ in members.values()], size))
            continue
        in_order = [members[place] for place in sorted(members)]
        whole = Matched(
            ranks=tuple(rank for rank, _ in in_order), parts=tuple(each for _, each in in_order)
        )
        facts = [part.facts for part in whole.parts]
        if not any(fact.kept for fact in facts):
            leave_out("no rank made a call of MPI in it")
            continue
        if len({(fact.what, fact.type, fact.prefix) for fact in facts}) > 1:
            leave_out("its ranks recorded different solves")
            continue
        matched.append(whole)
    groups: dict[tuple[object, ...], list[Matched]] = {}
    for whole in sorted(matched, key=lambda each: each.parts[0].facts.begin_ns):
        if whole.kind not in groups and len(groups) == MAX_GROUPS:
            leave_out(f"it is of another kind or on other ranks than {MAX_GROUPS} runs before it")
            continue
        groups.setdefault(whole.kind, []).append(whole)
    left_out = [f"{counted(count, 'section')} left out: {why}" for why, count in faults.items()]
    return [tuple(group) for group in groups.values()], left_out, odd_numbers(odd)


def who_has_none(program: RawProgram, ranks: Sequence[int], size: int) -> str:
    """Say which ranks have no record of a section that others have."""
    few = f"only {len(ranks)} of {counted(size, 'rank')} have a record of it"
    if size < program.size:
        return few
    killed = how_killed(program, ranks)
    return f"{few}; {killed} before it wrote one" if killed else few


def how_killed(program: RawProgram, but: Sequence[int] = ()) -> str:
    """Say which ranks did not write their end; empty if all did."""
    killed = [
        rank for rank, raw in sorted(program.ranks.items()) if raw.end is None and rank not in but
    ]
    if not killed:
        return ""
    return f"{named_ranks(killed, program.size)} {was(killed)} {NO_END}"


def was(ranks: Sequence[int]) -> str:
    """Return the verb of ranks."""
    return "was" if len(ranks) == 1 else "were"


def how_ended(program: RawProgram) -> str:
    """Say how the ranks ended that did not end MPI, as far as they said; empty if all did.

    Those come first that were not ended by a signal as a launcher sends it to the others.
    """
    ways: dict[tuple[bool, str], list[int]] = {}
    for rank, raw in sorted(program.ranks.items()):
        end = raw.end
        if end is None:
            ways.setdefault((False, f"{{was}} {NO_END}"), []).append(rank)
        elif end.finalized:
            continue
        elif end.aborted is not None:
            ways.setdefault((False, f"{{was}} ended by MPI_Abort {end.aborted}"), []).append(rank)
        elif end.signal:
            where = " in another thread than the recorded one" if end.other_thread else ""
            crashed = end.signal in CRASHES
            how = (
                f"crashed{where} ({name_of(end.signal)})"
                if crashed
                else (f"{{was}} ended by {name_of(end.signal)}")
            )
            ways.setdefault((not crashed, how), []).append(rank)
        elif end.exit_status >= 0:
            ways.setdefault((False, f"called exit with {end.exit_status}"), []).append(rank)
    return ", ".join(
        f"{named_ranks(ranks, program.size)} {how.format(was=was(ranks))}"
        for (_, how), ranks in sorted(ways.items())
    )


def name_of(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def usable_sections(
    raw: RawRank, size: int, odd: list[str]
) -> Iterator[tuple[RawSection, tuple[int, int, int]]]:
    """Yield the sections of a rank as far as they are of use.

    Each with the first rank of its communicator, its size, and the rank's place in it.

    Parameters
    ----------
    size : int
        Ranks of the program.
    odd : list of str
        Gets a remark on each number that cannot be.
    """
    first_ns, last_ns = time_of_program(raw)
    until_ns = first_ns
    for number, each in enumerate(raw.sections):
        begins = [later.facts.begin_ns for later in raw.sections[number + 1 :]]
        limit_ns = min((begin for begin in begins if until_ns < begin < last_ns), default=last_ns)
        remarks: list[str] = []
        section = sound(each, raw, size, until_ns, limit_ns, remarks)
        odd += [f"section {number}: {why}" for why in remarks]
        until_ns = max(until_ns, section.facts.end_ns)
        yield section, communicator_of(each.facts, raw.program.rank, size)


def communicator_of(facts: Section, rank: int, size: int) -> tuple[int, int, int]:
    """Return the first rank of a section's communicator, its size, and a rank's place in it.

    A loop is one of all ranks.
    """
    known = 0 <= facts.comm_rank < facts.comm_size <= size and 0 <= facts.comm_leader < size
    if facts.what == LOOP or not known:
        return 0, size, rank
    return facts.comm_leader, facts.comm_size, facts.comm_rank


def time_of_program(raw: RawRank) -> tuple[int, int]:
    """Return between which instants a rank recorded, in nanoseconds on its own clock."""
    read = [int(own) for own in raw.clocks[:, 0].tolist()]
    first_ns = read[0] if read else NO_TIME
    last = [raw.end.clock_ns] if raw.end is not None and raw.end.clock_ns else read[1:]
    last_ns = last[-1] if last else -NO_TIME
    inside = [
        section.facts.begin_ns for section in raw.sections if section.facts.begin_ns != NO_TIME
    ]
    middle_ns = sorted(inside)[len(inside) // 2] if inside else first_ns
    return (
        first_ns if first_ns <= middle_ns else NO_TIME,
        last_ns if last_ns >= middle_ns else -NO_TIME,
    )


def sound(
    each: RawSection, raw: RawRank, size: int, until_ns: int, limit_ns: int, odd: list[str]
) -> RawSection:
    """Return a section whose numbers can be: each that cannot is left out or set right.

    Parameters
    ----------
    size : int
        Ranks of the program.
    until_ns, limit_ns : int
        It lies between these.
    odd : list of str
        Gets a remark on each such number.
    """
    facts, there = each.facts, each.size(Frame.RECORDS)
    kept, complete = min(facts.kept, there) if facts.kept else there, facts.complete
    if facts.kept > there or (complete and facts.kept < there):
        odd.append(f"{facts.kept:,} records, of which {there:,} are there")
        kept = there
        # Two numbers say that there were more; or one of them is odd.
        complete = complete and not (facts.seen >= facts.kept > there or raw.torn)
    begin_ns, end_ns = facts.begin_ns, facts.end_ns
    right = kept
    changed: dict[Frame, NDArray[Any]] = {}
    edges = each.array(Frame.EDGES)
    usable = usable_edges(edges, size, odd)
    if usable is not edges:
        changed[Frame.EDGES] = usable
    in_time = until_ns <= begin_ns < end_ns <= limit_ns
    if not (in_time and has_sound_records(each, raw, kept)):
        records = each.array(Frame.RECORDS)[:kept]
        if not until_ns <= begin_ns <= limit_ns:
            odd.append(f"it begins at {begin_ns} ns")
            begin_ns = max(int(records["begin_ns"][0]) if kept else begin_ns, until_ns)
        if not begin_ns < end_ns <= limit_ns:
            odd.append(f"it ends at {end_ns} ns")
            ends = np.where(records["what"] <= 0, records["end_ns"], records["begin_ns"])
            inside = ends[(ends > begin_ns) & (ends <= limit_ns)]
            end_ns = int(inside.max()) if inside.size else begin_ns
        noted = each.array(Frame.CONTEXTS)[:kept]
        contexts = np.zeros(kept, np.uint32)
        contexts[: noted.size] = noted
        if noted.size == kept:
            contexts = known_contexts(noted, records["what"], raw.contexts.count, odd)
            changed[Frame.CONTEXTS] = contexts
        calls, injecting = len(raw.program.call_names), bool(raw.program.injected)
        records = known_calls(records, contexts, calls, len(MPI_PHASES), odd, injecting=injecting)
        records, begin_ns, end_ns = records_in_order(records, begin_ns, end_ns, odd)
        changed[Frame.RECORDS] = records
        right = records.size
    seen = facts.seen - facts.kept + right if facts.seen >= facts.kept else right
    facts = replace(
        facts,
        begin_ns=begin_ns,
        end_ns=end_ns,
        kept=right,
        seen=seen,
        complete=complete and right == kept,
    )
    return replace(each, facts=facts, instead=changed)


def has_sound_records(each: RawSection, raw: RawRank, kept: int) -> bool:
    """Tell whether the records of a section can be, part by part: most are, and they are many."""
    facts, calls, injecting = each.facts, len(raw.program.call_names), raw.program.injected
    latest, read = facts.begin_ns, 0
    for part in each.parts(Frame.RECORDS):
        records = part[: kept - read]
        read += records.size
        if not records.size:
            break
        begins = records["begin_ns"]
        ends = np.where(records["what"] <= 0, records["end_ns"], begins)
        instants = np.append(latest, np.stack([begins, ends], axis=1))
        latest = instants[-1]
        strange = strange_records(records, calls, len(MPI_PHASES), injecting=bool(injecting))
        if (np.diff(instants) < 0).any() or any(each.any() for each in strange):
            return False
    unknown = 0
    for part in each.parts(Frame.CONTEXTS):
        if (part >= max(raw.contexts.count, 2)).any():
            return False
        unknown += int(np.count_nonzero(part == 0))
    return bool(latest <= facts.end_ns) and not 0 < unknown <= MAX_REPAIRS
