"""The efficiencies of solves on real ranks: identities, and no run faster than the ideal one."""

from pathlib import Path

import numpy as np
import pytest
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

import hindmost
from hindmost.analysis.runs.efficiency.of_run import efficiencies_of
from hindmost.analysis.whatif.study import program_of
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.rerun import what_if

pytestmark = pytest.mark.mpi

SOLVERS = ("gmres", "pgmres", "pipebcgs")
ROUNDING_S = 1e-6
"""Of single precision, in all work of a stretch."""


def commands(folder: Path) -> Commands:
    """Return the solves by all solvers here, for a folder."""
    words = [word for solver in SOLVERS for word in ("--solver", solver)]
    size = ("--unknowns", "4000", "--iterations", "90", "--warmup", "0")
    return {"runs": ("run", "laplacian-1d", *size, *words, "--out", folder)}


@pytest.fixture(scope="module")
def recorded(launched: Launched) -> dict[str, Run]:
    done = launched[1]["runs"]
    assert done.returncode == 0, done.stderr
    runs = [hindmost.open(path) for path in done.stdout.split()]
    return {run.header.solver: run for run in runs}


def assert_identities_hold(here: Efficiencies, clocks_s: float) -> None:
    assert here.serialisation is not None
    assert here.transfer is not None
    assert here.ideal_s is not None
    product = here.load_balance * here.serialisation * here.transfer
    assert product == pytest.approx(here.parallel, rel=1e-12)
    assert sum(here.lost_s.values()) + here.mean_local_s == pytest.approx(
        here.run_time_s, rel=1e-12
    )
    assert 0.0 < here.mean_local_s <= here.max_local_s <= here.ideal_s * (1 + 1e-12)
    assert here.ideal_s <= here.run_time_s + clocks_s


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_run_is_faster_than_on_an_ideal_network(recorded: dict[str, Run], solver: str) -> None:
    run = recorded[solver]
    of = efficiencies_of(run, windows=5)
    uncertainty_s = 2.0 * float(run.variable("clock_uncertainty").max())
    clocks_s = (run.restarts + 1) * (uncertainty_s + ROUNDING_S)
    # Every cycle is measured from the first rank's begin to the last one's end.
    assert_identities_hold(of.whole, clocks_s)
    for window in of.windows:
        assert_identities_hold(window.efficiencies, clocks_s)
    assert sum(window.last - window.first for window in of.windows) == run.bodies
    assert of.whole.run_time_s <= run.solve_time_s + clocks_s


@pytest.mark.parametrize("solver", SOLVERS)
def test_work_between_events_is_what_the_phases_call_local(
    recorded: dict[str, Run], solver: str
) -> None:
    # Two ways of counting: what lies between events, and what is in no phase of MPI.
    run = recorded[solver]
    local = run.phase("local").sum(axis=0)
    of = efficiencies_of(run, windows=5).whole
    assert of.max_local_s == pytest.approx(local.max(), rel=0.02)
    assert of.mean_local_s == pytest.approx(np.mean(local), rel=0.02)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_replay_ends_when_the_last_rank_did(recorded: dict[str, Run], solver: str) -> None:
    run = recorded[solver]
    ends = run.starts[-1] + run.durations[-1] + run.lead_out
    found = what_if(program_of(run), Change())
    # Times of events are kept in single precision.
    rounding_s = ROUNDING_S * (run.restarts + 1)
    assert found.predicted_s == pytest.approx(float(ends.max()), rel=1e-5, abs=rounding_s)
    assert found.low_s == pytest.approx(found.predicted_s, rel=1e-9)
    slower = what_if(program_of(run), Change(every_speed=0.5))
    assert found.predicted_s < slower.predicted_s < 2.0 * found.predicted_s
