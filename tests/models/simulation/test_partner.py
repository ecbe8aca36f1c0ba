"""The solver of the other kind, from what PETSc's solvers do between their events."""

from dataclasses import replace

import numpy as np
import pytest

from hindmost.errors import UsageError
from hindmost.models.simulation.blocks import KINDS, NONE, EventBlock, Neighbours
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.length import SolveShape
from hindmost.models.simulation.partner import RECIPES, as_partner, steps_of
from hindmost.models.simulation.program import Program, Times, TypicalCosts
from hindmost.models.simulation.rerun import what_if

UNIT_S = np.array([[5e-6, 4e-6, 90e-6, 10e-6, 40e-6], [6e-6, 5e-6, 80e-6, 12e-6, 50e-6]])
"""Vector, vector of the basis, the two parts of a product, a preconditioner; on two ranks."""
RANKS, PAUSE_S, JACOBI = 2, 1e-4, 3.0
LINE = np.array([0, 1], np.int32), np.array([1, 0], np.int32)


def solve(
    solver: str,
    iterations: int = 90,
    restart: int = 0,
    *,
    factor: Times | None = None,
    injected: Times | None = None,
    preconditioner: float = JACOBI,
) -> Program:
    """Return a solve whose messages and reductions cost nothing, so that its time is known."""
    recipe = RECIPES[solver]
    cycle = restart or iterations
    places = np.concatenate(
        [np.arange(min(cycle, iterations - at) + recipe.more) for at in range(0, iterations, cycle)]
    ).astype(np.int32)
    begins = places == 0
    drain = np.append(begins[1:], True) & bool(recipe.last)
    kinds = {
        name: list(steps_of(parts, halo=True, preconditioner=preconditioner))
        for name, parts in (("body", recipe.body), ("first", recipe.first), ("last", recipe.last))
    }
    events = max(map(len, kinds.values())) - 1
    kind = np.zeros((places.size, events), np.uint8)
    work, rest = np.zeros((places.size, RANKS, events)), np.zeros((places.size, RANKS))
    for body, place in enumerate(places):
        name = "last" if drain[body] else "first" if begins[body] and recipe.first else "body"
        for number, step in enumerate(kinds[name]):
            own = UNIT_S @ step.units(float(place))
            own = own if factor is None else own * factor[min(body, len(factor) - 1)]
            if step.event == NONE:
                rest[body] = own
            else:
                kind[body, number], work[body, :, number] = step.event, own
    if injected is not None:
        work[:, :, 0] += injected
    block = EventBlock(
        kind=kind, work=work, duration=np.zeros_like(work), rest=rest, cycle_begins=begins
    )
    costs = np.zeros((events, KINDS))
    seen = np.full((events, KINDS), places.size)
    return Program(
        block=block,
        released_s=np.zeros_like(work),
        late_s=np.full_like(work, -1.0),
        between=np.full((int(begins.sum()), RANKS), PAUSE_S),
        after=np.zeros(RANKS),
        position=places,
        neighbours=Neighbours.of_edges(RANKS, *LINE),
        costs=TypicalCosts(median_s=costs, low_s=costs, high_s=costs, seen=seen, there=seen),
        shape=SolveShape(
            solver=solver,
            iterations=iterations,
            restart=restart,
            drain=drain,
            preconditioner=preconditioner,
            extra=recipe.more,
        ),
        injected=injected,
    )


def work_of(program: Program) -> Times:
    """Return the work of every rank: float64, shape (rank,), seconds."""
    return np.asarray((program.block.work.sum(axis=2) + program.block.rest).sum(axis=0))


PAIRS = [
    ("cg", 0),
    ("pipecg", 0),
    ("bcgs", 0),
    ("pipebcgs", 0),
    ("gmres", 30),
    ("pgmres", 30),
    ("gmres", 40),
]


