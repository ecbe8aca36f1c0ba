"""A site's scripts that record jobs: whatever fails, the task starts without a recorder."""

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.conftest import BIN, ROOT

SCRIPTS = ROOT / "packaging" / "always-on"
JOB = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "HINDMOST_ALWAYS_ON": str(SCRIPTS)}


def prolog(folder: Path, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, **JOB, "SLURM_SUBMIT_DIR": str(folder), **variables}
    environment.setdefault("HINDMOST_COMMAND", str(BIN / "hindmost"))
    words = ["sh", str(SCRIPTS / "slurm-task-prolog.sh")]
    return subprocess.Popen(words, env=environment, stdout=-1, stderr=-1, text=True)


def variables_of(task: subprocess.Popen[str]) -> Mapping[str, str]:
    """Return what Slurm adds to a task's environment; the script never fails and says nothing."""
    output, errors = task.communicate(timeout=60)
    assert (task.returncode, errors) == (0, "")
    lines = [line.removeprefix("export ") for line in output.splitlines()]
    return dict(line.split("=", 1) for line in lines)


def test_jobs_that_do_not_ask_are_left_alone(tmp_path: Path) -> None:
    assert variables_of(prolog(tmp_path, HINDMOST="0")) == {}
    assert list(tmp_path.iterdir()) == []


def test_the_tasks_of_a_step_share_one_environment(tmp_path: Path) -> None:
    tasks = [prolog(tmp_path, HINDMOST="1", SLURM_PROCID=str(rank)) for rank in range(3)]
    first, *others = [variables_of(task) for task in tasks]
    assert first.keys() == {"LD_PRELOAD", "HINDMOST_ATTACH"}
    assert Path(first["HINDMOST_ATTACH"]).parent == tmp_path / "hindmost-7"
    assert others == [first, first]


@pytest.mark.parametrize("command", ["no-such-command", "false", "true", "echo", "exit 3; #"])
def test_a_command_that_fails_adds_nothing(tmp_path: Path, command: str) -> None:
    script = tmp_path / "command"
    script.write_text(f"#!/bin/sh\n{command}\n")
    script.chmod(0o755)
    assert variables_of(prolog(tmp_path, HINDMOST="1", HINDMOST_COMMAND=str(script))) == {}


def test_a_folder_that_cannot_be_made_adds_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert variables_of(prolog(tmp_path / "file", HINDMOST="1")) == {}
    assert variables_of(prolog(Path("/proc/none"), HINDMOST="1")) == {}


@pytest.mark.parametrize("file", sorted(SCRIPTS.parent.rglob("*.sh")), ids=lambda path: path.name)
def test_scripts_are_those_of_any_shell(file: Path) -> None:
    subprocess.run(["sh", "-n", shlex.quote(str(file))], check=True)


def test_the_hook_of_pbs_compiles() -> None:
    source = (SCRIPTS / "pbs_hook.py").read_text()
    compile(source, "pbs_hook.py", "exec")
