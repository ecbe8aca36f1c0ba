"""How the stream of marks that a solver leaves becomes bodies, cycles and restarts.

A solver's pattern is declared in three parts. *Marks* give a letter to the begin or end of a PETSc
event. A *grammar*, a regular expression over the letters, says which streams are known: any other
is refused. *Contexts* say which letters end a body or begin a restart cycle, by their neighbours:
in ``O[N]`` the N that follows an O is meant; ``^`` and ``$`` are the ends of the stream.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UnknownPatternError
from hindmost.harness.runfile.bodies import BodyKind

MONITOR = "I"
"""The letter of the marks at calls of the monitor, which every recording has."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A letter for an instant in a solve.

    Attributes
    ----------
    letter : str
    side : str
        ``begin`` or ``end`` of a PETSc event; ``monitor``: the solver calls its monitors.
    events : tuple of str
        The event, under any of the names it has had.
    """

    letter: str
    side: Literal["begin", "end", "monitor"]
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """The bodies of one rank's solve as indices into its stream of marks.

    Attributes
    ----------
    begin, end : int64 array, shape (body,)
        The marks between which a body lies.
    position : int32 array, shape (body,)
        The body's place in its restart cycle, from 0.
    kind : uint8 array, shape (body,)
        See `BodyKind`.
    restart_begin, restart_end : int64 array, shape (restart,)
        The marks between which a restart lies.
    """

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    position: NDArray[np.int32]
    kind: NDArray[np.uint8]
    restart_begin: NDArray[np.int64]
    restart_end: NDArray[np.int64]

    def at(self, place: NDArray[np.int64]) -> Marked:
        """Return the same as indices into a longer stream.

        Parameters
        ----------
        place : int64 array, shape (mark,)
            Where the marks of this stream stand in the longer one.
        """
        return replace(
            self,
            begin=place[self.begin],
            end=place[self.end],
            restart_begin=place[self.restart_begin],
            restart_end=place[self.restart_end],
        )


def borders(place: NDArray[np.int64]) -> Marked:
    """Return regular bodies without restarts, each from one mark to the next.

    Parameters
    ----------
    place : int64 array, shape (body + 1,)
        The marks.
    """
    count = place.size - 1
    none = np.empty(0, np.int64)
    return Marked(
        begin=place[:-1],
        end=place[1:],
        position=np.arange(count, dtype=np.int32),
        kind=np.full(count, BodyKind.REGULAR, np.uint8),
        restart_begin=none,
        restart_end=none,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPattern:
    """The declaration of a solver's pattern.

    Attributes
    ----------
    marks : tuple of Mark
    grammar : str
        The streams that are known, as a regular expression over the letters. Groups are best
        atomic, ``(?>...)``, so that a foreign stream is refused in linear time.
    cycle : tuple of str
        Contexts of the letters at which a restart cycle begins.
    bodies : tuple of (str, BodyKind)
        Contexts of the letters at which a body ends, with its kind.
    fill : int
        How many regular bodies at the begin of a cycle only fill the pipeline.
    """

    marks: tuple[Mark, ...]
    grammar: str
    cycle: tuple[str, ...]
    bodies: tuple[tuple[str, BodyKind], ...]
    fill: int = 0

    def find_bodies(self, letters: bytes, solver: str) -> Marked:
        """Find the bodies in a stream of marks.

        Parameters
        ----------
        letters : bytes
            The letters of the marks in the order of time.
        solver : str
            The solver's name, for the message.

        Raises
        ------
        UnknownPatternError
            The stream does not follow the grammar.
        """
        known = re.match(self.grammar.encode(), letters)
        if known is None or known.end() != len(letters):
            raise UnknownPatternError(refusal(self, solver, letters, known.end() if known else 0))
        return self._locate(letters)

    def find_first_bodies(self, letters: bytes, solver: str) -> Marked:
        """Find the bodies in a stream of marks that was cut off.

        Those of all cycles but the last, which is partial; of a single cycle, all that the grammar
        knows but the last, which may be another kind of body than it seems.

        Raises
        ------
        UnknownPatternError
            The stream was cut before one body was whole, or does not follow the grammar.
        """
        starts = np.flatnonzero(anywhere(letters, self.cycle))
        if starts.size > 1:
            return self.find_bodies(letters[: starts[-1]], solver)
        known = re.match(self.grammar.encode(), letters)
        found = self._locate(letters[: known.end()]) if known else None
        if found is None or found.end.size < 2:
            raise UnknownPatternError(
                f"{solver}: records were lost before the first iteration was complete, so nothing "
                "is left of the solve. Record a shorter one; 'hindmost run --warmup 1' measures "
                "how much memory records need."
            )
        return Marked(
            begin=found.begin[:-1],
            end=found.end[:-1],
            position=found.position[:-1],
            kind=found.kind[:-1],
            restart_begin=found.restart_begin,
            restart_end=found.restart_end,
        )

    def _locate(self, letters: bytes) -> Marked:
        starts = np.flatnonzero(anywhere(letters, self.cycle))
        kinds = np.full(len(letters), -1, np.int8)
        for context, kind in self.bodies:
            kinds[anywhere(letters, (context,))] = kind
        ends = np.flatnonzero(kinds >= 0)
        # A cycle that finds at its begin that the solve has converged has no body.
        starts = starts[starts < ends.max(initial=0)]
        # A body begins where the one before it ended, or where its cycle began.
        borders = np.union1d(starts, ends)
        begins = borders[np.searchsorted(borders, ends) - 1]
        cycle_of = np.searchsorted(starts, ends) - 1
        first = np.searchsorted(ends, starts)
        position = np.arange(len(ends)) - first[cycle_of]
        kind_of = kinds[ends].astype(np.uint8)
        kind_of[(position < self.fill) & (kind_of == BodyKind.REGULAR)] = BodyKind.FILL
        return Marked(
            begin=begins,
            end=ends,
            position=position.astype(np.int32),
            kind=kind_of,
            restart_begin=ends[first[1:] - 1],
            restart_end=starts[1:],
        )


def anywhere(letters: bytes, contexts: tuple[str, ...]) -> NDArray[np.bool_]:
    """Mark the letters that stand in one of the contexts.

    Returns
    -------
    bool array, shape (mark,)
    """
    found = np.zeros(len(letters), bool)
    for context in contexts:
        before, letter, after = re.split(r"[\[\]]", context)
        padded = np.frombuffer(b"^" * len(before) + letters + b"$" * len(after), np.uint8)
        here = np.ones(len(letters), bool)
        for shift, wanted in enumerate(before + letter + after):
            here &= padded[shift : shift + len(letters)] == ord(wanted)
        found |= here
    return found


def refusal(pattern: MarkPattern, solver: str, letters: bytes, known: int) -> str:
    """Say where a stream leaves the known pattern."""
    names = {
        mark.letter: f"{mark.side} of {mark.events[0]}" if mark.events else "call of the monitor"
        for mark in pattern.marks
    }
    around = letters[max(0, known - 8) : known + 4].decode()
    legend = ", ".join(f"{letter} = {name}" for letter, name in names.items())
    return (
        f"{solver}: the records of the solve do not follow the known pattern, so its iterations "
        f"cannot be separated (mark {known + 1} of {len(letters)}, near '{around}'; {legend}). An "
        "option may have changed the algorithm: try again without PETSc options after '--', and "
        "report those that cause this."
    )
