"""Checkpoints and onsets on cycles whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.adaptive.files import off_by, write_adaptive

from hindmost.analysis.adaptive.study import BEST, find_onsets, study_checkpoints
from hindmost.analysis.runs.cycles import AdaptiveRun, read_adaptive
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
