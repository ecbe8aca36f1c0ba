"""What the header of an attached run says: its program, its solver, and how its solves ended."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from hindmost.harness.attach.missing_marks import why_different
from hindmost.harness.attach.raw_json import LOOP, Inner, Section
from hindmost.harness.attach.raw_program import RawProgram
from hindmost.harness.attach.sections import Matched, how_ended
from hindmost.harness.attach.settings import FIND
from hindmost.harness.attach.stopped import where_ranks_stood
from hindmost.harness.krylov.recorded import NORMS
from hindmost.harness.krylov.solvers import solver_named
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.runfile.attributes import OBJECTS, Attached, Json
from hindmost.harness.runfile.bodies import INJECTED, PHASES, BodyKind, RankBodies
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.ending import KEY, REACHED, Ending
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.time_left import KEY as TIME_LEFT
from hindmost.harness.runfile.time_left import time_use_to_keep
from hindmost.records import from_document, to_document
from hindmost.text import counted

T = TypeVar("T")
MAX_NAME = 60
"""Characters of a program's name in the name of a file."""
MAX_WORDS = 10_000
"""Characters of a part of a header: an attribute of HDF5 has 64 KiB."""
KIND = "attached"
"""The part of a header's ``spec`` that says what is known of the program."""
SEVERAL = "restarts and changes of solve"
"""What lies between cycles where a run has several solves."""


def program_name(program: RawProgram) -> str:
    """Return the name of a program: that of its raw folder without the number."""
    return file_name(re.sub(r"-\d+$", "", program.name)) or "program"


def file_name(text: str) -> str:
    """Return a text as it may be part of the name of a file; may be empty."""
    name = "".join(letter if letter.isalnum() or letter in "-_.+" else "_" for letter in text)
    return name.lstrip(".")[:MAX_NAME]


def workload_of(program: RawProgram, facts: Section) -> str:
    """Return the workload: the program, and the prefix of the solver's options."""
    name = program_name(program)
    prefix = file_name(facts.prefix.rstrip("_"))
    return f"{name}-{prefix}" if prefix else name


def origins_of(program: RawProgram, given: Origins | None) -> Origins:
    """Return where the program ran: as its launcher says, as rank 0 wrote, or what is left."""
    first = program.first.program
    said = {name: value for name, value in first.origins.items() if is_writable(name, value)}
    if given is None:
        unknown: Json = {"machine": {"host": first.host}}
        given = Origins(
            environment=said.get("environment", unknown),
            scheduler=said.get("scheduler", {}),
            git=said.get("git", {}),
        )
    return replace(
        given,
        environment={
            **given.environment,
            "petsc": first.petsc_version,
            "ranks": program.size,
            "command": limited(first.program),
        },
    )


def is_writable(name: str, value: Any) -> bool:
    """Tell whether a part of a header that a raw file contains may stand in a run file."""
    try:
        from_document(OBJECTS[name], value, name)
        return True
    except (KeyError, ValueError):
        return False


def limited(words: Sequence[str]) -> list[str]:
    """Return the first words of a command line, as many as a header has room for."""
    kept = within_room(words)
    return kept if len(kept) == len(words) else [*kept, "..."]


def within_room(values: Sequence[T]) -> list[T]:
    """Return the first values, as many as a header has room for."""
    ends = np.cumsum([len(json.dumps(each)) + 2 for each in values])
    return list(values[: int(np.searchsorted(ends, MAX_WORDS, side="right"))])


