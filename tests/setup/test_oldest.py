"""What `make test-oldest` installs is what pyproject.toml allows at least."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
NUMBERS = re.compile(r"[\d.]+")


def padded(version: str) -> tuple[int, ...]:
    """Return the numbers of a version; 1.26 is 1.26.0."""
    return (*map(int, version.split(".")), 0, 0)[:3]


def test_the_oldest_versions_are_those_that_are_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = [each.split(";")[0] for each in project["dependencies"]]
    lines = (ROOT / "setup/constraints/oldest.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    least = {each.split(">=")[0]: each.split(">=")[1] for each in allowed}
    assert {name: padded(pinned[name]) for name in least} == {
        name: padded(NUMBERS.match(text)[0])  # type: ignore[index]
        for name, text in least.items()
    }
