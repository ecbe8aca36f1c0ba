"""Tests under the BLAS that the machine does not use: ``.venv/bin/python setup/blas.py``.

What passes here and fails there hangs on rounding: it needs another problem, or a bound with a
reason. ``python3 setup --blas`` fetches the libraries, ``LD_LIBRARY_PATH`` chooses one: the machine
keeps its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from choice import SetupError, is_debian
from environment import ROOT, Environment
from progress import run

BLAS_PACKAGES = {
    "reference": ("libblas3", "liblapack3"),
    "openblas": ("libopenblas0-pthread",),
}
"""Of Debian and Ubuntu: what holds the libblas.so.3 and liblapack.so.3 of either kind."""
LIBRARIES = Path(sys.prefix) / "blas"


def prepare(environment: Environment) -> None:
    """Unpack the reference BLAS and OpenBLAS beside each other; the machine keeps its own."""
    if not is_debian():
        raise SetupError("Tests with another BLAS take it from the packages of Debian or Ubuntu.")
    log = environment.logs / "blas.log"
    for kind, packages in BLAS_PACKAGES.items():
        folder = environment.path / "blas" / kind
        if folder.exists():
            continue
        with tempfile.TemporaryDirectory() as place:
            run(
                ["apt-get", "download", *packages],
                what=f"fetching {' and '.join(packages)}",
                log=log,
                cwd=Path(place),
            )
            for package in sorted(Path(place).glob("*.deb")):
                run(["dpkg-deb", "-x", package, f"{place}/all"], what="unpacking", log=log)
            libraries = sorted(Path(place, "all").rglob("*.so*"))
            if not {"libblas.so.3", "liblapack.so.3"} <= {each.name for each in libraries}:
                raise SetupError(f"{' and '.join(packages)} hold no libblas.so.3, liblapack.so.3")
            new = folder.with_name(f"{kind}.new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            for each in libraries:
                shutil.copy(each, new)
            new.rename(folder)


def blas(kind: str) -> dict[str, str]:
    """Let programs find one of the libraries first."""
    folder = LIBRARIES / kind
    if not (folder / "libblas.so.3").exists():
        raise SystemExit(f"no {folder / 'libblas.so.3'}: python3 setup --extras dev --blas")
    before = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{folder}:{before}" if before else str(folder)}


def used_by_default() -> str:
    """Name the BLAS that PETSc loads where nothing else is asked for."""
    command = [sys.executable, "-m", "hindmost", "doctor"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    line = next((each for each in told.splitlines() if " BLAS " in each), "")
    return "reference" if "reference BLAS" in line else line.split("BLAS", 1)[-1].strip()


def main() -> int:
    tests = sys.argv[1:] or ("tests/mpi", "tests/models")
    kind = "openblas" if used_by_default() == "reference" else "reference"
    print(f"== {kind}", flush=True)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", *tests]
    return subprocess.run(command, cwd=ROOT, env=os.environ | blas(kind), check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
