"""The tutorial's commands, run as they are written."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.conftest import BIN, ROOT

import hindmost

ALLOWED = {"check": (0, 1), "whatif": (0, 3)}
"""Exit statuses that say whether the machine was quiet, which no test may rest on."""


@pytest.mark.mpi
def test_the_commands_of_the_tutorial_run(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = (ROOT / "docs/tutorial.md").read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    for block in blocks:
        command = block.strip()
        if command == "hindmost compare before after":  # recorded in a loop, as before
            (tmp_path / "after").symlink_to("before")
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        verb = command.split()[1]
        assert done.returncode in ALLOWED.get(verb, (0,)), done.stderr
    (file,) = tmp_path.glob("before/*.h5")
    assert hindmost.open(file).durations[:].shape == (2000, 2)
    assert len(list(tmp_path.glob("figures/*.png"))) == 2
