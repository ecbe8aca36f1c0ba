"""Tables of mechanisms, each switched off alone: what `make ablation` shares.

A case has a known truth and scores what the models say of it. All rows of a table have the same
cases. A row gives what changes without the mechanism, with the standard error of the paired
differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

Scores = dict[str, float]
Case = Callable[[], Scores]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A mechanism and how to switch it off.

    Attributes
    ----------
    name : str
    patches : tuple of (object, name, value)
        What is replaced.
    """

    name: str
    patches: tuple[tuple[Any, str, Any], ...]

    @contextmanager
    def off(self) -> Iterator[None]:
        """Switch it off for a while."""
        with ExitStack() as stack:
            for where, name, value in self.patches:
                stack.enter_context(patch.object(where, name, value))
            yield


def scores_of(cases: Iterable[Case]) -> dict[str, NDArray[np.float64]]:
    """Return the scores of all cases, by column."""
    rows = [case() for case in cases]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def print_table(title: str, cases: Sequence[Case], mechanisms: Iterable[Mechanism]) -> None:
    """Print a row for every mechanism: the change of each column, and its standard error."""
    whole = scores_of(cases)
    said = [f"{name} {np.nanmean(each):.1f}" for name, each in whole.items()]
    say(f"\n{title}: {len(cases)} cases, in %: {', '.join(said)}")
    for mechanism in mechanisms:
        with mechanism.off():
            without = scores_of(cases)
        cells = []
        for name, each in whole.items():
            change = (without[name] - each)[np.isfinite(each)]
            error = change.std(ddof=1) / change.size**0.5
            cells.append(
                f"{name} {change.mean():+.1f} ± {error:.1f}" if change.any() else f"{name} 0"
            )
        say(f"  {mechanism.name:44}{', '.join(cells)}")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201
