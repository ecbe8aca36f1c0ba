"""The uncertainty of a number computed from a fitted law: the delta method.

The covariance of maximum-likelihood parameters is the inverse of the Fisher information, which is
estimated as the mean product of scores over the sample. The variance of a number computed from the
parameters is g^T C g, with its gradient g and their covariance C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from hindmost.models.laws.johnsonsu import JohnsonSU
from hindmost.models.laws.nct import NonCentralT
from hindmost.models.laws.sample import Sample

STEP = 1e-4
"""Step of the finite differences, in units of each parameter."""
SMALLEST_SHARE = 1e-12
"""Smallest eigenvalue of the information, as a share of the largest. Directions with less are left
out: the law hardly changes along them."""

Parametric = TypeVar("Parametric", JohnsonSU, NonCentralT)


def fitted_variance(
    law: Parametric, sample: Sample, number: Callable[[Parametric], float]
) -> float:
    """Return the variance of a number computed from a law that was fitted to a sample.

    Parameters
    ----------
    law : JohnsonSU or NonCentralT
        Of maximum likelihood.
    sample : Sample
        That the law was fitted to; its values are assumed to be independent.
    number : callable
        From a law.
    """
    point, weight = sample.nodes()
    scores, slopes = [], []
    for field in fields(law):
        value = float(getattr(law, field.name))
        unit = law.scale if field.name in ("loc", "scale") else max(abs(value), 0.1)
        less, more = (
            replace(law, **{field.name: value + side * STEP * unit}) for side in (-1.0, 1.0)
        )
        scores.append((more.log_pdf(point) - less.log_pdf(point)) / (2.0 * STEP))
        slopes.append((number(more) - number(less)) / (2.0 * STEP))
    # g^T C g in the eigenvectors of the information, which may be singular.
    score, slope = np.array(scores), np.array(slopes)
    information = (weight * score) @ score.T
    eigenvalue, direction = np.linalg.eigh(information)
    known = eigenvalue > SMALLEST_SHARE * eigenvalue[-1]
    along = (slope @ direction)[known]
    return float(np.sum(along**2 / eigenvalue[known]) / sample.size)
