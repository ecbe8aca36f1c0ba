"""Whether calls of MPI separate all iterations of a loop, so that their number is known.

An iteration is seen by the calls that a rank makes in it. One that makes none, or only those of one
loop inside, looks like a further iteration of that loop. Code proves that there is none if no way
through the loop avoids the calls outside of that inner one; each of these must lead to MPI whenever
control comes to it, through all functions that it calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hindmost.harness.loops.code import Functions
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
    function = functions.of(loop.frames[0])
    if function is None:
        return False
    calls: defaultdict[int | None, set[int]] = defaultdict(set)  # by the loop inside, if any
    inside = [
        chain
        for chain in chains
        if len(chain) > level
        and tuple(chain[:level]) == above
        and functions.key(chain[level]) == of
        and header in function.nest(functions.place(chain[level]))
    ]
    for place, lead in _by_place(inside, level, functions).items():
        nest = function.nest(place)
        inner = nest[nest.index(header) + 1 :]
        calls[inner[0] if inner else None] |= {place} if _leads(lead, level, functions) else set()
    return all(
        function.must_make(set().union(*(calls[each] for each in calls if each != alone)), header)
        for alone in ([each for each in calls if each is not None] or [0])
    )


def _by_place(chains: Chains, level: int, functions: Functions) -> dict[int, Chains]:
    """Return the chains by the call that they make in the function at a level."""
    found: defaultdict[int, list[Sequence[int]]] = defaultdict(list)
    for chain in chains:
        found[functions.place(chain[level])].append(chain)
    return dict(found)


def _leads(chains: Chains, level: int, functions: Functions) -> bool:
    """Tell whether a call always leads to MPI.

    Parameters
    ----------
    chains : sequence of sequence of int
        All that make it, at a level.
    """
    frame, deeper = chains[0][level], [chain for chain in chains if len(chain) > level + 1]
    if len(deeper) < len(chains):
        return functions.always_calls(frame, None)
    callees = {functions.key(chain[level + 1]) for chain in deeper}
    function = functions.of(deeper[0][level + 1])
    if len(callees) > 1 or function is None or not functions.always_calls(frame, callees.pop()):
        return False
    places = _by_place(deeper, level + 1, functions)
    return function.must_make(
        {place for place, lead in places.items() if _leads(lead, level + 1, functions)}
    )
