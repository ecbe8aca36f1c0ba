"""Solves to a tolerance, and solves that did not do what they were asked, in every table."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.analysis.fits.study import FittedGroup, FittedRun, models_table
from hindmost.analysis.readers.formats.run_experiment import measure
from hindmost.analysis.readers.read import read_history
from hindmost.analysis.report.comparison import NOT_COMPARED, comparable, compare_solvers
from hindmost.analysis.report.run_figures import figure_named
from hindmost.analysis.runs.check import check_group
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.runs.summary import summarise_run
from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.records import to_document
from hindmost.text import seconds

Write = Callable[..., Run]
REACHED = Ending(
    asked=400, done=40, reason="CONVERGED_RTOL", rtol=1e-8, norm="natural", true_residual=2e-7
)
NOT_REACHED = replace(REACHED, reason="DIVERGED_BREAKDOWN")
STOPPED = Ending(asked=400, done=40, reason="CONVERGED_ATOL")
SHORT = {"not reached": NOT_REACHED, "stopped": STOPPED}


def text_of(run: Run) -> str:
    return "\n".join(summarise_run(run).lines())


def without_models(runs: Iterable[Run]) -> list[FittedGroup]:
    """Return groups as they are compared, to which nothing was fitted."""
    return [
        FittedGroup(
            group=group,
            runs=tuple(
                FittedRun(run=run, models=(), refused={}, laws=(), tests=()) for run in group.runs
            ),
        )
        for group in group_runs(runs)
    ]


@pytest.fixture
def write(tmp_path: Path, header: Header) -> Write:
    """Return what writes a run whose solve ended in some way."""

    def made(ending: Ending, *, solver: str = "cg", seed: int = 1, **more: Any) -> Run:
        values = run_values(iterations=ending.done, ranks=3, restart=ending.done, seed=seed)
        spec = {**header.spec, "ending": to_document(ending)}
        said = replace(header, solver=solver, iterations=ending.done, restart=0, spec=spec)
        return open_run(write_whole(tmp_path, said, {**values, **more.pop("values", {})}, **more))

    return made


def test_time_to_tolerance_has_iterations_and_time_an_iteration(write: Write) -> None:
    run = write(REACHED)
    text = text_of(run)
    assert f"to rtol 1e-08  {seconds(run.solve_time_s)} for 40 iterations" in text
    assert f"{seconds(run.solve_time_s / 40)} each" in text
    assert "true residual 2.0e-07" in text
    assert to_document(summarise_run(run))["ending"]["reason"] == "CONVERGED_RTOL"
    assert measure(run, "time-to-tolerance") == run.solve_time_s
    (group,) = group_runs([run])
    assert "3 ranks, to rtol 1e-08" in group.title
    assert group.time_name == "time to tolerance"


@pytest.mark.parametrize("name", SHORT)
def test_what_was_not_done_is_said_and_is_no_time_to_tolerance(write: Write, name: str) -> None:
    run = write(SHORT[name])
    text = text_of(run)
    assert f"FELL SHORT  {SHORT[name].shortfall}" in text
    assert "to rtol" not in text.split("FELL SHORT")[0]
    (group,) = group_runs([run])
    assert group.time_name == "solve time"
    (fitted,) = without_models([run])
    title = str(models_table(fitted).title)
    assert "solve time" in title
    assert SHORT[name].shortfall in title
    assert "time to tolerance" not in title
    codes = {finding.code: finding.severity for finding in check_group(group)}
    expected = "tolerance-not-reached" if name == "not reached" else "stopped-early"
    assert codes[expected] == "error"
    with pytest.raises(DataError, match="no time to tolerance"):
        measure(run, "time-to-tolerance")


def test_solvers_are_compared_by_time_to_tolerance(write: Write) -> None:
    for seed in (1, 2, 3):
        write(REACHED, solver="cg", seed=seed)
        run = write(replace(REACHED, done=60), solver="pipecg", seed=seed)
    runs = [open_run(path) for path in sorted(run.path.parent.glob("*.h5"))]
    (members,) = comparable(without_models(runs))
    one, other = compare_solvers(members)
    assert [solver.done for solver in (one, other)] == [[40] * 3, [60] * 3]
    assert other.ratio == pytest.approx(other.median_s / one.median_s)
    assert other.verdict == "slower in every repeat"
    assert one.true_residual == 2e-7


@pytest.mark.parametrize("name", SHORT)
def test_a_solver_that_fell_short_is_not_compared(write: Write, name: str) -> None:
    whole = REACHED if name == "not reached" else replace(STOPPED, done=400, reason="CONVERGED_ITS")
    runs = [write(whole), write(SHORT[name], solver="pipecg")]
    (members,) = comparable(without_models(runs))
    _, other = compare_solvers(members)
    assert other.ratio is None
    assert (other.verdict, other.shortfall) == (NOT_COMPARED, SHORT[name].shortfall)


def test_the_history_knows_a_solve_that_fell_short_as_failed(write: Write) -> None:
    write(REACHED)
    folder = write(NOT_REACHED).path.parent
    history = read_history(folder)
    assert [run.reason for run in history.failures] == [NOT_REACHED.shortfall]


def test_nothing_to_compare_says_what_failed(write: Write) -> None:
    whole, short = write(REACHED), write(NOT_REACHED, solver="pipecg")
    reason = re.escape(f"1 run of B failed: {NOT_REACHED.shortfall}.")
    with pytest.raises(DataError, match=reason):
        main(["compare", str(whole.path), str(short.path)])


def test_generic_bodies_are_said_to_be_so(write: Write) -> None:
    run = write(replace(REACHED, generic="no pattern is known for lgmres"))
    assert "from one monitor call to the next: no pattern is known for lgmres" in text_of(run)
    (group,) = group_runs([run])
    assert "generic-bodies" in {finding.code for finding in check_group(group)}


def test_a_solution_that_is_not_finite_is_an_error(write: Write) -> None:
    run = write(replace(STOPPED, done=400, reason="CONVERGED_ITS", flaw="its residual is NaN"))
    assert "NOT SOLVED  its residual is NaN" in text_of(run)
    (group,) = group_runs([run])
    found = {finding.code: finding.severity for finding in check_group(group)}
    assert found["not-finite"] == "error"


ACTIVITIES = ("MatMult", "PCApply", "other")


def test_activities_are_shown_and_drawn(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spent = np.ones((40, 3, 3)) * [3e-6, 0.0, 1e-6]
    run = write(REACHED, activities=ACTIVITIES, values={"activity_duration": spent})
    assert "local work  MatMult 75.0 %, PCApply 0.0 %, other 25.0 %" in text_of(run)
    np.testing.assert_allclose(run.activity("MatMult"), 3e-6, rtol=1e-6)
    with pytest.raises(DataError, match="choose MatMult, PCApply or other"):
        run.activity("MatSolve")
    out = tmp_path / "figures"
    assert main(["plot", str(run.path), "--figure", "activities", "--csv", "--out", str(out)]) == 0
    shares = next(out.glob("*activities*.csv")).read_text()
    assert "MatMult" in shares
    assert "PCApply" not in shares
    assert len(capsys.readouterr().out.split()) >= 2


def test_without_activities_the_figure_says_how_to_get_them(write: Write) -> None:
    with pytest.raises(UsageError, match="hindmost run --activities"):
        figure_named("activities").make(write(REACHED), FigureChoice())
