"""Tag a version: all that names it agrees, and nothing is left uncommitted."""

from __future__ import annotations

import re
import subprocess
import tomllib

from choice import SetupError
from environment import ROOT
from progress import say


def tag() -> None:
    """Make an annotated git tag of the version in pyproject.toml.

    Raises
    ------
    SetupError
        Files are not committed, the changelog has no date for the version, or the tag exists.
    """
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if changed := git("status", "--porcelain"):
        raise SetupError(f"Commit or remove these first:\n{changed}")
    entry = re.search(
        rf"^## {re.escape(version)}, (\d{{4}}-\d\d-\d\d)\n(.*?)(?=^## |\Z)",
        (ROOT / "CHANGELOG.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    if entry is None:
        raise SetupError(
            f"CHANGELOG.md has no section '## {version}, YYYY-MM-DD'. Give the version its date, "
            "or name the next one in pyproject.toml; tests/test_release.py says what else names it."
        )
    if git("tag", "--list", f"v{version}"):
        raise SetupError(f"The tag v{version} exists. Name the next version in pyproject.toml.")
    message = f"hindmost {version}\n\n{entry[2].strip()}\n"
    git("tag", "--annotate", "--cleanup=verbatim", f"v{version}", "--message", message)
    say(f"tagged v{version}; publish it with: git push origin v{version}")


def git(*words: str) -> str:
    """Run git in the project; return what it prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
