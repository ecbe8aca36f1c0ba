"""Marks of iterations on the ranks: what to say if there are none, or if they differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hindmost.harness.attach.raw_program import RankFacts, RawProgram
from hindmost.harness.attach.sections import Matched, how_ended
from hindmost.harness.attach.settings import FIND
from hindmost.text import counted, first_of

NO_MARKS_FROM = ("Comm", "Win", "Request", "Group", "Type", "File", "Cart", "Graph", "Dist")
"""What the names of calls begin with that no iteration would end at: they make and free things."""


def why_nothing(program: RawProgram) -> str:
    """Say why a program that began to record left no solve and no iteration, and what to do."""
    first = program.first.program
    name = Path(first.program[0]).name
    ends = [raw.end for _, raw in sorted(program.ranks.items()) if raw.end is not None]
    if not program.finished or not all(end.finalized for end in ends):
        how = how_ended(program) or "the program ended without MPI_Finalize"
        return (
            f"Nothing was recorded of {name}: {how} before a solve or an iteration was written. "
            "Solves are written when they end, loops from 10 ms after their begin on."
        )
    if first.mark_call:
        return f"Nothing was recorded. {why_no_loop(program)}"
    end = ends[0]
    if end.solves_of_other_prefixes and not end.solves_seen:
        return (
            f"Nothing was recorded: none of {counted(end.solves_of_other_prefixes, 'solve')} of "
            f"{name}, inner ones included, has the options prefix '{first.only}' (--only). PETSc's "
            "option -ksp_view shows the prefixes."
        )
    if end.solves_seen or end.own_recordings:
        solves = counted(end.solves_seen, "solve")
        does = f"made {solves}, all inside recordings of its own"
        return (
            f"Nothing was recorded: {name} {does if end.solves_seen else 'records itself'} "
            "(hindmost run, record, record_ksp). Run it without attach."
        )
    petsc = f"PETSc {first.petsc_version}" if first.petsc_version else "no shared libpetsc"
    return (
        f"Nothing was recorded: no KSPSolve and no iterations between marks were seen in {name}, "
        f"which uses MPI and {petsc}. {advice(program)}"
    )


def why_no_loop(program: RawProgram) -> str:
    """Say why the calls of ``--iterate-at`` gave no iterations, and which calls could."""
    first = program.first.program
    call, nth = first.mark_call, first.mark_nth
    made = {rank: calls_of(raw).get(call, 0) for rank, raw in sorted(program.ranks.items())}
    rank = min(made, key=made.__getitem__)
    option = f"--iterate-at {call}" + (f":{nth}" if nth > 1 else "")
    return (
        f"{option}: rank {rank} made {counted(made[rank], 'call')} of {call} on communicators of "
        f"all ranks; it takes at least {nth + 1}. {advice(program)}"
    )


def advice(program: RawProgram) -> str:
    """Say what can be done about iterations that the program does not mark."""
    first, listed = program.first.program, calls_listed(program)
    without = "Leave out --only, --every and --most, which choose solves. "
    before = without if first.chooses_solves else ""
    if not listed:
        return (
            f"{before}No MPI call was made more than once on all ranks alike: mark the iterations "
            "in the program, with MPI_Pcontrol(1) or hindmost.h."
        )
    # Noise is injected while the program runs, and a loop is found when it has ended.
    find = "" if first.injected else f"let hindmost find the iterations (--iterate-at {FIND}), "
    return (
        f"{listed} {before}Record again with one of them, as --iterate-at "
        f"{next(iter(calls_to_mark(program)))}, {find}or mark them in the program, with "
        "MPI_Pcontrol(1) or hindmost.h."
    )


def calls_listed(program: RawProgram) -> str:
    """List the calls at which iterations could end, with their counts; empty if there are none."""
    choices = calls_to_mark(program)
    if not choices:
        return ""
    listed = first_of([f"{call} {count:,}" for call, count in choices.items()], most=8)
    where = "on each rank" if program.size > 1 else "in all"
    return f"Calls that can end iterations, as often as they were made {where}: {listed}."


def calls_to_mark(program: RawProgram) -> dict[str, int]:
    """Return the calls that could end iterations, with their count, the most frequent first.

    All ranks made them equally often.
    """
    first, *others = (calls_of(raw) for _, raw in sorted(program.ranks.items()))
    alike = {
        name: count
        for name, count in sorted(first.items())
        if count > 1 and all(each.get(name) == count for each in others)
    }
    found = {
        name: count
        for name, count in alike.items()
        if not name.removeprefix("MPI_").startswith(NO_MARKS_FROM)
    }
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def calls_of(raw: RankFacts) -> dict[str, int]:
    """Return how often a rank made each call at which iterations can end."""
    if raw.end is None:
        return {}
    some = raw.end.calls_of_some
    made = {name: raw.end.calls.get(name, 0) - some.get(name, 0) for name in raw.program.call_names}
    return {name: count for name, count in made.items() if count > 0}


def why_different(program: RawProgram, group: Sequence[Matched]) -> str:
    """Say how the marks of a loop differ between its ranks; empty if they agree.

    Only loops that ended on all ranks: in one that did not, ranks stop at different marks.
    """
    for each in group:
        if not each.whole:
            continue
        counts = {rank: part.marks for rank, part in zip(each.ranks, each.parts, strict=True)}
        least, most = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
        if counts[least] != counts[most]:
            fewest = counted(counts[least], "mark")
            return (
                f"the marks do not agree: rank {least} made {fewest}, rank {most} {counts[most]:,}"
            )
    return ""
