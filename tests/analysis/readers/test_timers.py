"""The hierarchy of timers, and the names of commits and machines."""

from __future__ import annotations

import pytest

from hindmost.analysis.readers.commits import commits_in, commits_text, repository_in
from hindmost.analysis.readers.path_names import machine_in
from hindmost.analysis.readers.timers import find_parents, unfold


def test_names_of_the_published_page() -> None:
    # Levels of the report's figure A.3.
    names = {
        "Total Time": 0,
        "Setup Time": 1,
        "Total Fill Time": 1,
        "Residual Fill": 2,
        "Residual Fill Evaluate": 3,
        "Residual Fill Export": 3,
        "Jacobian Fill": 2,
        "Jacobian Fill Evaluate": 3,
        "Jacobian Fill Export": 3,
        "NOX Total Preconditioner Construction": 1,
        "NOX Total Linear Solve": 1,
    }
    parents = find_parents(names, {})
    for name, level in names.items():
        depth, above = 0, name
        while above in parents:
            depth, above = depth + 1, parents[above]
        assert (depth, above) == (level, "Total Time")


def test_a_missing_parent_is_skipped() -> None:
    names = ["Albany Total Time:", "Albany Residual Fill: Export:"]
    assert find_parents(names, {}) == {names[1]: names[0]}
    assert find_parents(names[1:], {}) == {}


def test_paths_and_prefixes() -> None:
    names = ["a", "a->b->c", "a/b", "solve: halo", "solve", "x::y", "bytes/s", "a b"]
    assert find_parents(names, {}) == {"a->b->c": "a", "a/b": "a", "solve: halo": "solve"}


def test_what_a_reader_says_comes_first() -> None:
    told = {"halo": "solve", "wait": "solve"}
    assert find_parents(["halo", "solve"], told) == {"halo": "solve"}
    assert find_parents(["halo"], told) == {}


def test_indentation() -> None:
    assert unfold(["a", " b", "  c", " d", "e", "  f", " g"]) == [
        *("a", "a->b", "a->b->c", "a->d", "e", "e->f", "e->g"),
    ]


@pytest.mark.parametrize(
    ("key", "repository"),
    [
        ("Albany git commit id", "Albany"),
        ("Trilinos commit", "Trilinos"),
        ("git_commit", ""),
        ("commit", ""),
        ("commit_hash", ""),
        ("GIT_SHA1", ""),
        ("petsc-revision", "petsc"),
        ("Albany cxx compiler", None),
        ("committer", None),
        ("time", None),
    ],
)
def test_whose_commit_a_key_holds(key: str, repository: str | None) -> None:
    assert repository_in(key) == repository


def test_commits_for_a_person() -> None:
    parts = commits_in({"commit": "f" * 40, "Trilinos commit": " 5e36d3d ", "x commit": "unknown"})
    assert parts == {"": "f" * 40, "Trilinos": "5e36d3d"}
    assert commits_text(parts) == "ffffffffffff, Trilinos 5e36d3d"
    assert commits_in({"commit": None, "a commit": True, "revision": 4711}) == {"": "4711"}


@pytest.mark.parametrize(
    ("folder", "machine"),
    [
        ("blake_nightly_data", "blake"),
        ("waterman-results-2021", "waterman"),
        ("my machine runs", "my machine"),
        ("blake", ""),
        ("results", ""),
        ("", ""),
    ],
)
def test_machines_in_names_of_folders(folder: str, machine: str) -> None:
    assert machine_in(folder) == machine
