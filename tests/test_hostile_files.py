"""Hostile files of every kind: no verb crashes on them, hangs, or takes much memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.fuzz.kinds import KINDS

HANGS_S = 900
"""Of a child that does not even use its processor; a watchdog for busy machines."""


def faults_in(
    folder: Path, kinds: list[str], seed: int, files: int, *, seconds: float, heavy: bool = False
) -> str:
    """Return what calls on hostile files did that no call should do."""
    words = [str(folder), ",".join(kinds), str(seed), str(files), str(seconds)]
    words += ["heavy"] if heavy else []
    try:
        child = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.calls", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=HANGS_S,
            cwd=ROOT,
        )
    except subprocess.TimeoutExpired:
        return f"hangs: {(folder / 'under-way').read_text()}"
    found = folder / "faults.jsonl"
    lines = [json.loads(line) for line in found.read_text().splitlines()] if found.exists() else []
    done = [line["done"] for line in lines if "done" in line]
    if child.returncode or len(done) < len(kinds):
        under_way = folder / "under-way"
        last = under_way.read_text() if under_way.exists() else ""
        return f"ended with {child.returncode} in {last}: {child.stderr[-3000:]}"
    assert all(done), lines
    return "\n".join(f"{line.pop('wrong')}\n{line}" for line in lines if "wrong" in line)


def test_verbs_survive_hostile_files(tmp_path: Path) -> None:
    assert faults_in(tmp_path, list(KINDS), 1, 10, seconds=0.25) == ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 5))
@pytest.mark.parametrize("kind", KINDS)
def test_verbs_survive_more_hostile_files(tmp_path: Path, kind: str, seed: int) -> None:
    assert faults_in(tmp_path, [kind], seed, 10_000, seconds=16.0, heavy=True) == ""
