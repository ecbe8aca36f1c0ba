"""The example for ReFrame, by a real one: its figures are those of the run files."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import BIN, ROOT, RUN_TIMEOUT_S

import hindmost

EXAMPLE = ROOT / "examples" / "reframe"
WHEEL = "reframe-hpc==4.10.4"

pytestmark = pytest.mark.mpi


def reframe() -> str:
    """Return the reframe command: the one named or on PATH, in CI one of its own."""
    found = os.environ.get("HINDMOST_REFRAME") or shutil.which("reframe")
    if found:
        return found
    if os.environ.get("CI", "").lower() not in ("true", "1"):
        pytest.skip(
            "ReFrame is not installed (240 MB); to get it: python3 -m venv reframe && "
            f"reframe/bin/pip install {WHEEL}, and HINDMOST_REFRAME=reframe/bin/reframe"
        )
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "hindmost" / "tests" / WHEEL
    command = folder / "bin" / "reframe"
    pip = folder / "bin" / "pip"
    try:
        if not command.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
            subprocess.run([pip, "install", "--quiet", WHEEL], check=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{WHEEL} cannot be had: {error}")
    return str(command)


def test_figures_are_those_of_the_run_files(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words = [
        *(reframe(), "-C", EXAMPLE / "settings.py", "-c", EXAMPLE / "solvers.py"),
        *("--prefix", tmp_path, "--report-file", report, "--keep-stage-files", "--nocolor"),
        *("-S", "unknowns=600", "-S", "iterations=300", "-r"),
    ]
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_TIMEOUT_S,
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (session,) = json.loads(report.read_text())["runs"]
    assert [case["result"] for case in session["testcases"]] == ["pass", "pass"]
    solvers = set()
    for case in session["testcases"]:
        (file,) = Path(case["stagedir"]).glob("runs/*.h5")
        run = hindmost.open(file)
        solvers.add(run.header.solver)
        assert (run.header.ranks, run.header.iterations) == (2, 300)
        figures = {
            name.rsplit(":", 1)[-1]: values[0] for name, values in case["perfvalues"].items()
        }
        assert figures["solve_time"] == pytest.approx(run.solve_time_s)
        assert 0.0 < figures["waiting"] < 100.0
    assert solvers == {"gmres", "pgmres"}
