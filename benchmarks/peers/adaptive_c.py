"""The kernel's loops in C, compiled on the spot."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.patch import Patch

SOURCE = Path(__file__).with_name("adaptive.c")
FLAGS = {
    "C -O3": ("-O3",),
    "C -O3 native": ("-O3", "-march=native"),
    "C -O3 native, no errno or traps": (
        "-O3",
        "-march=native",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-ffp-contract=off",
    ),
}
"""The last let the compiler use vectors in the fluxes and change no result."""
State = NDArray[np.float64]


def compile_peer(folder: Path, flags: tuple[str, ...]) -> ctypes.CDLL:
    """Compile the loops with the system's C compiler, or that of CC."""
    library = folder / ("adaptive" + "".join(flags) + ".so")
    words = (os.environ.get("CC", "cc"), *flags, "-std=c11", "-shared", "-fPIC", "-o")
    subprocess.run([*words, library, SOURCE, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return where an array lies."""
    return ctypes.c_void_p(array.ctypes.data)


class PeerHydro:
    """First-order steps in C on a patch without ghosts."""

    def __init__(
        self, library: ctypes.CDLL, name: str, patch: Patch, spacing: float, gamma: float
    ) -> None:
        self._step = library[name]
        self._step.restype = None
        self._gamma = ctypes.c_double(gamma)
        self._length = spacing / 2.0 ** np.arange(32)
        self._gas, self._change = np.zeros((2, patch.owned, 4))
        self._mesh = [ctypes.c_int64(patch.owned), pointer(patch.level)]
        faces = patch.faces
        for which in (slice(faces.across_x), slice(faces.across_x, None)):
            sides = (faces.lower[which], faces.upper[which], faces.level[which])
            self._mesh += [*(pointer(side) for side in sides), ctypes.c_int64(sides[0].size)]
        walls = patch.walls
        self._mesh += [pointer(walls.cell), pointer(walls.side), ctypes.c_int64(walls.cell.size)]
        self._patch = patch  # its arrays must live as long as their pointers

    def step(self, state: State, dt: float) -> None:
        """Advance by one step."""
        per_area = dt / self._length**2
        self._step(
            pointer(state), *self._mesh, pointer(self._length), pointer(per_area), self._gamma,
            pointer(self._gas), pointer(self._change),
        )  # fmt: skip
