"""Read the intact parts of a damaged run file, in a child process.

Libhdf5 can crash or hang on a damaged file. Then only the child does, and its parent reports it.
The result is not verified: inspect it, but do not draw conclusions from it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, NotARunFileError
from hindmost.files import open_regular
from hindmost.harness.runfile.checksum import HDF5_SIGNATURE

LONGEST_S = 60.0
"""Time after which a child is assumed to hang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """The readable parts of a damaged file, not verified.

    Attributes
    ----------
    path : Path
    attributes : dict of str to str
    arrays : dict of str to array
        Numeric variables that could be read completely.
    unreadable : dict of str to str
        The other variables, with the message of HDF5.
    """

    path: Path
    attributes: dict[str, str]
    arrays: dict[str, NDArray[np.generic]]
    unreadable: dict[str, str]

    def lines(self) -> list[str]:
        """Return lines with the smallest and largest value of every variable."""
        lines = [f"{self.path}  (DAMAGED: what follows is not verified)"]
        known = [f"{name} {value}" for name, value in self.attributes.items()]
        lines.append("  " + (", ".join(known) or "no attribute is readable"))
        for name, values in sorted(self.arrays.items()):
            shape = " x ".join(str(size) for size in values.shape)
            finite = values[np.isfinite(values)] if values.size else values
            span = f"{finite.min():.6g} to {finite.max():.6g}" if finite.size else "nothing"
            odd = values.size - finite.size
            strange = f", {odd} not a number" if odd else ""
            lines.append(f"  {name:18} {shape:>14}  {span}{strange}")
        lines += [f"  {name:18} unreadable: {why}" for name, why in self.unreadable.items()]
        return lines


def read_damaged(path: Path, longest_s: float = LONGEST_S) -> Remains:
    """Read the intact parts of a file whose checksum is wrong or missing.

    Raises
    ------
    NotARunFileError
        The file does not begin like HDF5.
    DataError
        Nothing can be read: HDF5 refuses the file, crashes on it or hangs.
    """
    try:
        with open_regular(path) as file:
            begin = file.read(len(HDF5_SIGNATURE))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if begin != HDF5_SIGNATURE:
        raise NotARunFileError(f"{path} does not begin like HDF5: nothing is readable.")
    with tempfile.TemporaryDirectory(prefix="hindmost-") as folder:
        saved = Path(folder) / "remains.npz"
        command = [sys.executable, "-m", "hindmost.harness.runfile.salvage", str(path), str(saved)]
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
        found = json.loads(child.stdout)
        with np.load(saved, allow_pickle=False) as arrays:
            return Remains(
                path=path,
                attributes=found["attributes"],
                arrays={name: arrays[name] for name in arrays.files},
                unreadable=found["unreadable"],
            )
