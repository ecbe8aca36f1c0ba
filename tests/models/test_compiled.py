"""Compiled loops, whatever the state of the disk that numba keeps them on."""

from __future__ import annotations

import importlib
import os
import pickle
import resource
import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import rmtree

import pytest

from hindmost.models.compiled import ANNOUNCE, announce

MODULE = """\
from hindmost.models.compiled import compiled

@compiled
def twice(x):
    return 2 * x
"""


@pytest.fixture(scope="module", autouse=True)
def no_bytecode() -> Iterator[None]:
    """Let Python keep nothing beside what numba keeps: a full disk would cut it off."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    yield
    sys.dont_write_bytecode = before


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a module whose loop was kept."""
    place = tmp_path_factory.mktemp("module")
    (place / "loops.py").write_text(MODULE)
    assert use(place) == (0, 1)
    return place


def use(folder: Path) -> tuple[int, int]:
    """Import the module anew and call its loop: how often it came from the cache, and not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numba.config.CACHE_DIR", str(folder / "kept"))
        return call(folder)


def call(folder: Path) -> tuple[int, int]:
    spec = spec_from_file_location("loops", folder / "loops.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.twice(21) == 42
    return len(module.twice.stats.cache_hits), len(module.twice.stats.cache_misses)


def kept(folder: Path, suffix: str) -> Path:
    (found,) = (folder / "kept").glob(f"*/*/*.{suffix}")
    return found


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def foreign(path: Path) -> None:
    path.write_bytes(pickle.dumps("0.68.1") + pickle.dumps({"no": "cache"}))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("spoil", [cut_off, emptied, zeroed, foreign, a_folder])
def test_what_is_kept_badly_is_compiled_again(
    spoil: Callable[[Path], None], suffix: str, folder: Path
) -> None:
    path = kept(folder, suffix)
    spoil(path)
    assert use(folder) == (0, 1)
    if path.is_dir():
        path.rmdir()
        use(folder)
    assert use(folder) == (1, 0), "kept again"


def test_what_is_compiled_is_announced_once_and_what_is_loaded_is_not(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(f"{MODULE}\n@compiled\ndef thrice(x):\n    return 3 * x\n")
    told: list[str] = []
    try:
        for expected in (["compiles"], []):
            told.clear()
            announce(lambda: told.append("compiles"))
            use(tmp_path)
            assert told == expected
    finally:
        ANNOUNCE.clear()


def test_what_a_loop_calls_decides_whether_it_is_kept_still(tmp_path: Path) -> None:
    loops = """\
from hindmost.models.compiled import compiled, part
from parts_of_a_loop import FACTOR, times

@compiled
def twice(x):
    return times(x)
"""
    (tmp_path / "loops.py").write_text(loops)
    parts = tmp_path / "parts_of_a_loop.py"
    sys.path.insert(0, str(tmp_path))
    try:
        for text, expected in (
            ("FACTOR = 2\n@part\ndef times(x):\n    return FACTOR * x\n", (0, 1)),
            ("FACTOR = 2\n@part\ndef times(x):\n    return FACTOR * x\n\n", (1, 0)),
            ("FACTOR = 1\n@part\ndef times(x):\n    return FACTOR * x + 21\n", (0, 1)),
            ("FACTOR = 3\n@part\ndef times(x):\n    return FACTOR * x - 21\n", (0, 1)),
            ("FACTOR = 2\n@part\ndef times(x):\n    return FACTOR * x\n", (1, 0)),
        ):
            parts.write_text("from hindmost.models.compiled import part\n" + text)
            sys.modules.pop(parts.stem, None)
            importlib.invalidate_caches()
            assert use(tmp_path) == expected, text
    finally:
        sys.path.remove(str(tmp_path))


def test_a_full_disk_costs_a_compilation(folder: Path) -> None:
    rmtree(folder / "kept")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        assert use(folder) == (0, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert use(folder) == (0, 1)
    assert use(folder) == (1, 0)
