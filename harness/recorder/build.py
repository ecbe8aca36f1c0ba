"""Compile the recorder once, with the MPI that it will stand between."""

from __future__ import annotations

import fcntl
import hashlib
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindmost.errors import MissingError
from hindmost.harness.stack import cache_folder, current_stack

SOURCE = Path(__file__).with_name("recorder.c")
FLAGS = ("-O2", "-fPIC", "-shared", "-std=gnu11")


def recorder_library() -> Path:
    """Return the compiled recorder for this environment's MPI, compiling it where need be.

    The file's name is a digest of the source, the compiler's own account of what it runs, and the
    resolved path of libmpi: a library that was compiled for another MPI would bring a second MPI
    into the process.

    Raises
    ------
    MissingError
        There is no ``mpicc``, or it fails.
    """
    mpicc = current_stack().mpicc
    if not mpicc:
        raise MissingError(
            "No mpicc: the recorder is compiled with the MPI that it measures. "
            "Put MPI's mpicc on PATH or name it in MPICC, or set hindmost up with 'make demo'."
        )
    shown = ask(mpicc, "-show")
    identity = "\n".join(
        (SOURCE.read_text(), " ".join(FLAGS), shown, ask(mpicc, "--version"), libmpi_path(shown))
    )
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    folder = cache_folder() / "recorder"
    library = folder / f"recorder-{digest}.so"
    if library.exists():
        return library
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MissingError(
            f"The recorder's cache {folder} cannot be made ({error.strerror}); "
            "name a folder that can be written in XDG_CACHE_HOME."
        ) from error
    with one_at_a_time(folder / "lock"):
        if not library.exists():
            compile_recorder(mpicc, library)
    return library


def ask(mpicc: str, question: str) -> str:
    """Return what the compiler answers to an option that compiles nothing."""
    try:
        answer = subprocess.run(
            [mpicc, question], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError as error:
        raise MissingError(f"mpicc cannot be run: {mpicc}: {error.strerror}.") from error
    return answer.stdout.strip()


def libmpi_path(shown: str) -> str:
    """Find the libmpi that a compiler's command line links to, links resolved; may be empty."""
    folders = [Path(word[2:]) for word in shlex.split(shown) if word.startswith("-L")]
    for folder in folders:
        if (folder / "libmpi.so").exists():
            return str((folder / "libmpi.so").resolve())
    return ""


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Let one process of a machine through; the others wait for it."""
    with lock.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def compile_recorder(mpicc: str, library: Path) -> None:
    """Compile under another name, and give the library its own when it is whole."""
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        built = Path(scratch) / library.name
        command = [mpicc, *FLAGS, "-o", str(built), str(SOURCE)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            raise MissingError(
                f"The recorder does not compile: {shlex.join(command)}\n{answer.stderr.strip()}"
            )
        built.replace(library)