def limited_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the first options, as many as a header has room for."""
    count = len(limited([f"{name} {value}" for name, value in options.items()]))
    return dict(list(options.items())[:count])


def header_of(
    program: RawProgram,
    group: Sequence[Matched],
    bodies: RankBodies,
    *,
    generic: str,
    none: int,
    failure: str,
    seen: bool,
    origins: Origins,
    iterations: Attached | None = None,
    phase: int = 0,
    work: int | None = None,
) -> Header:
    """Return the header of a run.

    Parameters
    ----------
    group : sequence of Matched
        Its sections, in the order of time.
    bodies : RankBodies
        Of the first rank.
    generic : str
        Why the bodies are those of any solver; empty if they follow the pattern.
    none : int
        Solves that ended before their first iteration.
    failure : str
        Why the run is incomplete; empty if it is complete.
    seen : bool
        Whether the recorder saw MPI calls.
    iterations : Attached, optional
        What the file says of them, where no marks were made.
    phase : int
        Of several loops that the program does one after the other, which: the first has the name
        of the program, others that of their function, too.
    work : int or None
        What the program counted on all ranks in the iterations that are kept.
    """
    facts = group[0].parts[0].facts
    raw = program.ranks[group[0].ranks[0]]
    solver = solver_named(facts.type)
    is_solve = facts.what == "solve"
    posts = bool(bodies.phase_duration[:, PHASES.index("post")].any())
    lost = sum(part.facts.lost for each in group for part in each.parts)
    about = program.first.program.recording
    spec: Json = {"mpi_seen": seen, "pid": raw.program.pid}
    if not about:
        spec[KIND] = attached_of(program, group, none, iterations, work)
    else:
        spec |= about.get("spec", {})
        spec |= {name: "\n".join(lines) for name, lines in about.get("lines", {}).items()}
        if iterations and "summed" in iterations:
            spec["summed"] = iterations["summed"]
        seen_on = [each.end.solves_seen for each in program.ranks.values() if each.end]
        if min(seen_on, default=0) > 1:
            spec["solves_left_out"] = min(seen_on) - 1
    done = int(np.count_nonzero(bodies.kind != BodyKind.FILL))
    if is_solve:
        ending = ending_of(group, done, generic)
        spec |= {
            **known(
                {
                    "unknowns": facts.rows if facts.rows >= 0 else None,
                    "nonzeros": nonzeros_of(group[0]),
                    "mat_type": facts.mat_type or None,
                    "pc_type": facts.pc_type or None,
                }
            ),
            "rtol": ending.rtol,
            "atol": ending.atol,
            "petsc_options": limited(
                [word for pair in raw.options.items() for word in pair if word]
            ),
            KEY: to_document(ending),
        }
        if len(group) > 1:
            spec["between"] = SEVERAL
    if failure:
        spec["failure"] = failure
    noise = program.first.program
    if noise.injected:
        spec |= {INJECTED: noise.injected, "seed": noise.injection_seed}
    workload = about.get("name") or workload_of(program, facts)
    if phase and iterations and "loop" in iterations:
        workload += f"-{file_name(CodePlace.read(iterations['loop']['name']).function)}"
    header = origins.header(
        workload=workload,
        solver=(file_name(facts.type) or "unknown") if is_solve else str(about.get("solver", LOOP)),
        ranks=len(group[0].ranks),
        iterations=done,
        began=datetime.fromtimestamp(facts.begin_utc_ns * 1e-9, UTC),
        spec=spec,
        restart=facts.restart if solver.restart_option and not generic else 0,
        synchronisation="pipelined"
        if is_solve and posts and not solver.known
        else solver.synchronisation,
        lag=solver.lag,
        complete=not failure,
        records_lost=lost,
        petsc_options=limited_options(raw.options) if is_solve else {},
    )
    return replace(header, mpi_library=raw.program.mpi_library)


def known(values: Json) -> Json:
    """Return the values that are known."""
    return {name: value for name, value in values.items() if value is not None}


def nonzeros_of(solve: Matched) -> int | None:
    """Return the nonzeros of a matrix, summed over ranks; None if some rank does not know them."""
    own = [part.facts.nonzeros for part in solve.parts]
    return round(min(sum(own), 1 << 53)) if min(own) >= 0 else None


def ending_of(group: Sequence[Matched], done: int, generic: str) -> Ending:
    """Say how the solves of a run ended: as one that reached its tolerance if all of them did."""
    facts = [each.parts[0].facts for each in group]
    reasons = Counter(each.reason for each in facts)
    bad = {name: count for name, count in reasons.items() if name not in REACHED}
    reason = next(iter(bad or reasons))
    if bad and len(facts) > 1 and set(reasons) != {"CONVERGED_ITS"}:
        short = sum(bad.values())
        reason = f"{', '.join(name or 'unknown' for name in bad)} in {short} of {len(facts)} solves"
    iterations = facts[0].iterations
    apart = bool(generic) and len(group) == 1 and group[0].whole and done != iterations
    return Ending.of_petsc(
        asked=max(max(each.most, 0) for each in facts),
        done=done,
        reason=reason,
        rtol=max(each.rtol or 0.0 for each in facts),
        atol=max(each.atol or 0.0 for each in facts),
        norm=NORMS.get(facts[0].norm_type, ""),
        generic=generic,
        counted=max(iterations, 0) if apart else 0,
    )


def attached_of(
    program: RawProgram,
    group: Sequence[Matched],
    none: int,
    iterations: Attached | None,
    work: int | None,
) -> Json:
    """Return what is said of the program and of the solves of a run."""
    facts = [each.parts[0].facts for each in group]
    raw, leader = program.ranks[group[0].ranks[0]], program.first.program
    first, end = raw.program, raw.end
    said: Json = {
        "program": limited(first.program),
        "name": program_name(program),
        "execution": f"{leader.host} {leader.pid} {leader.utc_ns}",  # tells it from all others
        "prefix": facts[0].prefix,
        "solves": len(facts),
        "seconds": sum(each.seconds for each in facts),
        "finished": program.finished,
        "unclassified": unclassified_of(facts),
    }
    if facts[0].what == LOOP:
        del said["solves"], said["prefix"]
        said["work"] = work
        if iterations is not None:
            said |= iterations
        elif first.mark_call and first.mark_call != FIND:
            said["iterate_at"] = {"call": first.mark_call, "calls": first.mark_nth}
        said["marks_differ"] = why_different(program, group) or None
    else:
        said |= {
            "pipelined": list(solver_named(facts[0].type).pipelined),
            "without_iterations": none,
            "reasons": dict(Counter(each.reason or "unknown" for each in facts)),
            "snes_steps": span_of([each.snes_step for each in facts]),
            "time_steps": span_of([each.time_step for each in facts]),
            "inner": inner_of(facts),
            "scalar": first.scalar,
        }
    if group[0].ranks != tuple(range(program.size)):
        said["ranks"] = within_room(group[0].ranks)
        said["of_ranks"] = program.size
    if end is not None:
        ends = [each.end for each in program.ranks.values() if each.end is not None]
        skipped = sum(each.solves_not_recorded_led for each in ends)  # one of several ranks: once
        said |= {"solves_seen": end.solves_seen, "solves_skipped": min(skipped, 1 << 53)}
        if end.aborted is not None:
            said["aborted"] = end.aborted
    if len(raw.clocks) > 1:  # read after MPI was started and before it was ended
        said["program_s"] = max(int(raw.clocks[-1, 0] - raw.clocks[0, 0]), 0) * 1e-9
    if (use := time_use_to_keep(program.folder)) is not None:
        said[TIME_LEFT] = to_document(use)
    return known(said)


def unclassified_of(facts: Sequence[Section]) -> list[str] | None:
    """Return the calls of no known kind, those that took longest first; None if there are none."""
    spent: Counter[str] = Counter()
    for each in facts:
        spent.update(each.other_ns)
    return [name for name, ns in spent.most_common(3) if ns > 0] or None


def span_of(steps: Sequence[int]) -> list[int] | None:
    """Return the first and the last of Newton or time steps; None outside of any."""
    inside = [step for step in steps if step >= 0]
    return [min(inside), max(inside)] if inside else None


def inner_of(facts: Sequence[Section]) -> list[Json]:
    """Return the solves inside of solves by prefix and type, with their time on the first rank."""
    sums: dict[tuple[str, str], Inner] = {}
    for each in facts:
        for inner in each.inner:
            key = (inner.prefix[:MAX_NAME], inner.type[:MAX_NAME])
            before = sums.get(key, Inner(type=key[1], prefix=key[0]))
            sums[key] = replace(before, count=before.count + inner.count, ns=before.ns + inner.ns)
    longest = sorted(sums.values(), key=lambda inner: -inner.ns)
    said: list[Json] = [
        {
            "prefix": each.prefix,
            "type": each.type,
            "count": min(each.count, 1 << 53),
            "seconds": each.ns * 1e-9,
        }
        for each in longest
    ]
    return within_room(said)


def failure_of(
    program: RawProgram,
    group: Sequence[Matched],
    bodies: RankBodies,
    *,
    counts_differ: bool,
    iterations: Attached,
) -> str:
    """Say why a run is incomplete; empty if it is complete."""
    summed = iterations.get("summed")
    kept = "iterations before that are kept"
    if iterations.get("no_loop"):
        kept = "what all ranks had recorded by then is kept"
    facts = [part.facts for each in group for part in each.parts]
    lost = sum(each.lost for each in facts)
    what = "solve" if facts[0].what == "solve" else LOOP
    if not all(each.complete for each in facts):
        ends = [raw.end for raw in program.ranks.values()]
        if all(end is not None and end.finalized for end in ends):
            unwritten = next((end.failure for end in ends if end and end.failure), 0)
            if unwritten:
                return f"records could not be written ({os.strerror(unwritten)}); {kept}"
            if what == "solve":
                return "an error of PETSc ended this solve; iterations before that are kept"
        ended = how_ended(program)
        how = f" ({ended})" if ended else ""
        where = "inside this loop or after it" if what == LOOP else "inside this solve"
        if iterations.get("no_loop"):
            where = "before MPI_Finalize"
        stood = where_ranks_stood(program)
        return f"the program ended {where}{how}; {f'{stood}; ' if stood else ''}{kept}"
    if lost:
        if program.first.program.recording:
            return f"{counted(lost, 'record')} found no room in memory; iterations before are kept"
        room = max(each.seen for each in facts) * RECORD.itemsize
        return (
            f"{counted(lost, 'record')} did not fit into --memory; {kept}, and all need --memory "
            f"{math.ceil(room / 1e6 * 1.05)}MB"
        )
    if counts_differ:
        return (
            f"{why_different(program, group) or 'the marks do not agree'}; kept are the first "
            f"{counted(bodies.duration.size, 'iteration')} of each rank, which may be "
            "different ones"
        )
    if summed is not None and summed["unknown"]:
        return (
            f"{summed['unknown']:,} passes of the loop are not kept: it was not known yet when "
            "half of the budget for calls was used (all are with --all)"
        )
    return ""
