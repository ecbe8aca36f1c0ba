"""Atomic writes, appended lines, and the user's folders.

Other users of a machine may be able to write where hindmost writes or reads: a folder of results
shared by a group, a cache folder in ``/scratch``. A file is therefore created under a name that
nobody can guess, and hindmost loads or believes only what this user or root could have written.
"""

from __future__ import annotations

import atexit
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO

from hindmost.errors import DataError, UsageError

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
MAX_BYTES = 1 << 30
"""The largest file that is read into memory."""
NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS})
"""Errors of hard links that are impossible."""


def write_atomically(
    path: Path, data: bytes | str, *, part: Path | None = None, mode: int = 0o666
) -> None:
    """Write a file atomically: a reader finds the old or the new file, even after a power cut.

    See `replacing` for the parameters.

    Raises
    ------
    OSError
        It cannot be written; the old file is unchanged.
    """
    with replacing(path, part, mode) as file:
        file.write(as_bytes(data))


def write_output(path: Path, data: bytes | str) -> None:
    """Write output to the path that a user named: atomically to a file, or to a device or pipe.

    Raises
    ------
    OSError
        It cannot be written.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(as_bytes(data))
    else:
        write_atomically(path, data)


def copy_atomically(source: Path, target: Path, *, part: Path | None = None) -> None:
    """Copy a file atomically; see `replacing` for the parameters and errors."""
    with source.open("rb") as whole, replacing(target, part) as copy:
        shutil.copyfileobj(whole, copy)


def make_folder(path: Path, option: str) -> None:
    """Make the folder that an option names, unless it is there.

    Raises
    ------
    UsageError
        It cannot be made, or is not writable.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        files = [each for each in (path, *path.parents) if each.exists() and not each.is_dir()]
        why = f"{files[0]} is not a folder" if files else error.strerror
        raise UsageError(
            f"{option} {path}: files cannot be written there ({why}); choose a writable folder."
        ) from error


def reason(error: Exception) -> str:
    """Return what an error says, an OSError without its number and path."""
    return str(getattr(error, "strerror", None) or error)


def append_line(path: Path, line: str) -> None:
    """Append a line and sync it to disk; a truncated line before it is ended first."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        with naming(path):
            begin = "\n" if is_cut_off(handle) else ""
            os.write(handle, as_bytes(f"{begin}{line}\n"))
            os.fsync(handle)
    finally:
        os.close(handle)


def is_cut_off(handle: int) -> bool:
    """Tell whether the last line of an open file is truncated, by a full disk or a kill."""
    size = os.fstat(handle).st_size
    return size > 0 and os.pread(handle, 1, size - 1) != b"\n"


def as_bytes(data: bytes | str) -> bytes:
    """Encode text as UTF-8; bytes of file names that are not UTF-8 are escaped."""
    return data.encode(errors="backslashreplace") if isinstance(data, str) else data


@contextmanager
def data_errors(path: object, done: str) -> Iterator[None]:
    """Raise what the system says as a DataError: that a file cannot be ``read``, or ``written``."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be {done}: {error.strerror or error}.") from error


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give a path to the errors of open files, which do not know their names."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def replacing(path: Path, part: Path | None = None, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file to write that replaces another one at the end of the context.

    The new file has the permissions of the one that it replaces, else ``mode`` within the umask. A
    symbolic link is replaced, never followed.

    Parameters
    ----------
    part : Path, optional
        The name of the file until it is complete, where one process writes at a time and removes
        what a killed one left; by default one that nobody can guess.
    mode : int
        Permissions of a new file.

    Raises
    ------
    OSError
        It cannot be written; the old file is unchanged.
    """
    part = part or path.with_name(f".hindmost-{secrets.token_hex(8)}.part")
    handle = create(part, mode)
    try:
        with naming(path):
            with os.fdopen(handle, "w+b") as file:
                with suppress(OSError):
                    before = path.lstat()
                    if stat.S_ISREG(before.st_mode):
                        os.fchmod(handle, stat.S_IMODE(before.st_mode) & 0o777)
                yield file
                file.flush()
                os.fsync(handle)
            part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    with suppress(OSError):  # a folder that may be written and not read
        sync_folder(path.parent)


def publish(part: Path, path: Path) -> None:
    """Give a finished file its name.

    Where the file system has no hard links, an empty file has the name for a moment.

    Raises
    ------
    FileExistsError
        The name is taken; nothing is changed.
    """
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        path.touch(exist_ok=False)
        part.replace(path)
    else:
        part.unlink()


def create(path: Path, mode: int = 0o666) -> int:
    """Create and open a new file; one of that name is removed, and a link is never followed."""
    path.unlink(missing_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def sync_file(path: Path) -> None:
    """Sync the contents of a file to disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # some file systems cannot
            os.fsync(handle)
    finally:
        os.close(handle)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading in binary mode, without buffering.

    Opening a pipe blocks until somebody writes to it, and opening a device may act on it. So
    the kind of the file is checked before it is opened, and again afterwards, when nobody can
    replace it.

    Raises
    ------
    IsADirectoryError
        The path names a folder.
    OSError
        The file is of another kind, or cannot be opened.
    """
    refuse_irregular(Path(path).stat().st_mode, path)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        refuse_irregular(os.fstat(handle).st_mode, path)
        return os.fdopen(handle, "rb", buffering=0)
    except BaseException:
        os.close(handle)
        raise


def matching(folder: Path, pattern: str) -> list[Path]:
    """Return what is in a folder under names of a pattern, sorted.

    Raises
    ------
    OSError
        The folder cannot be read; to `Path.glob` it is then an empty one.
    """
    return sorted(path for path in folder.iterdir() if fnmatch(path.name, pattern))


def refuse_irregular(mode: int, path: str | os.PathLike[str]) -> None:
    """Raise an OSError if a mode of `os.stat` is not that of a regular file."""
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file", str(path))
    raise OSError(errno.EINVAL, "it is a pipe, a device or a socket, not a file", str(path))


def read_bytes(path: str | os.PathLike[str], most: int = MAX_BYTES) -> bytes:
    """Read a regular file as a whole.

    Raises
    ------
    OSError
        The file cannot be read, is of another kind, or is longer than ``most`` bytes.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(
                errno.EFBIG, f"it has {size:,} bytes; at most {most:,} are read", str(path)
            )
        # Files of /proc and files that grow are longer than their size says.
        parts, left = [], most + 1
        while left > 0 and (part := file.read(min(left, max(size + 1, 1 << 16)))):
            parts.append(part)
            left -= len(part)
    if left <= 0:
        raise OSError(errno.EFBIG, f"it grew beyond {most:,} bytes", str(path))
    return b"".join(parts)


