"""Scaling models: how a metric grows with ranks, unknowns or any other parameter.

A model is in performance model normal form, f(p) = c_0 + sum_k c_k p^i_k log2^j_k(p), with
exponents from a finite set. `detect_segments` says where the behaviour of kernels changes,
`fit_segments` models each side of a change as well, and its models predict: between the points by
these functions, beyond them as would have predicted the last points best (`forecast`).
"""

from hindmost.models.pmnf.segments.fit import detect_segments, fit_segments

__all__ = ["detect_segments", "fit_segments"]
