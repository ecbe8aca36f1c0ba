"""What the command imports to know decks and physics waits for no compiler."""

import subprocess
import sys

ROOMS = (
    "decks",
    "physics.flow",
    "physics.heat",
    "mesh.mesh",
    "kernel",
)


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    lines = ["import sys", *(f"import hindmost.harness.adaptive.{room}" for room in ROOMS)]
    heavy = ("numba", "petsc4py", "mpi4py", "scipy")
    lines.append(f"print([name for name in {heavy} if name in sys.modules])")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
