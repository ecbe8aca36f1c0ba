"""The child process of `hindmost.harness.runfile.damaged`: it may crash or hang, nobody else does.

``python -m hindmost.harness.runfile.salvage FILE ARRAYS``
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

LEAST_MEMORY_BYTES = 8 << 30
MEMORY_FACTOR = 3
"""Of address space, times the size of the file: a damaged size must not take all memory."""


def main(path: str, target: str) -> None:
    """Read every variable of a file by itself and save those that can be read."""
    room = max(LEAST_MEMORY_BYTES, MEMORY_FACTOR * Path(path).stat().st_size)
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    arrays: dict[str, NDArray[Any]] = {}
    unreadable: dict[str, str] = {}
    attributes: dict[str, str] = {}
    with h5py.File(path, "r") as file:
        for name in list(file):
            try:
                values = np.asarray(file[name][...])
            except Exception as error:  # whatever a damaged file may cause
                unreadable[name] = str(error) or type(error).__name__
                continue
            if values.dtype.kind in "fiu":
                arrays[name] = values
        for name in list(file.attrs):
            try:
                attributes[name] = str(file.attrs[name])
            except Exception as error:
                unreadable[f"attribute {name}"] = str(error) or type(error).__name__
    np.savez(Path(target), **arrays)
    sys.stdout.write(json.dumps({"attributes": attributes, "unreadable": unreadable}))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, RuntimeError, MemoryError) as failure:
        sys.exit(str(failure))
