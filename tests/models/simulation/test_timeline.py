"""When simulated ranks do what: as it was recorded, and as the walk says."""

from __future__ import annotations

import numpy as np
import pytest
from tests.models.simulation.programs import PATTERNS, synthetic

from hindmost.models.simulation.change import Change
from hindmost.models.simulation.rerun import Scenario, prepared, walk
from hindmost.models.simulation.timeline import timeline_of

TYPICAL = Scenario(level="typical", byte_share=0.0)


@pytest.mark.parametrize("name", PATTERNS)
def test_without_a_change_it_is_what_was_recorded(name: str) -> None:
    program = synthetic(name, stay_s=0.02)
    found = timeline_of(prepared(program, Change(), TYPICAL))
    block = program.block
    there = block.recorded[:, None, :]
    assert found.inside == pytest.approx(np.where(there, block.duration, 0.0), abs=1e-9)
    begins = np.flatnonzero(block.cycle_begins)
    ends = np.array([0.0, *found.end[begins[1:] - 1].max(axis=1)])
    assert found.start[begins] - ends[:, None] == pytest.approx(program.between)


@pytest.mark.parametrize("name", ["blocking", "pipelined", "overlapping"])
@pytest.mark.parametrize("change", [Change(latency=3.0), Change(every_speed=0.5)])
def test_it_ends_when_the_walk_ends(name: str, change: Change) -> None:
    program = synthetic(name)
    found = timeline_of(prepared(program, change, TYPICAL))
    total_s = float((found.end[-1] + found.script.program.after).max())
    assert total_s == pytest.approx(walk(program, change, TYPICAL).total_s)
    inside = found.script.block.work.sum(axis=2) + found.inside.sum(axis=2)
    assert (inside <= found.end - found.start + 1e-9).all()
