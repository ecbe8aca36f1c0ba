"""When simulated ranks do what: as it was recorded, and as the walk says."""

import numpy as np
import pytest
from tests.models.simulation.programs import PATTERNS, synthetic

from hindmost.models.simulation.change import Change
from hindmost.models.simulation.rerun import Scenario, prepared, timeline_of

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
