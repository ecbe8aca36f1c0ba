"""``hindmost doctor --compile``: what it compiles ahead is all that a run on one rank calls."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hindmost.harness.verbs.doctor import compile_kernel

PROGRAM = """
import json
from dataclasses import replace
from hindmost.harness.adaptive.compiling import compile_ahead, run_small
from hindmost.harness.adaptive.decks import TIMING_A, TIMING_B
from hindmost.harness.probes.noise import compile_loops
from hindmost.models.compiled import signatures
compile_ahead()
ahead = signatures()
from mpi4py import MPI
for deck in (TIMING_A, TIMING_B):
    run_small(replace(deck, steps=2, heats=1), MPI.COMM_SELF)
compile_loops()
print(json.dumps([ahead, signatures()]))
"""


def test_a_run_finds_everything_compiled() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ahead, needed = json.loads(done.stdout)
    assert any("adaptive.physics" in name for name in ahead)
    assert any("adaptive.mesh" in name for name in ahead)
    assert any("probes" in name for name in ahead)
    assert needed == ahead


def test_an_mpi_that_does_not_start_is_no_obstacle(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    assert compile_kernel() == []
    assert "compiled when they are first needed" in capsys.readouterr().err
