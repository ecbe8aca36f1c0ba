"""Completion of the command in a real bash."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hindmost import cli


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the script for each shell."""
    folder = tmp_path_factory.mktemp("completion")
    with pytest.MonkeyPatch.context() as patch:
        for shell in ("bash", "zsh"):
            written: list[str] = []
            patch.setattr(cli, "write_text", written.append)
            assert cli.main(["--completion", shell]) == 0
            (folder / shell).write_text("".join(written))
    return folder


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["hi"], {"history"}),
        (["r"], {"run", "report"}),
        (["scale", "--sp"], {"--space"}),
        (["scale", "--space", ""], {"paper", "extrap", "fine"}),
        (["show", "run"], set()),  # files: bash completes them itself
    ],
)
def test_bash_completes(scripts: Path, typed: list[str], offered: set[str]) -> None:
    words = " ".join(f"'{word}'" for word in ["hindmost", *typed])
    program = (
        f"source {scripts}/bash; COMP_WORDS=({words}); COMP_CWORD={len(typed)};"
        " _shtab_hindmost; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == offered
    assert done.stderr == ""


def test_zsh_reads_its_script(scripts: Path) -> None:
    assert (scripts / "zsh").read_text().startswith("#compdef hindmost\n")
    if zsh := shutil.which("zsh"):
        subprocess.run([zsh, "-n", scripts / "zsh"], check=True)
