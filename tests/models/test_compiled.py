"""Compiled loops, whatever the state of the disk that numba keeps them on."""

import importlib
import json
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import rmtree

import numba
import numpy as np
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


OWN = {"scale": 20, "history": 18}
"""Loops of hindmost and their parts that are compiled at most, whatever the version of numba."""
COMPILED = {"scale": 38, "history": 46}
"""What is compiled at most in all. It was 92 and 97, with 33 more wrappers for Python."""
COUNTED_WITH = "0.68."
"""The versions of numba for which the counts of all are known."""

COUNT = """\
import json, sys
from numba.core import event

class Count(event.Listener):
    starts, own = 0, set()
    def on_start(self, event):
        self.starts += 1
        function = getattr(event.data["dispatcher"], "py_func", None)
        module = getattr(function, "__module__", "")
        if module.startswith("hindmost."):
            self.own.add(module + "." + function.__qualname__)
    def on_end(self, event):
        pass

count = Count()
event.register("numba:compile", count)
from hindmost.cli import main
main(sys.argv[2:])
from hindmost.models.compiled import DECLARED, LOOPS
specialised = {name: len(LOOPS[name].signatures) for name in DECLARED if name in LOOPS}
with open(sys.argv[1], "w") as file:
    told = {"compiled": count.starts, "own": sorted(count.own), "declared": specialised}
    told["prepared"] = "numba.cpython.cmathimpl" in sys.modules
    json.dump(told, file)
"""


@dataclass(frozen=True)
class Told:
    """What a command compiled: all, hindmost's own, types of each declared loop; and its stderr.

    ``prepared`` tells whether numba loaded what it needs to compile, which takes half a second.
    """

    compiled: int
    own: list[str]
    declared: dict[str, int]
    prepared: bool
    said: str


def use_of(folder: Path, *words: str) -> Told:
    """Run the command with loops kept in a folder."""
    told = folder / "told.json"
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder / "loops"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        **({"NUMBA_OPT": "0"} if words[0] == "history" else {}),  # loops of scale run for long
    }
    ran = subprocess.run(
        [sys.executable, "-c", COUNT, str(told), *words],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return Told(**json.loads(told.read_text()), said=ran.stderr)


def write_experiment(folder: Path) -> Path:
    """Write Figure 1 of Ilyas, Calotoiu and Wolf (2017), which has two segments."""
    points = np.arange(1.0, 11.0)
    values = np.where(points <= 5.0, points**2, 30.0 + points)
    lines = ["PARAMETER p", "POINTS " + " ".join(map(str, points)), "REGION f", "METRIC time"]
    path = folder / "experiment.txt"
    path.write_text("\n".join([*lines, *(f"DATA {value}" for value in values)]) + "\n")
    return path


def write_nights(folder: Path) -> Path:
    """Write nightly results with a step and an outlier."""
    noise = np.random.default_rng(1).normal(0.0, 0.01, 40)
    values = 10.0 * np.exp(noise)
    values[30:] *= 1.2
    values[12] *= 1.5
    days = np.datetime64("2026-01-01") + np.arange(40)
    rows = [f"{day},ice,Total,{value}" for day, value in zip(days, values, strict=True)]
    path = folder / "nights.csv"
    path.write_text("\n".join(["date,case,timer,seconds", *rows]) + "\n")
    return path


@pytest.mark.parametrize("verb", [pytest.param("scale", marks=pytest.mark.slow), "history"])
def test_a_first_command_compiles_little_and_says_so_once(verb: str, tmp_path: Path) -> None:
    path = write_experiment(tmp_path) if verb == "scale" else write_nights(tmp_path)
    first = use_of(tmp_path, verb, str(path), "--json")
    assert 0 < len(first.own) <= OWN[verb], first.own
    if numba.__version__.startswith(COUNTED_WITH):
        assert 0 < first.compiled <= COMPILED[verb]
    assert set(first.declared.values()) == {1}, first.declared
    assert first.said.count("Compiling numerical loops") == 1
    second = use_of(tmp_path, verb, str(path), "--json")
    assert second.compiled == 0
    assert (first.prepared, second.prepared) == (True, False)
    assert "Compiling" not in second.said
