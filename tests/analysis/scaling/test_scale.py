"""``hindmost scale``: what it prints, draws and refuses, and its exit status."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.scaling.experiments import POWERS, TRUTH, figure_1, write_text
from tests.conftest import run_values

from hindmost.analysis.readers.read import read_experiment
from hindmost.analysis.scaling.study import study_scaling
from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.pmnf import observations
from hindmost.models.pmnf.noise import given_noise


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scale")
    return write_text(folder / "e.txt", TRUTH, noise=0.02, repetitions=3, seed=3)


def test_the_table_has_the_worst_kernel_first(
    experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scale", str(experiment), "--at", "16384", "--top", "2"]) == 0
    out = capsys.readouterr().out
    title, head, *rows = out.splitlines()
    assert title.rstrip() == "time at p = 16384: 5 kernels"
    assert "90 % interval" in head
    assert rows[0].startswith("main->bug ")
    assert rows[1].startswith("main->linear ")
    assert "p^2" in rows[0]
    assert rows[2] == "3 more kernels: 'hindmost scale --top 5' shows all."
    assert "Noise model: multiplicative (detected from repetitions)." in out


def test_a_lone_series_says_that_the_noise_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_text(tmp_path / "e.txt", {"f": figure_1}, points=np.arange(1.0, 11.0))
    assert main(["scale", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("keeps false positives at 1 %") == 1
    assert "30 + 1 * p, from" in out
    assert "1 * p^2, to" in out


def test_a_model_that_does_not_fit_is_told_where_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under additive noise, no change is found in what is small beside the largest values."""
    additive = given_noise("additive")
    monkeypatch.setattr(observations, "from_repetitions", lambda values: additive)
    points = 2.0 ** np.arange(2, 10)
    laws = {
        "changed": lambda p: np.where(p < 64.0, 1.0 + 0.05 * np.log2(p), 0.06 * p),
        "linear": lambda p: 2.0 + 0.01 * p,
    }
    file = write_text(tmp_path / "e.txt", laws, points=points, noise=0.03, repetitions=5)
    asked = ["scale", str(file)]
    assert main(asked) == 0
    out = capsys.readouterr().out
    (row,) = [line for line in out.splitlines() if line.endswith("(does not fit)")]
    assert row.startswith("changed ")
    assert "the model does not fit: it is off by" in " ".join(out.split())
    assert main([*asked, "--json"]) == 0
    models = {each["kernel"]: each for each in json.loads(capsys.readouterr().out)["models"]}
    assert not models["changed"]["segmented"]
    assert models["changed"]["scores"]["misfit"].keys() == {"at", "off", "standard_errors"}
    assert any("does not fit" in each for each in models["changed"]["doubts"])
    assert models["linear"]["scores"]["misfit"] is None