@pytest.mark.parametrize(("solver", "restart"), PAIRS)
def test_the_work_of_the_partner_is_found(solver: str, restart: int) -> None:
    recorded = solve(solver, restart=restart)
    partner = RECIPES[solver].partner
    found, true = as_partner(recorded, partner), solve(partner, restart=restart)
    assert work_of(found) == pytest.approx(work_of(true), rel=1e-6)
    assert np.array_equal(found.block.kind, true.block.kind)
    assert found.shape is not None
    assert found.shape.solver == partner
    assert found.doubt == pytest.approx((1.0, 1.0), abs=1e-6)
    predicted = what_if(recorded, Change(solver=partner)).predicted_s
    assert predicted == pytest.approx(what_if(true, Change()).predicted_s, rel=1e-6)


@pytest.mark.parametrize("solver", ["cg", "bcgs"])
def test_the_time_of_another_preconditioner_is_found(solver: str) -> None:
    partner = RECIPES[solver].partner
    found = as_partner(solve(solver, preconditioner=0.0), partner)
    true = solve(partner, preconditioner=0.0)
    assert work_of(found) == pytest.approx(work_of(true), rel=1e-6)


def test_several_solves_have_a_pipeline_each() -> None:
    # Solves of 30 iterations are cycles: each fills and drains the pipeline of the partner.
    recorded, true = solve("cg", 90, 30), solve("pipecg", 90, 30)
    assert recorded.shape is not None
    several = replace(recorded, shape=replace(recorded.shape, restart=0, solves=3))
    found = what_if(several, Change(solver="pipecg"))
    assert as_partner(several, "pipecg").bodies == 93
    assert found.predicted_s == pytest.approx(what_if(true, Change()).predicted_s, rel=1e-6)


def test_noise_goes_with_the_iterations() -> None:
    # Bodies that took half as long again do so in the partner.
    factor = np.ones((90, RANKS))
    factor[60:80, 0] = 1.5
    recorded = solve("cg", factor=factor)
    found = what_if(recorded, Change(solver="pipecg")).predicted_s
    true = what_if(solve("pipecg", factor=factor), Change()).predicted_s
    assert found == pytest.approx(true, rel=1e-6)


def test_injected_noise_stays_as_it_was() -> None:
    detours = np.random.default_rng(1).exponential(2e-4, (90, RANKS))
    recorded = solve("cg", injected=detours)
    found = as_partner(recorded, "pipecg")
    injected = np.vstack([detours, np.zeros((1, RANKS))])
    assert found.injected == pytest.approx(injected)
    assert work_of(found) == pytest.approx(work_of(solve("pipecg", injected=injected)), rel=0.02)
    clean = what_if(recorded, Change(solver="pipecg", uninjected=True)).predicted_s
    assert clean == pytest.approx(what_if(solve("pipecg"), Change()).predicted_s, rel=0.02)


def test_partner_and_length_are_combined() -> None:
    found = what_if(solve("gmres", 90, 30), Change(solver="pgmres", iterations=300))
    true = what_if(solve("pgmres", 300, 30), Change())
    assert found.predicted_s == pytest.approx(true.predicted_s, abs=PAUSE_S)


def test_steps_that_disagree_widen_the_interval() -> None:
    recorded = solve("cg")
    work = np.array(recorded.block.work)
    work[:, :, 1] *= 2.0  # one update is slow
    doubted = replace(recorded, block=replace(recorded.block, work=work))
    found = what_if(doubted, Change(solver="pipecg"))
    assert found.low_s < 0.99 * found.predicted_s
    assert found.high_s >= found.predicted_s


def test_what_has_no_partner_is_refused() -> None:
    recorded = solve("cg")
    assert recorded.shape is not None
    with pytest.raises(UsageError, match="--solver cgs: did you mean bcgs or cg"):
        as_partner(recorded, "cgs")
    with pytest.raises(UsageError, match="of no solve"):
        as_partner(replace(recorded, shape=None), "pipecg")
    assert as_partner(recorded, "cg") is recorded
