"""Compile the recorder once, with the MPI whose calls it intercepts, and load nothing else.

The library is code: a file in a cache that is cut off ends the process, and one that somebody else
wrote does what they like. Its name therefore has the digest of its contents, which is checked
whenever it is loaded, and it is loaded only if nobody but the user or root can have written it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hindmost.errors import MissingError
from hindmost.files import (
    cache_folder,
    is_ours,
    private_folder,
    read_regular,
    sync_file,
    sync_folder,
    write_atomically,
)
from hindmost.harness.stack import current_stack

SOURCES = tuple(
    Path(__file__).with_name(name)
    for name in (
        "recorder.c",
        "activities.h",
        "attached.h",
        "attached_loops.h",
        "attached_petsc.h",
        "attached_rank.h",
        "attached_solves.h",
        "calls.h",
        "clock.h",
        "counters.h",
        "fortran.h",
        "injection.h",
        "live.h",
        "live_line.h",
        "peers.h",
        "petsc_events.h",
        "raw_file.h",
        "requests.h",
        "wrappers.h",
    )
)
"""The file that is compiled, and what it includes."""
FLAGS = ("-O2", "-fPIC", "-std=gnu11", "-fno-optimize-sibling-calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What the recorder is compiled to.

    Attributes
    ----------
    suffix : str
    flags : tuple of str
    """

    suffix: str
    flags: tuple[str, ...]


LIBRARY = Form(suffix=".so", flags=(*FLAGS, "-shared", "-Wl,-z,lazy"))
"""What is loaded before MPI."""
OBJECT = Form(suffix=".o", flags=(*FLAGS, "-c", "-DHINDMOST_LINKED"))
"""What is linked into programs where nothing can be loaded before MPI."""

DIGITS = 16
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
LEAST_ROOM = 1 << 20
"""Bytes without which a compiler fails for want of room."""
CONTENT_DIGITS = 32
NAME = "recorder"


@contextmanager
def open_recorder() -> Iterator[str]:
    """Give a path to load the compiled recorder from, compiling it where need be.

    The path leads to a file that is open: what is loaded is what was checked.

    Raises
    ------
    MissingError
        There is no ``mpicc``, or it fails, or the library cannot be kept anywhere.
    """
    library = recorder_library()
    handle = open_whole(library)
    if handle is None:
        raise MissingError(f"The recorder {library} changed while it was being loaded; try again.")
    try:
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def recorder_library(mpicc: str = "", form: Form = LIBRARY) -> Path:
    """Return the compiled recorder for an MPI, compiling it where need be.

    The file's name has two digests. The first is that of the source, the compiler's own account of
    what it runs, and the resolved path of libmpi: a library that was compiled for another MPI would
    bring a second MPI into the process. The second is that of the contents.

    Parameters
    ----------
    mpicc : str
        MPI's C compiler; by default that of this environment.
    form : Form

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
    failed = None
    for find in (cache_folder, private_folder):
        try:
            return library_in(find(NAME), mpicc, form)
        except OSError as error:  # the disk of the cache is full, or read only
            failed = error
    raise MissingError(
        f"There is no folder for the compiled recorder ({failed}); name a writable one in "
        "XDG_CACHE_HOME or TMPDIR."
    ) from failed


def library_in(folder: Path, mpicc: str, form: Form) -> Path:
    """Return the compiled recorder in a folder, whole; raises an OSError if it cannot be there."""
    known = remembered(folder, mpicc, form)
    if known is not None:
        return known
    shown = ask(mpicc, "-show")
    libmpi = libmpi_path(shown)
    identity = digest_of(
        "\n".join((source_text(), " ".join(form.flags), shown, ask(mpicc, "--version"), libmpi))
    )
    with one_at_a_time(folder / "lock"):
        library = found_in(folder, identity, form)
        library = library or compile_recorder(mpicc, folder, identity, form)
        with suppress(OSError):  # the next process asks the compiler again
            remember(folder, mpicc, form, library, libmpi)
    return library


def digest_of(identity: str) -> str:
    """Return the digest that a name has of what a file is made from."""
    return hashlib.sha256(identity.encode()).hexdigest()[:DIGITS]


def found_in(folder: Path, identity: str, form: Form) -> Path | None:
    """Return the library of an identity that is whole; others of it are removed."""
    for path in sorted(folder.glob(f"{NAME}-{identity}-*{form.suffix}")):
        if is_whole(path):
            return path
        with suppress(OSError):
            path.unlink()
    return None


def is_whole(library: Path) -> bool:
    """Tell whether a library has the contents of its name, and nobody else can have written it."""
    handle = open_whole(library)
    if handle is not None:
        os.close(handle)
    return handle is not None


def open_whole(library: Path) -> int | None:
    """Open a library to be loaded, None if it is not whole or not ours."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(library, flags)
    except OSError:
        return None
    facts = os.fstat(handle)
    if stat.S_ISREG(facts.st_mode) and is_ours(facts):
        with os.fdopen(os.dup(handle), "rb") as file:
            contents = hashlib.file_digest(file, "sha256").hexdigest()[:CONTENT_DIGITS]
        if library.stem.endswith(f"-{contents}"):
            return handle
    os.close(handle)
    return None


