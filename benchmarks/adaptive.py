"""What the adaptive kernel's inner loops cost, beside the same loops in C and in numpy.

Run by ``make bench-adaptive``; wants an idle machine and a C compiler (CC, or cc). Every contender
steps the same state on the same mesh of two levels, in turns: each figure is the median over the
turns in nanoseconds per cell and step, and each ratio the median of the turns' ratios with their
5 % and 95 % quantiles in brackets. "C, scattered" writes the loop face by face, "C, in blocks" as
the kernel does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers.adaptive_c import FLAGS, PeerHydro, compile_peer
from benchmarks.peers.adaptive_numpy import NumpyHydro
from numpy.typing import NDArray

from hindmost.harness.adaptive.decks import DECKS
from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.harness.adaptive.physics.flow import Hydro
from hindmost.harness.adaptive.physics.heat import Conduction
from hindmost.harness.mpi import start

SIZES = (1_400, 4_800, 39_000, 80_000, 150_000, 1_000_000)
CELL_STEPS = 400_000
"""Cells times steps of one turn, so that small meshes are timed over many steps."""
TURNS = 21
CFL = 0.4
State = NDArray[np.float64]


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def two_level_mesh(communicator: Any, cells: int) -> tuple[Mesh, State]:
    """Return a mesh of about so many cells, a third of whose base cells are divided."""
    deck = DECKS["timing-a"]
    side = max(2, round((cells / 2) ** 0.5))
    mesh = Mesh(communicator, (side, side), 1)
    x, y = (mesh.patch.i + 0.5) / side, (mesh.patch.j + 0.5) / side
    ring = abs(np.hypot(x - 0.5, y - 0.5) - 0.3) < 0.0884
    state = np.ones((mesh.patch.owned, 4))
    state, _, _ = mesh.adapt(ring.astype(np.int8), state)
    state = mesh.connect(state)
    # The deck's state on a domain of as many base cells, whose spacing is another.
    stretched = replace(deck, spacing=1.0 / side)
    state = stretched.state((side, side), mesh.patch.i, mesh.patch.j, mesh.patch.level)
    return mesh, state


def in_turns(
    contenders: dict[str, Callable[[], None]], repeats: int
) -> dict[str, NDArray[np.float64]]:
    """Return every contender's seconds a call, one value a turn."""
    for call in contenders.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(TURNS):
        for name, call in contenders.items():
            began = time.perf_counter()
            for _ in range(repeats):
                call()
            seconds[name].append((time.perf_counter() - began) / repeats)
    return {name: np.array(values) for name, values in seconds.items()}


def ratio(own: NDArray[np.float64], peer: NDArray[np.float64]) -> str:
    """Return the ratio of two contenders in words."""
    low, middle, high = np.quantile(own / peer, [0.05, 0.5, 0.95])
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def bench_hydro(communicator: Any, cells: int, libraries: dict[str, Any]) -> None:
    """Time steps of the flow on one mesh."""
    mesh, state = two_level_mesh(communicator, cells)
    patch, spacing, gamma = mesh.patch, 1.0, 1.4
    hydro = Hydro(patch, spacing=spacing, gamma=gamma)
    # So short a step changes next to nothing: everyone computes the same all along.
    dt = 1e-6 * CFL / hydro.largest_rate(state)
    states: dict[str, State] = {}

    def stepping(name: str, step: Callable[[State], None]) -> Callable[[], None]:
        states[name] = state.copy()
        return lambda: step(states[name])

    numpy_hydro = NumpyHydro(patch, spacing, gamma)
    contenders = {
        "kernel": stepping("kernel", lambda its: hydro.step(its, dt)),
        "rate": lambda: void(hydro.largest_rate(state)),
        "numpy": stepping("numpy", lambda its: numpy_hydro.step(its, dt)),
    }
    for flags, library in libraries.items():
        for loop, name in (("scattered", "hydro_step"), ("in blocks", "blocked_step")):
            peer = PeerHydro(library, name, patch, spacing, gamma)
            contenders[f"{flags}, {loop}"] = stepping(
                f"{flags}, {loop}",
                lambda its, peer=peer: peer.step(its, dt),  # type: ignore[misc]
            )
    seconds = in_turns(contenders, max(1, CELL_STEPS // patch.owned))
    for name in contenders:
        if name != "rate":
            apart = abs(states[name] - states["kernel"]).max() / abs(state).max()
            assert apart < 1e-12, (name, apart)
    ns = {name: 1e9 * np.median(its) / patch.owned for name, its in seconds.items()}
    both = seconds["kernel"] + seconds["rate"]
    say(
        f"{patch.owned:9,} cells   step {ns['kernel']:6.1f} + rate {ns['rate']:4.1f} "
        f"= {1e9 * np.median(both) / patch.owned:6.1f}"
    )
    for name in contenders:
        if name not in ("kernel", "rate"):
            words = ratio(seconds["kernel"], seconds[name])
            say(f"{'':18}{name:44}{ns[name]:7.1f}   the kernel takes {words} of it")


def void(value: object) -> None:
    """Take a value that nobody wants."""


def bench_heat(communicator: Any, cells: int) -> None:
    """Time heat on one mesh, per cell and iteration, set-up and all."""
    from mpi4py import MPI

    mesh, state = two_level_mesh(communicator, cells)
    patch = mesh.patch

    def allsum(array: NDArray[Any]) -> NDArray[Any]:
        communicator.Allreduce(MPI.IN_PLACE, array)
        return array

    solver = Conduction(
        patch,
        spacing=1.0,
        conductivity=1.0,
        specific_heat=2.5,
        fill=mesh.exchange.fill,
        allsum=allsum,
    )
    iterations = solver.step(state.copy(), 5.0)
    seconds = in_turns(
        {"heat": lambda: void(solver.step(state.copy(), 5.0))},
        max(1, CELL_STEPS // (20 * patch.owned)),
    )
    ns = 1e9 * np.median(seconds["heat"]) / patch.owned / max(1, iterations)
    say(f"{patch.owned:9,} cells   {ns:.1f} ({iterations} iterations)")


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="largest number of cells")
    most = parser.parse_args().most
    communicator = start()
    say(f"load of the machine before: {os.getloadavg()[0]:.2f} of {os.cpu_count()} cores")
    say("flow, ns per cell and step (HLLC)")
    with tempfile.TemporaryDirectory() as folder:
        libraries = {name: compile_peer(Path(folder), flags) for name, flags in FLAGS.items()}
        for cells in SIZES:
            if cells <= most:
                bench_hydro(communicator, cells, libraries)
    say("heat, ns per cell and iteration, all of a step")
    for cells in SIZES:
        if cells <= most:
            bench_heat(communicator, cells)
    say(f"load of the machine after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
