"""One version and one address in all that is released."""

import json
import re
import tomllib

from tests.conftest import ROOT

import hindmost

PACKAGING = ROOT / "packaging"


def test_all_name_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = project["version"]
    assert hindmost.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert json.loads((ROOT / ".zenodo.json").read_text())["version"] == version
    assert f'version("{version}"' in (PACKAGING / "spack/packages/hindmost/package.py").read_text()
    assert f'version: "{version}"' in (PACKAGING / "conda/recipe.yaml").read_text()
    (easyconfig,) = (PACKAGING / "easybuild").glob("hindmost-*.eb")
    assert easyconfig.name.startswith(f"hindmost-{version}-")
    assert f"version = '{version}'" in easyconfig.read_text()
    assert [path.name for path in (PACKAGING / "module").iterdir()] == [version]
    assert re.search(rf"^## {re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_all_name_one_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    address = project["urls"]["Repository"]
    files = [path for path in PACKAGING.rglob("*") if path.is_file()]
    files += [ROOT / "CITATION.cff", ROOT / ".zenodo.json"]
    named = {
        found
        for path in files
        for found in re.findall(r"https://github\.com/[\w-]+/hindmost\b", path.read_text())
    }
    assert named == {address}


def test_recipes_have_the_dependencies_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    spack = (PACKAGING / "spack/packages/hindmost/package.py").read_text()
    conda = (PACKAGING / "conda/recipe.yaml").read_text()
    names_of_conda = {"msgspec": "msgspec-python"}
    for requirement in project["dependencies"]:
        name, least = requirement.split(">=")
        assert f'"py-{name}@{least}:"' in spack
        assert f"- {names_of_conda.get(name, name)} >={least}\n" in conda
