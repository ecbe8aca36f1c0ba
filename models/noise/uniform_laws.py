"""Laws of the uniform laws: how the fastest rank and the span vary between iterations.

In iteration k the ranks are uniform on [a_k, a_k + s_k] (equation 11): a_k is the fastest rank, s_k
the slowest less the fastest. Section 6 takes both as random, each with a Johnson SU law (Table 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.johnsonsu import JohnsonSU, fit_johnsonsu
from hindmost.text import seconds


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

    def explain(self) -> str:
        """Return the result in a sentence."""
        return (
            f"The fastest rank takes {seconds(self.least.mean)} on average and the slowest "
            f"{seconds(self.span.mean)} more, each from its own Johnson SU law."
        )

    def to_json(self) -> dict[str, Any]:
        """Return scipy's parameters of both, with all their digits."""
        return {
            "least": self.least.to_json(),
            "span": self.span.to_json(),
            "fitted_iterations": self.fitted,
        }


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
