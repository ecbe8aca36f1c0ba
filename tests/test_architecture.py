"""The page on architecture shows the layers that are checked; the recorder has layers, too."""

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


BANNED_LIMITS = re.compile("(MOST|LEAST)_")
"""Beginnings of names of limits: they are MAX_ and MIN_."""
BANNED_FUNCTIONS = re.compile("_?(look|tell)(_|$)")
"""Beginnings of names of functions, which say what is done: query, check, print, report."""
NOT_YET_RENAMED = ("harness/attach", "harness/runfile/part_file.py")
"""Where functions still have such names; `tell` of a file is Python's own."""


def product_files() -> list[Path]:
    folders = ("analysis", "harness", "jobs", "models", "src")
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return [path for path in paths if not any(part.is_symlink() for part in path.parents)]


def test_names_are_those_of_the_field() -> None:
    paths, wrong = product_files(), []
    for path in paths:
        place = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Name) and BANNED_LIMITS.match(node.id):
                wrong.append(f"{place}: {node.id}")
            elif isinstance(node, ast.FunctionDef) and not place.startswith(NOT_YET_RENAMED):
                wrong += [f"{place}: {node.name}"] * bool(BANNED_FUNCTIONS.match(node.name))
    assert not wrong
    assert len(paths) > 300
