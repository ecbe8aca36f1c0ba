from __future__ import annotations

import numpy as np
import pytest

from hindmost.harness.krylov.recorded import CommonMarks, RankMarks, residual_norms
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.recorder.clock import ClockReading, CommonClock
from hindmost.harness.recorder.library import RECORD, CallClass, Flag
from hindmost.harness.recorder.recording import Recording
from hindmost.harness.runfile.bodies import PHASES, RankBodies
from hindmost.models.events import EventKind

CLASSES = (
    *(CallClass.COLLECTIVE, CallClass.ICOLLECTIVE, CallClass.WAIT_ONE, CallClass.STARTALL),
    *(CallClass.WAIT_ALL, CallClass.FILE_IO, CallClass.SENDRECV, CallClass.FLAG_TEST),
    CallClass.SEND,
)
INTERVALS = {
    "halo": (CallClass.STARTALL, 0, 0, 0),
    "halo-end": (CallClass.WAIT_ALL, 0, 0, 0),
    "exchange": (CallClass.SENDRECV, 0, 0, 0),
    "send": (CallClass.SEND, 0, 0, 0),
    "probe": (CallClass.FLAG_TEST, 0, Flag.INCOMPLETE, 0),
    "reduce": (CallClass.COLLECTIVE, 1, 0, 0),
    "part": (CallClass.COLLECTIVE, 1, Flag.PART, 0),
    "alone": (CallClass.COLLECTIVE, 1, Flag.ALONE, 0),
    "wait": (CallClass.WAIT_ONE, 1, 0, 1),
    "wait-two": (CallClass.WAIT_ALL, 1, 0, 2),
    "wait-late": (CallClass.WAIT_ONE, 1, Flag.LATE, 1),
    "mixed": (CallClass.WAIT_ALL, 0, 0, 1),
    "post": (CallClass.ICOLLECTIVE, 2, 0, 1),
    "other": (CallClass.FILE_IO, 3, 0, 0),
}
"""What stands in the records of an interval: its call's class, phase, flags and count."""

ALONE = ClockReading(offset_ns=0, uncertainty_ns=0, at_ns=1000)


