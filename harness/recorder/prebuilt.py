"""Recorders that a site builds ahead, for every MPI that its programs use.

They lie in one folder, which `RECORDERS` names, and need no compiler later. What is preloaded is
``choose-VERSION.so``, which puts the recorder of the MPI that a program loads before that MPI
(choose/choose.c).
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hindmost.cache import digest
from hindmost.errors import MissingError, UsageError
from hindmost.files import make_folder, reason
from hindmost.harness.recorder.build import (
    FORMS,
    LIBRARY,
    SOURCES,
    compile_recorder,
    recorder_library,
)
from hindmost.harness.stack import current_stack

RECORDERS = "HINDMOST_RECORDERS"
"""Names the folder of the recorders that were built ahead."""
CHOOSER = Path(__file__).parent / "choose" / "choose.c"
CHOOSER_FLAGS = ("-Wl,--as-needed", "-O2", "-fPIC", "-std=gnu11", "-shared", "-ldl")
"""It is compiled by an ``mpicc``, too, and needs no MPI."""


def version() -> str:
    """Return what recorders of this source are called: another hindmost reads other records."""
    return digest(*(source.read_text() for source in (CHOOSER, *SOURCES)), *FORMS[LIBRARY])[:12]


def build_recorders(folder: Path, mpiccs: Sequence[str]) -> list[Path]:
    """Compile the recorder with each of some MPI compilers.

    Parameters
    ----------
    folder : Path
        For the recorders; it is made where it does not exist.
    mpiccs : sequence of str
        One for each MPI; empty for that of this environment.

    Returns
    -------
    list of Path
        The recorder of each.

    Raises
    ------
    MissingError
        A compiler fails, or the folder cannot be written to.
    UsageError
        There is no compiler, or what it compiles needs no shared MPI.
    """
    compilers = list(mpiccs) or [name for name in (current_stack().mpicc,) if name]
    if not compilers:
        raise UsageError("There is no mpicc on PATH. Name one for each MPI with --mpicc PATH.")
    make_folder(folder, "--build-recorders")
    built = []
    try:
        chooser = folder / f"choose-{version()}{LIBRARY}"
        compile_recorder(compilers[0], chooser, CHOOSER_FLAGS, CHOOSER)
        for mpicc in compilers:
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                library = Path(scratch) / f"recorder{LIBRARY}"
                compile_recorder(mpicc, library, FORMS[LIBRARY])
                name = mpi_of(chooser, library)
                if not name:
                    raise UsageError(
                        f"What {mpicc} compiles needs no shared library of MPI. Name the compiler "
                        "of a shared MPI with --mpicc."
                    )
                built.append(library.replace(folder / f"recorder-{version()}-{name}{LIBRARY}"))
    except OSError as error:
        raise MissingError(f"{folder} cannot be written to: {reason(error)}.") from error
    return built


def mpi_of(chooser: Path, library: Path) -> str:
    """Return the name of the MPI library that a library needs, as ``libmpi.so.40``, or nothing."""
    function = ctypes.CDLL(str(chooser)).hindmost_mpi_of
    function.restype = ctypes.c_char_p
    return os.fsdecode(function(os.fsencode(library)))


def recorders_of_site() -> tuple[Path, dict[str, Path]] | None:
    """Return the library that chooses, and the recorder for each MPI; None if no folder is named.

    Raises
    ------
    MissingError
        The folder has no recorders of this version of hindmost.
    """
    named = os.environ.get(RECORDERS, "")
    if not named:
        return None
    folder = Path(named).resolve()
    chooser, begin = folder / f"choose-{version()}{LIBRARY}", f"recorder-{version()}-"
    recorders = {
        path.name.removeprefix(begin).removesuffix(LIBRARY): path
        for path in sorted(folder.glob(f"{begin}*{LIBRARY}"))
    }
    if not recorders or not chooser.is_file():
        raise MissingError(
            f"{RECORDERS}={named}: the folder has no recorders of this version of hindmost. Build "
            f"them: hindmost doctor --build-recorders {named} --mpicc MPICC, once for each MPI; or "
            "unset the variable."
        )
    return chooser, recorders


def library_to_preload(mpicc: str = "") -> Path:
    """Return what is preloaded into programs.

    Parameters
    ----------
    mpicc : str
        The compiler of the programs' MPI; by default they choose among the recorders that were
        built ahead, where there are any, and have that of this environment's ``mpicc`` elsewhere.
    """
    site = None if mpicc else recorders_of_site()
    return recorder_library(mpicc) if site is None else site[0]


def library_of_python() -> Path:
    """Return the recorder for the MPI of this interpreter's mpi4py.

    Raises
    ------
    MissingError
        None of the recorders that were built ahead is for it.
    """
    site = recorders_of_site()
    if site is None:
        return recorder_library()
    chooser, recorders = site
    package = importlib.util.find_spec("mpi4py")
    places = (package.submodule_search_locations if package else None) or ()
    kind = os.environ.get("MPI4PY_MPIABI", "")  # by which a wheel for several MPIs chooses one
    modules = [path for place in places for path in Path(place).glob(f"MPI.{kind}*.so")]
    needed = {name for path in modules if (name := mpi_of(chooser, path))}
    usable = sorted(needed & recorders.keys()) if needed else sorted(recorders)
    if len(usable) != 1:
        raise MissingError(
            f"mpi4py uses {' or '.join(sorted(needed)) or 'an MPI that is not known'}, and "
            f"{chooser.parent} has recorders for {', '.join(recorders)}: which one serves is not "
            f"known. Build what lacks (hindmost doctor --build-recorders {chooser.parent} --mpicc "
            "MPICC), or choose by MPI4PY_MPIABI=openmpi or mpich."
        )
    return recorders[usable[0]]
