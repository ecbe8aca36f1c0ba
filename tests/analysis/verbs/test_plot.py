"""``hindmost plot``: which figures it draws, from what, and what it refuses."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.analysis.adaptive.figures import ADAPTIVE_FIGURES
from hindmost.analysis.history.figures import HISTORY_FIGURES
from hindmost.analysis.report.run_figures import RUN_FIGURES
from hindmost.analysis.runs.figures.compare_runs import COMPARISON_FIGURES
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.scaling.window_errors import SCALING_FIGURES
from hindmost.analysis.verbs.plot import contents
from hindmost.analysis.whatif.noise_sweep import LATENCY_TREND, NOISE_SWEEP
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole


def drawn(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_every_figure_is_listed_with_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plot", "--help"])
    listed = capsys.readouterr().out.partition("the papers' figures):\n")[2]
    lines = listed.partition("\n\n")[0].splitlines()
    every = (
        *(*RUN_FIGURES, *ADAPTIVE_FIGURES, *COMPARISON_FIGURES, *LATENCY_TREND, *NOISE_SWEEP),
        *(*HISTORY_FIGURES, *SCALING_FIGURES),
    )
    names = [figure.name for figure in every]
    assert [line.split()[0] for line in lines] == names
    assert max(len(line) for line in lines) <= 100


def test_the_usual_figures_are_drawn_where_a_run_allows_them(
    run_file: Path, header: Header, values: dict[str, object], tmp_path: Path
) -> None:
    bcgs = replace(header, solver="bcgs", restart=0)
    other = write_whole(tmp_path, bcgs, {**values, "position": np.arange(40)})
    assert main(["plot", str(run_file), str(other), "--out", str(tmp_path / "f")]) == 0
    usual = {"map", "work", "histogram", "phases"}
    expected = {f"{run_file.stem}-{name}.png" for name in usual | {"cycle"}}
    expected |= {f"{other.stem}-{name}.png" for name in usual} | {"ecdf.png"}
    assert drawn(tmp_path / "f") == expected


@pytest.mark.parametrize(("ranks", "width"), [(1, "half"), (3, "full")])
def test_every_figure_can_be_drawn_of_few_ranks(
    tmp_path: Path, header: Header, ranks: int, width: str
) -> None:
    values = run_values(iterations=40, ranks=ranks, restart=10, seed=1)
    values["activity_duration"] = np.full((40, ranks, 2), 1e-6)
    file = write_whole(
        tmp_path, replace(header, ranks=ranks), values, activities=("MatMult", "other")
    )
    of_several = {"span", "efficiency"}
    of_several |= {"hindmost", "outliers", "profile", "body-profile", "own-work"}
    of_attached = {"code", "flame", "threads", "time-left"}
    left_out = of_attached | (of_several if ranks == 1 else set())
    names = [figure.name for figure in RUN_FIGURES if figure.name not in left_out]
    words = [word for name in names for word in ("--figure", name)]
    out = tmp_path / "f"
    assert main(["plot", str(file), "--out", str(out), "--width", width, "--csv", *words]) == 0
    kinds = ("png", "csv")
    assert drawn(out) == {f"{file.stem}-{name}.{kind}" for name in names for kind in kinds}


def test_a_map_shows_one_place_of_the_cycle_unless_all_is_asked_for(
    run_file: Path, values: dict[str, object], tmp_path: Path
) -> None:
    durations = np.asarray(values["duration"])
    for position, bodies in (("middle", [5, 15, 25, 35]), ("2", [2, 12, 22, 32]), ("all", None)):
        words = ["--figure", "map", "--position", position, "--csv", "--out", str(tmp_path / "f")]
        assert main(["plot", str(run_file), *words]) == 0
        file = tmp_path / "f" / f"{run_file.stem}-map.csv"
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        chosen = np.arange(40) if bodies is None else np.array(bodies)
        assert [int(row["body"]) for row in rows] == chosen.tolist()
        times = [[float(row[f"rank_{rank}_s"]) for rank in range(3)] for row in rows]
        np.testing.assert_array_equal(times, durations[chosen])


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--figure", "ranks", "--rank", "3"], "no rank 3; it has ranks 0 to 2"),
        (["--figure", "iteration", "--iteration", "40"], "no iteration 40"),
        (["--position", "10", "--figure", "map"], "place 10"),
        (["--position", "first"], "'first' is not a place"),
        (["--figure", "pie"], "invalid choice: 'pie'"),
    ],
)
def test_what_a_run_has_not_is_refused(run_file: Path, words: list[str], answer: str) -> None:
    with pytest.raises(UsageError, match=answer):
        main(["plot", str(run_file), *words])


def test_no_file_and_no_cycle_are_refused(tmp_path: Path, header: Header) -> None:
    with pytest.raises(UsageError, match="Name a run file"):
        main(["plot"])
    values = run_values(iterations=40, ranks=1, restart=10, seed=1)
    file = write_whole(tmp_path, replace(header, ranks=1, solver="cg", restart=0), values)
    for name, answer in (("cycle", "cg does not restart"), ("span", "has only one rank")):
        with pytest.raises(UsageError, match=answer):
            main(["plot", str(file), "--figure", name])
    with pytest.raises(UsageError, match="have no place in"):
        main(["plot", str(file), "--figure", "map", "--position", "3"])


def test_more_configurations_than_can_be_told_apart_spoil_nothing(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    files = [
        str(write_whole(tmp_path, replace(header, spec={"unknowns": 100 + n}), values))
        for n in range(7)
    ]
    with pytest.raises(UsageError, match="7 curves in one figure"):
        main(["plot", *files, "--figure", "ecdf", "--out", str(tmp_path / "f")])
    runs = [open_run(file) for file in files]
    assert not [
        target.name
        for target, _, _ in contents(runs, FigureChoice(), (), "full")
        if target.name == "ecdf"
    ]


def test_files_of_one_name_from_several_folders_keep_their_figures(
    header: Header,
    values: dict[str, object],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = []
    for hour, folder in enumerate(("before", "after", "other/after")):  # a copy would count once
        (tmp_path / folder).mkdir(parents=True)
        begun = replace(header, t0_utc=f"2026-11-01T0{hour}:00:00+00:00")
        files.append(write_whole(tmp_path / folder, begun, values))
    out = tmp_path / "figures"
    assert main(["plot", *map(str, files), "--figure", "phases", "--out", str(out)]) == 0
    written = {Path(line).name for line in capsys.readouterr().out.splitlines()}
    stem = files[0].stem
    assert written == {
        f"0-{stem}-phases.png",
        f"1-{stem}-phases.png",
        f"2-{stem}-phases.png",
    }
