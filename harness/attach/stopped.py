"""Where each rank of a program stood that was ended: in which call, for how long, and for whom."""

from __future__ import annotations

from hindmost.harness.attach.raw_json import End
from hindmost.harness.attach.raw_program import RawProgram
from hindmost.harness.recorder.library import NS
from hindmost.text import first_of, named_ranks, seconds


def where_ranks_stood(program: RawProgram) -> str:
    """Say where the ranks stood that did not end MPI; empty if all did, or nothing is known.

    Ranks in MPI wait for those that are not; where there are none, it is not known for whom.
    """
    places: dict[tuple[bool, str], list[tuple[int, float]]] = {}
    for rank, raw in sorted(program.ranks.items()):
        end = raw.end
        if end is not None and was_stopped(end) and end.since_ns:
            place = bool(end.in_call), what_it_did(end, raw.stood)
            places.setdefault(place, []).append((rank, (end.clock_ns - end.since_ns) * NS))
    if not places:
        return ""
    said = [
        f"{named_ranks([rank for rank, _ in ranks], program.size)} "
        f"{'were' if len(ranks) > 1 else 'was'} {what} for "
        f"{seconds(max(spent for _, spent in ranks))}"
        for (_, what), ranks in sorted(places.items(), key=lambda each: len(each[1]))
    ]
    threads = [
        f"rank {rank}: {', '.join(raw.threads)}"
        for rank, raw in sorted(program.ranks.items())
        if raw.threads
    ]
    where = f"; {first_of(threads, '; ')}" if threads else ""
    # Places with the fewest ranks come first: they hold the others up.
    return f"{first_of(said, '; ')}{waiting(places, program.size)}{where}"


def was_stopped(end: End) -> bool:
    """Tell whether a rank was ended where it stood: not by itself."""
    return not end.finalized and end.aborted is None and end.signal != 0


def what_it_did(end: End, where: str) -> str:
    """Return ``in MPI_Recv with rank 1``, or ``outside MPI, after MPI_Recv,``."""
    if end.in_call:
        partner = f" with rank {end.partner}" if end.partner >= 0 else ""
        return f"in {end.in_call}{partner}{where}"
    return f"outside MPI, after {end.last_call}{where}," if end.last_call else "outside MPI"


def waiting(places: dict[tuple[bool, str], list[tuple[int, float]]], size: int) -> str:
    """Say who waits for whom; empty where all ranks were outside MPI.

    Parameters
    ----------
    places : dict
        Of whether a rank was in MPI, and where: the ranks, and for how long.
    size : int
        Ranks of the program.
    """
    inside: list[int] = []
    outside: list[int] = []
    for (in_mpi, _), ranks in places.items():
        (inside if in_mpi else outside).extend(rank for rank, _ in ranks)
    if not inside:
        return ""
    if outside:
        return f": {named_ranks(inside, size)} waited for {named_ranks(outside, size)}"
    return ": all ranks were in MPI" if len(inside) > 1 else ""
