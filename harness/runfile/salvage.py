"""The child process of `hindmost.harness.runfile.damaged`, which may crash or hang.

``python -m hindmost.harness.runfile.salvage FILE ARRAYS``
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import HindmostError
from hindmost.harness.runfile.hdf5 import Sealed, names_in, refusal, scalar_attributes
from hindmost.output import write_json

LEAST_MEMORY_BYTES = 8 << 30
SHOWN = ("workload", "solver", "ranks", "iterations", "t0_utc")
"""Attributes to show."""
MEMORY_FACTOR = 3
"""Limit of address space, in sizes of the file: a damaged size must not use up all memory."""


def main(path: str, target: str) -> None:
    """Read the variables of a file one by one, and save the readable ones."""
    room = max(LEAST_MEMORY_BYTES, MEMORY_FACTOR * Path(path).stat().st_size)
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    arrays: dict[str, NDArray[Any]] = {}
    unreadable: dict[str, str] = {}
    attributes: dict[str, str] = {}
    sealed = Sealed.of(Path(path))
    with sealed.reading() as file:
        for name in names_in(file):
            try:
                reason = refusal(file, name, sealed.size)
                if reason:
                    unreadable[name] = reason
                    continue
                values = np.asarray(file[name][...])
            except Exception as error:  # whatever a damaged file may cause
                unreadable[name] = str(error) or type(error).__name__
                continue
            if values.dtype.kind in "fiu":
                arrays[name] = values
        for name in SHOWN:
            try:
                attributes |= {
                    key: str(each) for key, each in scalar_attributes(file, (name,)).items()
                }
            except Exception as error:
                unreadable[f"attribute {name}"] = str(error) or type(error).__name__
    np.savez(Path(target), **arrays)
    write_json({"attributes": attributes, "unreadable": unreadable}, indent=None)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, RuntimeError, MemoryError, HindmostError) as failure:
        sys.exit(str(failure))
