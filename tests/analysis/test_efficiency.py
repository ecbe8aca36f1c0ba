"""Efficiencies in show, figures and pages, of runs of known times."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import PREDICTORS, alone_values, cycle_values, run_values

import hindmost
from hindmost.analysis.runs.efficiency import of_run
from hindmost.analysis.runs.efficiency.of_run import compute, efficiencies_of
from hindmost.analysis.runs.efficiency.scaling import (
    efficiencies_over_ranks,
    run_parts,
    scaling_parts,
    share,
)
from hindmost.analysis.runs.summary import efficiency_of
from hindmost.analysis.show.html_renderer import part_html
from hindmost.analysis.show.table import Graded
from hindmost.cli import main
from hindmost.errors import DataError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.records import to_document
from hindmost.text import unbroken

LATENCY_S = 3e-6
"""What a body of `run_values` takes beside the most work of any rank."""
RANKS = 3


@pytest.fixture(autouse=True)
def _nothing_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test compute what it asks for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def told(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    assert main(["show", "--efficiency", "--json", *map(str, words)]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def scaled(
    folder: Path, header: Header, unknowns: dict[int, int], without_core: float = 0.0
) -> Path:
    """Write a run on every number of ranks, of so many unknowns; single ones wait for nobody.

    On several ranks, a share of the time is without a core.
    """
    folder.mkdir(exist_ok=True)
    for ranks, size in unknowns.items():
        values = run_values(iterations=40, ranks=ranks, restart=10, seed=ranks)
        share = without_core if ranks > 1 else 0.0
        values["core_wait"] = share * np.asarray(values["solve_time"])
        spec = {**header.spec, "unknowns": size}
        write_whole(folder, replace(header, ranks=ranks, spec=spec), values)
    return folder


def test_a_run_of_known_times(
    run_file: Path, values: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    work = np.asarray(values["event_work"], np.float64)[:, :, 0]
    answer = told(capsys, run_file)
    assert answer["version"] == 1
    [run] = answer["runs"]
    whole = run["whole"]
    # Ranks meet after every body: the ideal time is the sum of the most work.
    ideal = work.max(axis=1).sum()
    span = ideal + 40 * LATENCY_S
    assert whole["ideal_s"] == pytest.approx(ideal, rel=1e-6)
    assert whole["run_time_s"] == pytest.approx(span, rel=1e-6)
    assert whole["load_balance"] == pytest.approx(work.mean() * 40 / work.sum(axis=0).max(), 1e-6)
    assert whole["transfer"] == pytest.approx(ideal / span, rel=1e-6)
    assert whole["parallel"] == pytest.approx(
        whole["load_balance"] * whole["serialisation"] * whole["transfer"], rel=1e-12
    )
    assert run["outside_s"] == pytest.approx(2 * 10e-6 + 3 * 20e-6, rel=1e-4)
    assert [window["bodies"] for window in run["windows"]] == [[at, at + 1] for at in range(40)]
    assert run["windows"][7]["ideal_s"] == pytest.approx(work[7].max(), rel=1e-6)
    assert run["not_split"] is None
    assert "% of the solve time lies outside the iterations" in run["text"]


def test_a_run_is_the_same_in_blocks(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = hindmost.open(run_file)
    at_once = compute(run, 3)
    monkeypatch.setattr("hindmost.harness.runfile.reader.BLOCK_BYTES", 7 * 8 * RANKS)
    assert len(list(run.blocks())) == 6
    blocks = compute(run, 3)
    for one, other in (
        (at_once.whole, blocks.whole),
        *((a.efficiencies, b.efficiencies) for a, b in zip(at_once.windows, blocks.windows,
                                                           strict=True)),
    ):  # fmt: skip
        ours, theirs = to_document(one), to_document(other)
        assert ours.pop("lost_s") == pytest.approx(theirs.pop("lost_s"))
        assert ours == pytest.approx(theirs)
    assert to_document(at_once.computation) == pytest.approx(to_document(blocks.computation))


def test_what_was_kept_is_read_again(
    run_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = hindmost.open(run_file)
    first = efficiencies_of(run, 4)
    [kept] = (tmp_path / "cache/hindmost/efficiencies").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(of_run, "compute", None)
        assert efficiencies_of(run, 4) == replace(first, run=run)
    kept.unlink()
    os.mkfifo(kept)
    assert efficiencies_of(run, 4) == replace(first, run=run)


def test_show_tells_what_is_known_in_no_time(
    run_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def line() -> str:
        assert main(["show", str(run_file)]) == 0
        found = re.search(r"^  efficiency  .*$", capsys.readouterr().out, re.MULTILINE)
        return found[0] if found else ""

    split = line()
    told = re.sub(r"[\d.]+ %", "N", split)
    assert told == "  efficiency  N = load balance N x serialisation N x transfer N"
    assert not list((tmp_path / "cache/hindmost/efficiencies").iterdir())
    monkeypatch.setattr("hindmost.analysis.runs.efficiency.of_run.FEW_EVENTS", 100)
    assert re.search(r"load balance [\d.]+ % x communication [\d.]+ %$", line())
    monkeypatch.setattr("hindmost.analysis.runs.efficiency.of_run.MAX_IN_MEMORY", 100)
    assert line() == ""
    efficiencies_of(hindmost.open(run_file))
    assert line() == split


def test_an_adaptive_run_is_not_split_and_says_so(
    tmp_path: Path, header: Header, values: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    adaptive = replace(header, workload="adaptive", solver="timing-a", restart=0, spec={})
    file = write_whole(tmp_path, adaptive, cycle_values(values, ranks=RANKS), predictors=PREDICTORS)
    [run] = told(capsys, file)["runs"]
    assert run["whole"]["transfer"] is None
    assert run["whole"]["lost_s"].keys() == {"load_balance", "communication"}
    assert "this run has no events" in run["not_split"]
    cells = np.arange(40 * RANKS).sum()
    assert run["computation"]["size"] == pytest.approx(cells, rel=0.1)
    assert main(["show", str(file)]) == 0
    assert re.search(
        r"efficiency +[\d.]+ % = load balance .* x communication", capsys.readouterr().out
    )


def test_strong_and_weak_scaling_are_told_apart(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    scaled(tmp_path / "strong", header, {1: 300, 2: 300, 4: 300})
    scaled(tmp_path / "weak", header, {1: 100, 2: 200, 4: 400})
    strong, weak = (told(capsys, tmp_path / kind)["scaling"][0] for kind in ("strong", "weak"))
    for kernel, kind in ((strong, "strong"), (weak, "weak")):
        assert kernel["kind"] == kind
        assert [column["ranks"] for column in kernel["columns"]] == [1, 2, 4]
        for column in kernel["columns"]:
            product = column["parallel"] * column["computation"]
            assert column["global"] == pytest.approx(product, rel=1e-12)
            # Bodies are counted whole, waiting included, which is a factor of its own.
            factors = [column[name] for name in ("instructions", "ipc", "frequency")]
            product = np.prod([*factors, column["counted_share"]])
            assert product == pytest.approx(column["computation"], rel=1e-9)
            assert column["ipc"] == pytest.approx(1.0)
            assert column["frequency"] == pytest.approx(1.0)
    # Every rank works as long on any number of ranks: all together do twice as much on two.
    assert strong["columns"][1]["computation"] == pytest.approx(0.5, rel=0.05)
    assert weak["columns"][2]["computation"] == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_the_work_of_all_ranks_is_without_the_time_without_a_core(
    tmp_path: Path, header: Header, share: float
) -> None:
    folder = scaled(tmp_path, header, {1: 300, 4: 300}, without_core=share)
    [kernel] = efficiencies_over_ranks([hindmost.open(path) for path in folder.glob("*.h5")])
    column = kernel.columns[1]
    assert column.scaling is not None
    grown = 1.0 / column.scaling.computation
    assert kernel.work_ratio(column) == pytest.approx((1.0 - share) * grown, rel=1e-9)
    assert kernel.work_ratio(kernel.columns[0]) == pytest.approx(1.0)


def test_the_page_has_tables_that_are_read_without_colour(tmp_path: Path, header: Header) -> None:
    folder = scaled(tmp_path / "runs", header, {1: 300, 3: 300})
    runs = [hindmost.open(path) for path in sorted(folder.glob("*.h5"))]
    html = "".join(part_html(part) for part in scaling_parts(efficiencies_over_ranks(runs)))
    assert "<h2>Efficiencies over numbers of ranks</h2>" in html
    assert '<span class="level-3">transfer efficiency</span>' in html
    assert re.search(r'class="grade poor">3\d\.\d\xa0%<span class="mark">!</span>', html)
    assert not scaling_parts(efficiencies_over_ranks(runs[:1]))
    alone, of = map(efficiencies_of, runs)
    html = "".join(part_html(part) for part in run_parts([alone, of], of))
    assert [html.count(f"{each.run.path.name}</td>") for each in (alone, of)] == [1, 1]
    assert unbroken(of.explain()) in html


@pytest.mark.parametrize(
    ("value", "grade", "text"),
    [
        (0.9, "good", "90.0 % "),
        (0.8999, "good", "90.0 % "),
        (0.8994, "fair", "89.9 %~"),
        (0.8, "fair", "80.0 %~"),
        (0.7994, "poor", "79.9 %!"),
        (1.2, "good", "120.0 % "),
    ],
)
def test_grades_have_marks(value: float, grade: str, text: str) -> None:
    cell = share(value)
    assert isinstance(cell, Graded)
    assert (cell, cell.grade) == (text, grade)


def test_of_a_run_without_bodies_nothing_is_said(run_file: Path) -> None:
    run = hindmost.open(run_file)
    run.bodies = 0
    with pytest.raises(DataError, match="contains no iterations"):
        compute(run)
    assert efficiency_of(run) is None


def test_windows_do_not_hold_what_ranks_were_apart_before(tmp_path: Path, header: Header) -> None:
    made = replace(header, ranks=2, iterations=120, restart=0)
    path = write_whole(tmp_path, made, alone_values((5.0, 10.0), 120))
    run = efficiencies_of(hindmost.open(path), windows=3)
    parts = [window.efficiencies for window in run.windows]
    assert sum(part.run_time_s for part in parts) == pytest.approx(1.2)
    for each in (run.whole, *parts):
        assert [each.parallel, each.load_balance, each.transfer] == pytest.approx([0.75, 0.75, 1.0])
