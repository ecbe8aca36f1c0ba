"""Other BLAS libraries for tests: what passes with one and fails with another hangs on rounding.

``make test-blas`` chooses one by ``LD_LIBRARY_PATH``; the machine keeps its own.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from choice import SetupError, is_debian
from environment import Environment
from progress import run

BLAS_PACKAGES = {
    "reference": ("libblas3", "liblapack3"),
    "openblas": ("libopenblas0-pthread",),
}
"""Of Debian and Ubuntu: what holds the libblas.so.3 and liblapack.so.3 of either kind."""


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
