"""All stochastic models of one solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hindmost.errors import DataError
from hindmost.models.laws.law import Candidate
from hindmost.models.noise.maxplus import fit_both
from hindmost.models.noise.stationary import (
    Stationary,
    bertsimas_bound,
    cramer_bound,
    fit_bound,
    fit_mean_work,
    fit_nonstationary,
    fit_redrawn_uniform,
    fit_stationary,
    fit_stationary_nct,
    stationary_of_best,
)
from hindmost.models.noise.times import Digest, SolveTimes
from hindmost.models.results import FittedModel
from hindmost.registry import Registry, described

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
    blocking_only : bool
        It does not apply to solvers that do not wait for the slowest rank in every body.
    of_digest : bool
        It reads the bodies from the digest alone, so it can be fitted where only some ranks keep
        their records.
    """

    name: str
    fit: Fit
    blocking_only: bool = False
    of_digest: bool = False


MODELS: Registry[NoiseModel] = Registry(
    "model",
    (
        NoiseModel(name="stationary-johnsonsu", fit=fit_stationary, of_digest=True),
        NoiseModel(name="stationary-nct", fit=fit_stationary_nct, of_digest=True),
        NoiseModel(name="nonstationary-uniform", fit=fit_nonstationary, of_digest=True),
        NoiseModel(name="redrawn-uniform", fit=fit_redrawn_uniform, of_digest=True),
        NoiseModel(name="mean-work", fit=fit_mean_work, of_digest=True),
        *(
            NoiseModel(
                name=name, fit=partial(fit_bound, name, bound), blocking_only=True, of_digest=True
            )
            for name, bound in (("cramer", cramer_bound), ("bertsimas", bertsimas_bound))
        ),
    ),
    group="hindmost.models",
    kind=NoiseModel,
)
"""Models that need no more than times; max-plus and the best of all laws are fitted apart."""
BEST = "stationary-best"
NEEDS_BODIES = (
    "It reads the iterations of every rank, but only some ranks have full records. Record those of "
    "all."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """The models of one solve.

    Attributes
    ----------
    models : tuple of FittedModel
    refused : dict of str to str
        Models that cannot be fitted to these times, with the reason.
    laws : tuple of Candidate
        How well each family of laws describes the bodies; empty without families.
    """

    models: tuple[FittedModel, ...]
    refused: dict[str, str]
    laws: tuple[Candidate, ...]


def fit_models(
    times: SolveTimes,
    *,
    families: bool = True,
) -> Fits:
    """Fit every model that the solver and its times allow.

    Parameters
    ----------
    families : bool
        Search scipy's families for the best law, which takes a few seconds.
    """
    digest = times.digest()
    table: dict[str, Fit] = {
        model.name: model.fit for model in MODELS if not (model.blocking_only and times.pipelined)
    }
    laws: tuple[Candidate, ...] = ()
    if families:
        # They take half a second to import.
        from hindmost.models.laws.families import fit_families

        def fit_best(times: SolveTimes, digest: Digest) -> Stationary:
            nonlocal laws
            laws = fit_families(digest.sample)
            return stationary_of_best(laws, times, digest)

        table[BEST] = fit_best
    refused = {}
    if times.all_ranks is not None:
        refused = {model.name: NEEDS_BODIES for model in MODELS if not model.of_digest}
        refused["max-plus"] = NEEDS_BODIES
        table = {name: fit for name, fit in table.items() if name not in refused}
    models, too = fit_all(table, times, digest)
    refused |= too | MODELS.complaints
    if times.all_ranks is None:
        models = [*fit_both(times), *models]
    return Fits(models=tuple(models), refused=refused, laws=laws)


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
            refused[name] = (
                f"{described(MODELS.plugins[name])} failed: {type(error).__name__}: {error}"
            )
    return models, refused
