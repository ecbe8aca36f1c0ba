"""``hindmost plot``: the papers' figures, of runs, of nightly results and of experiments."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT, run_values

from hindmost import cli
from hindmost.analysis.history.figures import HISTORY_FIGURES
from hindmost.analysis.ranks.activity_profile import make_activity_profile
from hindmost.analysis.report.papers import PAPER_FIGURES, PAPERS, numbers_of
from hindmost.analysis.runs.figures.one_run import make_places, make_uniform
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.scaling.window_errors import SCALING_FIGURES
from hindmost.analysis.verbs.plot import FIGURES, NAMES
from hindmost.cli import main
from hindmost.errors import NotARunFileError, UsageError
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole

NIGHTS = 60
STEP = 30


@pytest.fixture
def nights(tmp_path: Path) -> Path:
    """Return a file of nightly results with a step and an outlier."""
    times = np.random.default_rng(3).normal(10.0, 0.2, NIGHTS)
    times[STEP:] += 2.0
    times[10] = 16.0
    days = np.datetime64("2026-01-01") + np.arange(NIGHTS)
    lines = [f"{day},ant,Total Time,{time:.4f}" for day, time in zip(days, times, strict=True)]
    file = tmp_path / "nightly.csv"
    file.write_text("\n".join(["date,case,timer,value", *lines]))
    return file


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_every_entry_of_the_papers_is_shown_or_says_why_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert {each.paper for each in PAPER_FIGURES} == set(PAPERS)
    for each in PAPER_FIGURES:
        assert bool(each.figures or each.command) != bool(each.why), each
        assert set(each.figures) <= set(NAMES)
        verb = re.split(r"[ ,:;]", each.command)[0]
        page = verb.startswith("docs/") and (ROOT / verb).is_file()
        assert not verb or page or verb in (*cli.VERBS, "make") or verb.startswith("--"), each
    assert main(["plot", "--papers"]) == 0
    printed = capsys.readouterr().out
    assert all(each.what in printed for each in PAPER_FIGURES)


def test_figures_are_listed_with_their_numbers_in_the_papers() -> None:
    assert numbers_of("overlay-fastest") == "Krylov 8-11"
    assert numbers_of("ranks") == "Krylov 1, 4"
    assert numbers_of("latency") == "Lee"
    assert not numbers_of("ecdf")
    assert "[Segments table 1]" in FIGURES


@pytest.fixture
def uneven(header: Header, values: dict[str, object], tmp_path: Path) -> Path:
    """Return a run whose ranks leave each body one after the other, the last one first."""
    earlier = 5e-7 * np.arange(3)
    shorter = {name: np.array(values[name]) for name in ("duration", "phase_duration")}
    shorter["duration"] -= earlier
    shorter["phase_duration"][:, :, PHASES.index("wait")] -= earlier
    shorter["event_duration"] = np.asarray(values["event_duration"]) - earlier[:, None]
    lead_out = np.asarray(values["lead_out"]) + 40 * earlier
    folder = tmp_path / "uneven"
    folder.mkdir()
    return write_whole(folder, header, {**values, **shorter, "lead_out": lead_out})


def test_the_uniform_law_of_a_body_goes_from_its_fastest_to_its_slowest_rank(uneven: Path) -> None:
    run = open_run(uneven)
    times_us = 1e6 * run.durations[7]
    drawn = make_uniform(run, FigureChoice(body=7))
    law = drawn.series[1]
    inside = law.x[law.y > 0.0]
    np.testing.assert_allclose([inside[0], inside[-1]], [times_us.min(), times_us.max()], atol=0.01)
    assert law.y.max() == pytest.approx(1.0)
    assert "too few for a law" in drawn.note


def test_places_of_the_cycle_are_samples(
    run_file: Path, values: dict[str, object], tmp_path: Path, header: Header
) -> None:
    drawn = make_places(open_run(run_file), FigureChoice())
    assert [each.name for each in drawn.series] == ["place 0", "place 3", "place 6", "place 9"]
    other = write_whole(tmp_path, replace(header, solver="bcgs", restart=0), values)
    with pytest.raises(UsageError, match="does not restart"):
        make_places(open_run(other), FigureChoice())


@pytest.mark.parametrize("events", [True, False])
def test_the_activity_stack_adds_up_to_the_phases(
    header: Header, values: dict[str, object], tmp_path: Path, events: bool
) -> None:
    kept = {name: each for name, each in values.items() if events or "event" not in name}
    run = open_run(write_whole(tmp_path, header, kept))
    drawn = make_activity_profile(run, FigureChoice())
    for series in drawn.series:
        assert series.base is not None
        shares = (series.y - series.base) / 100.0
        spent_s = run.solve_time_s / shares.size * shares.sum() * run.header.ranks
        assert spent_s == pytest.approx(run.phase(series.name).sum(), rel=1e-4)
    assert ("no event times" in drawn.note) != events


def test_laws_of_two_machines_stand_in_one_figure(
    header: Header, values: dict[str, object], tmp_path: Path
) -> None:
    files = []
    for host in ("theta", "daint"):
        folder = tmp_path / host
        folder.mkdir()
        there = {**values, "host": [host] * 3}
        files.append(str(write_whole(folder, header, there)))
    words = ["--figure", "overlay-fastest", "--figure", "overlay-span", "--csv"]
    assert main(["plot", *files, *words, "--out", str(tmp_path / "f")]) == 0
    rows = rows_of(tmp_path / "f" / "overlay-fastest.csv")
    names = {row["series"].partition(":")[0] for row in rows}
    assert len(names) == 2
    assert any("theta" in name for name in names)
    alone = run_values(iterations=40, ranks=1, restart=10, seed=1)
    file = write_whole(tmp_path, replace(header, ranks=1), alone)
    with pytest.raises(UsageError, match="only one rank"):
        main(["plot", str(file), "--figure", "overlay-span"])


def test_solves_take_longer_with_more_latency(run_file: Path, tmp_path: Path) -> None:
    words = ["--figure", "latency", "--csv", "--out", str(tmp_path)]
    assert main(["plot", str(run_file), *words]) == 0
    rows = rows_of(tmp_path / "latency.csv")
    band = [row for row in rows if row["series"].endswith("interval")]
    (column,) = [
        name for name in rows[0] if name.startswith("time_of_the_solve") and "from" not in name
    ]
    longest = [float(row[column]) for row in band]
    assert longest == sorted(longest)
    assert longest[-1] > longest[0]


def test_nights_are_drawn_with_their_levels(nights: Path, tmp_path: Path) -> None:
    words = [word for each in HISTORY_FIGURES for word in ("--figure", each.name)]
    assert main(["plot", str(nights), *words, "--csv", "--out", str(tmp_path / "f")]) == 0
    rows = rows_of(tmp_path / "f" / "ant-Total-Time-nights.csv")
    level = [float(row["value"]) for row in rows if row["series"] == "level" and row["value"]]
    np.testing.assert_allclose([level[0], level[-1]], [10.0, 12.0], rtol=0.02)
    assert "2026-01-11" in [row["night_name"] for row in rows if row["series"] == "outliers"]


@pytest.mark.parametrize(("algorithm", "moments"), [(1, 1), (2, None), (3, 2)])
def test_p_values_are_least_where_a_change_is(
    nights: Path, tmp_path: Path, algorithm: int, moments: int | None
) -> None:
    words = ["--figure", "p-values", "--algorithm", str(algorithm), "--csv"]
    assert main(["plot", str(nights), *words, "--out", str(tmp_path / "f")]) == 0
    rows = rows_of(tmp_path / "f" / "ant-Total-Time-p-values.csv")
    curve = [row for row in rows if row["series"] == "p-value of a change"]
    if moments is not None:
        assert sum(not row["p_value_when_detected"] for row in curve) == moments
        known = [row for row in curve if row["p_value_when_detected"]]
        least = min(known, key=lambda row: float(row["p_value_when_detected"]))
        assert int(float(least["night"])) == STEP
    changes = [int(float(row["night"])) for row in rows if row["series"] == "changes"]
    assert STEP in changes


def test_an_experiment_is_drawn_with_its_windows(tmp_path: Path) -> None:
    data = ROOT / "examples/scaling/data/homme.txt"
    words = [word for each in SCALING_FIGURES for word in ("--figure", each.name)]
    words += ["--series", "laplace_sphere_wk", "--csv"]
    assert main(["plot", str(data), *words, "--out", str(tmp_path)]) == 0
    (file,) = tmp_path.glob("*window-errors.csv")
    errors = [float(row["nRSS"]) for row in rows_of(file) if row["series"].startswith("error")]
    assert max(errors) > 0.1
    assert len(list(tmp_path.glob("*-scaling.png"))) == 1


def test_files_of_other_kinds_are_drawn_by_name(nights: Path) -> None:
    with pytest.raises(NotARunFileError, match="asked for by name: --figure nights"):
        main(["plot", str(nights)])


def test_series_that_are_not_there_or_too_many_are_refused(tmp_path: Path) -> None:
    lines = [f"2026-01-0{day},ant,timer {n},1.0" for n in range(13) for day in range(1, 5)]
    file = tmp_path / "nightly.csv"
    file.write_text("\n".join(["date,case,timer,value", *lines]))
    words = ["plot", str(file), "--figure", "nights", "--out", str(tmp_path / "f")]
    with pytest.raises(UsageError, match="No series, case or timer is called 'sub'"):
        main([*words, "--series", "sub"])
    with pytest.raises(UsageError, match="13 series, and at most 12"):
        main(words)
