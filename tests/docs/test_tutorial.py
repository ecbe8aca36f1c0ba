"""The tutorial's commands, run as they are written."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.conftest import BIN, ROOT

import hindmost
from hindmost.cli import main

ALLOWED = {"check": (0, 1), "whatif": (0, 3)}
"""Exit statuses that say whether the machine was quiet, which no test may rest on."""


@pytest.mark.mpi
def test_the_commands_of_the_tutorial_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = (ROOT / "examples/tutorial/heat.py").read_text()
    assert "CELLS, STEPS = 200_000, 2000" in program
    shorter = tmp_path / "examples/tutorial/heat.py"
    shorter.parent.mkdir(parents=True)
    shorter.write_text(program.replace("200_000, 2000", "20_000, 400"))
    page = (ROOT / "docs/tutorial.md").read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    for block in blocks:
        command = block.strip()
        if command == "hindmost compare before after":  # recorded in a loop, as before
            (tmp_path / "after").symlink_to("before")
        if command.startswith("hindmost "):
            _, *words = shlex.split(command)
            assert main(words) in ALLOWED.get(words[0], (0,))
        else:
            path = f"{BIN}:{os.environ['PATH']}"
            subprocess.run(
                ["bash", "-c", command], env={**os.environ, "PATH": path}, check=True, timeout=600
            )
    (file,) = tmp_path.glob("before/*.h5")
    assert hindmost.open(file).durations[:].shape == (400, 2)
    assert len(list(tmp_path.glob("figures/*.png"))) == 2
