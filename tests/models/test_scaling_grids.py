from __future__ import annotations

import numpy as np
import pytest

from hindmost.errors import UsageError
from hindmost.models.pmnf.space import PAPER
from hindmost.models.pmnf.term import ABSENT, Term
from hindmost.models.synthetic.scaling_grids import AXES, FAMILIES, balanced, cross, draw, grid


@pytest.mark.parametrize("parameters", [2, 3, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_those_of_the_terms(family: str, parameters: int) -> None:
    drawn = draw(np.random.default_rng(1), family, 5, parameters=parameters)
    points = cross(*AXES[:parameters])
    pairs = (*PAPER.exponents, ABSENT)
    for k, values in enumerate(drawn(points)):
        wanted = np.full(len(points), drawn.constants[k])
        for factor, numbers in zip(drawn.factors[k], drawn.terms[k], strict=True):
            wanted += factor * Term(exponents=tuple(pairs[n] for n in numbers))(points)
        np.testing.assert_allclose(values, wanted)


@pytest.mark.parametrize("parameters", [2, 3, 4])
def test_one_parameter_is_irrelevant_where_the_family_says_so(parameters: int) -> None:
    for family in FAMILIES:
        drawn = draw(np.random.default_rng(2), family, 20, parameters=parameters)
        absent = [drawn.leading(k).count(ABSENT) for k in range(20)]
        assert max(absent) <= (1 if family in ("irrelevant", "mixed") else 0)
        if family == "irrelevant":
            assert min(absent) == 1


def test_designs_have_the_points_that_they_promise() -> None:
    assert grid(*AXES[:3]).shape == (125, 3)
    sparse = cross(*AXES[:3])
    assert sparse.shape == (14, 3)
    assert ((sparse != sparse[0]).sum(axis=1)[:-1] <= 1).all()
    assert (sparse[-1] == [axis[-1] for axis in AXES[:3]]).all()


def test_balanced_terms_matter_alike() -> None:
    random = np.random.default_rng(3)
    points = grid(*AXES[:2])
    drawn = balanced(random, draw(random, "additive", 50), points)
    assert (drawn.constants >= 0.1).all()
    assert (drawn(points).mean(axis=1) <= 3.0).all()
    assert (drawn(points).mean(axis=1) >= 0.3).all()


def test_unknown_families_are_refused() -> None:
    with pytest.raises(UsageError, match="additive, multiplicative, mixed, irrelevant"):
        draw(np.random.default_rng(4), "quadratic", 1)
    with pytest.raises(UsageError, match="2 and more"):
        draw(np.random.default_rng(4), "mixed", 1, parameters=1)
