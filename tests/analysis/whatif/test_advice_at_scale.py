"""``hindmost whatif --against --ranks``: whether a pipelined solver pays off on other ranks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.whatif.files import document, draw_less, event_values, said

from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind

BODIES, RANKS, CYCLE = 400, 4, 20
COST = 3e-6
EXTRA = 1.2
"""Undisturbed work of the pipelined solver, over that of the blocking one."""


@pytest.fixture(autouse=True)
def few_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_less(monkeypatch, replicas=8, values=1 << 15)


def write(folder: Path, header: Header, noise: NDArray[np.float64], *, pipelined: bool) -> Path:
    """Write a run of 50 us of work, noise of each rank, and one reduction an iteration.

    The pipelined one posts a reduction before its work and completes it afterwards.
    """
    work = (EXTRA if pipelined else 1.0) * 50e-6 + noise
    kinds = [EventKind.POST, EventKind.COMPLETE] if pipelined else [EventKind.REDUCE]
    inside = np.zeros((BODIES, RANKS, len(kinds)))
    before = np.zeros_like(inside)
    before[:, :, -1] = work
    start = np.empty((BODIES, RANKS))
    gaps = np.zeros((BODIES // CYCLE - 1, RANKS))
    clock = np.full(RANKS, 10e-6)
    for body in range(BODIES):
        if body and body % CYCLE == 0:
            gaps[body // CYCLE - 1] = clock.max() + 20e-6 - clock
            clock[:] = clock.max() + 20e-6
        start[body] = clock
        come = clock + work[body]
        if pipelined:
            leave = np.maximum(come, clock.max() + COST)
        else:
            leave = np.full(RANKS, come.max() + COST)
        inside[body, :, -1] = leave - come
        clock = leave
    mode: dict[str, Any] = {"solver": "pgmres", "synchronisation": "pipelined", "lag": 1}
    return write_whole(
        folder,
        replace(
            header, ranks=RANKS, iterations=BODIES, restart=CYCLE, **(mode if pipelined else {})
        ),
        {
            **event_values(kinds, before, inside, cycle=CYCLE),
            "start": start,
            "restart_duration": gaps,
            "lead_out": 10e-6 + clock.max() - clock,
            "solve_time": np.full(RANKS, 10e-6 + clock.max()),
            "host": ["node-0"] * 2 + ["node-1"] * 2,
        },
    )


@pytest.fixture
def files(tmp_path: Path, header: Header) -> list[Path]:
    """Return folders of two runs of each solver, with exponential noise of 10 us."""
    random = np.random.default_rng(7)
    folders = [tmp_path / "blocking", tmp_path / "pipelined"]
    for at, folder in enumerate(folders):
        folder.mkdir()
        for noise in random.exponential(10e-6, (2, BODIES, RANKS)):
            write(folder, header, noise, pipelined=bool(at))
    return folders


SCALE = ("--ranks", "16..256", "--ranks-per-node", "16", "--scaling", "weak")


def advice(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    ours, theirs, *others = words
    return dict(document(capsys, ours, "--against", theirs, *others)["advice"])


def test_simulations_that_take_some_seconds_are_announced(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["whatif", str(files[0]), "--against", str(files[1]), "--ranks", "16", *SCALE[2:]]
    monkeypatch.setattr("hindmost.analysis.whatif.at_scale.EVENTS_PER_S", 1e3)
    assert main(words) == 0
    announced = capsys.readouterr().err
    for solver in ("gmres", "pgmres"):
        said = f"Simulating 2 runs of {solver} on up to 16 ranks; this takes about"
        assert announced.count(said) == 1


def test_it_pays_off_from_where_the_maximum_exceeds_the_extra_work(
    files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocking: 50 us and 10 us H_P, latency aside; pipelined: 60 us and about 10 us.

    With P = 16, H_P = 3.4; with 256 ranks 6.1, and eight messages instead of four.
    """
    found = advice(capsys, *files, *SCALE)
    once = found["at_scale"]
    assert [each["ranks"] for each in once] == [16, 32, 64, 128, 256]
    ratios = [each["ratio"] for each in once]
    assert ratios == sorted(ratios, reverse=True)
    assert once[-1]["verdict"] == "pays off"
    assert found["answer"].startswith("pgmres pays off ")
    assert "(simulated, extrapolated from 4 ranks)" in found["answer"]


