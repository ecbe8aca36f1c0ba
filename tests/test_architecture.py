"""The page on architecture shows the layers that are checked; the recorder has layers, too."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def drawn_layers() -> dict[str, list[str]]:
    """Return the layers that docs/architecture.md draws, by package."""
    blocks: dict[str, list[str]] = {}
    text = (ROOT / "docs/architecture.md").read_text().split("## Layers")[1].split("\n## ")[0]
    package = ""
    for line in text.splitlines():
        if line.startswith("        "):
            blocks[package].append(line.strip())
        elif line.startswith("    "):
            package = line.strip()
            blocks[package] = []
    return blocks


def test_the_page_draws_the_layers_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    checked = {
        each["containers"][0]: each["layers"]
        for each in contracts["contracts"]
        if each["type"] == "layers"
    }
    assert drawn_layers() == checked
    assert all(each.get("exhaustive") for each in contracts["contracts"] if "layers" in each)


def test_every_room_is_named_on_the_page() -> None:
    page = drawn_layers()
    for package, layers in page.items():
        named = {name.strip() for layer in layers for name in layer.replace(":", "|").split("|")}
        folder = ROOT.joinpath("src", *package.split("."))
        rooms = {
            path.stem if path.suffix == ".py" else path.name
            for path in folder.iterdir()
            if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())
        }
        assert rooms - {"__init__"} == named, package


RECORDER = ROOT / "harness/recorder"


def included(text: str) -> list[str]:
    """Return the headers of the recorder that a C file includes."""
    return re.findall(r'^#include "(\w+\.[ch])"', text, re.M)


def code_of(path: Path) -> str:
    """Return a C file without comments and includes."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return re.sub(r"^#include .*", "", text, flags=re.M)


def names_in_code(path: Path) -> set[str]:
    return set(re.findall(r"\b[A-Za-z_]\w+\b", code_of(path)))


def declared_names(path: Path) -> set[str]:
    """Return what a header declares: functions, variables, types, enumerators and macros."""
    code = code_of(path)
    before = r"\b([A-Za-z_]\w*)\s*(?=[(\[;,={}]|$)"
    return set(re.findall(before, code, re.M)) | set(re.findall(r"#define (\w+)", code))


def test_a_unit_of_the_recorder_includes_what_it_uses_of_units_below_it() -> None:
    """The order of the units in recorder.c is that of the layers, so no includes make a circle."""
    units = [Path(name).stem for name in included((RECORDER / "recorder.c").read_text())]
    assert len(units) == len(set(units))
    files = [path for path in RECORDER.glob("*.[ch]") if path.name != "recorder.c"]
    assert {path.stem for path in files} == set(units)
    for path in files:
        names = names_in_code(path)
        below = units[: units.index(path.stem)]
        for header in included(path.read_text()):
            assert header.endswith(".h"), path.name
            if header != f"{path.stem}.h":
                assert Path(header).stem in below, f"{path.name} includes {header}"
                assert declared_names(RECORDER / header) & names, f"{path.name}: {header}"


BANNED = ("MOST_", "LEAST_")
"""Beginnings of names of limits: they are MAX_ and MIN_."""
NOT_YET_RENAMED = ("harness/attach", "harness/recorder", "models/pmnf", "analysis/history")


def test_limits_have_the_field_s_names() -> None:
    paths = [
        path
        for folder in ("analysis", "harness", "jobs", "models", "src")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(NOT_YET_RENAMED)
    ]
    found = [
        f"{path.relative_to(ROOT)}: {target.id}"
        for path in paths
        if not any(part.is_symlink() for part in path.parents)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.startswith(BANNED)
    ]
    assert not found
    assert len(paths) > 300


CUTS_TEXT = {
    *("startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix"),
    *("split", "rsplit"),
}
"""Methods of a text that look for words in it; so does the module `re`."""
READS = {
    "analysis/watch/program.py": "names of files",
    "analysis/watch/server.py": "requests of HTTP",
    "analysis/history/commit_ranges.py": "hashes and addresses of git",
    "analysis/history/page/tables.py": "names of files",
    "analysis/history/state_file.py": "the checksum of a file",
    "analysis/report/report.py": "the indent of a text",
    "analysis/report/sources.py": "names of files",
    "analysis/verbs/history.py": "a user's option",
    "analysis/verbs/plot.py": "names of files",
    "analysis/verbs/show_ranks.py": "the first bytes and names of files",
    "analysis/ranks/read_tables.py": "columns of other tools",
    "analysis/whatif/targets.py": "a user's option",
    "analysis/whatif/balance.py": "a user's option",
    "analysis/whatif/options.py": "a user's option",
    "analysis/whatif/noise_sweep.py": "PETSc's names of solvers",
    "analysis/scaling/expected_growth.py": "a user's option",
    "analysis/scaling/formula.py": "a user's formula",
    "analysis/scaling/study.py": "call paths of other tools",
    "analysis/scaling/target.py": "a user's option",
    "analysis/scaling/figures.py": "names of files",
    "analysis/show/html_renderer.py": "links of a page, and a style sheet",
    "analysis/show/html_charts.py": "variables of a style sheet",
    "analysis/show/chart.py": "names of columns",
    "analysis/runs/configuration.py": "command lines of programs",
    "analysis/runs/over_ranks.py": "command lines of programs",
    "analysis/runs/cores.py": "cpusets of the kernel",
    "analysis/runs/straggler.py": "names of nodes",
    "analysis/runs/trace_file.py": "a user's option",
    "analysis/runs/summary.py": "versions of MPI libraries",
    "analysis/runs/efficiency/withheld.py": "names of MPI functions",
    "models/adaptive/predictors.py": "a user's option",
    "models/laws/law.py": "scipy's names of shapes",
    "models/laws/noise_law.py": "a user's option",
    "models/compiled.py": "names of modules",
    "models/pmnf/expression.py": "digits of a number",
    "models/pmnf/space.py": "a user's option",
}
"""Files that look into texts, and whose these are: never a sentence of ours."""


def test_no_sentence_is_parsed() -> None:
    looks: set[str] = set()
    paths = [path for folder in ("analysis", "models") for path in (ROOT / folder).rglob("*.py")]
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("analysis/readers/"):  # of files of other tools
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = node.func.value
            of = owner.id if isinstance(owner, ast.Name) else ""
            if of == "re" or (node.func.attr in CUTS_TEXT and of != "np"):
                looks.add(name)
    assert looks == READS.keys()
    assert len(paths) > 200
