"""Say what is left of a damaged run file, in a child process: libhdf5 can crash or hang on it.

``python -m hindmost.harness.runfile.damaged FILE`` is the child.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

from hindmost.errors import DataError
from hindmost.files import refuse_irregular
from hindmost.harness.runfile.hdf5 import refusal, scalar_attributes
from hindmost.output import write_lines
from hindmost.printable import one_line

MAX_BYTES = 8 << 30
"""Memory of the child: a damaged size must not use up all."""
SHOWN = ("workload", "solver", "ranks", "iterations", "t0_utc")
"""Attributes to show."""


def lines_of_damaged(path: Path, longest_s: float = 60.0) -> list[str]:
    """Return lines with the smallest and largest value of every variable; nothing is verified.

    Raises
    ------
    DataError
        Nothing can be read: it is no file, or HDF5 refuses it, crashes on it or hangs.
    """
    try:
        refuse_irregular(path.stat().st_mode, path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    command = [sys.executable, "-m", __name__, str(path)]
    try:
        child = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=longest_s
        )
    except subprocess.TimeoutExpired:
        raise DataError(
            f"{path}: HDF5 hangs on it (ended after {longest_s:.0f} s): nothing is readable."
        ) from None
    if child.returncode < 0:
        raise DataError(
            f"{path}: HDF5 crashes on it (signal {-child.returncode}): nothing is readable."
        )
    if child.returncode > 0:
        said = (child.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise DataError(f"{path}: HDF5 cannot open it: {said}")
    return [f"{path}  (DAMAGED: what follows is not verified)", *child.stdout.splitlines()]


def describe(file: h5py.File, name: str, size: int) -> str:
    """Return a line about a variable, or why it cannot be read."""
    try:
        reason = refusal(file, name, size)
        if reason:
            return f"{name:18} unreadable: {reason}"
        values = np.asarray(file[name][...])
    except Exception as error:  # whatever a damaged file may cause
        return f"{name:18} unreadable: {error}"
    shape = " x ".join(str(size) for size in values.shape)
    if values.dtype.kind not in "fiu":
        return f"{name:18} {shape:>14}  texts"
    finite = values[np.isfinite(values)]
    span = f"{finite.min():.6g} to {finite.max():.6g}" if finite.size else "nothing"
    odd = f", {values.size - finite.size} not a number" if finite.size < values.size else ""
    return f"{name:18} {shape:>14}  {span}{odd}"


def main(path: str) -> None:
    """Write a line about the attributes, and one for each variable."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = Path(path).stat().st_size
    with h5py.File(path, "r") as file:
        try:
            known = ", ".join(
                f"{key} {each}" for key, each in scalar_attributes(file, SHOWN).items()
            )
        except Exception as error:
            known = f"attributes unreadable: {error}"
        found = (known, *(describe(file, name, size) for name in sorted(file)))
        write_lines(*(f"  {one_line(line)}" for line in found))


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except (OSError, RuntimeError, MemoryError) as failure:
        sys.exit(str(failure))
