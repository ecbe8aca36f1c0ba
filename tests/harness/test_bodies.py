from __future__ import annotations

import numpy as np
import pytest

from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.recorder.bodies import Recording, find_bodies
from hindmost.harness.recorder.clock import own_clock
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.runfile.bodies import PHASES
from hindmost.models.events import EventKind

CALLS = ("MPI_Allreduce", "MPI_Iallreduce", "MPI_Wait", "MPI_Startall", "MPI_Waitall")
INTERVALS = {
    "halo": (-1 - CALLS.index("MPI_Startall"), 0),
    "halo-end": (-1 - CALLS.index("MPI_Waitall"), 0),
    "reduce": (-1 - CALLS.index("MPI_Allreduce"), 1),
    "wait": (-1 - CALLS.index("MPI_Wait"), 1),
    "post": (-1 - CALLS.index("MPI_Iallreduce"), 2),
    "other": (-1 - CALLS.index("MPI_Startall"), 3),
}
"""What stands in the records of an interval: the call's number and its phase."""


def recording(*events: tuple[str, int, int]) -> Recording:
    """Return a recording of marks ('N', t, t) and MPI intervals ('wait', begin, end)."""
    records = np.zeros(len(events), RECORD)
    for record, (what, begin, end) in zip(records, events, strict=True):
        record["begin_ns"], record["end_ns"] = begin, end
        record["what"], record["phase"] = INTERVALS.get(what) or (ord(what), 0)
    return Recording(
        call_names=CALLS,
        counts=np.empty((0, 2), np.int64),
        records=records,
        begin_ns=1000,
        end_ns=9000,
        begin_utc_ns=0,
        switches=0,
        lost=0,
        other_s={},
        clock=own_clock(1000),
    )


TWO_CYCLES = recording(
    ("wait", 1100, 1200),  # in the lead-in
    ("N", 1500, 1500),
    ("halo", 1600, 1700),
    ("halo", 1750, 1800),
    ("wait", 1900, 2100),
    ("O", 2150, 2150),
    ("other", 2200, 2250),
    ("wait", 2300, 2400),
    ("N", 2500, 2500),
    ("post", 2600, 2620),
    ("O", 2800, 2800),
    ("N", 3000, 3000),
    ("wait", 3100, 3900),  # between the cycles
    ("N", 4000, 4000),
    ("O", 4400, 4400),
    ("N", 5000, 5000),
)
GMRES = SOLVERS["gmres"].pattern


def test_phases_are_exclusive_and_sum_to_the_body() -> None:
    bodies = find_bodies(TWO_CYCLES, GMRES, "gmres")
    np.testing.assert_allclose(bodies.duration, [1e-6, 0.5e-6, 1e-6])
    np.testing.assert_allclose(bodies.start, [0.5e-6, 1.5e-6, 3e-6])
    columns = {name: bodies.phase_duration[:, i] for i, name in enumerate(PHASES)}
    np.testing.assert_allclose(columns["halo"], [150e-9, 0, 0])
    np.testing.assert_allclose(columns["wait"], [300e-9, 0, 0])
    np.testing.assert_allclose(columns["post"], [0, 20e-9, 0])
    np.testing.assert_allclose(columns["local"], [550e-9, 480e-9, 1000e-9])
    np.testing.assert_allclose(bodies.phase_duration.sum(axis=1), bodies.duration, rtol=1e-6)


def test_the_books_close() -> None:
    bodies = find_bodies(TWO_CYCLES, GMRES, "gmres")
    parts = bodies.lead_in_s + bodies.duration.sum() + bodies.restart_duration.sum()
    assert parts + bodies.lead_out_s == pytest.approx(bodies.solve_time_s, abs=1e-15)
    np.testing.assert_allclose(bodies.restart_duration, [1e-6])


def test_the_first_bodies_close_their_books_too() -> None:
    bodies = find_bodies(TWO_CYCLES, GMRES, "gmres").first(2)
    assert bodies.duration.size == 2
    assert bodies.restart_duration.size == 0
    parts = bodies.lead_in_s + bodies.duration.sum() + bodies.restart_duration.sum()
    assert parts + bodies.lead_out_s == pytest.approx(bodies.solve_time_s, abs=1e-15)


NONE, REDUCE, POST = EventKind.NONE, EventKind.REDUCE, EventKind.POST
COMPLETE, SEND, RECEIVE = EventKind.COMPLETE, EventKind.SEND, EventKind.RECEIVE

TWO_BODIES = recording(
    ("N", 1500, 1500),
    ("halo", 1600, 1610),
    ("halo", 1620, 1640),
    ("halo-end", 1700, 1750),
    ("wait", 1800, 1900),
    ("wait", 1910, 1920),
    ("other", 1950, 1990),
    ("post", 2000, 2005),
    ("O", 2010, 2010),
    ("N", 2100, 2100),
    ("reduce", 2200, 2300),
    ("reduce", 2300, 2400),
    ("O", 2450, 2450),
    ("N", 2500, 2500),
)


def test_events_and_the_own_work_between_them() -> None:
    bodies = find_bodies(TWO_BODIES, GMRES, "gmres")
    events = bodies.events
    assert events is not None
    np.testing.assert_array_equal(
        events.kind,
        [[SEND, RECEIVE, COMPLETE, COMPLETE, POST], [REDUCE, REDUCE, NONE, NONE, NONE]],
    )
    # Calls of a halo in a row are one event, and what lies between them is own work before it.
    np.testing.assert_allclose(
        events.work * 1e9, [[110, 60, 50, 10, 80], [100, 0, 0, 0, 0]], rtol=1e-6
    )
    np.testing.assert_allclose(
        events.duration * 1e9, [[30, 50, 100, 10, 5], [100, 100, 0, 0, 0]], rtol=1e-6
    )


def test_bodies_with_too_many_events_have_none() -> None:
    calls = [("reduce", 1600 + 10 * i, 1605 + 10 * i) for i in range(25)]
    found = find_bodies(
        recording(("N", 1500, 1500), *calls, ("O", 2000, 2000), ("N", 2100, 2100)), GMRES, "gmres"
    )
    assert found.events is None
