"""What the tests of ``make papers`` share: figures as numbers, JSON of a verb, runs on 2 ranks."""

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conftest import ROOT
from tests.mpi.commands import Done, run_in_folders

from hindmost.cli import main

Values = NDArray[np.float64]
Told = Callable[..., Any]
Ran = tuple[Path, Mapping[str, Done]]
holds = pytest.mark.papers
"""Names the figures and tables, as ``Krylov fig. 1``, whose values a test holds."""


def drawn(out: Path, *words: str | Path, file: str = "*.csv") -> dict[str, Values]:
    """Draw one figure, and return its series.

    Parameters
    ----------
    *words : str or Path
        Files, the name of the figure as ``--figure=NAME``, and further options.
    file : str
        A pattern of its name.

    Returns
    -------
    dict of str to float64 array, shape (row, column)
        Rows of the figure's CSV file by name of the series; cells without a number are NaN.
    """
    assert main(["plot", *map(str, words), "--csv", "--out", str(out)]) == 0
    [path] = out.glob(file)
    with path.open(newline="") as lines:
        rows = list(csv.reader(lines))[1:]
    found: dict[str, list[list[float]]] = defaultdict(list)
    for name, *cells in rows:
        found[name].append([number_of(cell) for cell in cells])
    return {name: np.array(values) for name, values in found.items()}


def number_of(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def mean_of(histogram: Values) -> float:
    """Return the mean of a histogram, columns from, to and density."""
    low, high, density = histogram.T[:3]
    weight = density * (high - low)
    return float((0.5 * (low + high) * weight).sum() / weight.sum())


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """Return what runs a verb and reads its JSON."""

    def run(*words: object, status: int = 0) -> Any:
        capsys.readouterr()
        assert main([*map(str, words), "--json"]) == status
        return json.loads(capsys.readouterr().out)

    return run


DECKS = {"timing-a": (4_000, False), "timing-b": (4_000, True), "timing-c": (80_000, True)}
"""The paper's input decks: cells on each processor at the begin, and whether heat is computed."""
LAPLACIAN = ("laplacian-1d", "--unknowns", "2000", "--warmup", "0")
PAIR = ("--solver", "gmres", "--solver", "pgmres")


COLLECTIVES = f"""
import io, sys
from contextlib import redirect_stdout
from unittest.mock import patch
words = "x.py collectives --operations allreduce,gather --bytes 8 --calls 40".split()
sys.path.insert(0, {str(ROOT / "examples/scaling")!r})
import collective_calls
with patch.object(sys, "argv", words), redirect_stdout(io.StringIO()):
    collective_calls.main()
"""


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Return the folder of small runs on 2 ranks, all of one launch, and what each said."""
    folder = tmp_path_factory.mktemp("ran")
    asked: dict[str, tuple[str, ...]] = {
        "cycles": (*LAPLACIAN, *PAIR, "--iterations", "5000"),
        "ice": ("ice-flow", "--unknowns", "1000", "--warmup", "0", *PAIR, "--iterations", "90",
                "--activities"),
        "kept": (*LAPLACIAN, "--solver", "gmres", "--iterations", "60", "--keep", "50%"),
        "live": (*LAPLACIAN, "--solver", "gmres", "--iterations", "2000", "--live"),
        **{deck: ("adaptive", "--deck", deck, "--cycles", "2") for deck in DECKS},
    }  # fmt: skip
    commands: dict[str, tuple[str | Path, ...]] = {
        name: ("run", *words, "--out", folder / name) for name, words in asked.items()
    }
    (done,) = run_in_folders(folder, 2, [(folder, commands, {"live": COLLECTIVES})])
    assert not [each.stderr for each in done.values() if each.returncode]
    return folder, done
