"""``hindmost plot``: the papers' figures, of runs, of nightly results and of experiments."""

import re
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT

from hindmost import cli
from hindmost.analysis.ranks.figures import make_activity_profile
from hindmost.analysis.report.papers import PAPER_FIGURES, PAPERS
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.verbs.plot import NAMES
from hindmost.cli import main
from hindmost.errors import NotARunFileError, UsageError
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


def test_every_entry_of_the_papers_is_shown_or_says_why_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert {figure.paper for figure in PAPER_FIGURES} == set(PAPERS)
    for each in PAPER_FIGURES:
        assert bool(each.figures or each.command) != bool(each.why), each
        assert set(each.figures) <= set(NAMES)
        verb = re.split(r"[ ,:;]", each.command)[0]
        page = verb.startswith("docs/") and (ROOT / verb).is_file()
        assert not verb or page or verb in (*cli.VERBS, "make") or verb.startswith("--"), each
    assert main(["plot", "--papers"]) == 0
    printed = capsys.readouterr().out
    assert all(figure.what in printed for figure in PAPER_FIGURES)


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


def test_files_of_other_kinds_are_drawn_by_name(nights: Path) -> None:
    with pytest.raises(NotARunFileError, match="asked for by name: --figure nights"):
        main(["plot", str(nights)])


def test_series_that_are_not_there_are_refused(tmp_path: Path) -> None:
    lines = [f"2026-01-0{day},ant,solve,1.0" for day in range(1, 5)]
    file = tmp_path / "nightly.csv"
    file.write_text("\n".join(["date,case,timer,value", *lines]))
    words = ["plot", str(file), "--figure", "nights", "--out", str(tmp_path / "f")]
    with pytest.raises(UsageError, match="No series, case or timer is called 'sub'"):
        main([*words, "--series", "sub"])
