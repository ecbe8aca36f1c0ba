"""The tables of the study of Krylov solvers: the paper's numbers beside those of this machine."""

from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from benchmarks.krylov_bands import banded_histograms
from benchmarks.krylov_figures import Study, figure_parts
from benchmarks.krylov_paper import ICE, LAPLACIAN, SOLVE_S, TABLE_1, TABLE_3, TABLE_4
from benchmarks.krylov_study import MEMBERS, words_of
from benchmarks.krylov_tables import (
    UNIFORM,
    Estimate,
    by_case,
    difference_1,
    table_1,
    table_2,
    table_3,
    table_4,
)
from tests.conftest import run_values

from hindmost.analysis.fits.study import FitOptions, fit_groups
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.show.page import Paragraph, Subheading
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.jobs.plan.make import make_plan
from hindmost.jobs.study.read import read_study


def test_the_papers_errors_are_those_that_are_known_of_it() -> None:
    errors = [100 * (TABLE_1[case][UNIFORM] / SOLVE_S[case] - 1) for case in TABLE_1]
    assert errors == pytest.approx([9.7, -7.4, 8.4, -7.6], abs=0.05)
    others = [100 * (model / solve - 1) for _, _, solve, model in TABLE_4]
    assert others == pytest.approx([6.8, -0.5, 16.9, -6.4, 5.4, -12.4], abs=0.05)
    assert list(TABLE_3.values()) == [2.416, 1.908, 3.14, 2.482]


@pytest.fixture
def study(tmp_path: Path, header: Header) -> Study:
    """Return a study of two repeats of GMRES on the first workload."""
    for repeat in range(2):
        values = run_values(iterations=240, ranks=3, restart=30, seed=repeat)
        spec = {**header.spec, "repeat": repeat}
        write_whole(tmp_path, replace(header, iterations=240, restart=30, spec=spec), values)
    fitted = fit_groups(group_runs(find_runs([tmp_path])), FitOptions(families=False))
    return Study(groups=by_case(fitted), strong=fitted, static=())


def test_this_machine_stands_beside_the_paper(study: Study) -> None:
    first, *models = table_1(study.groups).rows[:7]
    assert first[:2] == ("ex23 gmres", "KSPSolve")
    assert first[4] == "2.22 s"
    uniform = {row[1]: row for row in models}["Ê, uniform"]
    assert uniform[4:] == ("2.43 s", "+9.7 %")
    assert uniform[3].endswith(")")  # the interval
    assert [row[2] for row in table_1(study.groups).rows if row[0] == "ex48 gmres"] == ["-"]
    assert "off by" in difference_1(study.groups, 3)
    assert len(table_2(study.groups).rows) == 10
    assert len(table_3(study.groups).rows) == 8
    assert len(table_4(study.groups).rows) == 12


def test_figures_are_drawn_or_say_what_is_missing(study: Study) -> None:
    parts = figure_parts(study, count(1))
    assert sum(isinstance(part, Subheading) for part in parts) == 11
    missing = [part for part in parts if isinstance(part, Paragraph) and "are missing" in part.text]
    assert len(missing) == 5  # those of ex48, and static scaling


def test_bands_hold_the_density() -> None:
    random = np.random.default_rng(0)
    blocks = [random.normal(50e-6, 2e-6, 100) for _ in range(40)]
    drawn = banded_histograms({"a": blocks}, title="x")
    band, line = drawn.series
    assert band.base is not None
    inside = (band.base[::2] <= line.y) & (line.y <= band.y[::2])
    assert inside.mean() > 0.9
    wide = band.y[::2] - band.base[::2]
    assert 0.0 < wide.max() < 0.5 * line.y.max()


def test_an_interval_is_that_of_the_repeats() -> None:
    found = Estimate.of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert 1.0 <= found.low < found.value == 3.0 < found.high <= 5.0
    assert Estimate.of([2.0]).percent == "+2.0 %"


@pytest.mark.parametrize("member", MEMBERS, ids=lambda each: each.name)
@pytest.mark.parametrize("quick", [False, True])
def test_studies_can_be_planned_here_and_on_a_cluster(
    member: object, quick: bool, tmp_path: Path
) -> None:
    assert member in MEMBERS
    (chosen,) = [each for each in MEMBERS if each is member]
    profiles = tmp_path / "machines.toml"
    profiles.write_text("[machine.site]\nscheduler = 'slurm'\ncores_per_node = 64\n")
    for machine, most in (("local", 2), ("site", 8192)):
        study, _, _, *sets = words_of(chosen, machine, 2, quick=quick)
        plan = make_plan(read_study(study, profiles=profiles, replacements=sets[1::2]), machine)
        assert max(run.ranks for run in plan.runs) == most
    assert {LAPLACIAN, ICE} >= {str(run.configuration["problem"]) for run in plan.runs}
