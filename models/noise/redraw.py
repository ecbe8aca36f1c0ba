"""The simulation of section 6: iterations whose uniform laws are drawn anew.

In iteration k the ranks are uniform on [a_k, a_k + s_k] (equation 11): a_k is the fastest rank, s_k
the slowest less the fastest. Section 6 takes both as random, each with a Johnson SU law (Table 2).
Each of K bodies (iterations) draws a_k and s_k from their laws, and takes the
mean of the slowest of P ranks, a_k + s_k P / (P + 1) (equation 12), or of any rank, a_k + s_k / 2,
if it need not wait for the slowest (equation 13). The printed parameters, seed and repetitions
reproduce the printed time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.laws.johnsonsu import JohnsonSU, fit_johnsonsu
from hindmost.models.noise.digest import Digest
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.text import counted, seconds

REPETITIONS = 400
DRAWS_AT_ONCE = 1_000_000
MOST_DRAWN = 100_000
"""Bodies of a repetition that are drawn; those of longer solves stand for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformLaws:
    """The laws of a_k and s_k.

    Attributes
    ----------
    least : JohnsonSU
        Of a_k, in seconds.
    span : JohnsonSU
        Of s_k, in seconds. Its tail may reach below 0; it is not truncated, so that means remain
        those of the closed form.
    fitted : int
        Iterations that both were fitted to; 0 if the laws are exact.
    """

    least: JohnsonSU
    span: JohnsonSU
    fitted: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return scipy's parameters of both, with all their digits."""
        return {
            "least": self.least.to_json(),
            "span": self.span.to_json(),
            "fitted_iterations": self.fitted,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RedrawnUniform:
    """K bodies whose uniform laws are drawn from the laws of a run.

    Attributes
    ----------
    bodies : int
        K, without those that only fill a pipeline.
    ranks : int
        P, or the nodes in its place (P_hat).
    blocking : bool
        Whether a body waits for the slowest rank.
    laws : UniformLaws
    fill_s : float
        Measured time of the bodies that only fill a pipeline, which are in no fit.
    repetitions, seed : int
        Simulated solves, and what their draws start from.
    """

    bodies: int
    ranks: int
    blocking: bool
    laws: UniformLaws
    fill_s: float = 0.0
    repetitions: int = REPETITIONS
    seed: int = 0
    name: str = "redrawn-uniform"
    kind: ModelKind = ModelKind.EXPLAINS

    @property
    def share(self) -> float:
        """Part of the span that a body takes on average: P / (P + 1), or a half."""
        return self.ranks / (self.ranks + 1) if self.blocking else 0.5

    @property
    def expected_s(self) -> float:
        """What repetitions tend to, in closed form: K (E[a] + E[s] share), and the fill bodies."""
        body_s = self.laws.least.mean + self.share * self.laws.span.mean
        return self.fill_s + self.bodies * body_s

    def redraw(
        self, random: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sum over the bodies of every repetition, and the sum of squared spans."""
        sums, squares = np.empty(self.repetitions), np.empty(self.repetitions)
        at_once = max(1, DRAWS_AT_ONCE // self.bodies)
        for begin in range(0, self.repetitions, at_once):
            part = slice(begin, min(begin + at_once, self.repetitions))
            shape = (part.stop - part.start, self.bodies)
            least = self.laws.least.at_normal(random.standard_normal(shape))
            span = self.laws.span.at_normal(random.standard_normal(shape))
            sums[part] = np.sum(least + self.share * span, axis=1)
            squares[part] = np.sum(span**2, axis=1)
        return sums, squares

    def predict(self) -> Prediction:
        """Return the mean of the repetitions, and where 90 % of further solves would lie.

        To the scatter of the repetitions the interval adds what they leave out: the slowest rank
        is not its own mean (the maximum of P uniforms has variance s^2 P / ((P+1)^2 (P+2)), one
        rank s^2 / 12), and laws that were fitted to n iterations miss the mean of a body by as
        much as that of n further ones would. Without the latter, and with n = K, only 76 % would.
        """
        random = np.random.default_rng(self.seed)
        drawn = min(self.bodies, MOST_DRAWN)
        sums, squares = replace(self, bodies=drawn).redraw(random)
        # Bodies are independent: means grow with their number, deviations with its root.
        more = self.bodies / drawn
        sums = more * sums.mean() + more**0.5 * (sums - sums.mean())
        squares = more * squares
        count = self.ranks
        of_rank = count / ((count + 1) ** 2 * (count + 2)) if self.blocking else 1.0 / 12.0
        solves = sums + np.sqrt(of_rank * squares) * random.standard_normal(self.repetitions)
        mean = float(sums.mean())
        wider = np.sqrt(1.0 + self.bodies / self.laws.fitted) if self.laws.fitted else 1.0
        low, high = np.quantile(mean + wider * (solves - mean), (0.05, 0.95))
        return Prediction(
            seconds=self.fill_s + mean,
            low_s=self.fill_s + min(mean, max(float(low), 0.0)),  # none takes less than nothing
            high_s=self.fill_s + max(mean, float(high)),
        )

    def explain(self) -> str:
        """Return what the model assumes, in sentences."""
        whom = f"the slowest of {self.ranks}" if self.blocking else "any of them"
        return (
            f"In each of {counted(self.bodies, 'iteration')} the times of the ranks are uniform. "
            f"The fastest takes {seconds(self.laws.least.mean)} and the span is "
            f"{seconds(self.laws.span.mean)} on average, both drawn from Johnson SU laws. An "
            f"iteration lasts as long as {whom}."
        )

    def parameters(self) -> dict[str, Any]:
        """Return the inputs of the simulation, and its result."""
        prediction = self.predict()
        return {
            "bodies": self.bodies,
            "ranks": self.ranks,
            "blocking": self.blocking,
            "laws": self.laws.to_json(),
            "fill_s": self.fill_s,
            "repetitions": self.repetitions,
            "seed": self.seed,
            "simulated_s": prediction.seconds,
            "simulated_interval_s": [prediction.low_s, prediction.high_s],
            "expected_s": self.expected_s,
        }


def fit_redrawn_uniform(
    times: SolveTimes,
    digest: Digest | None = None,
    *,
    ranks: int | None = None,
    repetitions: int = REPETITIONS,
    seed: int = 0,
) -> RedrawnUniform:
    """Fit the laws of a_k and s_k to a solve.

    Parameters
    ----------
    times : SolveTimes
    ranks : int, optional
        P; the solve's own ranks if not given. `node_spread` tells whether nodes are better.
    repetitions, seed : int
        Of the simulation.

    Raises
    ------
    DataError
        A single rank, only bodies that fill a pipeline, or a_k or s_k that have no law.
    UsageError
        Fewer than one rank or repetition.
    """
    if repetitions < 1 or (ranks is not None and ranks < 1):
        raise UsageError(f"{repetitions} repetitions on {ranks} ranks; give at least 1 of each.")
    digest = digest or Digest.of(times)
    kept = ~times.fill
    return RedrawnUniform(
        bodies=int(np.count_nonzero(kept)),
        ranks=(times.nodes if times.by_node else times.ranks) if ranks is None else ranks,
        blocking=not times.pipelined,
        laws=fit_uniforms(digest.fastest[kept], digest.slowest[kept], times.ranks),
        fill_s=float(digest.middle[times.fill].sum()),
        repetitions=repetitions,
        seed=seed,
    )


def fit_uniforms(
    fastest: NDArray[np.float64], slowest: NDArray[np.float64], ranks: int
) -> UniformLaws:
    """Fit the laws of a_k and s_k.

    Parameters
    ----------
    fastest, slowest : float64 array, shape (iteration,), seconds
        Of the ranks in every body, without bodies that only fill a pipeline (prologue).
    ranks : int

    Raises
    ------
    DataError
        A single rank, or a_k or s_k that no Johnson SU law describes: too few, or constant.
    """
    if ranks < 2:
        raise DataError(f"{ranks} rank has no span s_k from fastest to slowest; it needs 2.")
    least, span = fastest, slowest - fastest
    laws = {}
    for name, values in (("fastest ranks a_k", least), ("spans s_k", span)):
        try:
            laws[name] = fit_johnsonsu(values)
        except DataError as error:
            raise DataError(
                f"The {name} of {values.size} iterations, {seconds(values.min())} to "
                f"{seconds(values.max())}, have no Johnson SU law. {error}"
            ) from error
    return UniformLaws(
        least=laws["fastest ranks a_k"], span=laws["spans s_k"], fitted=int(least.size)
    )
