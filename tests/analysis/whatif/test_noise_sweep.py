"""The gain of pipelined solvers under injected noise, measured and predicted."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from tests.conftest import run_values

from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.whatif import noise_sweep
from hindmost.analysis.whatif.advice import ends_of
from hindmost.analysis.whatif.noise_sweep import (
    NOISE_SWEEP,
    sweep_points,
)
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import Outcome, replay_run
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.writer import write_whole

Way = Literal["blocking", "pipelined"]
SOLVERS: dict[str, Way] = {"cg": "blocking", "pipecg": "pipelined"}
LAWS = ("", "exponential:mean=20us", "exponential:mean=50us", "fixed:length=1ms,probability=0.1")


@pytest.fixture
def sweep(tmp_path: Path, header: Header) -> Path:
    """Return runs of cg and pipecg under every law, twice; none of them was really disturbed."""
    (tmp_path / "runs").mkdir()
    for repeat in range(2):
        for law in LAWS:
            for solver, way in SOLVERS.items():
                values = run_values(iterations=60, ranks=2, restart=20, seed=repeat)
                spec = {**header.spec, "repeat": repeat} | ({INJECTED: law} if law else {})
                changed = replace(
                    header, solver=solver, synchronisation=way, restart=20, ranks=2,
                    iterations=60, spec=spec,
                )  # fmt: skip
                write_whole(tmp_path / "runs", changed, values)
    return tmp_path / "runs"


def test_every_pair_and_law_has_a_point(sweep: Path) -> None:
    points = sweep_points(find_runs([sweep]))
    assert [point.law for point in points] == list(LAWS)
    assert {point.pair for point in points} == {"cg / pipecg"}
    assert [point.noise_s for point in points] == pytest.approx([0.0, 20e-6, 50e-6, 100e-6])
    for point in points:
        assert point.measured.value == pytest.approx(1.0)  # the same times under both names
        low, high = ends_of(point.measured)
        assert low <= point.measured.value <= high
    assert points[0].predicted is None
    assert points[1].predicted is not None
    assert points[1].predicted.value == pytest.approx(points[1].measured.value, rel=0.05)


def test_figures_have_them_all(sweep: Path, tmp_path: Path) -> None:
    words = [word for figure in NOISE_SWEEP for word in ("--figure", figure.name)]
    assert main(["plot", str(sweep), *words, "--csv", "--out", str(tmp_path / "drawn")]) == 0
    lines = (tmp_path / "drawn" / "gain-exponential.csv").read_text()
    assert "cg / pipecg: measured" in lines
    assert "cg / pipecg: predicted, 90 %" in lines


def test_every_run_without_noise_is_replayed_once_for_all_laws(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed: dict[str, list[int]] = {}

    def counting(run: Run, changes: Sequence[Named], machine: None) -> list[Outcome]:
        replayed.setdefault(run.path.name, []).append(len(changes))
        return replay_run(run, changes, machine)

    monkeypatch.setattr(noise_sweep, "replay_run", counting)
    sweep_points(find_runs([sweep]), "exponential")
    assert list(replayed.values()) == [[2]] * 4  # two repeats of two solvers, two laws of the kind


def test_runs_without_noise_are_refused(run_file: Path) -> None:
    with pytest.raises(UsageError, match="hindmost study plan noise-sweep"):
        sweep_points(find_runs([run_file]))
