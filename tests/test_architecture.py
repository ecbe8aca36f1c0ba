"""The page on architecture shows the layers that import-linter checks."""

from __future__ import annotations

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
