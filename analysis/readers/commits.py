"""The measured software: repositories and their commits, by the names that files use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_KEY = re.compile(
    r"(.*?)[\s_-]*(?:git[\s_-]*)?(?:commit|revision|sha1?|changeset)(?:[\s_-]*(?:id|hash|sha1?))?",
    re.IGNORECASE,
)
_FULL = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.IGNORECASE)

UNKNOWN = ("", "unversioned", "unknown", "none", "null", "n/a", "-")
"""Texts that files write for an unknown commit."""

SHORT = 12
"""Digits of a commit for a person."""


@lru_cache(maxsize=4096)
def repository_in(key: str) -> str | None:
    """Return which repository the commit in a key or column belongs to.

    ``Albany git commit id`` is of Albany, ``commit`` and ``git_commit`` of a repository without a
    name (an empty text), and ``compiler`` of none (None).
    """
    match = _KEY.fullmatch(key.strip())
    return None if match is None else match[1]


def commits_in(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return repository to commit, of all keys with a known one."""
    commits: dict[str, str] = {}
    for key, value in fields.items():
        repository = repository_in(key)
        if repository is None or isinstance(value, bool) or not isinstance(value, str | int):
            continue
        commit = str(value).strip()
        if commit.lower() not in UNKNOWN:
            commits[repository] = commit
    return commits


def short_commit(text: str) -> str:
    """Shorten the full hashes in a text, as ``a1b2c3d4e5f6 with changes``; versions stay."""
    return _FULL.sub(lambda found: found[0][:SHORT], text)


def commits_text(parts: Mapping[str, str]) -> str:
    """Write commits for a person: ``Albany abc123, Trilinos def456``."""
    return ", ".join(
        f"{repository} {short_commit(commit)}".strip() for repository, commit in parts.items()
    )
