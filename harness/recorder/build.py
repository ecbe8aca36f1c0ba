"""Compile the recorder once, with the MPI whose calls it intercepts, and load nothing else.

The library lies in the user's private cache folder, under the digest of its source, its flags and
the compiler. It has that name only when it is complete and on the disk.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindmost.cache import digest
from hindmost.errors import MissingError
from hindmost.files import cache_folder, reason, sync_file, sync_folder
from hindmost.harness.stack import current_stack

FOLDER = Path(__file__).parent
SOURCES = (
    FOLDER / "recorder.c",
    *sorted(path for path in FOLDER.iterdir() if path.suffix in (".c", ".h", ".def")),
)
"""The file that is compiled, and what it includes."""
FLAGS = ("-O2", "-fPIC", "-std=gnu11", "-fno-optimize-sibling-calls")


LIBRARY, OBJECT = ".so", ".o"
"""What is loaded before MPI; what is linked into programs where nothing can be."""
FORMS = {
    LIBRARY: (*FLAGS, "-shared", "-Wl,-z,lazy,-Bsymbolic-functions"),
    OBJECT: (*FLAGS, "-c", "-DHINDMOST_LINKED"),
}
"""The flags of each."""


def recorder_library(mpicc: str = "", form: str = LIBRARY) -> Path:
    """Return the compiled recorder for an MPI, compiling it where need be.

    Parameters
    ----------
    mpicc : str
        MPI's C compiler; by default that of this environment.
    form : str
        `LIBRARY` or `OBJECT`.

    Raises
    ------
    MissingError
        There is no ``mpicc``, or it fails, or the library cannot be kept anywhere.
    """
    mpicc = mpicc or current_stack().mpicc
    if not mpicc:
        raise MissingError(
            "There is no mpicc: the recorder is compiled with the MPI that it measures. Put "
            "MPI's mpicc on PATH, name it in MPICC, or set up hindmost with 'make demo'."
        )
    compiler = shutil.which(mpicc)
    if compiler is None:
        raise MissingError(
            f"The compiler {mpicc} cannot be run. Name MPI's C compiler with --mpicc or MPICC."
        )
    # A library for another MPI would bring a second MPI into the process.
    changed = Path(compiler).resolve().stat().st_mtime_ns
    made_of = (*(source.read_text() for source in SOURCES), *FORMS[form], compiler, str(changed))
    try:
        folder = cache_folder("recorder")
        library = folder / f"{digest(*made_of)}{form}"
        if not library.is_file():
            with one_at_a_time(folder / "lock"):
                if not library.is_file():
                    compile_recorder(mpicc, library, FORMS[form])
    except OSError as error:  # the disk of the cache is full, or read only
        raise MissingError(
            f"There is no folder for the compiled recorder ({error}); name a writable one in "
            "XDG_CACHE_HOME or TMPDIR."
        ) from error
    return library


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Let one process of a machine through; the others wait for it."""
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def compile_recorder(
    mpicc: str, library: Path, flags: tuple[str, ...], source: Path = SOURCES[0]
) -> None:
    """Compile under another name, and give the library its own when it is whole and on the disk."""
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        built = Path(scratch) / library.name
        command = [mpicc, *flags, "-o", str(built), str(source)]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise MissingError(
                f"The compiler {mpicc} cannot be run ({reason(error)}). Name MPI's C compiler with "
                "--mpicc or MPICC."
            ) from error
        if answer.returncode != 0:
            raise MissingError(
                f"The recorder does not compile: {shlex.join(command)}\n{answer.stderr.strip()}"
            )
        if not built.is_file():
            raise MissingError(
                f"The compiler wrote no library, without an error: {shlex.join(command)}. "
                "Name MPI's C compiler with --mpicc or MPICC."
            )
        built.chmod(0o755)
        sync_file(built)
        built.replace(library)
    sync_folder(library.parent)
