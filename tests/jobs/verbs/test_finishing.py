"""Collected folders of studies that come along: verbs take them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import run_values

from hindmost.cli import main
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.jobs.core.plan import PlannedRun
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Cause, RunOutcome, write_outcome
from hindmost.jobs.plan.make import make_plan
from hindmost.jobs.study.read import read_study

OVER_UNKNOWNS = ("ranks=2", "solver=gmres", "unknowns=1e3,2e3,4e3,8e3,16e3")


def done(name: str, folder: Path, header: Header, *replacements: str) -> StudyFolder:
    """Return a study that comes along as if its runs had been done: of synthetic run files."""
    study = read_study(name, profiles=folder / "none", replacements=[*replacements, "repeats=2"])
    plan = make_plan(study, "local")
    found = StudyFolder.create(folder / name, plan, b"")
    for run in plan.runs:
        write_run(found, run, header)
    return found


def write_run(study: StudyFolder, run: PlannedRun, header: Header) -> None:
    home, given = study.run(run.id), run.configuration
    home.mkdir()
    own = replace(
        header,
        solver=str(given["solver"]),
        ranks=run.ranks,
        spec={"unknowns": given["unknowns"], "repeat": run.block},
    )
    values = run_values(iterations=40, ranks=run.ranks, restart=10, seed=run.block)
    path = write_whole(home, own, values)
    outcome = RunOutcome(
        run=run.id, cause=Cause.DONE, status=0, attempt=1, seconds=1.0, allocation=run.allocation,
        job="1", nodes=("here",), files=(path.name,), message="",
    )  # fmt: skip
    write_outcome(home, outcome)


def test_every_verb_passes_the_table_over(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(done("static-scaling", tmp_path, header, *OVER_UNKNOWNS).path)
    assert main(["study", "collect", folder]) == 0
    runs = f"{folder}/collected"
    ranks, efficiency = ["show", "--ranks"], ["show", "--efficiency"]
    for words in (["show"], ranks, efficiency, ["history"], ["compare", runs]):
        assert main([words[0], runs, *words[1:]]) == 0, words
    assert main(["scale", runs, "--parameter", "unknowns"]) == 0
    said = capsys.readouterr()
    assert "collected.json" not in said.err
    assert "(different format)" not in said.err + said.out


@pytest.mark.parametrize("name", ["static-scaling", "strong-scaling", "collectives"])
def test_a_study_has_the_points_that_a_model_needs(name: str, tmp_path: Path) -> None:
    study = read_study(name, profiles=tmp_path / "none")
    swept = {axis.names[0]: axis.settings for axis in study.sweep}
    assert max(map(len, swept.values())) >= 5
    assert len(swept["unknowns" if name == "static-scaling" else "ranks"]) >= 5
