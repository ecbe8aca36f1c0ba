"""Whether calls of MPI separate all iterations of a loop, so that their number is known.

An iteration is seen by the calls that a rank makes in it. One that makes none, or only those of one
loop inside, looks like a further iteration of that loop. Code proves that there is none if no way
through the loop avoids the calls outside of that inner one; each of these must lead to MPI whenever
control comes to it, through all functions that it calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hindmost.harness.loops.code import Functions, Interpreted
from hindmost.harness.loops.tree import Loop

Chains = Sequence[Sequence[int]]


def are_separated(loop: Loop, chains: Chains, functions: Functions) -> bool:
    """Tell whether code proves that each iteration of a loop is seen.

    Parameters
    ----------
    chains : sequence of sequence of int
        The frames of each context from which MPI was called, the outermost first.
    """
    above, of, header = loop.key
    level = len(above)
    functions.of(loop.frames[0])
    function = functions.code(of)
    if function is None:
        return False
    calls: defaultdict[int | None, set[int]] = defaultdict(set)  # by the loop inside, if any
    inside = [
        chain
        for chain in chains
        if len(chain) > level
        and tuple(chain[:level]) == above
        and functions.inside(chain, level)[0] == of
        and header in function.nest(functions.place(chain[level]))
    ]
    for place, lead in _by_place(inside, level, functions).items():
        nest = function.nest(place)
        inner = nest[nest.index(header) + 1 :]
        calls[inner[0] if inner else None] |= {place} if _leads(lead, level, functions) else set()
    return all(
        function.must_make(set().union(*(calls[call] for call in calls if call != alone)), header)
        for alone in ([call for call in calls if call is not None] or [0])
    )


def _by_place(chains: Chains, level: int, functions: Functions) -> dict[int, Chains]:
    """Return the chains by the call that they make in the function at a level."""
    found: defaultdict[int, list[Sequence[int]]] = defaultdict(list)
    for chain in chains:
        found[functions.place(chain[level])].append(chain)
    return dict(found)


def _leads(chains: Chains, level: int, functions: Functions) -> bool:
    """Tell whether a call always leads to MPI.

    Of a call through a pointer, each function must do so to which it was seen to lead.

    Parameters
    ----------
    chains : sequence of sequence of int
        All that make it, at a level.
    """
    frame, deeper = chains[0][level], [chain for chain in chains if len(chain) > level + 1]
    called = functions.called_by(frame)
    if len(deeper) < len(chains) and called is None:
        return functions.calls_library(frame) or isinstance(functions.of(frame), Interpreted)
    by_callee: defaultdict[tuple[int, int], list[Sequence[int]]] = defaultdict(list)
    for chain in deeper:
        by_callee[functions.inside(chain, level + 1)[0]].append(chain)
    for callee in by_callee if called is None else [called]:
        function = functions.code(callee)
        places = _by_place(by_callee[callee], level + 1, functions)
        if function is None or not function.must_make(
            {place for place, lead in places.items() if _leads(lead, level + 1, functions)}
        ):
            return False
    return True
