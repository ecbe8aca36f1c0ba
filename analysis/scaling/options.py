"""How kernels are modelled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingOptions:
    """What `hindmost.models.pmnf` is asked for.

    Attributes
    ----------
    method : str
        ``likelihood`` or ``paper``: how changes of behaviour are found.
    space : str
        ``paper``, ``extrap`` or ``fine``: the exponents that models may have.
    noise : str or None
        ``additive``, ``root`` or ``multiplicative``; None to find out.
    terms : int
        Most terms beside the constant.
    """

    method: str = "likelihood"
    space: str = "paper"
    noise: str | None = None
    terms: int = 2
