"""All stochastic models of one solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hindmost.errors import DataError
from hindmost.models.results import FittedModel
from hindmost.models.stochastic.digest import Digest
from hindmost.models.stochastic.maxplus import fit_both
from hindmost.models.stochastic.moments import fit_bertsimas, fit_cramer, fit_mean_work
from hindmost.models.stochastic.nonstationary import fit_nonstationary
from hindmost.models.stochastic.redraw import fit_redrawn_uniform
from hindmost.models.stochastic.stationary import (
    Stationary,
    fit_stationary,
    fit_stationary_nct,
    stationary_of_best,
)
from hindmost.models.stochastic.times import SolveTimes

if TYPE_CHECKING:
    from hindmost.models.laws.families import BestLaws

Fit = Callable[[SolveTimes, Digest], FittedModel]

STATIONARY: dict[str, Callable[[SolveTimes, Digest], Stationary]] = {
    "stationary-johnsonsu": fit_stationary,
    "stationary-nct": fit_stationary_nct,
}
BEST = "stationary-best"
OF_ITERATIONS: dict[str, Fit] = {
    "nonstationary-uniform": fit_nonstationary,
    "redrawn-uniform": fit_redrawn_uniform,
    "mean-work": fit_mean_work,
}
BLOCKING_ONLY: dict[str, Fit] = {"cramer": fit_cramer, "bertsimas": fit_bertsimas}
"""Bounds on the slowest of P say nothing of a solver that does not wait for it every time."""
WITH_FILL = "-with-fill"
"""Ends the names of models whose law was fitted to bodies that fill a pipeline as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """The models of one solve.

    Attributes
    ----------
    models : tuple of FittedModel
    refused : dict of str to str
        Models that these times do not allow, with the reason.
    laws : BestLaws or None
        How well each family of laws describes the bodies; None if the families were left out.
    """

    models: tuple[FittedModel, ...]
    refused: dict[str, str]
    laws: BestLaws | None


def fit_models(
    times: SolveTimes,
    *,
    families: bool = True,
    keep_fill: bool = False,
    latency_s: float | None = None,
) -> Fits:
    """Fit every model that the solver and its times allow.

    Parameters
    ----------
    families : bool
        Search scipy's families for the best law, which takes some seconds.
    keep_fill : bool
        Fit the laws of a pipelined solver a second time, with the bodies that fill its pipeline.
    latency_s : float, optional
        Of a reduction, from a measurement of the network, for max-plus; without it the latency is
        estimated on the first half of the solve.
    """
    digest = Digest.of(times)
    laws, missing = search(digest) if families else (None, "")
    table: dict[str, Fit] = {**law_models(laws, missing, families=families), **OF_ITERATIONS}
    if not times.pipelined:
        table |= BLOCKING_ONLY
    models, refused = fit_all(table, times, digest)
    models = [*fit_both(times, latency_s), *models]
    if keep_fill and times.pipelined and times.fill.any():
        digest = Digest.of(times, keep_fill=True)
        every, missing = search(digest) if families else (None, "")
        again, too = fit_all(law_models(every, missing, families=families), times, digest)
        models += [replace(model, name=model.name + WITH_FILL) for model in again]  # type: ignore[type-var]
        refused |= {name + WITH_FILL: reason for name, reason in too.items()}
    return Fits(models=tuple(models), refused=refused, laws=laws)


def law_models(laws: BestLaws | None, missing: str, *, families: bool) -> dict[str, Fit]:
    """Return the models of one law for all bodies."""

    def best(times: SolveTimes, digest: Digest) -> Stationary:
        if laws is None:
            raise DataError(missing)
        return stationary_of_best(laws, times, digest)

    return {**STATIONARY, BEST: best} if families else dict(STATIONARY)


def search(digest: Digest) -> tuple[BestLaws | None, str]:
    """Search the families; where these times allow none, say why."""
    # They take half a second to import.
    from hindmost.models.laws.families import fit_families

    try:
        return fit_families(digest.sample), ""
    except DataError as error:
        return None, str(error)


def fit_all(
    table: dict[str, Fit], times: SolveTimes, digest: Digest
) -> tuple[list[FittedModel], dict[str, str]]:
    """Fit the models of a table; those that the times do not allow are refused by name."""
    models: list[FittedModel] = []
    refused: dict[str, str] = {}
    for name, fit in table.items():
        try:
            models.append(fit(times, digest))
        except DataError as error:
            refused[name] = str(error)
    return models, refused
