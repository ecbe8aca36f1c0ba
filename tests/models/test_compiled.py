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
    spec = spec_from_file_location("loops", folder / "loops.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.twice(21) == 42
    return len(module.twice.stats.cache_hits), len(module.twice.stats.cache_misses)


def kept(folder: Path, suffix: str) -> Path:
    (found,) = (folder / "__pycache__").glob(f"*.{suffix}")
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


def writable_by_others(path: Path) -> None:
    path.chmod(0o666)


def of_another_user(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 12345, -1)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "spoil", [cut_off, emptied, zeroed, foreign, a_folder, writable_by_others, of_another_user]
)
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
            ("FACTOR = 2\n@part\ndef times(x):\n    return FACTOR * x\n", (0, 1)),
        ):
            parts.write_text("from hindmost.models.compiled import part\n" + text)
            sys.modules.pop(parts.stem, None)
            importlib.invalidate_caches()
            assert use(tmp_path) == expected, text
    finally:
        sys.path.remove(str(tmp_path))


def test_a_full_disk_costs_a_compilation(folder: Path) -> None:
    for path in (folder / "__pycache__").iterdir():
        path.unlink()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        assert use(folder) == (0, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert use(folder) == (0, 1)
    assert use(folder) == (1, 0)


def test_code_that_somebody_else_could_plant_does_not_run(folder: Path) -> None:
    planted, proof = kept(folder, "nbi"), folder / "ran"
    whole = planted.read_bytes()
    planted.write_bytes(pickle.dumps(Planted(f"open({str(proof)!r}, 'w')")))
    planted.chmod(0o666)
    assert use(folder) == (0, 1)
    assert not proof.exists()
    folder.joinpath("__pycache__").chmod(0o777)  # ours: it is closed
    use(folder)
    assert folder.joinpath("__pycache__").stat().st_mode & 0o022 == 0
    planted.write_bytes(whole)


class Planted:
    """A pickle that runs a line of Python."""

    def __init__(self, line: str) -> None:
        self.line = line

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return exec, (self.line,)
