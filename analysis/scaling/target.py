"""The target scale of a study: where predictions are made, and relative to what growth counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.pmnf.observations import LARGEST_POINT
from hindmost.parsing import plain_number

AHEAD = 4.0
"""Times the largest measured value, unless a target is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetScale:
    """A point ahead, and the largest measured one.

    Attributes
    ----------
    parameters : tuple of str
    at : tuple of float
        A value of each parameter.
    largest : tuple of float
        The largest measured value of each.
    """

    parameters: tuple[str, ...]
    at: tuple[float, ...]
    largest: tuple[float, ...]

    def explain(self) -> str:
        """Write the target for a person: ``p = 16384, n = 1000``."""
        return point_text(self.parameters, self.at)


def point_text(parameters: Sequence[str], point: Sequence[float]) -> str:
    """Write a point for a person."""
    pairs = zip(parameters, point, strict=True)
    return ", ".join(f"{name} = {value:.12g}" for name, value in pairs)


def choose_target(
    text: str | None, parameters: tuple[str, ...], points: Sequence[NDArray[np.float64]]
) -> TargetScale:
    """Return the target that a person names, by default 4 times the largest measured values.

    Parameters
    ----------
    text : str or None
        ``16384`` of one parameter, ``p=16384,n=1000`` of any number; a parameter that is not named
        stays at its largest measured value.
    parameters : tuple of str
    points : sequence of float64 arrays, each of shape (point, parameter)

    Raises
    ------
    UsageError
        A number is not above zero, or too large, or the parameter does not exist.
    """
    largest = tuple(
        float(value) for value in np.max([point.max(axis=0) for point in points], axis=0)
    )
    if text is None:
        at = tuple(AHEAD * value for value in largest)
        return TargetScale(parameters=parameters, at=at, largest=largest)
    named = dict(zip(parameters, largest, strict=True))
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parameters) == 1 and len(parts) == 1 and "=" not in text:
        parts = [f"{parameters[0]}={parts[0]}"]
    for part in parts:
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in named:
            example = ",".join(f"{parameter}=1000" for parameter in parameters)
            raise UsageError(
                f"--at {text}: '{part}' does not give a value of a parameter; write {example}"
                f"{' or a number' if len(parameters) == 1 else ''}."
            )
        named[name] = _positive(value, text)
    if not parts:
        raise UsageError("--at is empty; write a value of the parameter, like 16384.")
    return TargetScale(parameters=parameters, at=tuple(named.values()), largest=largest)


def _positive(word: str, text: str) -> float:
    try:
        value = plain_number(word)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < float("inf"):
        raise UsageError(f"--at {text}: '{word}' is not a number above zero, like 16384.")
    if value > LARGEST_POINT:
        raise UsageError(
            f"--at {text}: '{word}' is beyond {LARGEST_POINT:g}, the largest value of a parameter."
        )
    return value
