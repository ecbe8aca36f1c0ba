"""What the verbs make of adaptive runs: show, check, plot, report; what fit, predict refuse."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.synthetic.cycles import CycleLaw, Cycles, draw_cycles
from tests.analysis.adaptive.files import off_by, write_adaptive, write_machine
from tests.conftest import made_header, run_values

from hindmost.analysis.fits.study import FitOptions, FittedGroup
from hindmost.analysis.runs.configuration import Group
from hindmost.analysis.verbs import report
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

LAW = CycleLaw(cycles=60, adapts_every=1, iterations=(17.0, 40.0), growth=1.5, noise=0.005)
WORDS = "The machine is slower: 2.00x its baseline time, for the same work."
NEIGHBOUR = {
    "interfere": {"spans": [[30, None]], "cores": []},
    "verdicts": [{"cycle": 31, "kind": "machine slower", "words": WORDS}],
}


def predictions(cycles: Cycles) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    return {
        "online-all": off_by(cycles, 6.0),
        "online-1": off_by(cycles, 5.0),
        "offline": off_by(cycles, 3.0),
        "shape-level": off_by(cycles, 2.0),
    }


@pytest.fixture
def folder(tmp_path: Path, header: Header) -> Path:
    """Return a folder with two replays and a run with a neighbour."""
    return written(tmp_path / "runs", header)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page on these runs."""
    folder = tmp_path_factory.mktemp("page")
    made = folder / "page.html"
    runs = written(folder / "runs", made_header())
    assert main(["report", str(runs), "--out", str(made)]) == 0
    return made


def written(runs: Path, header: Header) -> Path:
    """Write two replays and a run with a neighbour, and return their folder."""
    for repeat in range(2):
        cycles = draw_cycles(LAW, 7)
        file = write_adaptive(
            runs, header, cycles, predicted=predictions(cycles), spec={"repeat": repeat}
        )
        assert file.name == f"adaptive-timing-a-p1-{repeat}.h5"
    slow = draw_cycles(LAW, 7, slowdown=np.where(np.arange(60) >= 30, 2.0, 1.0))
    write_adaptive(runs, header, slow, predicted=predictions(slow), spec=NEIGHBOUR)
    return runs


def test_show_says_what_cycles_did_and_how_they_were_predicted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(folder / "adaptive-timing-a-p1-2.h5")]) == 0
    printed = capsys.readouterr().out
    assert "180 divided, 60 combined, 0 moved" in printed
    assert re.search(
        r"online-all 6.0 %, online-1 5.0 %, offline 3.0 %,\s+shape-level 2.0 %", printed
    )
    assert "machine slower 1" in printed
    assert f"cycle 31: {WORDS}" in " ".join(printed.split())
    assert "PETSc" not in printed
    assert main(["show", "--json", str(folder)]) == 0
    told = json.loads(capsys.readouterr().out)["runs"][0]["adaptive"]
    assert told["errors_percent"]["offline"] == pytest.approx(3.0)
    assert told["cells"][1] > told["cells"][0]


def test_check_does_not_take_the_growth_of_the_mesh_for_drift(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, header: Header
) -> None:
    assert main(["check", "--json", str(folder)]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [each["code"] for each in found] == ["interference"]
    cycles = draw_cycles(replace(LAW, cycles=12), 7)
    failed = write_adaptive(
        tmp_path / "failed", header, cycles, predicted=predictions(cycles), complete=False,
        spec={"failure": "The state is none of a gas."},
    )  # fmt: skip
    assert main(["check", "--json", str(failed)]) == 1
    found = {each["code"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert set(found) == {"incomplete", "few-cycles"}
    assert "none of a gas" in found["incomplete"]["text"]
    assert main(["show", str(failed)]) == 0
    assert "INCOMPLETE: The state is none of a gas)" in capsys.readouterr().out


def test_check_finds_cycles_that_nothing_foresaw(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, header: Header
) -> None:
    cycles = draw_cycles(LAW, 7)
    said = predictions(cycles)
    said["shape-level"][10:20] /= 1.5
    verdicts = {"verdicts": NEIGHBOUR["verdicts"]}
    file = write_adaptive(tmp_path, header, cycles, predicted=said, spec=verdicts)
    assert main(["check", "--json", str(file)]) == 0
    found = [each["code"] for each in json.loads(capsys.readouterr().out)["findings"]]
    assert found == ["disturbed-cycles", "machine-slower"]


def test_fit_and_whatif_refuse_what_does_not_do_the_same_work(
    folder: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("fit", "whatif"):
        with pytest.raises(UsageError, match="cycles of an adaptive run do different work"):
            main([verb, str(folder)])
    solve = run_values(iterations=40, ranks=3, restart=10, seed=1)
    write_whole(folder, header, solve)
    assert main(["whatif", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("left out") == 3
    assert "gmres on laplacian-1d" in captured.out


def test_plot_refuses_what_a_run_has_not(folder: Path, tmp_path: Path) -> None:
    calm = str(folder / "adaptive-timing-a-p1-0.h5")
    for name, why in (
        ("interference", "no neighbour ran on purpose"),
        ("histogram", "do different work"),
    ):
        with pytest.raises(UsageError, match=why):
            main(["plot", calm, "--figure", name, "--out", str(tmp_path)])


def test_the_report_has_tables_figures_verdicts_and_the_load(folder: Path, tmp_path: Path) -> None:
    machine = write_machine(tmp_path / "machine.json")
    page = tmp_path / "page.html"
    assert main(["report", str(folder), "--machine", str(machine), "--out", str(page)]) == 0
    html = page.read_text()
    table = html.split("<table>")[1].split("</table>")[0]
    row = re.findall(r"<td[^>]*>([^<]*)", table.split("<tr>")[2])
    assert row[:3] == ["timing-a, 1 rank", "2", "0.1 before, 0.2 after"]
    assert float(row[3]) == 0.0  # replays alike to the last bit have no floor
    assert row[4:] == ["6.0 ± 0.0", "5.0 ± 0.0", "3.0 ± 0.0", "2.0 ± 0.0"]
    assert WORDS in html
    assert "(--interfere) (interference)</p>" in html
    figures = re.findall(r"<figcaption>(.*?)</figcaption>", html)
    assert len(figures) >= 4
    assert all("Load: 0.1 before, 0.2 after." in figure for figure in figures)


def test_the_report_says_how_soon_a_neighbour_was_detected(page: Path) -> None:
    onsets = page.read_text().split("a neighbour was detected</h2>")[1].split("</table>")[0]
    row = re.findall(r"<td[^>]*>([^<]*)", onsets)
    assert row[:3] == ["runs/adaptive-timing-a-p1-2.h5", "30", "30"]
    assert row[4:] == ["2", "2.0"]


def test_a_report_fits_solves_and_no_adaptive_run(
    folder: Path, tmp_path: Path, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (0, 1):
        (folder / f"adaptive-timing-a-p1-{number}.h5").unlink()
    write_whole(folder, header, run_values(iterations=40, ranks=3, restart=10, seed=1))
    asked: list[str] = []

    def fit(groups: Iterable[Group], options: FitOptions) -> list[FittedGroup]:
        asked.extend(group.title for group in groups)
        return []

    monkeypatch.setattr(report, "fit_groups", fit)
    page = tmp_path / "page.html"
    assert main(["report", str(folder), "--out", str(page)]) == 0
    assert asked == ["gmres on laplacian-1d: 300 unknowns, 3 ranks, 40 iterations, restart 10"]
    html = page.read_text()
    assert "a neighbour from cycle 30 on</h2>" in html
    assert "How soon a neighbour was detected" in html
