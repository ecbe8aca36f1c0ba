"""Tests under other BLAS libraries, processors and threads: ``.venv/bin/python setup/blas.py``.

What passes here and fails there hangs on rounding: it needs another problem, or a bound with a
reason. ``python3 setup blas`` fetches the libraries, ``LD_LIBRARY_PATH`` chooses one: the machine
keeps its own. Without ``--all`` only the BLAS that the machine does not use is tried (the reference
one where it uses another).
"""

from __future__ import annotations

import argparse
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
TESTS = ("tests/mpi", "tests/models")
WITHOUT = "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
CORES = {"Haswell": "avx2", "SkylakeX": "avx512f", "Zen": "avx2", "Prescott": "pni"}
"""Kernels of OpenBLAS, and the flag of a processor that can run them."""
THREADS = {"Haswell": 1, "SkylakeX": 2, "Zen": 8, "Prescott": 1}


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
            if not {"libblas.so.3", "liblapack.so.3"} <= {library.name for library in libraries}:
                raise SetupError(f"{' and '.join(packages)} hold no libblas.so.3, liblapack.so.3")
            new = folder.with_name(f"{kind}.new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            for each in libraries:
                shutil.copy(each, new)
            new.rename(folder)


def blas(kind: str) -> dict[str, str]:
    """Let programs find one of the libraries first."""
    folder = (Path(sys.prefix) / "blas") / kind
    if not (folder / "libblas.so.3").exists():
        raise SystemExit(f"no {folder / 'libblas.so.3'}: python3 setup --extras dev blas")
    before = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{folder}:{before}" if before else str(folder)}


def used_by_default() -> str:
    """Name the BLAS that PETSc loads where nothing else is asked for."""
    command = [sys.executable, "-m", "hindmost", "doctor"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    line = next((line for line in told.splitlines() if " BLAS " in line), "")
    return "reference" if "reference BLAS" in line else line.split("BLAS", 1)[-1].strip()


def settings(*, every: bool) -> dict[str, dict[str, str]]:
    """Return variables of the environment by what they are for."""
    if not every:
        other = "openblas" if used_by_default() == "reference" else "reference"
        return {other: blas(other)}
    flags = Path("/proc/cpuinfo").read_text().split()
    asked = {"reference": blas("reference")}
    for core, flag in CORES.items():
        if flag not in flags:
            print(f"OpenBLAS for {core} is left out: this processor has no {flag}", flush=True)
            continue
        words = {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": str(THREADS[core])}
        asked[f"openblas for {core}, threads: {THREADS[core]}"] = blas("openblas") | words
    asked["numpy without wide vectors"] = {"NPY_DISABLE_CPU_FEATURES": WITHOUT}
    asked["numba for any processor"] = {"NUMBA_CPU_NAME": "generic"}
    return asked


def main() -> int:
    parser = argparse.ArgumentParser(prog="other_blas", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "tests",
        nargs="*",
        help="of the library that is not the default (all)",
    )
    arguments = parser.parse_args()
    failed = []
    for name, variables in settings(every=not arguments.tests).items():
        print(f"== {name}: {variables}", flush=True)
        command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup"]
        process = subprocess.run(
            [*command, *(arguments.tests or TESTS)],
            cwd=ROOT,
            env=os.environ | variables,
            check=False,
        )
        if process.returncode != 0:
            failed.append(name)
    print(f"failed: {'; '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
