"""The iterations of a loop that ``hindmost.record`` marks; what all ranks finished is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.bodies import Spans
from hindmost.harness.solo import of_all
from hindmost.text import named_ranks

BEGUN, FAILED, FINISHED, FIRST_PHASE = 994, 995, 996, 1000
"""Marks: the begin of an iteration, the error that ended it, its end, and the begin of the first
phase; that phase's end has the next number, then comes the second phase."""
BETWEEN = "between"
"""Of a ``spec``: what lies between two iterations, if they have marks at both ends."""
MAX_BODIES = 1 << 62
MAX_NAMED = 5
"""Iterations that raised which are named with the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankIterations:
    """What became of the iterations of a rank, which are counted from 0.

    Where some of its calls are kept as sums, each is a block of iterations of the program.

    Attributes
    ----------
    finished : int64 array, shape (iteration,)
    raised : mapping of int to str
        Those that raised, and the errors.
    begun : int
        How many began.
    """

    finished: NDArray[np.int64]
    raised: Mapping[int, str]
    begun: int

    @classmethod
    def of(
        cls, marks: NDArray[np.void], errors: Sequence[str], block: int, most: int
    ) -> RankIterations:
        """Return those of a rank, from its marks and the names of its errors.

        Parameters
        ----------
        block : int
            Iterations of the program that each has.
        most : int
            As many count as finished.
        """
        what, numbers = marks["what"], marks["end_ns"] // block
        begun = int(numbers[what == BEGUN].max(initial=-1)) + 1
        failed = (what == FAILED) & (numbers < begun)
        known = (*errors, "an error")
        raised = {
            number: known[min(error, len(errors))]
            for number, error in zip(
                numbers[failed].tolist(), marks["phase"][failed].tolist(), strict=True
            )
        }
        ended = begun - (not ends_whole(marks, begun * block - 1))
        finished = np.setdiff1d(np.arange(min(ended, most)), list(raised))
        return cls(finished=finished, raised=raised, begun=begun)


def ends_whole(marks: NDArray[np.void], number: int) -> bool:
    """Tell whether an iteration of a rank, counted from 0, has finished."""
    return bool(((marks["what"] == FINISHED) & (marks["end_ns"] == number)).any())


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedIterations:
    """Which iterations are in the file.

    Processes tell each other sums over ranks, a number for each iteration: none gets what each of
    the others did.

    Attributes
    ----------
    block : int
        Iterations of the program that each has.
    kept : int array, shape (iteration,)
        Those that all ranks finished.
    why_missing : str
        Which are not in the file, and why; empty if all are.
    """

    block: int
    kept: NDArray[np.intp]
    why_missing: str

    @classmethod
    def of(
        cls, own: Sequence[RankIterations], communicator: Any, block: int = 1
    ) -> AgreedIterations:
        """Agree on the iterations of all ranks, from those of this process; collective."""
        counts = of_all(communicator, [each.begun for each in own])
        most = max(counts)

        def on_ranks(iterations: Sequence[Any]) -> NDArray[np.integer[Any]]:
            """Return on how many ranks iterations are among some, shape (begun,)."""
            mine = np.zeros(most, np.int32)
            for iteration in iterations:
                mine[iteration] += 1
            return np.asarray(communicator.allreduce(mine))

        failed = np.flatnonzero(on_ranks([list(each.raised) for each in own]))
        named = failed[:MAX_NAMED].tolist()
        errors_on = of_all(
            communicator,
            [{at: each.raised[at] for at in named if at in each.raised} for each in own],
        )
        clauses = []
        for number in named:
            ranks = [rank for rank, errors in enumerate(errors_on) if number in errors]
            errors = ", ".join(sorted({errors_on[rank][number] for rank in ranks}))
            clauses.append(
                f"iteration {number} raised {errors} on {named_ranks(ranks, len(counts))}"
            )
        if failed.size > MAX_NAMED:
            clauses.append(f"{failed.size - MAX_NAMED} further iterations raised")
        if min(counts) < most:
            clauses.append(f"the ranks began {min(counts)} to {most} iterations")
        if clauses:
            clauses.append("iterations that all ranks finished are kept")
        kept = np.flatnonzero(on_ranks([each.finished for each in own]) == len(counts))
        why = "; ".join(clauses)
        if clauses and block > 1:
            why = f"of {block:,} iterations each: {why}"
        return cls(block=block, kept=kept, why_missing=why)

    def spans(self, marks: NDArray[np.void], *, apart: bool) -> Spans:
        """Return when the kept iterations begin and end on a rank, from its marks.

        The time of any other iteration counts to the one before it; before the first and after the
        last one it lies outside all iterations.

        Parameters
        ----------
        apart : bool
            Whether time between two iterations is part of none, unless they are blocks.
        """
        begun = marks[(marks["what"] == BEGUN) & (marks["end_ns"] % self.block == 0)]
        if apart and self.block == 1:
            begin, finished = begun["begin_ns"], marks[marks["what"] == FINISHED]
            end = np.append(finished["begin_ns"], begin[-1:])  # the file may be torn
            end = end[np.searchsorted(finished["end_ns"], self.kept)]
            entry = np.arange(self.kept.size)
            return Spans(begin_ns=begin[self.kept], end_ns=end, entry=entry)
        begins, end = begun["begin_ns"], (self.kept[-1] + 1) * self.block - 1
        last = marks[(marks["what"] == FINISHED) & (marks["end_ns"] == end)]["begin_ns"]
        if not last.size:
            last = begins[self.kept[-1] + 1 :]
        return Spans.between(np.append(begins[self.kept], last[:1]))


def without_failed_phases(records: NDArray[np.void]) -> NDArray[np.void]:
    """Return records without the marks of phases in iterations that raised."""
    what = records["what"]
    if not (what == FAILED).any():
        return records
    iteration = np.cumsum(what == BEGUN)
    within = np.isin(iteration, iteration[what == FAILED])
    kept: NDArray[np.void] = records[~(within & (what >= FIRST_PHASE))]
    return kept
