"""Seals on cached results, which only this user's hindmost can have written.

Whoever edits a result can also compute its digest. A seal depends on a secret key in the user's
cache folder as well, which only the user can read. Without the key, as for the results of a
colleague, a result is computed again.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path

from hindmost.files import cache_folder, write_atomically

KEY_BYTES = 32
LENGTH = 65
"""Of a seal: 64 digits, and the end of their line."""


def sealed(purpose: str, data: bytes) -> bytes | None:
    """Return data after a line with their seal; None if this user has no key.

    Parameters
    ----------
    purpose : str
        What the data are, with all that they depend on, so that they cannot be mixed up.
    """
    key = user_key()
    return None if key is None else seal(key, purpose, data) + data


def unsealed(purpose: str, blob: bytes) -> bytes | None:
    """Return sealed data; None if altered, or sealed by another user or for another purpose."""
    key = user_key()
    if key is None:
        return None
    found, data = blob[:LENGTH], blob[LENGTH:]
    return data if hmac.compare_digest(found, seal(key, purpose, data)) else None


def seal(key: bytes, purpose: str, data: bytes) -> bytes:
    """Return the seal of data, a line: HMAC with SHA-256."""
    about = hashlib.sha256(purpose.encode(errors="surrogatepass")).digest()
    return hmac.new(key, about + data, "sha256").hexdigest().encode() + b"\n"


def user_key() -> bytes | None:
    """Return the secret key of this user, created if necessary; None if it cannot be kept."""
    try:
        return key_in(cache_folder())
    except OSError:
        return None


@cache
def key_in(folder: Path) -> bytes:
    """Return the key in a folder, created if necessary; read once in a process.

    Raises
    ------
    OSError
        It cannot be kept.
    """
    path = folder / "seal.key"
    if key := read_key(path):
        return key
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)  # of processes that begin together, one makes it
        return read_key(path) or make_key(path)
    finally:
        os.close(handle)


def read_key(path: Path) -> bytes | None:
    """Return a key that nobody else can read or write; None if there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        facts, key = os.fstat(handle), os.read(handle, KEY_BYTES + 1)
    finally:
        os.close(handle)
    secret = facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
    return key if secret and len(key) == KEY_BYTES else None


def make_key(path: Path) -> bytes:
    """Create a key, replacing one that is damaged or that others could read."""
    path.unlink(missing_ok=True)  # its permissions would be those of the new one
    key = secrets.token_bytes(KEY_BYTES)
    write_atomically(path, key, mode=0o600)
    return key
