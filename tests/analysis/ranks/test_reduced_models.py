"""Noise models of run files in which only some ranks keep full records."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.ranks.conftest import RANKS, reduced_values, with_bodies_of_all

import hindmost
from hindmost import cli
from hindmost.analysis.fits.study import FitOptions, fit_run
from hindmost.errors import DamagedFileError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.noise.fit import MODELS

KEPT = [2, 5, 20]
QUICK = FitOptions(families=False)


@pytest.fixture(autouse=True)
def few_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the law out that takes longest to fit, and what other tests kept of the same runs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    members = {name: each for name, each in MODELS._members.items() if name != "stationary-nct"}
    monkeypatch.setattr(MODELS, "_members", members)


@pytest.fixture
def header24(header: Header) -> Header:
    return replace(header, ranks=RANKS, iterations=60, restart=30)


def test_models_of_a_reduced_file_are_those_of_the_whole_one(
    tmp_path: Path, header24: Header, values: dict[str, object], run_path: Path
) -> None:
    made = with_bodies_of_all(values, reduced_values(values, KEPT))
    run = hindmost.open(write_whole(tmp_path, header24, made))
    run.verify()
    part, whole = fit_run(run, QUICK), fit_run(hindmost.open(run_path), QUICK)
    wanted = {model.name: model for model in whole.models}
    assert {model.name for model in part.models} == set(wanted) - {"max-plus", "max-plus-no-halo"}
    for model in part.models:
        true = wanted[model.name].prediction
        assert model.prediction.seconds == pytest.approx(true.seconds, rel=1e-5), model.name
    tests = {test.name: test for test in part.tests}
    for name in ("ranks_alike", "ranks_alike_in_work"):
        assert "needs the iterations of every rank" in tests[name].refused


def test_the_verbs_say_on_how_many_ranks_figures_rest(
    tmp_path: Path,
    header24: Header,
    values: dict[str, object],
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = with_bodies_of_all(values, reduced_values(values, KEPT))
    path = str(write_whole(tmp_path, header24, made))
    assert cli.main(["fit", path]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "full records of 3 of 24 ranks" in text
    assert "of all ranks, sums and extremes of each iteration" in text
    assert cli.main(["fit", "--json", path]) == 0
    [entry] = json.loads(capsys.readouterr().out)["runs"]
    assert entry["kept_ranks"] == 3
    assert {model["ranks_used"] for model in entry["models"]} == {RANKS}
    assert cli.main(["whatif", path]) == 0
    assert "means of all 24 ranks" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["whatif", "--json", path]) == 0
    [entry] = json.loads(capsys.readouterr().out)["predictions"]
    assert (entry["kept_ranks"], entry["ranks"]) == (3, RANKS)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("all_bin_count", lambda count: count + 1, "'all_bin_count' counts"),
        ("all_bin_mean", lambda mean: mean[::-1], "'all_bin_mean' should ascend"),
        ("all_least", lambda least: least + 1.0, "nowhere above 'all_most'"),
        ("all_least", lambda least: 0.0 * least, "above 0"),
        ("all_mean", lambda mean: mean * np.nan, "not a number"),
    ],
)
def test_sums_that_cannot_be_are_refused(
    tmp_path: Path, header24: Header, values: dict[str, object], name: str, change: object,
    said: str,
) -> None:  # fmt: skip
    made = with_bodies_of_all(values, reduced_values(values, KEPT))
    made[name] = change(np.asarray(made[name]))  # type: ignore[operator]
    path = write_whole(tmp_path, header24, made)
    with pytest.raises(DamagedFileError, match=said):
        fit_run(hindmost.open(path), QUICK)
