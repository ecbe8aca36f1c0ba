"""Studies that come with hindmost, and the examples: each is read and planned on two cores."""

from __future__ import annotations

import re
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import pytest
from tests.conftest import ROOT

from hindmost.analysis.whatif.options import changes_of
from hindmost.cli import VERBS
from hindmost.documents import parse_document
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.recorder.injection import read_law
from hindmost.harness.solves.experiment import KrylovExperiment
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Plan
from hindmost.jobs.plan.make import make_plan
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.study.read import example, read_study, shipped_studies, study_of
from hindmost.jobs.verbs.plan import warnings

SHIPPED = {
    "adaptive-decks", "gmres-noise", "ice-flow-noise", "noise-sweep", "solvers", "static-scaling",
    "strong-scaling",
}  # fmt: skip
EXAMPLE = str(ROOT / "examples/scaling/collectives.toml")


def on_two_cores(name: str, tmp_path: Path) -> Plan:
    study = read_study(name, profiles=tmp_path / "none", replacements=["ranks=1,2"])
    local = replace(study.machines["local"], cores_per_node=2)
    return make_plan(replace(study, machines={"local": local}), "local")


def test_all_are_there() -> None:
    assert set(shipped_studies()) == SHIPPED


@pytest.mark.parametrize("name", [*sorted(SHIPPED), EXAMPLE])
def test_a_study_plans_on_two_cores(name: str, tmp_path: Path) -> None:
    plan = on_two_cores(name, tmp_path)
    assert plan.study == Path(name).stem
    assert {run.ranks for run in plan.runs} == {1, 2}
    assert {run.nodes for run in plan.runs} == {1}
    assert warnings(plan) == []
    assert all(any("{out}" in word for word in run.command) for run in plan.runs)


@pytest.mark.parametrize("name", [*sorted(SHIPPED), EXAMPLE])
def test_a_study_plans_as_it_is_on_a_cluster(name: str, tmp_path: Path) -> None:
    profiles = tmp_path / "machines.toml"
    profiles.write_text("[machine.site]\nscheduler = 'slurm'\ncores_per_node = 64\n")
    plan = make_plan(read_study(name, profiles=profiles))
    assert plan.machine.name == "site"
    assert max(run.nodes for run in plan.runs) == -(-max(run.ranks for run in plan.runs) // 64)
    assert warnings(plan) == []


@pytest.mark.parametrize("name", [*sorted(SHIPPED), EXAMPLE])
def test_the_line_of_post_processing_is_a_shell_s_and_names_verbs(
    name: str, tmp_path: Path
) -> None:
    line = on_two_cores(name, tmp_path).collect
    assert "{runs}" in line
    subprocess.run(["sh", "-n", "-c", line.replace("{runs}", "runs")], check=True)
    assert set(re.findall(r"\bhindmost (\w+)", line)) <= set(VERBS)


@pytest.mark.parametrize(
    "name", ["gmres-noise", "ice-flow-noise", "solvers", "static-scaling", "strong-scaling"]
)
def test_runs_of_krylov_solvers_can_be_done(name: str, tmp_path: Path) -> None:
    for run in on_two_cores(name, tmp_path).runs:
        given = dict(zip(run.command[3::2], run.command[4::2], strict=True))
        KrylovExperiment(
            workload=run.command[2],
            solvers=(given["--solver"],),
            system=SystemRequest(unknowns=int(given["--unknowns"])),
            iterations=int(given["--iterations"]),
            repeats=1,
            warmup=1,
            seed=0,
        ).check()


def test_a_sweep_of_noise_has_laws_that_can_be_injected_and_predicted(tmp_path: Path) -> None:
    plan = on_two_cores("noise-sweep", tmp_path)
    laws = {str(run.configuration["inject"]) for run in plan.runs} - {"none"}
    for law in laws:
        assert str(read_law(law)) == law
        assert changes_of(noise=law)[0].change.detours is not None
    seeds = {run.command[run.command.index("--seed") + 1] for run in plan.runs}
    assert len(seeds) == 5


def test_the_whole_example_has_every_scheduler() -> None:
    study = study_of(parse_document(example(), "example.toml"))
    assert make_plan(study).machine.name == "local"  # as it is, without a word more
    assert {machine.scheduler for machine in study.machines.values()} == set(SCHEDULERS.names)
    for name in study.machines:
        plan = make_plan(study, name)
        assert (plan.machine.name, len(plan.runs)) == (name, 5 * 2 * 2 * 3)


def test_the_example_names_every_key() -> None:
    words = set(re.findall(r"^(\w+) =|(?<=\[)(\w+)\]", example(), re.MULTILINE))
    named = {word for pair in words for word in pair if word}
    keys = {field.name for field in fields(MachineProfile)} - {"name", "launch_template"}
    assert keys <= named
    assert {"study", "run", "sweep", "pack", "limits", "collect"} <= named


@pytest.mark.parametrize("name", ["static-scaling", "strong-scaling", EXAMPLE])
def test_a_study_has_the_points_that_a_model_needs(name: str, tmp_path: Path) -> None:
    study = read_study(name, profiles=tmp_path / "none")
    swept = {axis.names[0]: axis.settings for axis in study.sweep}
    assert max(map(len, swept.values())) >= 5
    assert len(swept["unknowns" if name == "static-scaling" else "ranks"]) >= 5