def source_text() -> str:
    """Return all that the library is made from."""
    return "".join(source.read_text() for source in SOURCES)


def note(folder: Path, mpicc: str, form: Form) -> Path:
    """Return where it is noted which library serves a compiler, as that compiler is now."""
    found = shutil.which(mpicc)
    changed = Path(found).resolve().stat().st_mtime_ns if found else 0
    identity = "\n".join((source_text(), " ".join(form.flags), mpicc, str(changed)))
    return folder / f"{digest_of(identity)}.json"


def remember(folder: Path, mpicc: str, form: Form, library: Path, libmpi: str) -> None:
    """Note which library serves a compiler, so that other ranks need not run it."""
    changed = Path(libmpi).stat().st_mtime_ns if libmpi else 0
    _, identity, contents = library.stem.split("-")
    noted = {"identity": identity, "contents": contents, "libmpi": libmpi, "changed": changed}
    write_atomically(note(folder, mpicc, form), json.dumps(noted))


def remembered(folder: Path, mpicc: str, form: Form) -> Path | None:
    """Return the library that serves a compiler, None if it or its libmpi is not as it was.

    A note only has digests: it cannot lead out of the folder.
    """
    try:
        noted = json.loads(read_regular(note(folder, mpicc, form)))
        identity, contents, libmpi = (str(noted[key]) for key in ("identity", "contents", "libmpi"))
        same = not libmpi or Path(libmpi).stat().st_mtime_ns == noted["changed"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not same or not re.fullmatch(r"[0-9a-f]+-[0-9a-f]+", f"{identity}-{contents}"):
        return None
    library = folder / f"{NAME}-{identity}-{contents}{form.suffix}"
    return library if is_whole(library) else None


def ask(mpicc: str, question: str) -> str:
    """Return what the compiler answers to an option that compiles nothing."""
    try:
        answer = subprocess.run(
            [mpicc, question], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError as error:
        raise MissingError(
            f"The compiler {mpicc} cannot be run: {error.strerror}. Name MPI's C compiler with "
            "--mpicc or MPICC."
        ) from error
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
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def compile_recorder(mpicc: str, folder: Path, identity: str, form: Form) -> Path:
    """Compile under another name, and give the library its own when it is whole and on the disk."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        built = Path(scratch) / f"recorder{form.suffix}"
        command = [mpicc, *form.flags, "-o", str(built), str(SOURCES[0])]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            full = shutil.disk_usage(folder).free < LEAST_ROOM
            if full or any(os.strerror(number) in answer.stderr for number in NO_ROOM):
                raise OSError(None, "no space left to compile the recorder", str(folder))
            raise MissingError(
                f"The recorder does not compile: {shlex.join(command)}\n{answer.stderr.strip()}"
            )
        if not built.is_file():
            raise MissingError(
                f"The compiler wrote no library, without an error: {shlex.join(command)}. "
                "Name MPI's C compiler with --mpicc or MPICC."
            )
        built.chmod(0o755)
        with built.open("rb") as file:
            contents = hashlib.file_digest(file, "sha256").hexdigest()[:CONTENT_DIGITS]
        sync_file(built)
        library = folder / f"{NAME}-{identity}-{contents}{form.suffix}"
        built.replace(library)
    sync_folder(folder)
    return library
