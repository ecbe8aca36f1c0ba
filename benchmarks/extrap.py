"""Extra-P as the peer of a benchmark: in an environment of its own, asked through a pipe."""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_SETS = 60
"""Data sets that are sent; Extra-P takes 10 to 60 ms for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Extra-P, or nothing where no Python that has it was named."""

    python: str | None

    def __call__(
        self, points: NDArray[np.float64], values: NDArray[np.float64], *, segmented: bool
    ) -> dict[str, Any] | None:
        """Model sets of shape (set, point, repetition); None where there is no Extra-P.

        Returns
        -------
        dict
            What `peers/extrap_single.py` writes.
        """
        if self.python is None:
            return None
        asked = {"points": points.tolist(), "sets": values.tolist(), "segmented": segmented}
        done = subprocess.run(
            [self.python, str(Path(__file__).parent / "peers" / "extrap_single.py")],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=True,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


def add_peer(options: argparse.ArgumentParser) -> None:
    """Declare the argument that names a Python with Extra-P."""
    options.add_argument(
        "--extrap",
        type=lambda python: python or None,
        help="a Python that has the package extrap",
    )


def some(count: int) -> slice:
    """Choose the sets that are sent, evenly."""
    return slice(None, None, max(-(-count // MAX_SETS), 1))
