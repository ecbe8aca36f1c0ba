"""All stochastic models of one solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hindmost.errors import DataError
from hindmost.models.results import FittedModel
from hindmost.models.stochastic.maxplus import fit_max_plus, fit_max_plus_no_halo
from hindmost.models.stochastic.moments import fit_bertsimas, fit_cramer, fit_mean_work
from hindmost.models.stochastic.nonstationary import fit_nonstationary
from hindmost.models.stochastic.stationary import fit_stationary
from hindmost.models.stochastic.times import SolveTimes

Fit = Callable[[SolveTimes], FittedModel]

EVERY_SOLVER: dict[str, Fit] = {
    "max-plus": fit_max_plus,
    "max-plus-no-halo": fit_max_plus_no_halo,
    "stationary-johnsonsu": fit_stationary,
    "nonstationary-uniform": fit_nonstationary,
    "mean-work": fit_mean_work,
}
BLOCKING_ONLY: dict[str, Fit] = {"cramer": fit_cramer, "bertsimas": fit_bertsimas}
"""Bounds on the slowest of P say nothing of a solver that does not wait for it every time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """The models of one solve.

    Attributes
    ----------
    models : tuple of FittedModel
    refused : dict of str to str
        Models that these times do not allow, with the reason.
    """

    models: tuple[FittedModel, ...]
    refused: dict[str, str]


def fit_models(times: SolveTimes) -> Fits:
    """Fit every model that the solver and its times allow."""
    table = EVERY_SOLVER if times.pipelined else {**EVERY_SOLVER, **BLOCKING_ONLY}
    models, refused = [], {}
    for name, fit in table.items():
        try:
            models.append(fit(times))
        except DataError as error:
            refused[name] = str(error)
    return Fits(models=tuple(models), refused=refused)
