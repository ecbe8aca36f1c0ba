"""How much a first `scale` and a first `history` compile, and that set-up leaves nothing to them.

Counts, not times: numba's own events say what is compiled, parts of loops and numpy's functions
included. How many functions numba makes of numpy's differs from version to version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import pytest

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


def use(folder: Path, *words: str) -> Told:
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
    first = use(tmp_path, verb, str(path), "--json")
    assert 0 < len(first.own) <= OWN[verb], first.own
    if numba.__version__.startswith(COUNTED_WITH):
        assert 0 < first.compiled <= COMPILED[verb]
    assert set(first.declared.values()) == {1}, first.declared
    assert first.said.count("Compiling numerical loops") == 1
    second = use(tmp_path, verb, str(path), "--json")
    assert second.compiled == 0
    assert (first.prepared, second.prepared) == (True, False)
    assert "Compiling" not in second.said
