"""The caches of a core, as Linux tells them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CORE_0 = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """A cache that holds data.

    Attributes
    ----------
    level : int
    size_bytes : int
    cores : str
        Those that share it, as ``0-7``.
    """

    level: int
    size_bytes: int
    cores: str

    def __str__(self) -> str:
        return f"L{self.level} {self.size_bytes // 2**10} KiB (cores {self.cores})"


def read_caches(folder: Path = CORE_0) -> tuple[Cache, ...]:
    """Return the caches of a core that hold data, the smallest first.

    Empty where the system does not tell them.
    """
    caches = []
    for index in sorted(folder.glob("index*")):
        told = {name: _line(index / name) for name in ("type", "level", "size", "shared_cpu_list")}
        if told["type"] in ("Data", "Unified") and told["size"]:
            number = told["size"].rstrip("KMG")
            size = int(number) * UNITS[told["size"][len(number) :]]
            caches.append(
                Cache(level=int(told["level"]), size_bytes=size, cores=told["shared_cpu_list"])
            )
    return tuple(sorted(caches, key=lambda cache: cache.size_bytes))


def _line(file: Path) -> str:
    return file.read_text().strip() if file.is_file() else ""
