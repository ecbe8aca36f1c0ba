"""What a history writes for other programs: OpenMetrics, webhooks, commits of a repository."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hindmost.analysis.history.commit_ranges import CommitRange, link_to, web_address
from hindmost.cli import main
from hindmost.errors import UsageError

NIGHTS, STEP = 40, 33
LINE = re.compile(
    r'(?:# (?:TYPE|HELP) hindmost_\w+ .+|# EOF|hindmost_\w+\{(?:\w+="(?:[^"\\]|\\.)*",?)*\} \S+)'
)


def git(folder: Path, *words: str) -> str:
    """Ask git in a repository of its own."""
    answer = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return answer.stdout.strip()


@pytest.fixture
def nights(tmp_path: Path) -> tuple[Path, Path, list[str]]:
    """Return a table with a step, and the repository of its commits."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    git(repository, "remote", "add", "origin", "git@github.com:albany/fast.git")
    commits = []
    for number in range(NIGHTS):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"Change {number} <b> & more")
        commits.append(git(repository, "rev-parse", "HEAD"))
    noise = np.random.default_rng(2).lognormal(0.0, 0.01, NIGHTS)
    rows = [
        f"2026-{10 + night // 31}-{night % 31 + 1:02},{commits[night]},"
        f'"a ""quoted"" case",{noise[night] * (1.3 if night >= STEP else 1.0):.5f}'
        for night in range(NIGHTS)
    ]
    table = tmp_path / "nights.csv"
    table.write_text("\n".join(["date,commit,case,solve [s]", *rows]) + "\n")
    return table, repository, commits


def test_metrics(nights: tuple[Path, Path, list[str]], tmp_path: Path) -> None:
    path = tmp_path / "hindmost.prom"
    assert main(["history", str(nights[0]), "--metrics", str(path)]) == 1
    lines = path.read_text().splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert lines[-1] == "# EOF"
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    series = r'machine="",case="a \"quoted\" case",timer="solve"'
    assert values[f'hindmost_verdict{{{series},verdict="fail"}}'] == "1"
    assert float(values[f'hindmost_level{{{series},unit="s"}}']) == pytest.approx(1.3, rel=0.02)
    (ratio,) = [value for name, value in values.items() if "open_change_ratio" in name]
    assert float(ratio) == pytest.approx(1.3, rel=0.02)
    assert values['hindmost_status{verdict="fail"}'] == "1"
    assert values['hindmost_status{verdict="pass"}'] == "0"
    # A family stands together, after its type and meaning.
    families = [re.match(r"(?:# \w+ )?(hindmost_\w+)", line) for line in lines[:-1]]
    names = [found[1] for found in families if found]
    assert len(set(names)) == sum(a != b for a, b in zip(names, ["", *names], strict=False))


def test_a_webhook_has_the_news_once(nights: tuple[Path, Path, list[str]], tmp_path: Path) -> None:
    path, state = tmp_path / "slack.json", tmp_path / "state"
    words = ["history", str(nights[0]), "--state", str(state), "--webhook", str(path)]
    assert main(words) == 1
    message = json.loads(path.read_text())
    assert list(message) == ["text"]
    assert message["text"].startswith("hindmost: fail: 1 slowdown confirmed in 1 case")
    assert "-&gt;" in message["text"]
    assert main(words) == 1
    assert path.read_text() == ""


def test_commits_of_a_local_repository(
    nights: tuple[Path, Path, list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table, repository, commits = nights
    page = tmp_path / "page.html"
    assert main(["history", str(table), "--git", str(repository), "--report", str(page)]) == 1
    out = capsys.readouterr().out
    found = re.search(r"git bisect start (\w+) (\w+)", out)
    assert found is not None
    new, old = commits.index(found[1]), commits.index(found[2])
    assert old < STEP <= new
    listed = re.findall(r"Change (\d+) <b> & more", out)
    assert listed == [str(number) for number in range(new, old, -1)]
    link = f"https://github.com/albany/fast/compare/{commits[old]}...{commits[new]}"
    assert link in out
    assert f'href="{link}"' in page.read_text()
    assert "<b> & more" not in page.read_text()


def test_a_folder_without_a_repository(
    nights: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="no repository"):
        main(["history", str(nights[0]), "--git", str(empty)])


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("git@github.com:a/b.git", "https://github.com/a/b"),
        ("ssh://git@gitlab.org/a/b", "https://gitlab.org/a/b"),
        ("https://name:secret@host.org/a/b.git", "https://host.org/a/b"),
        ("http://host.org/a/", "https://host.org/a"),
        ("/home/me/b", ""),
        ("javascript:alert(1)", ""),
    ],
)
def test_addresses(remote: str, address: str) -> None:
    assert web_address(remote) == address


def test_links_of_several_repositories() -> None:
    ranges = [
        CommitRange(repository="A", old="unknown", new="abcdef1"),
        CommitRange(repository="B", old="abcdef1", new="abcdef2 with changes"),
    ]
    known = {"B": "https://gitlab.org/x/y"}
    assert link_to(ranges, known) == "https://gitlab.org/x/y/-/compare/abcdef1...abcdef2"
    assert link_to(ranges, {}, "https://github.com/a/b") == ""
    assert link_to([CommitRange(repository="", old="a" * 7, new="a" * 7)], {"": "https://c"}) == ""
