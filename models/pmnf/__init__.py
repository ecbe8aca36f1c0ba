"""Scaling models: how a metric grows with ranks, unknowns or any other parameter.

A model is in performance model normal form, f(p) = c_0 + sum_k c_k p^i_k log2^j_k(p), with
exponents from a finite set. `fit` finds models for many kernels at once, `detect_segments` says
where the behaviour of a kernel changes, `fit_segments` does both.
"""

from hindmost.models.pmnf.fit import fit
from hindmost.models.pmnf.segments.fit import detect_segments, fit_segments

__all__ = ["detect_segments", "fit", "fit_segments"]