def test_without_noise_the_extra_work_does_not_pay_off(
    files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = advice(capsys, *files, "--ranks", "16", *SCALE[2:], "--noise", "none")
    quiet = found["at_scale"][0]
    assert quiet["changes"] == {"noise": "none"}
    # The median of exponential noise is 10 us log 2; four messages of 1.5 us each.
    blocking_s, pipelined_s = 50e-6 + 6.9e-6 + 6e-6, 60e-6 + 6.9e-6
    assert quiet["ratio"] == pytest.approx(pipelined_s / blocking_s, rel=0.03)
    assert quiet["verdict"] == "does not pay off"
    assert "pgmres does not pay off on 16 ranks with noise none" in found["answer"]


def test_deeper_pipelines_apply_to_the_pipelined_solver(
    files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--ranks", "256", *SCALE[2:], "--noise", "x3", "--pipeline-depth", "1,3")
    one, three, once = advice(capsys, *files, *words)["at_scale"]
    assert one["ratio"] < once["ratio"]
    assert three["changes"] == {"noise": "x3", "pipeline_depth": "3"}
    assert three["blocking_s"] == one["blocking_s"]
    assert three["pipelined_s"] < one["pipelined_s"]


def test_what_to_measure_and_what_is_assumed_are_said(
    files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    printed = said(capsys, files[0], "--against", files[1], "--ranks", "256", *SCALE[2:])
    assert "To be surer, record 3 repeats of each solver" in printed
    assert "The slowest of 256 ranks is rarer than what 400 iterations of 4 ranks show" in printed
    assert "gmres: Of " in printed
    assert "Assumed: Weak scaling" in printed


def test_a_ratio_too_wide_to_mean_anything_is_no_face_value(
    files: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hindmost.analysis.whatif.advice.WIDEST", 1.0)
    found = advice(capsys, *files, "--ranks", "256", *SCALE[2:])
    (at,) = found["at_scale"]
    low, high = at["ratio_interval"]
    assert at["ratio"] is None
    assert f"an iteration takes {low:.2f} to {high:.2f} times as long" in found["answer"]
    assert "face value" not in found["answer"]
    assert "To the tolerance" not in found["answer"]


def test_what_enough_repeats_differ_by_is_in_the_interval_and_vetoes_nothing(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / "blocking", tmp_path / "pipelined"]
    random = np.random.default_rng(9)
    for at, folder in enumerate(folders):
        folder.mkdir()
        for repeat in range(3):
            noise = np.full((BODIES, RANKS), 15e-6 * repeat) + random.exponential(
                1e-6, (BODIES, RANKS)
            )
            write(folder, header, noise + 80e-6 * at, pipelined=bool(at))
    found = advice(capsys, *folders)
    assert any(each["code"] == "repeats-differ" for each in found["findings"])
    assert found["answer"].startswith("pgmres does not pay off")
    low, high = found["recorded"]["ratio_interval"]
    assert high > 1.3 * low
    for folder in folders:
        sorted(folder.glob("*.h5"))[-1].unlink()
    assert "the runs have errors" in advice(capsys, *folders)["answer"]  # two show less


def test_runs_of_several_kinds_are_refused(
    tmp_path: Path, files: list[Path], header: Header
) -> None:
    both = tmp_path / "both"
    both.mkdir()
    noise = np.zeros((BODIES, RANKS))
    write(both, header, noise, pipelined=False)
    write(both, header, noise, pipelined=True)
    with pytest.raises(UsageError, match="differ in more than ranks and size"):
        main(["whatif", str(both), "--against", str(files[1]), *SCALE])
