"""Compile the recorder once, with the MPI that it will stand between."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindmost.errors import MissingError
from hindmost.harness.stack import cache_folder, current_stack

SOURCES = tuple(
    Path(__file__).with_name(name)
    for name in ("recorder.c", "counters.h", "live.h", "live_line.h", "wrappers.h")
)
"""The file that is compiled, and what it includes."""
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
    known = remembered(mpicc)
    if known is not None:
        return known
    shown = ask(mpicc, "-show")
    libmpi = libmpi_path(shown)
    identity = "\n".join((source_text(), " ".join(FLAGS), shown, ask(mpicc, "--version"), libmpi))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    folder = cache_folder() / "recorder"
    library = folder / f"recorder-{digest}.so"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(folder / "lock"):
            if not library.exists():
                compile_recorder(mpicc, library)
            remember(mpicc, library, libmpi)
    except OSError as error:
        raise MissingError(
            f"The recorder's cache {folder} cannot be written ({error.strerror}); "
            "name a folder that can in XDG_CACHE_HOME."
        ) from error
    return library


def source_text() -> str:
    """Return all that the library is made from."""
    return "".join(source.read_text() for source in SOURCES)


def note(mpicc: str) -> Path:
    """Return where it is noted which library serves a compiler, as that compiler is now."""
    found = shutil.which(mpicc)
    changed = Path(found).resolve().stat().st_mtime_ns if found else 0
    identity = "\n".join((source_text(), " ".join(FLAGS), mpicc, str(changed)))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return cache_folder() / "recorder" / f"{digest}.json"


def remember(mpicc: str, library: Path, libmpi: str) -> None:
    """Note which library serves a compiler, so that other ranks need not run it."""
    changed = Path(libmpi).stat().st_mtime_ns if libmpi else 0
    target = note(mpicc)
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False) as scratch:
        json.dump({"library": str(library), "libmpi": libmpi, "changed": changed}, scratch)
    Path(scratch.name).replace(target)


def remembered(mpicc: str) -> Path | None:
    """Return the library that serves a compiler, None if it or its libmpi is not as it was."""
    try:
        noted = json.loads(note(mpicc).read_text())
        library, libmpi = Path(noted["library"]), noted["libmpi"]
        same = not libmpi or Path(libmpi).stat().st_mtime_ns == noted["changed"]
    except (OSError, ValueError, KeyError):
        return None
    return library if same and library.exists() else None


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
        command = [mpicc, *FLAGS, "-o", str(built), str(SOURCES[0])]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            raise MissingError(
                f"The recorder does not compile: {shlex.join(command)}\n{answer.stderr.strip()}"
            )
        built.replace(library)