def test_segments_stand_in_the_order_of_the_parameter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_text(tmp_path / "e.txt", {"f": figure_1}, points=np.arange(1.0, 11.0))
    for at in ("3", "40"):
        assert main(["scale", str(file), "--at", at]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "1 * p^2, to 5; 30 + 1 * p, from 6" in out


def test_a_prediction_too_far_out_is_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_text(
        tmp_path / "e.txt", {"f": lambda p: p**0.8 * np.log2(p) + 5.0}, noise=0.1, seed=2
    )
    assert main(["scale", str(file), "--at", "1e15", "--json"]) == 0
    [model] = json.loads(capsys.readouterr().out)["models"]
    assert any("times the largest" in each for each in model["doubts"])
    assert main(["scale", str(file), "--at", "1e15"]) == 0
    assert "measure over a wider range" in " ".join(capsys.readouterr().out.split())
    assert main(["scale", str(file), "--json"]) == 0
    [model] = json.loads(capsys.readouterr().out)["models"]
    assert model["doubts"] == []


def test_the_papers_rule_shows_its_windows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_text(tmp_path / "e.txt", {"f": figure_1}, points=np.arange(1.0, 11.0))
    assert main(["scale", str(file), "--method", "paper"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "five points: nRSS 0.000 0.000 0.177 0.192 0.160 0.000, pattern 001110" in out
    assert "One model of all points: 1.649 + 3.971 * log2(p)^2" in out
    assert main(["scale", str(file), "--method", "paper", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["space"] == "extrap"
    [model] = told["models"]
    assert model["windows"]["pattern"] == "001110"
    assert model["windows"]["nrss"][3] == pytest.approx(0.1917, abs=1e-4)


@pytest.mark.parametrize(
    ("expected", "status"),
    [
        (["p^2"], 0),
        (["p"], 1),
        (["main->bug: p"], 1),
        (["main->linear: p"], 0),
        (["p", "main->bug: p^2"], 0),  # the one by name counts
        (["main->bug: p^2", "p"], 0),
        (["main->fast: log2(p)", "main->work: 1"], 0),
        (["main->linear: log2(p)"], 1),
        (["main->shared: 1/p"], 1),  # it ends at 0.5
        (["main->shared: 1"], 0),
        (["main->work: log2(p)"], 0),
    ],
)
def test_worse_growth_than_expected_is_a_finding(
    experiment: Path, capsys: pytest.CaptureFixture[str], expected: list[str], status: int
) -> None:
    words = [word for text in expected for word in ("--expect", text)]
    assert main(["scale", str(experiment), "--at", "16384", *words]) == status
    out = capsys.readouterr().out
    assert (" (time) grows worse than" in out) == bool(status)
    assert ("No kernel grows worse" in out) != bool(status)


def test_a_finding_says_what_was_expected_and_found(
    experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--expect", "main->b*: p*log2(p)", "--json", "--at", "4096"]
    assert main(["scale", str(experiment), *words]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["kernel"], finding["metric"]) == ("main->bug", "time")
    assert finding["expected"] == "p*log2(p)"
    assert "p^2" in finding["found"]
    assert finding["expected_growth"] == pytest.approx(4.0 * 12.0 / 10.0)
    assert finding["expected_growth"] < finding["growth_at_least"] <= finding["growth"]
    assert finding["parameters"] == ["p"]


def test_noise_is_no_finding(tmp_path: Path) -> None:
    """Of noisy constants some get a term; an interval that allows none is no finding."""
    constants = {f"k{at}": TRUTH["main->work"] for at in range(200)}
    file = write_text(tmp_path / "e.txt", constants, noise=0.1, seed=5)
    study = study_scaling(read_experiment(file))
    growing = study.metrics[0].growth > 1.0
    assert growing.any()
    from hindmost.analysis.scaling.expected_growth import find_worse, read_expectation

    found = find_worse(study.metrics[0], [read_expectation("1", study)])
    assert len(found) <= 10  # the interval's low end is at 5 %


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (["--expect", "log3(p)"], UsageError, "'log3' is neither a parameter nor a function"),
        (["--expect", "main->slove: p"], UsageError, "choose main->fast, main->linear"),
        (["--expect", "p - p"], UsageError, "above zero"),
        (["--at", "many"], UsageError, "--at many"),
        (["--at", "1e300"], UsageError, "'1e300' is beyond 1e\\+30"),
        (["--top", "0"], UsageError, "--top 0"),
        (["--metric", "bytes"], UsageError, "No metric 'bytes'"),
        (["--kernel", "nothing*"], UsageError, "No kernel"),
        (["--parameter", "n"], UsageError, "No parameter 'n'"),
        (["--figure", "x.gif"], UsageError, "png, pdf or svg"),
        (["--space", "wide"], UsageError, "invalid choice"),
    ],
)
def test_what_is_not_possible(
    experiment: Path, words: list[str], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        main(["scale", str(experiment), *words])


@pytest.mark.parametrize("content", [b"", b"PARAMETER p\nPOINTS 1 2\nDATA 3\n", b"\0\1\2" * 99])
def test_bad_files(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad"
    file.write_bytes(content)
    with pytest.raises(DataError):
        main(["scale", str(file)])


def test_warnings_go_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{p:g},long,{3 + p}" for p in POWERS] + [f"{p:g},short,{p}" for p in POWERS[:3]]
    file = tmp_path / "e.csv"
    file.write_text("\n".join(["p,kernel,value", *rows]) + "\n")
    assert main(["scale", str(file), "--json"]) == 0
    printed = capsys.readouterr()
    assert "measure p = 16, 32" in printed.err
    assert [each["kernel"] for each in json.loads(printed.out)["models"]] == ["long"]


def test_figures_have_their_numbers_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = np.arange(1.0, 11.0)
    both = {"main->f": figure_1, "g": TRUTH["main->linear"]}
    file = write_text(tmp_path / "e.txt", both, points=points, noise=0.01, repetitions=3)
    assert main(["scale", str(file), "--figure", str(tmp_path / "f")]) == 0
    assert {path.name for path in (tmp_path / "f").iterdir()} == {
        f"{kernel}-time.{kind}" for kernel in ("main-f", "g") for kind in ("png", "csv")
    }
    study = study_scaling(read_experiment(file))
    metric = study.metrics[0]
    by_model = {each.series.kernel: not each.weights for each in metric.at_target(metric.order)}
    assert not by_model["main->f"]  # four points after the change
    for standing in metric.at_target(metric.order):
        kernel, series = standing.kernel, standing.series
        name = series.kernel.replace("->", "-")
        rows = rows_of(tmp_path / "f" / f"{name}-time.csv")
        measured = [(p, y) for p, y in rows["measured"] if not np.isnan(p)]
        assert sorted(measured) == sorted(
            (float(p), float(y))
            for p, each in zip(series.points[:, 0], series.values, strict=True)
            for y in each
        )
        (band,) = (row for row in rows if row.startswith("90 % interval"))
        (model,) = (
            row
            for row in rows
            if row not in ("measured", "change", band)
            and not row.startswith(("one function", "foretold"))
        )
        drawn = np.array([row for row in rows[model] if not np.isnan(row[0])])
        assert drawn[0, 0] == 1.0
        assert drawn[-1, 0] == 40.0
        border = [0.5 * (change.low + change.high) for change in kernel.changes]
        inside = ~np.isin(drawn[:, 0], border)
        np.testing.assert_allclose(drawn[inside, 1], kernel.evaluate(drawn[inside, :1]))
        # The model's interval ends at the last point, where what is foretold begins; the model of
        # a kernel that grows as it says predicts on.
        foretold = not by_model[series.kernel]
        inside &= (drawn[:, 0] <= points[-1]) | (not foretold)
        high = np.array([row for row in rows[band] if not np.isnan(row[0])])
        assert np.isnan(high[drawn[:, 0] > points[-1], 1]).all() == foretold
        np.testing.assert_allclose(
            high[inside, 1], kernel.interval(drawn[inside, :1])[1], rtol=1e-6
        )
        assert ("foretold" in rows) == foretold
        if foretold:
            ahead = np.array(rows["foretold"])
            ahead = ahead[~np.isnan(ahead[:, 0])]
            assert ahead[[0, -1], 0] == pytest.approx([points[-1], 40.0])
            assert ahead[-1, 1] == pytest.approx(standing.predicted)
            assert np.isin(f"{standing.high:.6g}", [f"{y:.6g}" for _, y in rows["foretold, 90 %"]])
        assert ("change" in rows) == kernel.segmentation.segmented == (series.kernel == "main->f")
    capsys.readouterr()


def rows_of(path: Path) -> dict[str, list[tuple[float, float]]]:
    rows: dict[str, list[tuple[float, float]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            pair = (float(row["p"] or "nan"), float(row["time"] or "nan"))
            rows.setdefault(row["series"], []).append(pair)
    return rows


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_a_figure_in_a_file(experiment: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"f.{suffix}"
    assert main(["scale", str(experiment), "--figure", str(out), "--top", "2"]) == 0
    names = {f"f.{suffix}", f"f-2.{suffix}", "f.csv", "f-2.csv"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_run_files_over_ranks(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bodies last 1 ms times the ranks."""
    (tmp_path / "runs").mkdir()
    for ranks in (1, 2, 3, 4, 5, 6):
        for seed in range(3):
            values = run_values(iterations=40, ranks=ranks, restart=10, seed=seed)
            stretched = dict(values)
            duration = np.asarray(values["duration"])
            factor = 1e-3 * ranks / np.median(duration, axis=0).max()
            stretched["duration"] = duration * factor
            stretched["phase_duration"] = np.asarray(values["phase_duration"]) * factor
            write_whole(tmp_path / "runs", replace(header, ranks=ranks), stretched)
    assert main(["scale", str(tmp_path / "runs"), "--json"]) == 0
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert model["kernel"].startswith("gmres on laplacian-1d")
    assert (model["metric"], model["unit"]) == ("median-iteration", "s")
    assert model["predicted"] == pytest.approx(24e-3, rel=0.01)
    words = ["--metric", "wait", "--metric", "median-iteration", "--parameter", "ranks"]
    assert main(["scale", str(tmp_path / "runs"), *words]) == 0
    out = capsys.readouterr().out
    assert "wait at ranks = 24: 1 kernel" in out
    assert "24.0 ms" in out
