"""The study of a program of one's own, strong and weak, as the page on studies has it."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.conftest import BIN, ROOT

import hindmost
from hindmost.analysis.runs.over_ranks import series_over_ranks
from hindmost.analysis.runs.read import find_runs

PAGE = (ROOT / "docs/studies.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def headline(page: Path) -> str:
    (found,) = re.findall(r'<h1 class="headline">(.*?)</h1>', page.read_text(), re.DOTALL)
    return str(found).replace("\xa0", " ")


@pytest.mark.slow
@pytest.mark.mpi
def test_the_study_of_a_program_of_ones_own_answers_how_it_scales(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}

    def run(block: str) -> str:
        return subprocess.run(
            ["bash", "-ec", block], env=environment, check=True, timeout=600, cwd=tmp_path,
            stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip

    strong, weak = blocks("toml")
    for name, study in (("strong", strong), ("weak", weak)):
        here = study.replace("/home/me", str(tmp_path)).replace("repeats = 3", "repeats = 1")
        (tmp_path / f"{name}.toml").write_text(here)
    by_hand, of_study = blocks("bash")
    said = run(by_hand)
    (first,) = series_over_ranks(find_runs([tmp_path / "runs"]))
    assert (first.kind, [run.header.ranks for run in first.runs]) == ("strong", [1, 2, 4])
    shown = re.findall(r"^rod on \d+ ranks .* of 1 rank|^rod on \d+ ranks .* on 1 rank", said, re.M)
    assert len(shown) == 1  # the first line of show
    assert headline(tmp_path / "runs/report.html").startswith("rod on ")
    for line in of_study.splitlines():
        if line.startswith("hindmost study submit"):  # it waits for no run
            run(f"{line}; while hindmost study status rod-{line.split()[-1][:-5]} --json"
                " > status.json; [ $? -eq 75 ]; do sleep 0.2; done")  # fmt: skip
        else:
            said = run(line)
            if "study collect" in line:
                assert "next: hindmost report" in said
    for name, sizes in (("strong", {1: 400000, 2: 400000}), ("weak", {1: 200000, 2: 400000})):
        runs = find_runs([tmp_path / f"rod-{name}/collected"])
        (series,) = series_over_ranks(runs)
        assert series.kind == name
        assert len(runs) == 2
        for each in runs:
            command = hindmost.open(each.path).header.environment["command"]
            assert int(command[1]) == sizes[each.header.ranks]
        assert headline(tmp_path / f"{name}.html").startswith("rod on 2 ranks ")
