from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.harness.test_bodies import GMRES, gmres_bodies, recording

from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.ending import Ending
from hindmost.records import to_document

FORCED = Ending(asked=400, done=400, reason="CONVERGED_ITS")
TO_TOLERANCE = Ending(asked=400, done=90, reason="CONVERGED_RTOL", rtol=1e-8)


@pytest.mark.parametrize(
    ("ending", "reached", "shortfall"),
    [
        (FORCED, False, ""),
        (TO_TOLERANCE, True, ""),
        (replace(TO_TOLERANCE, reason="CONVERGED_ATOL"), True, ""),
        (
            replace(FORCED, done=90, reason="CONVERGED_ATOL"),
            False,
            "stopped after 90 of 400 iterations (CONVERGED_ATOL)",
        ),
        (
            replace(TO_TOLERANCE, done=400, reason="DIVERGED_ITS"),
            False,
            "rtol 1e-08 not reached in 400 iterations (DIVERGED_ITS)",
        ),
        (
            replace(FORCED, done=7, reason="DIVERGED_INDEFINITE_MAT"),
            False,
            "stopped after 7 of 400 iterations (DIVERGED_INDEFINITE_MAT: the matrix is not "
            "positive definite)",
        ),
        # What PETSc calls converged for another reason did not reach the tolerance.
        (
            replace(TO_TOLERANCE, reason="CONVERGED_ITS", atol=0.5),
            False,
            "rtol 1e-08, atol 0.5 not reached in 90 iterations (CONVERGED_ITS)",
        ),
        (
            replace(TO_TOLERANCE, reason="CONVERGED_HAPPY_BREAKDOWN"),
            False,
            "rtol 1e-08 not reached in 90 iterations (CONVERGED_HAPPY_BREAKDOWN)",
        ),
    ],
)
def test_only_a_tolerance_that_was_reached_is_reached(
    ending: Ending, reached: bool, shortfall: str
) -> None:
    assert (ending.reached, ending.shortfall) == (reached, shortfall)
    assert ending.as_asked == (not shortfall)


def test_what_the_header_says_is_read_back(header: Header) -> None:
    said = replace(
        TO_TOLERANCE, done=40, true_residual=1e-7, norm="natural", generic="why", flaw="NaN"
    )
    kept = replace(header, spec={**header.spec, "ending": to_document(said)})
    assert Ending.of(kept) == said
    assert Ending.of(header) is None


@pytest.mark.parametrize(
    "said", [7, [], {}, {"asked": "x", "rtol": [1], "reason": 3, "true_residual": "a"}]
)
def test_a_header_may_say_anything(header: Header, said: object) -> None:
    found = Ending.of(replace(header, spec={"ending": said}))
    assert found is None or not found.reached


def monitored(iteration: int, at_ns: int) -> tuple[str, int, int]:
    return (f"I{iteration}", at_ns, at_ns)


ANY = replace(GMRES, generic="another solver")
GENERIC = recording(
    monitored(0, 1500),
    ("wait", 1600, 1700),
    ("N", 1800, 1800),
    monitored(1, 2000),
    monitored(1, 2200),  # told again after a restart
    ("halo", 2300, 2400),
    monitored(2, 3000),
)


def test_generic_bodies_last_from_monitor_to_monitor() -> None:
    bodies = gmres_bodies(GENERIC, ANY)
    np.testing.assert_allclose(bodies.duration, [500e-9, 1000e-9])
    np.testing.assert_allclose(bodies.phase_duration.sum(axis=1), bodies.duration, rtol=1e-6)
    np.testing.assert_allclose(bodies.phase_duration[:, PHASES.index("wait")], [100e-9, 0])
    parts = bodies.lead_in_s + bodies.duration.sum() + bodies.lead_out_s
    assert parts == pytest.approx(bodies.solve_time_s, abs=1e-15)


def test_a_solve_without_monitors_is_one_body_unless_records_were_lost() -> None:
    alone = recording(("wait", 1600, 1700), ("halo", 2300, 2400))
    bodies = gmres_bodies(alone, ANY)
    np.testing.assert_allclose(bodies.duration, [bodies.solve_time_s])
    assert (bodies.lead_in_s, bodies.lead_out_s) == (0.0, 0.0)
    assert gmres_bodies(replace(alone, lost=3), ANY).duration.size == 0


def test_a_last_cycle_may_find_that_the_solve_has_converged() -> None:
    stream = recording(
        *((letter, 1500 + 100 * at, 1500 + 100 * at) for at, letter in enumerate("NONONN"))
    )
    bodies = gmres_bodies(stream)
    assert bodies.duration.size == 2
    assert bodies.restart_duration.size == 0
    parts = bodies.lead_in_s + bodies.duration.sum() + bodies.lead_out_s
    assert parts == pytest.approx(bodies.solve_time_s, abs=1e-15)


def test_activities_of_a_body_are_differences_of_totals() -> None:
    totals = np.array([[10, 5], [40, 25], [60, 105]])  # at the three marks below
    three = recording(("N", 1500, 1500), ("O", 1600, 1600), ("N", 1700, 1700))
    bodies = gmres_bodies(replace(three, activity_names=("MatMult", "other"), activity_ns=totals))
    assert bodies.activities == ("MatMult", "other")
    assert bodies.activity_duration is not None
    np.testing.assert_allclose(bodies.activity_duration, [[50e-9, 100e-9]], rtol=1e-6)
