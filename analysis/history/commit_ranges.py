"""The commits between which a change lies: their range, a link to it, the list, a line to bisect.

A link needs the address of the repository, which a file names or a local repository knows as its
``origin``; the list needs the local repository.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.errors import UsageError
from hindmost.models.changepoint.changes import Finding
from hindmost.text import counted

MAX_LISTED = 10
"""Commits of a list."""
_COMMIT = re.compile(r"([0-9a-f]{6,64})(?: with changes)?", re.IGNORECASE)
_SSH = re.compile(r"(?:ssh://)?[^@/\s]+@([^:/\s]+)[:/](.+)")
_WEB = re.compile(r"https?://(?:[^@/\s]+@)?([^\s]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRange:
    """The commits of one repository between the old and the new level.

    Attributes
    ----------
    repository : str
        Empty if the file does not name it.
    old, new : str
        As the file has them: that of the last observation which certainly has the old level, and
        of the first which certainly has the new one; ``unknown`` if it says none.
    """

    repository: str
    old: str
    new: str

    def __str__(self) -> str:
        """Write it: ``Albany abc..def``."""
        text = self.old if self.old == self.new else f"{self.old}..{self.new}"
        return f"{self.repository} {text}".strip()

    @property
    def ends(self) -> tuple[str, str] | None:
        """The two commits as git takes them; None if one is unknown or they are the same."""
        old, new = (_COMMIT.fullmatch(text) for text in (self.old, self.new))
        return (old[1], new[1]) if old and new and old[1] != new[1] else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalGit:
    """A local repository.

    Attributes
    ----------
    folder : Path
    """

    folder: Path

    @classmethod
    def opened(cls, folder: Path) -> LocalGit:
        """Return the repository in a folder.

        Raises
        ------
        UsageError
            It has none, or git is missing.
        """
        local = cls(folder=folder)
        if local.ask("rev-parse", "--git-dir") is None:
            raise UsageError(
                f"--git {folder}: no repository, or no git on this machine; name a clone."
            )
        return local

    def ask(self, *question: str) -> str | None:
        """Return git's output; None if it fails."""
        try:
            answer = subprocess.run(
                ["git", "-C", str(self.folder), *question],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=20.0,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return answer.stdout.strip() if answer.returncode == 0 else None

    def lines(self, ends: tuple[str, str]) -> list[str]:
        """Return the list of the commits between two, and how to bisect them."""
        old, new = ends
        found = self.ask("log", "--format=%h %s", f"-n{MAX_LISTED + 1}", f"{old}..{new}", "--")
        if found is None:
            return [f"{self.folder} does not have the commits {old}..{new}: fetch them"]
        commits = found.splitlines()
        if not commits:
            return []
        more = ["and older ones"] if len(commits) > MAX_LISTED else []
        number = counted(len(commits), "commit") if not more else f"more than {MAX_LISTED} commits"
        return [
            f"{number}, the newest first: {'; '.join([*commits[:MAX_LISTED], *more])}",
            f"git bisect start {new} {old}",
        ]


def ranges_of(judged: JudgedSeries, change: Finding) -> list[CommitRange]:
    """Return the ranges of commits in which a change may have begun, by repository."""
    first, last = change.interval
    parts = judged.series.commit_parts
    before, after = parts[max(first - 1, 0)], parts[last]
    return [
        CommitRange(
            repository=name, old=before.get(name, "unknown"), new=after.get(name, "unknown")
        )
        for name in sorted({*before, *after})
    ]


def range_words(ranges: list[CommitRange]) -> str:
    """Write ranges of commits in full; empty without any."""
    text = ", ".join(map(str, ranges))
    if ranges and all(each.old == each.new for each in ranges):
        return f"the same commits before and after ({text})"
    return text


def web_address(remote: str) -> str:
    """Return the address of a repository's page, of what git calls its remote; empty if unknown.

    Names and passwords in it are left out.

    Examples
    --------
    >>> web_address("git@github.com:albany/fast.git")
    'https://github.com/albany/fast'
    """
    match = _SSH.fullmatch(remote.strip())
    if match is not None:
        remote = f"https://{match[1]}/{match[2]}"
    web = _WEB.fullmatch(remote.strip())
    return "" if web is None else f"https://{web[1].rstrip('/').removesuffix('.git')}"


def link_to(ranges: list[CommitRange], addresses: Mapping[str, str], local: str = "") -> str:
    """Return the address of a page that compares the commits of a range; empty if unknown.

    Of several repositories that of the first whose commits differ and whose address is known.

    Parameters
    ----------
    addresses : mapping
        Repository to the address of its page.
    local : str
        The address that a local repository knows, for a range without a name.
    """
    for each in ranges:
        address = web_address(addresses.get(each.repository, "" if each.repository else local))
        if address and each.ends is not None:
            old, new = each.ends
            middle = "/-/compare" if "gitlab" in address.partition("/")[2] else "/compare"
            return f"{address}{middle}/{old}...{new}"
    return ""
