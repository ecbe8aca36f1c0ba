"""Errors of predictions, checkpoints and onsets of interference in adaptive runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.synthetic.cycles import CycleLaw, Cycles, draw_cycles
from tests.analysis.adaptive.files import off_by, write_adaptive

from hindmost.analysis.adaptive.study import (
    BEST,
    find_onsets,
    group_replays,
    study_checkpoints,
    study_runs,
)
from hindmost.analysis.runs.cycles import AdaptiveRun, read_adaptive
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.models.ahead.checkpoints import young_s

LAW = CycleLaw(cycles=60, adapts_every=1, iterations=(0.0, 0.0))


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
    assert run.steps == 20
    [group] = group_replays([run])
    assert group.raw["online-all"] == pytest.approx([7.0])
    assert group.raw["offline"] == pytest.approx([3.0])
    assert group.floor is None
    with pytest.raises(UsageError, match="no predictor 'online-9'; it has: online-all, offline"):
        run.prediction("online-9")


def test_the_floor_of_replays_that_differ_by_a_factor(tmp_path: Path, header: Header) -> None:
    cycles = draw_cycles(
        replace(LAW, noise=0.0, phase_noise=0.0, spikes=0.0, wander=0.0, drift=0.0), 3
    )
    runs = []
    for repeat, factor in enumerate((1.0, 1.1, 1.2)):
        slow = scaled(cycles, factor)
        said = {"online-all": off_by(slow, 5.0), "offline": cycles.seconds * (1.0 + 0.02 * repeat)}
        file = write_adaptive(
            tmp_path, header, slow, predicted=said,
            spec={"repeat": repeat, "pulse_s": 1e-5 * (1 + repeat)},
        )  # fmt: skip
        runs.append(read_adaptive(open_run(file)))
    [group] = group_replays(runs)
    assert group.middle is group.runs[1]
    assert group.floor == pytest.approx(100.0 * (0.1 / 1.1 + 0.0 + 0.1 / 1.1) / 3.0)
    assert group.raw["online-all"] == pytest.approx([5.0] * 3)
    # Another mesh history is no replay.
    other = draw_cycles(replace(LAW, cells=5000.0), 3)
    file = write_adaptive(tmp_path, header, other, predicted={"online-all": other.seconds})
    assert len(group_replays([*runs, read_adaptive(open_run(file))])) == 2


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
    study = study_runs(runs)
    assert [len(error.runs) for error in study.errors] == [2, 1]
    assert [each.raw["shape-level"] for each in study.judged] == [pytest.approx([4.0, 4.0])]
    assert study.errors[0].load == pytest.approx((0.1, 0.2))
    assert [onset.cycle for onset in study.onsets] == [20]


QUIET = CycleLaw(cycles=120, adapts_every=1, iterations=(0.0, 0.0), spikes=0.0, wander=0.0)
EXACT = replace(QUIET, noise=0.0, phase_noise=0.0, drift=0.0, growth=1.0)


def run_of(folder: Path, header: Header, law: CycleLaw, **spec: object) -> AdaptiveRun:
    cycles = draw_cycles(law, 1)
    said = {"shape-level": off_by(cycles, 0.0)}
    return read_adaptive(
        open_run(write_adaptive(folder, header, cycles, predicted=said, spec=spec))
    )


def test_young_rounded_down_on_equal_cycles(tmp_path: Path, header: Header) -> None:
    run = run_of(tmp_path, header, EXACT)
    assert np.ptp(run.seconds) / run.seconds[0] < 0.12
    each = float(run.seconds.mean())
    # An interval of 10.5 cycles by Young's formula is 10 cycles when rounded down (figure 4).
    mtbf_s = (10.5 * each) ** 2 / (2.0 * 0.1 * each)
    assert young_s(0.1 * each, mtbf_s) == pytest.approx(10.5 * each)
    study = study_checkpoints(run, mtbf_s=mtbf_s, checkpoint_s=0.1 * each)
    assert study.plans["Young, rounded down (the paper)"].after[:3] == (10, 20, 30)
    assert study.above_percent(BEST) == 0.0
    assert all(study.above_percent(rule) >= 0.0 for rule in study.plans)
    assert study.above_percent("optimum, to the nearest cycle") < 0.5
    assert study_checkpoints(run).assumed


def test_checkpoints_of_a_run_say_what_they_cost(tmp_path: Path, header: Header) -> None:
    written = [{"cycle": 30, "seconds": 0.25, "bytes": 1e6}]
    study = study_checkpoints(run_of(tmp_path, header, EXACT, checkpoints=written))
    assert not study.assumed
    assert study.checkpoint_s[30] == pytest.approx(0.25)


def test_onsets_are_where_the_neighbour_came(tmp_path: Path, header: Header) -> None:
    slow = np.where((np.arange(120) >= 40) & (np.arange(120) < 80), 2.0, 1.0)
    slow[100:] = 2.0
    cycles = draw_cycles(EXACT, 1, slowdown=slow)
    verdicts = [
        {"cycle": 41, "kind": "machine slower", "words": "."},
        {"cycle": 80, "kind": "machine faster", "words": "."},
    ]
    said = cycles.seconds.copy()
    said[40:43] /= 2.0
    said[43:80] *= 1.03
    run = read_adaptive(
        open_run(
            write_adaptive(
                tmp_path, header, cycles, predicted={"shape-level": said},
                spec={"interfere": {"spans": [[40, 79], [100, None]]}, "verdicts": verdicts},
            )
        )
    )  # fmt: skip
    first, second = find_onsets(run)
    assert (first.cycle, first.length, first.delay) == (40, 40, 2)
    assert first.factor == pytest.approx(2.0, rel=0.05)
    assert first.error_percent == pytest.approx(3.0)
    assert (second.cycle, second.length, second.delay) == (100, 20, None)
    assert find_onsets(run_of(tmp_path, header, EXACT)) == []
