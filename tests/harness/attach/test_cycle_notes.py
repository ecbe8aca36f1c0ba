"""What the raw file of a rank says of each cycle of the adaptive kernel."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hindmost.harness.attach.cycle_notes import KEY, CycleNotes
from hindmost.harness.attach.raw import Frame, Span
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.cycles import COUNTS

NAMES = {"phases": [*PHASES, "hydro"], "predictors": ["online-all"]}
GOOD = {
    "wall_ns": [1000] * 6, "cpu_ns": [500] * 6, "counts": list(range(len(COUNTS))), "mesh": 0,
    "pulse_s": 1e-5, "predicted": [None], "edges": [[1, 64]],
}  # fmt: skip
AGAIN = {**GOOD, "predicted": [2.0], "edges": []}


def notes_of(*notes: Any, names: Any = NAMES) -> CycleNotes | None:
    """Return the notes of rank 0 of two."""
    texts, spans, data = [json.dumps(note).encode() for note in notes], [], b""
    for text in texts:
        spans.append(Span(offset=len(data), count=len(text)))
        data += text
    raw: Any = SimpleNamespace(
        noted={Frame.NOTES: spans},
        file=SimpleNamespace(data=data),
        program=SimpleNamespace(rank=0, size=2),
    )
    return CycleNotes.of(raw, {KEY: names})


def test_notes_become_the_variables_of_cycles() -> None:
    notes = notes_of(GOOD, AGAIN)
    assert notes is not None
    cycles, edges = notes.cycles(2), notes.incoming(2)
    assert [int(cycles.counts[name][1]) for name in COUNTS] == AGAIN["counts"]
    np.testing.assert_array_equal(cycles.predictions.predicted, [[np.nan], [2.0]])
    np.testing.assert_allclose(cycles.phase_cpu, 5e-7)
    assert (edges.source.tolist(), edges.bytes.tolist()) == ([1], [64])
    assert notes.cycles(1).epoch.tolist() == [0]


@pytest.mark.parametrize(
    "bad",
    [
        {**GOOD, "wall_ns": [1000] * 5},
        {**GOOD, "counts": [-1] * len(COUNTS)},
        {**GOOD, "edges": [[2, 64]]},
        {**GOOD, "pulse_s": "soon"},
        [],
    ],
)
def test_notes_count_until_one_cannot_be(bad: Any) -> None:
    notes = notes_of(GOOD, bad, GOOD)
    assert notes is not None
    assert len(notes.notes) == 1


@pytest.mark.parametrize("names", [None, {}, {**NAMES, "phases": ["hydro", *PHASES]}])
def test_other_recordings_have_none(names: Any) -> None:
    assert notes_of(GOOD, names=names) is None
