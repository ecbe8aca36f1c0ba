"""The public surface: names, errors, the command's words."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import BIN

import hindmost
from hindmost import cli, errors


def hindmost_command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in (BIN / "hindmost", *words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_all_names_the_public_surface() -> None:
    public = {
        name
        for name, value in vars(hindmost).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public - {"annotations", "TYPE_CHECKING"} == set(hindmost.__all__) - {"__version__"}


def test_the_error_tree_is_the_one_that_is_drawn() -> None:
    drawn = re.findall(r"^[ │├└─]*(\w+(?:Error))", errors.__doc__ or "", re.MULTILINE)
    assert sorted(drawn) == sorted(errors.__all__)
    for name in errors.__all__:
        error = getattr(errors, name)
        assert issubclass(error, errors.HindmostError)
        if name != "HindmostError":
            assert issubclass(error, ValueError | RuntimeError)


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_helps_with_examples(verb: str) -> None:
    done = hindmost_command(verb, "--help")
    assert done.returncode == 0
    assert "examples:" in done.stdout
    assert f"hindmost {verb}" in done.stdout


def test_help_lists_every_verb() -> None:
    done = hindmost_command("--help")
    for verb, (_, summary) in cli.VERBS.items():
        assert re.search(rf"^ +{verb} +{re.escape(summary)}", done.stdout, re.MULTILINE)


def test_version() -> None:
    assert hindmost_command("--version").stdout == f"hindmost {hindmost.__version__}\n"
    assert importlib.metadata.version("hindmost") == hindmost.__version__


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["walk"], "invalid choice: 'walk'"),
        (["fit"], "required: file"),
        (["show", "x.h5", "--", "-pc_type", "none"], "PETSc options"),
    ],
)
def test_usage_errors(words: list[str], word: str) -> None:
    done = hindmost_command(*words)
    assert done.returncode == 2
    assert word in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_verb_that_reads_files_loads_neither_mpi_nor_plots(run_file: Path) -> None:
    program = (
        "import sys; from hindmost.cli import main; main(['show', sys.argv[1]]);"
        "print(sorted({'mpi4py', 'petsc4py', 'matplotlib', 'scipy.stats', 'numba', 'xarray'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, run_file], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("verb", ["run", "probe"])
def test_what_runs_on_the_ranks_loads_nothing_that_draws(verb: str) -> None:
    program = (
        f"import sys; import hindmost.harness.verbs.{verb};"
        "print(sorted({'matplotlib', 'scipy.stats', 'rich', 'xarray', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_no_bare_folder_is_importable() -> None:
    program = (
        "import importlib.util as u;"
        "print([n for n in ('models', 'harness', 'analysis', 'jobs') if u.find_spec(n)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.strip() == "[]"
