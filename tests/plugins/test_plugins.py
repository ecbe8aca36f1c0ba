"""Packages that add to hindmost by entry points: what works, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Ranks
from tests.mpi.commands import Done

import hindmost
from hindmost.errors import MissingError, UsageError
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import Problem
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.registry import GROUPS, Registry

PACKAGE = Path(__file__).parent / "package"


def with_sample(*folders: Path) -> dict[str, str]:
    """Return the environment in which packages of some folders are installed."""
    path = [str(folder) for folder in folders or (PACKAGE,)]
    return {"PYTHONPATH": os.pathsep.join([*path, os.environ.get("PYTHONPATH", "")])}


SEVERAL = """
import contextlib, io, json, sys
from hindmost.__main__ import main
told = {}
for name, words in json.loads(sys.argv[1]).items():
    sys.argv = ["hindmost", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as err:
            status = main()
    told[name] = status, out.getvalue(), err.getvalue()
print(json.dumps(told))
"""


def several(
    folder: Path, commands: dict[str, tuple[str | Path, ...]], environment: dict[str, str]
) -> dict[str, Done]:
    """Run commands one after another in one process, in a folder."""
    asked = json.dumps({name: [str(word) for word in each] for name, each in commands.items()})
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, asked],
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
        cwd=folder,
        env={**os.environ, **environment},
    )
    return {
        name: Done(returncode=status, stdout=out, stderr=err)
        for name, (status, out, err) in json.loads(done.stdout).items()
    }


STUDY = """\
[study]
name = "small"
[machine.here]
scheduler = "at-once"
launcher = "tagged"
cores_per_node = 2
[run]
command = ["sh", "-c", "printf %s $HINDMOST_SAMPLE > $0/x", "{out}"]
[sweep]
ranks = 1
"""


@pytest.fixture(scope="module")
def performed(
    module_ranks: Ranks, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Done], dict[str, Done]]:
    """Return a folder, and what commands did in it with the sample installed, and without."""
    folder = tmp_path_factory.mktemp("performed")
    words = ("--solver", "minres", "--unknowns", "400", "--iterations", "60", "--out", folder)
    done = module_ranks(2, "run", "shifted-1d", *words, environment=with_sample())
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("shifted-1d-minres-p2-*.h5")
    pairs, study = folder / "times.pairs", folder / "study.toml"
    pairs.write_text("pairs of sweep\n" + "".join(f"{p} {3.0 * p}\n" for p in (2, 4, 8, 16, 32)))
    study.write_text(STUDY)
    commands: dict[str, tuple[str | Path, ...]] = {
        "fit": ("fit", "--json", file),
        "recognised": ("scale", pairs, "--json"),
        "named": ("scale", pairs, "--json", "--format", "pairs"),
        "misspelt": ("scale", pairs, "--format", "pears"),
        "shown": ("study", "submit", study, "--dry-run"),
        "submitted": ("study", "submit", study),
    }
    plain: dict[str, tuple[str | Path, ...]] = {
        "fit": commands["fit"],
        "scale": ("scale", pairs),
        "plan": ("study", "plan", study),
    }
    return folder, several(folder, commands, with_sample()), several(folder, plain, {})


def problems() -> Registry[Problem]:
    return Registry("workload", PROBLEMS.built_in, group="hindmost.problems", kind=Problem)


def package(folder: Path, entries: str, code: str = "", name: str = "odd") -> Path:
    """Write a package with some entry points, and return its folder."""
    metadata = folder / f"{name}-0.1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text(f"[hindmost.problems]\n{entries}\n")
    (folder / f"{name}_code.py").write_text(code)
    return folder


Performed = tuple[Path, dict[str, Done], dict[str, Done]]


@pytest.mark.mpi
def test_a_problem_and_a_solver_run_on_ranks_and_a_model_is_fitted(performed: Performed) -> None:
    folder, done, without = performed
    (file,) = folder.glob("shifted-1d-minres-p2-*.h5")
    run = hindmost.open(file)
    assert (run.header.workload, run.header.solver, run.durations.shape) == (
        "shifted-1d", "minres", (60, 2),
    )  # fmt: skip
    assert done["fit"].returncode == 0, done["fit"].stderr
    models = {each["name"]: each for each in json.loads(done["fit"].stdout)["runs"][0]["models"]}
    assert models["slowest-rank"]["kind"] == "explains"
    assert models["slowest-rank"]["predicted_s"] == pytest.approx(
        run.durations.max(axis=1).sum(), rel=1e-6
    )
    names = {each["name"] for each in json.loads(without["fit"].stdout)["runs"][0]["models"]}
    assert names == set(models) - {"slowest-rank"}


@pytest.mark.mpi
def test_a_format_is_recognised_and_named(performed: Performed) -> None:
    _, done, without = performed
    for name in ("recognised", "named"):
        assert done[name].returncode == 0, done[name].stderr
        (model,) = json.loads(done[name].stdout)["models"]
        assert model["kernel"] == "sweep"
        assert model["segments"][0]["terms"][0]["exponents"]["p"] == [1, 0]
    assert without["scale"].returncode == 3
    assert "is unknown" in without["scale"].stderr
    assert done["misspelt"].returncode == 2
    assert "did you mean pairs?" in done["misspelt"].stderr


@pytest.mark.mpi
def test_a_scheduler_renders_and_submits_and_a_launcher_starts_ranks(performed: Performed) -> None:
    folder, done, without = performed
    assert done["shown"].returncode == 0, done["shown"].stderr
    assert "#AT-ONCE --nodes 1\n" in done["shown"].stdout
    assert done["submitted"].returncode == 0, done["submitted"].stderr
    (told,) = (folder / "small" / "runs").glob("*/x")
    assert told.read_text() == "tagged"
    assert without["plan"].returncode == 3
    why = 'study.toml: machine.here.scheduler is "at-once"; choose local'
    assert why in without["plan"].stderr


def test_doctor_lists_plugins_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    program = "from hindmost.harness.verbs.doctor import check_plugins as look; print(look())"

    def look(*folders: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **with_sample(*folders)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    told = look(PACKAGE)
    for group in GROUPS:
        assert f"{group} '" in told
    broken = package(tmp_path, "bad = odd_code:THING", "raise RuntimeError('no licence')")
    assert re.search(r"note.*'bad' of odd 0.1.*RuntimeError: no licence", look(PACKAGE, broken))


@pytest.mark.parametrize(
    ("entry", "code", "word"),
    [
        ("bad = odd_code:THING", "1 / 0", r"cannot be imported \(ZeroDivisionError"),
        ("bad = odd_code:THING", "raise SystemExit(0)", "SystemExit"),
        ("bad = odd_code:THING", "", "AttributeError"),
        ("bad = nowhere:THING", "", "ModuleNotFoundError"),
        ("bad = odd_code:THING", "THING = 3", "it gives a int, not a Problem"),
        ("bad = odd_code:THING", "from hindmost.harness.krylov.problems.problem import Problem\n"
         "THING = Problem", "not a Problem"),
        ("bad = odd_code:THING", "from hindmost.harness.krylov.problems.by_rows import DIAGONAL\n"
         "THING = DIAGONAL", "what it gives is called 'diagonal'"),
    ],
)  # fmt: skip
def test_a_broken_plugin_is_named_with_its_package_and_only_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, code: str, word: str
) -> None:
    monkeypatch.syspath_prepend(package(tmp_path, entry, code))
    sys.modules.pop("odd_code", None)
    registry = problems()
    assert registry["diagonal"].name == "diagonal"
    assert registry.names == (*(each.name for each in PROBLEMS.built_in), "bad")
    assert not registry.complaints
    with pytest.raises(MissingError, match=word) as caught:
        registry["bad"]
    assert "hindmost.problems 'bad' of odd 0.1" in str(caught.value)
    assert "Update odd, or uninstall it." in str(caught.value)
    assert [each.name for each in registry] == [each.name for each in PROBLEMS.built_in]
    assert list(registry.complaints.values()) == [str(caught.value)]


def test_what_is_built_in_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(package(tmp_path, "diagonal = odd_code:THING", "1 / 0"))
    registry = problems()
    assert registry["diagonal"] is PROBLEMS["diagonal"]
    with pytest.raises(UsageError, match=r"did you mean diagonal\?"):
        registry["dagonal"]


def test_of_two_packages_with_one_name_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("odd", "even"):  # the later stands first on the path
        folder = package(tmp_path / name, f"bad = {name}_code:THING", "1 / 0", name)
        monkeypatch.syspath_prepend(folder)
    with pytest.raises(MissingError, match=r"'bad' of even 0\.1"):
        problems()["bad"]


def test_nothing_is_looked_up_for_what_is_built_in() -> None:
    program = (
        "import importlib.metadata as m; m.entry_points = None\n"
        "from hindmost.cli import main\n"
        "from hindmost.harness.krylov.solvers import SOLVERS\n"
        "from hindmost.harness.krylov.problems import PROBLEMS\n"
        "SOLVERS['gmres'], PROBLEMS['diagonal'], 'cg' in SOLVERS\n"
        "try:\n main(['run', '--help'])\nexcept SystemExit:\n pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "gmres" in done.stdout
    assert SOLVERS.group == "hindmost.solvers"
