"""Errors of predictions in files whose errors are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.adaptive.files import machine_of, off_by, write_adaptive

from hindmost.analysis.adaptive.offline import offline_model, phase_rows
from hindmost.analysis.adaptive.replays import group_replays, replayed
from hindmost.analysis.adaptive.study import study_runs
from hindmost.analysis.runs.cycles import read_adaptive
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.models.adaptive.panel import Panel
from hindmost.models.synthetic.cycles import CycleLaw, Cycles, draw_cycles

LAW = CycleLaw(cycles=60, adapts_every=1, iterations=(0.0, 0.0))
QUIET = replace(LAW, noise=0.0, phase_noise=0.0, spikes=0.0, wander=0.0, drift=0.0)


def scaled(cycles: Cycles, factor: float) -> Cycles:
    """Return the same cycles, each so many times as long."""
    return replace(
        cycles,
        spent=tuple(
            replace(
                each,
                seconds=factor * each.seconds,
                phases_s=tuple(factor * part for part in each.phases_s),
            )
            for each in cycles.spent
        ),
    )


def test_raw_errors_are_those_that_were_put_in(tmp_path: Path, header: Header) -> None:
    cycles = draw_cycles(LAW, 1)
    file = write_adaptive(
        tmp_path, header, cycles,
        predicted={"online-all": off_by(cycles, 7.0), "offline": off_by(cycles, 3.0)},
        checkpoint_s={20: 1.0},
    )  # fmt: skip
    run = read_adaptive(open_run(file))
    np.testing.assert_allclose(run.seconds, cycles.seconds)
    assert run.checkpoint_s[20] == pytest.approx(1.0)
    assert run.steps == 20
    [group] = group_replays([run])
    assert group.errors_percent("online-all") == pytest.approx([7.0])
    assert group.errors_percent("offline") == pytest.approx([3.0])
    assert group.floor_percent() is None
    assert group.denoised_percent() == {}
    with pytest.raises(UsageError, match="no predictor 'online-9'; it has: online-all, offline"):
        run.prediction("online-9")


def test_predictors_say_again_what_they_said_in_the_run(tmp_path: Path, header: Header) -> None:
    cycles = draw_cycles(replace(LAW, iterations=(17.0, 40.0)), 2)
    panel = Panel()
    # The kernel knows of the iterations to come those of the cycle before, and of the first none.
    works = [replace(cycles.work[0], iterations=0.0)]
    works += [
        replace(work, iterations=before.iterations or 0.0)
        for work, before in zip(cycles.work[1:], cycles.spent, strict=False)
    ]
    for work, spent in zip(works, cycles.spent, strict=True):
        panel.predict(replace(work, adapts=True))
        panel.observe(spent)
    predicted = dict(zip(panel.names, panel.predicted.T, strict=True))
    file = write_adaptive(tmp_path, header, cycles, predicted=predicted)
    again = replayed(read_adaptive(open_run(file)))
    assert again.names == panel.names
    np.testing.assert_allclose(again.predicted, panel.predicted, rtol=1e-5)


def test_the_floor_and_denoised_errors_of_replays_that_differ_by_a_factor(
    tmp_path: Path, header: Header
) -> None:
    cycles = draw_cycles(
        replace(LAW, noise=0.0, phase_noise=0.0, spikes=0.0, wander=0.0, drift=0.0), 3
    )
    runs = []
    for repeat, factor in enumerate((1.0, 1.1, 1.2)):
        slow = scaled(cycles, factor)
        said = {"online-all": off_by(slow, 5.0), "offline": cycles.seconds * (1.0 + 0.02 * repeat)}
        file = write_adaptive(
            tmp_path, header, slow, predicted=said,
            spec={
                "repeat": repeat, "speed_s": 1e-3 * (1 + repeat),
                "pulse_s": 1e-5 * (1 + repeat), "pulses_s": 1e-3 * (1 + repeat),
            },
        )  # fmt: skip
        runs.append(read_adaptive(open_run(file)))
    [group] = group_replays(runs)
    assert [each.repeat for each in group.runs] == [0, 1, 2]
    assert group.middle is group.runs[1]
    assert group.floor_percent() == pytest.approx(100.0 * (0.1 / 1.1 + 0.0 + 0.1 / 1.1) / 3.0)
    assert group.errors_percent("online-all") == pytest.approx([5.0] * 3)
    least = group.denoised_percent()
    # Offline as it was said in the fastest run, of cycles that are the fastest: nothing is off.
    assert least["offline"] == pytest.approx(0.0, abs=1e-9)
    assert set(least) == {"online-all", "offline"}
    fastest = replayed(group.runs[0], names=("online-all",)).errors_percent()
    assert least["online-all"] == pytest.approx(fastest["online-all"], rel=1e-4)
    # Another mesh history is no replay.
    other = draw_cycles(replace(LAW, cells=5000.0), 3)
    file = write_adaptive(tmp_path, header, other, predicted={"online-all": other.seconds})
    assert len(group_replays([*runs, read_adaptive(open_run(file))])) == 2


def test_phases_are_held_against_their_own_measurement(tmp_path: Path, header: Header) -> None:
    cycles = draw_cycles(replace(QUIET, hydro_s=1.1 * QUIET.hydro_s), 4)
    run = read_adaptive(
        open_run(write_adaptive(tmp_path, header, cycles, predicted={"offline": cycles.seconds}))
    )
    rows = {row.phase: row for row in phase_rows(run, machine_of())}
    assert rows["hydro"].error_percent == pytest.approx(100.0 * (1.0 - 1.0 / 1.1), rel=1e-4)
    assert rows["hydro"].measured_s == pytest.approx(1.1 * rows["hydro"].predicted_s, rel=1e-4)
    assert np.isnan(rows["heat"].error_percent)
    model = offline_model(run, machine_of())
    assert model.pattern.name == "curve"
    bare = write_adaptive(
        tmp_path, header, cycles, predicted={"offline": cycles.seconds}, spec={"application": None}
    )
    with pytest.raises(DataError, match="lacks the counts of its deck"):
        offline_model(read_adaptive(open_run(bare)), machine_of())


def test_what_is_of_another_workload_is_refused(run_file: Path) -> None:
    with pytest.raises(UsageError, match="is a run of laplacian-1d"):
        read_adaptive(open_run(run_file))


def test_a_study_of_calm_runs_judges_only_what_was_replayed(tmp_path: Path, header: Header) -> None:
    runs = []
    specs: list[dict[str, object]] = [{}, {"repeat": 1}, {"interfere": {"spans": [[20, None]]}}]
    for seed, spec in enumerate(specs):
        cycles = draw_cycles(LAW, 5)
        noisy = scaled(cycles, 1.0 + 0.01 * seed)
        said = {"shape-level": off_by(noisy, 4.0), "online-all": off_by(noisy, 6.0)}
        file = write_adaptive(tmp_path, header, noisy, predicted=said, spec=spec)
        runs.append(read_adaptive(open_run(file)))
    study = study_runs(runs, limits=20)
    assert [len(each.replays.runs) for each in study.errors] == [2, 1]
    assert [each.raw["shape-level"] for each in study.judged] == [pytest.approx([4.0, 4.0])]
    assert study.errors[0].load == pytest.approx((0.1, 0.2))
    assert [onset.cycle for onset in study.onsets] == [20]
