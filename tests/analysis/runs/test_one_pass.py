"""One pass over a file in blocks gives what arrays of the whole run give, detours included."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import LOCAL, run_values

from hindmost.analysis.fits import study
from hindmost.analysis.fits.study import FitOptions, fit_run
from hindmost.analysis.runs.figures import one_run
from hindmost.analysis.runs.figures.one_run import one_pass
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.show import heat_map as maps
from hindmost.errors import UsageError
from hindmost.harness.runfile import reader
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.harness.runfile.writer import write_whole

ITERATIONS, RANKS = 210, 3


@pytest.fixture
def run(tmp_path: Path, header: Header, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a run that is read in blocks of 16 iterations, and whose maps have few columns."""
    monkeypatch.setattr(reader, "BLOCK_BYTES", 16 * 8 * RANKS)
    monkeypatch.setattr(maps, "MAX_COLUMNS", 30)
    values = run_values(iterations=ITERATIONS, ranks=RANKS, restart=10, seed=1)
    return open_run(write_whole(tmp_path, header, values))


@pytest.mark.parametrize("place", [None, 3])
def test_blocks_give_what_the_whole_run_gives(run: Run, place: int | None) -> None:
    found = one_pass(run, place)
    bodies = np.arange(ITERATIONS) if place is None else np.flatnonzero(run.position == place)
    np.testing.assert_array_equal(found.bodies, bodies)
    for pooled, times in ((found.durations, run.durations), (found.work, run.work)):
        shown = times[bodies]
        width = 7 if place is None else 1
        expected = np.maximum.reduceat(shown, np.arange(0, len(shown), width), axis=0)
        np.testing.assert_array_equal(pooled, expected)
    phases = np.array([run.phase(name) for name in run.phases])
    np.testing.assert_allclose(found.phases_of_ranks, phases.sum(axis=1), rtol=1e-6)


def test_charts_of_every_time_of_a_large_run_name_those_that_show_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_run, "MAX_IN_MEMORY", 300)
    for make in (one_run.make_histogram, one_run.make_cycle):
        with pytest.raises(UsageError, match=r"more than 300 times .*--figure own-work"):
            make(run, FigureChoice())
    assert one_run.make_map(run, FigureChoice()).times.size


def test_a_map_of_a_single_cycle_shows_all_its_iterations(tmp_path: Path, header: Header) -> None:
    values = run_values(iterations=40, ranks=RANKS, restart=40, seed=1)
    duration, phases = np.array(values["duration"]), np.array(values["phase_duration"])
    duration[33, 1] += 2e-3
    phases[33, 1, LOCAL] += 2e-3
    values |= {"duration": duration, "phase_duration": phases}
    single = open_run(write_whole(tmp_path, replace(header, restart=40), values))
    shown = one_run.make_map(single, FigureChoice())
    assert shown.times.shape == (40, RANKS)
    assert shown.times.argmax() == 33 * RANKS + 1


def test_a_report_refuses_to_fit_a_large_run_unless_it_was_fitted(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = FitOptions(families=False, most_bodies=300)
    refused = fit_run(run, options)
    assert refused.models == ()
    assert "a report fits up to 300 iterations" in refused.refused["all models"]
    made = fit_run(run, FitOptions(families=False))
    assert made.models
    monkeypatch.setattr(study, "compute_fit", None)
    assert [model.name for model in fit_run(run, options).models] == [
        model.name for model in made.models
    ]
