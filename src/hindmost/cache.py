"""What is kept from one process to the next: one private folder, files named by what made them.

The name of a file is the digest of everything that its contents depend on, a checksum of the source
included. So a file never goes stale: what changes has another name. Only this user and root can
write to the folder (`hindmost.files.cache_folder`). A cache that fails costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from hindmost.files import cache_folder, read_bytes, write_atomically

DIGITS = 24


def digest(*made_of: str) -> str:
    """Return the name of what is made of these texts."""
    return hashlib.sha256("\0".join(made_of).encode(errors="surrogatepass")).hexdigest()[:DIGITS]


def cache_file(purpose: str, *made_of: str) -> Path:
    """Return the file for what is made of these texts; raises an OSError if nowhere."""
    return cache_folder(purpose) / digest(*made_of)


def read_kept(purpose: str, *made_of: str) -> bytes | None:
    """Return what is kept; None if nothing is, or it cannot be read."""
    with suppress(OSError):
        return read_bytes(cache_file(purpose, *made_of))
    return None


def keep(data: bytes, purpose: str, *made_of: str) -> None:
    """Keep data, where that is possible."""
    with suppress(OSError):
        write_atomically(cache_file(purpose, *made_of), data)


@cache
def source_checksum() -> str:
    """Return a checksum of all source of hindmost and of the libraries that shape results."""
    from importlib.metadata import version  # takes longer than all other imports of a command

    libraries = (f"{name} {version(name)}" for name in ("numpy", "scipy"))
    total = hashlib.sha256(" ".join(libraries).encode())
    for path in sorted(source_files()):
        total.update(path.read_bytes())
    return total.hexdigest()


def source_files() -> Iterator[Path]:
    """Yield all Python files of the package, whose rooms may be links."""
    for folder, _, names in os.walk(Path(__file__).parent, followlinks=True):
        yield from (Path(folder, name) for name in names if name.endswith(".py"))
