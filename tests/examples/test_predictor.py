import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def loop(*words: str, folder: Path) -> str:
    script = ROOT / "examples" / "predictor" / "loop.py"
    done = subprocess.run(
        [sys.executable, str(script), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        cwd=folder,
    )
    return done.stdout


def test_the_loop_predicts_every_pass_but_the_first(tmp_path: Path) -> None:
    lines = loop("--passes", "12", "--limit", "60", folder=tmp_path).splitlines()
    passes = [line for line in lines if "predicted" in line]
    assert len(passes) == 12
    assert "predicted nan (0.00 to inf)" in passes[0]
    number = r"\d+\.\d+"
    forecast = re.compile(rf"predicted {number} \({number} to {number}\)")
    assert all(forecast.search(line) for line in passes[1:])
    assert lines[-1] == "all 12 passes done"
    assert list(tmp_path.iterdir()) == []


def test_the_loop_stops_before_its_limit(tmp_path: Path) -> None:
    lines = loop("--passes", "100000", "--limit", "0.1", folder=tmp_path).splitlines()
    assert lines[-1].startswith("Stop: ")
