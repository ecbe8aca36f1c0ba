"""The sections of an attached program, matched across its ranks and put together into runs.

A section of one rank is the same solve as that of another rank if it has the same place among the
sections of both on the same ranks. Solves of one kind make one run: same prefix, type, size and
ranks. A solve that is incomplete is a run of its own kind, so that it spoils no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.harness.attach.raw import Frame, RawProgram, RawSection
from hindmost.text import counted, named_ranks

MOST_GROUPS = 64
"""Runs of one program; there may be one for every rank, where each solves alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """A section of all ranks that take part in it.

    Attributes
    ----------
    ranks : tuple of int
        Of the program, in the order of the communicator.
    parts : tuple of RawSection
        One a rank, in the same order.
    """

    ranks: tuple[int, ...]
    parts: tuple[RawSection, ...]

    @property
    def whole(self) -> bool:
        """Whether it ended on all ranks and no record was lost."""
        return all(each.facts.complete and not each.facts.lost for each in self.parts)

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


def sections_of(program: RawProgram) -> tuple[list[tuple[Matched, ...]], list[str]]:
    """Match the sections of all ranks and group them.

    Returns
    -------
    list of tuple of Matched
        Each a run; in the order of time.
    list of str
        Sentences on what cannot be a run.
    """
    found: dict[tuple[int, int, int], dict[int, tuple[int, RawSection]]] = {}
    faults: dict[str, int] = {}

    def leave_out(why: str) -> None:
        faults[why] = faults.get(why, 0) + 1

    for rank, raw in sorted(program.ranks.items()):
        counts: dict[tuple[int, int], int] = {}
        until = -(1 << 62)
        for each in raw.sections:
            leader, size, place = communicator_of(each, rank, program)
            number = counts[leader, size] = counts.get((leader, size), -1) + 1
            why = fault_of(each, until)
            members = found.setdefault((leader, size, number), {})
            if not why and place in members:
                why = "other ranks with the same first rank solved as well"
            if why:
                leave_out(f"rank {rank}: {why}")
                continue
            until = each.facts.end_ns
            members[place] = (rank, each)
        raw.release()
    matched = []
    for (_, size, _), members in found.items():
        if len(members) < size:
            leave_out(who_has_none(program, [rank for rank, _ in members.values()], size))
            continue
        in_order = [members[place] for place in sorted(members)]
        whole = Matched(
            ranks=tuple(rank for rank, _ in in_order), parts=tuple(each for _, each in in_order)
        )
        facts = [each.facts for each in whole.parts]
        if len({(each.what, each.type, each.prefix) for each in facts}) > 1:
            leave_out("its ranks recorded different solves")
            continue
        matched.append(whole)
    groups: dict[tuple[object, ...], list[Matched]] = {}
    for whole in sorted(matched, key=lambda each: each.parts[0].facts.begin_ns):
        if whole.kind not in groups and len(groups) == MOST_GROUPS:
            leave_out(f"it is of another kind or on other ranks than {MOST_GROUPS} runs before it")
            continue
        groups.setdefault(whole.kind, []).append(whole)
    left_out = [f"{counted(count, 'section')} left out: {why}" for why, count in faults.items()]
    return [tuple(each) for each in groups.values()], left_out


def who_has_none(program: RawProgram, ranks: Sequence[int], size: int) -> str:
    """Say which ranks have no record of a section that others have."""
    few = f"only {len(ranks)} of {counted(size, 'rank')} have a record of it"
    if size < program.size:
        return few
    killed = how_killed(program, ranks)
    return f"{few}; {killed} before it wrote one" if killed else few


def how_killed(program: RawProgram, but: Sequence[int] = ()) -> str:
    """Say which ranks were killed: they did not write their end; empty if all did."""
    killed = [
        rank for rank, raw in sorted(program.ranks.items()) if raw.end is None and rank not in but
    ]
    if not killed:
        return ""
    return f"{named_ranks(killed, program.size)} {'was' if len(killed) == 1 else 'were'} killed"


def communicator_of(each: RawSection, rank: int, program: RawProgram) -> tuple[int, int, int]:
    """Return the first rank of a section's communicator, its size, and a rank's place in it."""
    facts = each.facts
    if facts.comm_size < 0:
        return 0, program.size, rank
    return facts.comm_leader, facts.comm_size, facts.comm_rank


def fault_of(each: RawSection, until_ns: int) -> str:
    """Return why a section of a rank cannot be used; empty if it can.

    Parameters
    ----------
    until_ns : int
        When the section before it ended.
    """
    facts = each.facts
    if each.size(Frame.RECORDS) < facts.kept:
        return "its records were cut off"
    latest = max(facts.begin_ns, until_ns)
    in_order = facts.begin_ns >= until_ns and facts.end_ns > facts.begin_ns
    for records in each.parts(Frame.RECORDS):
        begins = records["begin_ns"]
        ends = np.where(records["what"] <= 0, records["end_ns"], begins)
        instants = np.append(latest, np.stack([begins, ends], axis=1))
        latest = instants[-1]
        in_order &= bool((np.diff(instants) >= 0).all())
    if not in_order or latest > facts.end_ns:
        return "its times are not in order: the clock or the recorder is faulty"
    return ""
