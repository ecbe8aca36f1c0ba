"""All stochastic models of one solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hindmost.errors import DataError
from hindmost.models.noise.bounded import fit_bounded
from hindmost.models.noise.digest import Digest
from hindmost.models.noise.maxplus import fit_both
from hindmost.models.noise.moments import fit_bertsimas, fit_cramer, fit_mean_work
from hindmost.models.noise.nonstationary import fit_nonstationary
from hindmost.models.noise.redraw import fit_redrawn_uniform
from hindmost.models.noise.stationary import (
    Stationary,
    fit_stationary,
    fit_stationary_nct,
    stationary_of_best,
)
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import FittedModel
from hindmost.registry import Registry

if TYPE_CHECKING:
    from hindmost.models.laws.families import BestLaws

Fit = Callable[[SolveTimes, Digest], FittedModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseModel:
    """A model that is fitted to the bodies of one solve.

    Attributes
    ----------
    name : str
    fit : callable
        ``fit(times, digest)`` returns a `hindmost.models.results.FittedModel` of this name, or
        raises a DataError if the model cannot be fitted to the times.
    of_law : bool
        It has one law for all bodies; for pipelined solvers it may be fitted a second time.
    blocking_only : bool
        It does not apply to solvers that do not wait for the slowest rank in every body.
    of_digest : bool
        It reads the bodies from the digest alone, so it can be fitted where only some ranks keep
        their records.
    """

    name: str
    fit: Fit
    of_law: bool = False
    blocking_only: bool = False
    of_digest: bool = False


MODELS: Registry[NoiseModel] = Registry(
    "model",
    (
        NoiseModel(name="stationary-johnsonsu", fit=fit_stationary, of_law=True, of_digest=True),
        NoiseModel(name="stationary-nct", fit=fit_stationary_nct, of_law=True, of_digest=True),
        NoiseModel(name="nonstationary-uniform", fit=fit_nonstationary, of_digest=True),
        NoiseModel(name="redrawn-uniform", fit=fit_redrawn_uniform, of_digest=True),
        NoiseModel(name="mean-work", fit=fit_mean_work, of_digest=True),
        NoiseModel(name="cramer", fit=fit_cramer, blocking_only=True, of_digest=True),
        NoiseModel(name="bertsimas", fit=fit_bertsimas, blocking_only=True, of_digest=True),
    ),
    group="hindmost.models",
    kind=NoiseModel,
)
"""Models that need no more than times; max-plus and the best of all laws are fitted apart."""
BEST = "stationary-best"
WITH_FILL = "-with-fill"
"""Suffix of models whose law was also fitted to bodies that fill a pipeline (prologue)."""
NEEDS_BODIES = (
    "It reads the bodies of every rank, but only some ranks have full records. Run without --keep."
)
NO_FILL = "The histogram of all ranks lacks the bodies of the prologue. Run without --keep."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """The models of one solve.

    Attributes
    ----------
    models : tuple of FittedModel
    refused : dict of str to str
        Models that cannot be fitted to these times, with the reason.
    laws : BestLaws or None
        How well each family of laws describes the bodies; None without families.
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
        Search scipy's families for the best law, which takes a few seconds.
    keep_fill : bool
        Also fit the laws of a pipelined solver to the bodies that fill its pipeline (prologue).
    latency_s : float, optional
        Of a reduction, from a measurement of the network, for max-plus; without it the latency is
        estimated on the first half of the solve.
    """
    digest = Digest.of(times)
    laws, missing = search(digest) if families else (None, "")
    table = law_models(laws, missing, families=families)
    for model in MODELS:
        if not model.of_law and not (model.blocking_only and times.pipelined):
            table[model.name] = model.fit
    refused = {}
    if times.all_ranks is not None:
        refused = {each.name: NEEDS_BODIES for each in MODELS if not each.of_digest}
        table = {name: fit for name, fit in table.items() if name not in refused}
    models, too = fit_all(table, times, digest)
    refused |= too | MODELS.complaints
    walked, too = walk_all(times, latency_s)
    models, refused = [*walked, *models], too | refused
    again_with_fill = keep_fill and times.pipelined and bool(times.fill.any())
    if again_with_fill and times.all_ranks is not None:
        refused["laws" + WITH_FILL] = NO_FILL
    elif again_with_fill:
        digest = Digest.of(times, keep_fill=True)
        every, missing = search(digest) if families else (None, "")
        again, too = fit_all(law_models(every, missing, families=families), times, digest)
        models += [replace(model, name=model.name + WITH_FILL) for model in again]  # type: ignore[type-var]
        refused |= {name + WITH_FILL: reason for name, reason in too.items()}
    return Fits(models=tuple(models), refused=refused, laws=laws)


def walk_all(
    times: SolveTimes, latency_s: float | None
) -> tuple[Sequence[FittedModel], dict[str, str]]:
    """Run max-plus; return its models, and those that the times do not allow by name."""
    if times.all_ranks is None:
        return fit_both(times, latency_s), {}
    try:
        return fit_bounded(times, latency_s)
    except DataError as error:
        return [], {"max-plus": str(error)}


def law_models(laws: BestLaws | None, missing: str, *, families: bool) -> dict[str, Fit]:
    """Return the models of one law for all bodies."""

    def best(times: SolveTimes, digest: Digest) -> Stationary:
        if laws is None:
            raise DataError(missing)
        return stationary_of_best(laws, times, digest)

    table: dict[str, Fit] = {model.name: model.fit for model in MODELS if model.of_law}
    return {**table, BEST: best} if families else table


def search(digest: Digest) -> tuple[BestLaws | None, str]:
    """Search the families; if none can be fitted, return why."""
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
        except Exception as error:
            if name not in MODELS.plugins:
                raise
            refused[name] = f"{MODELS.plugins[name]} failed: {type(error).__name__}: {error}"
    return models, refused
