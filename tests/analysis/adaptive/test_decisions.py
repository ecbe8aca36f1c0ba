"""Limits, alarms, checkpoints and onsets on cycles whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.adaptive.files import off_by, write_adaptive

from hindmost.analysis.adaptive.checkpoints import study_checkpoints
from hindmost.analysis.adaptive.interference import (
    count_alarms,
    find_onsets,
    undisturbed_cycles,
    undisturbed_share,
)
from hindmost.analysis.adaptive.limits import simulate_limits, stop_at
from hindmost.analysis.runs.cycles import AdaptiveRun, read_adaptive
from hindmost.errors import DataError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.models.adaptive.checkpoints import young_s
from hindmost.models.synthetic.cycles import CycleLaw, draw_cycles

QUIET = CycleLaw(cycles=120, adapts_every=1, iterations=(0.0, 0.0), spikes=0.0, wander=0.0)
EXACT = replace(QUIET, noise=0.0, phase_noise=0.0, drift=0.0, growth=1.0)


def run_of(folder: Path, header: Header, law: CycleLaw, **spec: object) -> AdaptiveRun:
    cycles = draw_cycles(law, 1)
    said = {"shape-level": off_by(cycles, 0.0)}
    return read_adaptive(
        open_run(write_adaptive(folder, header, cycles, predicted=said, spec=spec))
    )


def test_limits_on_a_run_that_is_predicted_without_error(tmp_path: Path, header: Header) -> None:
    run = run_of(tmp_path, header, QUIET)
    found = simulate_limits([run, run], limits=51, checkpoint_s=0.0)
    assert found.unused_cycles.size == 51
    assert found.overruns == 0
    # What is left is less than two cycles: the next would have ended too late, or too near.
    assert found.unused_cycles.max() < 2.0
    with pytest.raises(DataError, match="There is no run"):
        simulate_limits([])


def test_a_run_stops_before_the_cycle_that_would_overrun(tmp_path: Path, header: Header) -> None:
    run = run_of(tmp_path, header, EXACT)
    done = np.cumsum(run.seconds)
    limits = np.array([done[59] + 0.5 * run.seconds[60], 2.0 * done[-1]])
    ends, following = stop_at(run, limits, 0.01, checkpoint_s=0.0)
    assert ends[0] <= limits[0]
    assert ends[0] in (pytest.approx(done[58]), pytest.approx(done[59]))
    assert following[0] == pytest.approx(run.seconds[60])
    assert ends[1] == pytest.approx(done[-1])
    late, _ = stop_at(run, limits, 0.01, checkpoint_s=float(10 * run.seconds[0]))
    assert late[0] <= limits[0]


def test_young_rounded_down_on_equal_cycles(tmp_path: Path, header: Header) -> None:
    run = run_of(tmp_path, header, EXACT)
    assert np.ptp(run.seconds) / run.seconds[0] < 0.12
    each = float(run.seconds.mean())
    # An interval of 10.5 cycles by Young's formula is 10 cycles when rounded down (figure 4).
    mtbf_s = (10.5 * each) ** 2 / (2.0 * 0.1 * each)
    assert young_s(0.1 * each, mtbf_s) == pytest.approx(10.5 * each)
    study = study_checkpoints(run, mtbf_s=mtbf_s, checkpoint_s=0.1 * each)
    by_name = {planned.name: planned for planned in study.planned}
    after = by_name["Young, rounded down (the paper)"].plan.after
    assert after[:3] == (10, 20, 30)
    best = by_name["least waste, known afterwards"]
    assert best.above_percent == 0.0
    assert all(planned.above_percent >= 0.0 for planned in study.planned)
    assert by_name["optimum, to the nearest cycle"].above_percent < 0.5
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


def probed(
    folder: Path, header: Header, *, slow: tuple[int, int], core: float, lost: float = 0.0
) -> AdaptiveRun:
    """Return a run whose cycles take twice as long in a stretch, with what the probe shows then."""
    at = np.arange(120)
    there = (at >= slow[0]) & (at < slow[1])
    cycles = draw_cycles(QUIET, 1, slowdown=np.where(there, 2.0, 1.0))
    pulses = np.stack([np.where(there, core, 1.0) * 4e-6, np.full(120, 9e-6)], axis=1)
    said = {"shape-level": off_by(cycles, 0.0)}
    return read_adaptive(
        open_run(
            write_adaptive(
                folder, header, cycles, predicted=said,
                pulses_s=pulses, lost=np.where(there, lost, 0.0),
            )
        )
    )  # fmt: skip


def test_cycles_are_undisturbed_between_usual_pulses_on_a_core_that_was_not_lost(
    tmp_path: Path, header: Header
) -> None:
    calm = undisturbed_cycles(probed(tmp_path, header, slow=(40, 60), core=1.3))
    assert calm is not None
    # The pulse after cycle 59 is the one before cycle 60; before the first cycle there is none.
    assert np.flatnonzero(~calm).tolist() == [0, *range(40, 61)]
    run = probed(tmp_path, header, slow=(40, 60), core=1.0, lost=0.2)
    assert run.lost[40].max() == pytest.approx(0.2, rel=1e-5)
    calm = undisturbed_cycles(run)
    assert calm is not None
    assert np.flatnonzero(~calm).tolist() == [0, *range(40, 60)]
    assert undisturbed_share([run]) == pytest.approx(99 / 120)
    bare = run_of(tmp_path, header, QUIET)
    assert undisturbed_cycles(bare) is None
    assert undisturbed_share([bare]) is None


def test_alarms_are_false_only_where_the_probe_shows_nothing(
    tmp_path: Path, header: Header
) -> None:
    shown = count_alarms([probed(tmp_path, header, slow=(40, 60), core=1.3)])
    assert shown is not None
    assert (shown.cycles, shown.of, shown.false_alarms) == (98, 120, 0)
    # The same slow cycles under a probe that sees nothing: alarms at their begin and end.
    hidden = count_alarms([probed(tmp_path, header, slow=(40, 60), core=1.0)])
    assert hidden is not None
    assert (hidden.cycles, hidden.false_alarms) == (119, 2)
    assert hidden.per_thousand == pytest.approx(2000 / 119)
    assert count_alarms([run_of(tmp_path, header, QUIET)]) is None