def read_text(
    path: str | os.PathLike[str], *, errors: str = "strict", most: int = MAX_BYTES
) -> str:
    """Read a regular file of UTF-8 text; see `read_bytes`."""
    return read_bytes(path, most).decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")


def is_ours(facts: os.stat_result) -> bool:
    """Tell whether only this user or root can have written a file or a folder."""
    return facts.st_uid in (os.geteuid(), 0) and not facts.st_mode & WRITABLE_BY_OTHERS


def home() -> Path:
    """Return the user's home; the root folder for a user who has none, as daemons have it."""
    try:
        return Path.home()
    except (RuntimeError, KeyError):  # no HOME, and no entry in the list of users
        return Path("/")


def user_folder(variable: str, *otherwise: str) -> Path:
    """Return the user's folder for a purpose: an absolute path in a variable, or below home."""
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else home().joinpath(*otherwise)


def cache_folder(purpose: str = "") -> Path:
    """Return a folder for caches, which only this user and root can write to.

    ``hindmost`` in ``XDG_CACHE_HOME`` or ``~/.cache``; if others can write to it, or it cannot be
    created, a private folder below ``/tmp``.

    Parameters
    ----------
    purpose : str
        The name of a folder in it.

    Raises
    ------
    OSError
        Not even a temporary folder can be created.
    """
    whole = user_folder("XDG_CACHE_HOME", ".cache") / "hindmost"
    folder = whole / purpose
    return folder if is_private(whole) and is_private(folder) else private_folder(purpose)


def private_folder(purpose: str = "") -> Path:
    """Return a folder below ``/tmp`` that only this user can write to."""
    whole = Path(tempfile.gettempdir()) / f"hindmost-{os.geteuid()}"
    folder = whole / purpose
    if is_private(whole) and is_private(folder):
        return folder
    made = Path(tempfile.mkdtemp(prefix="hindmost-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def is_private(folder: Path) -> bool:
    """Tell whether a folder and its parent are `is_ours`; create the folder if necessary.

    If it belongs to this user and others can write to it, that permission is removed.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.stat()
        if facts.st_uid == os.geteuid() and facts.st_mode & WRITABLE_BY_OTHERS:
            folder.chmod(stat.S_IMODE(facts.st_mode) & ~WRITABLE_BY_OTHERS)
            facts = folder.stat()
        above = folder.resolve().parent.stat()
    except OSError:
        return False
    sticky = bool(above.st_mode & stat.S_ISVTX)  # as /tmp: only its owner can rename a folder
    return is_ours(facts) and (sticky or not above.st_mode & stat.S_IWOTH)
