"""The public surface: names, errors, the command's words."""

import importlib
import io
import pkgutil
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import BIN, ROOT

import hindmost
from hindmost import cli, errors, models, statuses
from hindmost.__main__ import main
from hindmost.registry import GROUPS


def hindmost_command(*words: str) -> subprocess.CompletedProcess[str]:
    """Call the entry of the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["hindmost", *words])
        status = main()
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def test_all_names_the_public_surface() -> None:
    public = {
        name
        for name, value in vars(hindmost).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public - {"annotations", "TYPE_CHECKING"} == set(hindmost.__all__) - {"__version__"}


def test_no_module_hides_a_public_function() -> None:
    modules = {path.stem for path in Path(hindmost.__file__).parent.iterdir()}
    assert not modules & set(hindmost.__all__)  # an imported module becomes an attribute


def code_of(text: str) -> list[str]:
    """Return the lines of code of a page, and what stands in it between backticks."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^    +(?![|*-]).*$", text, re.MULTILINE)
    lines = [line.strip() for block in [*fenced, *indented] for line in block.splitlines()]
    return [*lines, *re.findall(r"`([^`\n]+)`", text)]


def is_file(path: str, line: str) -> bool:
    """Tell whether what looks like a module is a part of the name of a file."""
    named = rf"{re.escape(path)}\S*(/|\.(h|md|py|toml|json|html)\b)"
    return path in ("hindmost.h", "hindmost.f90") or re.search(named, line) is not None


@cache
def taught() -> dict[str, set[str]]:
    """Return the names that README, docs and examples import from hindmost, by module."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
    found: dict[str, set[str]] = {}
    for page in pages:
        text = page.read_text()
        for line in text.splitlines() if page.suffix == ".py" else code_of(text):
            if imported := re.match(r"from (hindmost[.\w]*) import ([\w, ]+)", line):
                names = [name.split(" as ")[0].strip() for name in imported[2].split(",")]
                found.setdefault(imported[1], set()).update(filter(None, names))
            for path in re.findall(r"\bhindmost(?:\.\w+)+", line):
                module, _, name = path.rpartition(".")
                if path not in GROUPS and not is_file(path, line):
                    found.setdefault(module, set()).add(name)
    # The tables of python.md teach a package's names one by one.
    for module, table in re.findall(
        r"^## `(hindmost[.\w]*)`\n(.*?)(?=^## |\Z)",
        (ROOT / "docs" / "python.md").read_text(),
        re.MULTILINE | re.DOTALL,
    ):
        for cell in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE):
            found.setdefault(module, set()).update(re.findall(r"`(\w+)`", cell))
    return found


def test_all_that_is_taught_can_be_imported() -> None:
    for module, names in taught().items():
        for name in names:
            assert pkgutil.resolve_name(f"{module}.{name}") is not None


@pytest.mark.parametrize(
    "package",
    [
        "hindmost",
        *(f"hindmost.models.{module.name}" for module in pkgutil.iter_modules(models.__path__)),
    ],
)
def test_the_public_names_are_those_that_are_taught(package: str) -> None:
    module = importlib.import_module(package)
    if not hasattr(module, "__path__"):
        return
    inside = {each.name for each in pkgutil.iter_modules(module.__path__)}
    public = set(getattr(module, "__all__", ())) - {"__version__"}
    assert taught().get(package, set()) - (inside - public) == public
    assert all(hasattr(module, name) for name in public)


@pytest.mark.parametrize("page", ["python", "models"])
def test_the_python_of_a_page_runs(page: str) -> None:
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / f"docs/{page}.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, names)


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


@pytest.mark.parametrize("verb", ["attach", "history", "plot", "run", "scale", "whatif"])
def test_help_has_at_most_ten_options_and_names_the_way_to_the_others(verb: str) -> None:
    short, long = (hindmost_command(verb, word).stdout for word in ("--help", "--help-all"))
    options = [
        set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", text, re.MULTILINE)) for text in (short, long)
    ]
    assert len(options[0]) <= 10
    assert options[0] < options[1]
    assert f"and {len(options[1] - options[0])} more options" in short
    if verb == "attach":  # all options of a group are among the others, and so is what it says
        assert "stopping before" in long
        assert "stopping before" not in short


@pytest.mark.parametrize("room", ["analysis", "harness", "jobs", "models", "src"])
def test_advice_names_options_that_its_verb_has(room: str) -> None:
    known = {
        name: {
            option
            for words in ([name], *(pair for pair in cli.BRANCHES if pair[0] == name))
            for option in re.findall(r"--[a-z][a-z-]+", cli.help_of(words)) + list(words)
        }
        for name in cli.VERBS
    }
    for path in sorted((ROOT / room).rglob("*.py")):
        text = re.sub(r'"\s*\n\s*f?"', "", path.read_text())  # a text over several lines
        for verb, rest in re.findall(r"hindmost (\w+)( [^\n\"'`;,)]*)", text):
            if verb in known:
                asked = re.findall(r"(?<![\w-])--[a-z][a-z-]+", rest.partition(" -- ")[0])
                assert set(asked) <= known[verb], f"{path}: hindmost {verb}{rest}"


def test_help_lists_every_verb() -> None:
    done = hindmost_command("--help")
    for verb, (_, summary) in cli.VERBS.items():
        assert re.search(rf"^ +{verb} +{re.escape(summary)}", done.stdout, re.MULTILINE)


def test_version() -> None:
    done = subprocess.run(
        [BIN / "hindmost", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"hindmost {hindmost.__version__}\n"
    assert importlib.metadata.version("hindmost") == hindmost.__version__


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["walk"], "invalid choice: 'walk'"),
        (["fit"], "required: file"),
        (["show", "x.h5", "--", "-pc_type", "none"], "'--' is for 'run' and 'attach' only"),
    ],
)
def test_usage_errors(words: list[str], word: str) -> None:
    done = hindmost_command(*words)
    assert done.returncode == 2
    assert word in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_exit_statuses_are_the_same_wherever_they_are_told() -> None:
    told = {
        "help": re.findall(r"^  (\d+) {2,}\S", cli.EXAMPLES.split("exit status:")[1], re.MULTILINE),
        "docs": re.findall(r"^\| (\d+) \|", (ROOT / "docs/statuses.md").read_text(), re.MULTILINE),
    }
    numbers = {value for value in vars(statuses).values() if isinstance(value, int)}
    numbers |= {getattr(errors, name).exit_status for name in errors.__all__} | {0}
    assert told == {place: list(map(str, sorted(numbers))) for place in told}


def test_a_verb_that_reads_files_loads_neither_mpi_nor_plots(run_file: Path) -> None:
    program = (
        "import sys; from hindmost.cli import main; main(['show', sys.argv[1]]);"
        "print(sorted({'mpi4py', 'petsc4py', 'matplotlib', 'scipy.stats', 'numba', 'xarray',"
        " 'scipy.special'} & set(sys.modules)));"
        "main(['show', '--ranks', sys.argv[1]]);"
        "print(sorted({'mpi4py', 'petsc4py', 'matplotlib', 'scipy.stats'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, run_file], capture_output=True, text=True, check=True
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("[")] == ["[]", "[]"]


@pytest.mark.parametrize("verb", ["run", "probe"])
def test_what_runs_on_the_ranks_loads_nothing_that_draws(verb: str) -> None:
    program = (
        f"import sys; import hindmost.harness.verbs.{verb};"
        "print(sorted({'matplotlib', 'scipy.stats', 'rich', 'xarray', 'numba', 'scipy.special',"
        " 'hindmost.harness.reduction.decide'} & set(sys.modules)))"
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