def recording(*events: tuple[str, int, int]) -> Recording:
    """Return a recording of marks ('N', t, t) and MPI intervals ('wait', begin, end).

    A mark of the monitor, 'I7', has its iteration.
    """
    records = np.zeros(len(events), RECORD)
    for record, (what, begin, end) in zip(records, events, strict=True):
        record["begin_ns"], record["end_ns"] = begin, end
        if what not in INTERVALS:
            record["what"], record["end_ns"] = ord(what[0]), int(what[1:] or 0)
            continue
        name, record["phase"], record["flags"], record["count"] = INTERVALS[what]
        record["what"] = -1 - CLASSES.index(name)
    return Recording(
        call_classes=CLASSES,
        counts=np.empty((0, 2), np.int64),
        records=records,
        begin_ns=1000,
        end_ns=9000,
        begin_utc_ns=0,
        switches=0,
        core_wait_s=0.0,
        foreign_calls=0,
        lost=0,
        iterations=0,
        other_s={},
        clock=CommonClock(before=ALONE, after=ALONE, zero_ns=1000),
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
GMRES = CommonMarks(solver=SOLVERS["gmres"], generic="", whole=None)


def gmres_bodies(of: Recording, how: CommonMarks = GMRES) -> RankBodies:
    """Return the bodies of a solve by GMRES."""
    return how.bodies(of, RankMarks.of(of, how.solver, of.iterations, lost=how.whole is not None))


def test_phases_are_exclusive_and_sum_to_the_body() -> None:
    bodies = gmres_bodies(TWO_CYCLES)
    np.testing.assert_allclose(bodies.duration, [1e-6, 0.5e-6, 1e-6])
    np.testing.assert_allclose(bodies.start, [0.5e-6, 1.5e-6, 3e-6])
    columns = {name: bodies.phase_duration[:, i] for i, name in enumerate(PHASES)}
    np.testing.assert_allclose(columns["halo"], [150e-9, 0, 0])
    np.testing.assert_allclose(columns["wait"], [300e-9, 0, 0])
    np.testing.assert_allclose(columns["post"], [0, 20e-9, 0])
    np.testing.assert_allclose(columns["unclassified"], [50e-9, 0, 0])
    np.testing.assert_allclose(columns["local"], [500e-9, 480e-9, 1000e-9])
    np.testing.assert_allclose(bodies.phase_duration.sum(axis=1), bodies.duration, rtol=1e-6)


def test_the_books_close() -> None:
    bodies = gmres_bodies(TWO_CYCLES)
    parts = bodies.lead_in_s + bodies.duration.sum() + bodies.restart_duration.sum()
    assert parts + bodies.lead_out_s == pytest.approx(bodies.solve_time_s, abs=1e-15)
    np.testing.assert_allclose(bodies.restart_duration, [1e-6])


def test_the_first_bodies_close_their_books_too() -> None:
    bodies = gmres_bodies(TWO_CYCLES).first(2)
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


@pytest.mark.parametrize(
    ("history", "norms"),
    [
        ([4.0, 3.0, 2.0, 1.0], [3.0, 2.0, 1.0]),
        ([4.0, 3.0], [3.0, np.nan, np.nan]),
        ([], [np.nan] * 3),
    ],
)
def test_every_body_has_the_norm_after_it(history: list[float], norms: list[float]) -> None:
    bodies = gmres_bodies(TWO_CYCLES)
    found = residual_norms(bodies, np.array(history))
    np.testing.assert_array_equal(found, norms)


def test_events_and_the_own_work_between_them() -> None:
    bodies = gmres_bodies(TWO_BODIES)
    events = bodies.events
    assert events is not None
    np.testing.assert_array_equal(
        events.kind,
        [[SEND, RECEIVE, COMPLETE, COMPLETE, POST], [REDUCE, REDUCE, NONE, NONE, NONE]],
    )
    # Calls of a halo in a row are one event, and what lies between them is own work before it.
    # Access to files stays between the events.
    np.testing.assert_allclose(
        events.work * 1e9, [[110, 60, 50, 10, 80], [100, 0, 0, 0, 0]], rtol=1e-6
    )
    np.testing.assert_allclose(
        events.duration * 1e9, [[30, 50, 100, 10, 5], [100, 100, 0, 0, 0]], rtol=1e-6
    )


def events_of(*calls: tuple[str, int, int]) -> list[tuple[EventKind, int, int]]:
    """Return kind, work and duration in nanoseconds of the events of one body from 1500 to 2010."""
    marked = [("N", 1500, 1500), *calls, ("O", 2000, 2000), ("N", 2100, 2100)]
    events = gmres_bodies(recording(*marked)).events
    assert events is not None
    rows = zip(events.kind[0], events.work[0], events.duration[0], strict=True)
    return [(EventKind(kind), round(w * 1e9), round(d * 1e9)) for kind, w, d in rows]


def test_a_call_may_be_several_events() -> None:
    assert events_of(("exchange", 1600, 1650)) == [(SEND, 100, 0), (RECEIVE, 0, 50)]
    assert events_of(("post", 1550, 1560), ("post", 1600, 1610), ("wait-two", 1700, 1900)) == [
        (POST, 50, 10), (POST, 40, 10), (COMPLETE, 90, 200), (COMPLETE, 0, 0)
    ]  # fmt: skip
    assert events_of(("mixed", 1600, 1700)) == [(RECEIVE, 100, 100), (COMPLETE, 0, 0)]


def test_a_blocking_send_is_no_work() -> None:
    # It may have waited for the receiver.
    assert events_of(("send", 1600, 1650)) == [(SEND, 100, 0), (RECEIVE, 0, 50)]
    assert events_of(("send", 1600, 1650), ("halo-end", 1700, 1800)) == [
        (SEND, 100, 0), (RECEIVE, 50, 150)
    ]  # fmt: skip


def test_calls_that_are_no_event_are_no_work_either() -> None:
    # A probe that finds nothing waits for nobody; it is part of the receipt after it.
    looking = [("probe", 1510 + 20 * i, 1520 + 20 * i) for i in range(4)]
    assert events_of(*looking, ("halo-end", 1600, 1650)) == [(RECEIVE, 60, 90)]
    assert events_of(("reduce", 1600, 1700), ("other", 1800, 1950)) == [(REDUCE, 350, 100)]
    assert events_of(("alone", 1600, 1700)) == [(SEND, 100, 100)]
    assert events_of() == [(NONE, 0, 0)]


@pytest.mark.parametrize("count", [25, 700])
def test_bodies_may_have_any_number_of_events(count: int) -> None:
    calls = [("reduce", 10_000 + 10 * i, 10_005 + 10 * i) for i in range(count)]
    long = [("N", 2000, 2000), *calls, ("O", 90_000, 90_000), ("N", 91_000, 91_000)]
    short = [("reduce", 91_010, 91_020), ("O", 92_000, 92_000), ("N", 93_000, 93_000)]
    found = gmres_bodies(recording(*long, *short))
    assert found.events is not None
    assert found.events.kind.shape == (2, count)
    assert (found.events.kind[0] == REDUCE).all()
    assert found.events.kind[1].tolist() == [REDUCE] + [NONE] * (count - 1)


def test_why_there_are_no_events() -> None:
    for what, why in {
        "part": "some MPI calls were among a part of the ranks",
        "wait-late": "collectives were completed in another order than they were started",
    }.items():
        marked = recording(
            ("N", 1500, 1500), (what, 1600, 1700), ("O", 2000, 2000), ("N", 2100, 2100)
        )
        found = gmres_bodies(marked)
        assert found.events is None
        assert found.events_left_out == why
