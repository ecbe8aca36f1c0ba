"""What is wanted of an experiment, and what a format is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.gathering import Gathering
from hindmost.errors import UsageError

OVER_RANKS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "mean": lambda values: float(values.mean()),
    "maximum": lambda values: float(values.max()),
    "sum": lambda values: float(values.sum()),
}
"""How the values of all ranks and threads become one, for formats that hold them apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is wanted of an experiment.

    Attributes
    ----------
    metrics : tuple of str
        Empty for all; of run files, for their default.
    kernel : str or None
        A name, or a pattern with ``*`` and ``?``; None for all.
    parameters : tuple of str
        In the order that is wanted; empty for all that the files have.
    over_ranks : str
        A name of `OVER_RANKS`.
    inclusive : bool
        Count into a call path what it calls, where a format tells the two apart.
    """

    metrics: tuple[str, ...] = ()
    kernel: str | None = None
    parameters: tuple[str, ...] = ()
    over_ranks: str = "mean"
    inclusive: bool = False

    def __post_init__(self) -> None:
        """Refuse a way to take ranks together that there is not."""
        if self.over_ranks not in OVER_RANKS:
            raise UsageError(
                f"Unknown way over ranks '{self.over_ranks}'; choose from: {', '.join(OVER_RANKS)}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of files.

    Attributes
    ----------
    name : str
    looks_like : str
        How a person recognises it, for messages.
    recognises : callable
        Tells by a path and the first 64 KiB there whether the file is of this format.
    read : callable
        Puts everything in some files into a gathering.
    """

    name: str
    looks_like: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[tuple[Path, ...], Request, Gathering], None]
