"""Where in the code the extra processor time of a rank lies, by samples of it and of the others.

Processor times are exact; samples only divide them. A function's time on the rank is T p, on the
others T' q, with p and q its shares of the samples, which are binomial. Its share of the extra time
is (T p - T' q) / (T - T'). Where times are not known, the samples' own numbers stand for them,
which are Poisson's. With a function's usual share s of an iteration and the extra e, both shares of
an iteration's time, z standard deviations need about N = z^2 (2 s + e) / e^2 samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

NAMED = 0.75
"""Share of the extra time that the innermost function must have that is named."""
SURE, SURE_BY_TIMER = 4.0, 5.0
"""Standard deviations from which on it is named; timers of the kernel's tick beat with programs."""
INTERVAL = 2.0
"""Half the width of intervals, in standard deviations."""
POWER = 1.645
"""Standard deviations beyond these with which samples suffice in 95 % of runs."""
CORE = 0.5
"""Part of the extra time, and of the excess in a function that all else has, from which on a slower
core is the likely cause."""
FEW = 5
"""Samples below which a function is no candidate."""
WHOLE, PART = 0.9, 0.1
"""Usual shares of a stretch: of a function that is nearly all of it, and of one that is a part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Samples of one rank and of the others in a stretch, those that are equal counted.

    Attributes
    ----------
    own, others : int64 array, shape (stack,)
        Samples in each stack: of the rank, and of all others together.
    own_s, others_s : float
        Exact processor time of the rank, and that of one other rank (the median); NaN where they
        are not known.
    ranks : float
        How many others there are.
    end : int64 array, shape (stack,)
        Where the places of each stack end in `place`; those of the next begin there.
    place : int64 array, shape (frame,)
        The stacks one after the other, each from the innermost place on.
    function : int64 array, shape (place,)
        The function of each place, from 0.
    rest_s, others_rest_s : float
        The same of all else that the ranks do between calls. A slower core takes longer for that,
        too, and for all functions of the stretch.
    sure : float
        Standard deviations from which on a function is named.
    """

    own: NDArray[np.int64]
    others: NDArray[np.int64]
    own_s: float
    others_s: float
    ranks: float
    end: NDArray[np.int64]
    place: NDArray[np.int64]
    function: NDArray[np.int64]
    rest_s: float = np.nan
    others_rest_s: float = np.nan
    sure: float = SURE


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The function that has the extra time of a rank.

    Attributes
    ----------
    function : int
        -1 if the rank has no extra time in the samples.
    place : int
        Where in it most of that is.
    share, deviation : float
        Of the extra time, and its standard deviation.
    usual : float
        The function's share of the others' time in the stretch.
    is_alike : bool
        Whether other functions may have as much more, each by its usual time.
    same_core : bool
        Whether what else the rank does takes as long as on the others: its core is not slower.
    samples : int
        Of the rank in the stretch.
    needed : int
        Samples of the rank that would do in 95 % of runs.
    sure : bool
        Whether there are enough.
    """

    function: int = -1
    place: int = -1
    share: float = 0.0
    deviation: float = np.inf
    usual: float = 0.0
    is_alike: bool = False
    same_core: bool = False
    samples: int = 0
    needed: int = 0
    sure: bool = False

    @property
    def interval(self) -> tuple[float, float]:
        """Within which the share is, with 95 % confidence; it is a share of a whole."""
        low, high = self.share - INTERVAL * self.deviation, self.share + INTERVAL * self.deviation
        return float(np.clip(low, 0.0, 1.0)), float(np.clip(high, 0.0, 1.0))


def attribute(samples: Sampled) -> Attribution:
    """Return the innermost function, inlined ones too, that has `NAMED` of the extra time."""
    own, others = int(samples.own.sum()), int(samples.others.sum())
    stack = np.repeat(np.arange(samples.end.size), np.diff(samples.end, prepend=0))
    depth = np.arange(samples.place.size) - np.append(0, samples.end)[stack]
    functions = samples.function[samples.place]
    # Of each stack and function once: the innermost place of a function that calls itself.
    order = np.lexsort((depth, functions, stack))
    first = np.ones(order.size, bool)
    first[1:] = (np.diff(stack[order]) != 0) | (np.diff(functions[order]) != 0)
    once = order[first]
    stack, depth, functions = stack[once], depth[once], functions[once]
    places = samples.place[once]
    count = int(samples.function.max(initial=-1)) + 1
    mine, theirs = (
        np.bincount(functions, each[stack], count).astype(np.float64)
        for each in (samples.own, samples.others)
    )
    share, deviation = shares(samples, mine, theirs)
    weight = samples.own[stack] + samples.others[stack]
    mean_depth = np.bincount(functions, weight * depth, count) / np.maximum(mine + theirs, 1)
    candidates = np.flatnonzero(mine + theirs >= FEW)
    if not candidates.size or not np.isfinite(share[candidates]).all():
        return Attribution(samples=own)
    most = min(float(share[candidates].max()), 1.0)
    if most <= 0.0:
        return Attribution(samples=own)
    usual = theirs / max(others, 1)
    # On a slower core each function has the share of the extra time that it has of the time.
    explained = explained_by_core(samples)
    by_core = usual * (1.0 if np.isnan(explained) else explained)
    distinct = (usual >= WHOLE) | (share - by_core >= INTERVAL * deviation)
    # Chance may take from a function's share what it needs to be named; its callers are sure then.
    margin = np.where(share >= samples.sure * deviation, INTERVAL * deviation, 0.0)
    possible = distinct | (not explained > CORE)
    holding = candidates[((share + margin >= NAMED * most) & possible)[candidates]]
    if not holding.size:
        return Attribution(samples=own)
    chosen = int(holding[np.argmin(mean_depth[holding])])
    inner = candidates[mean_depth[candidates] < mean_depth[chosen]]
    inner = inner[(usual[inner] >= PART) & (usual[inner] < WHOLE)]
    is_alike = bool(usual[chosen] >= WHOLE and inner.size)
    if is_alike:
        best = int(inner[share[inner].argmax()])
        if possible[best] and share[best] + INTERVAL * deviation[best] >= NAMED * most:
            chosen, is_alike = best, False  # it may have all of it
    in_it = functions == chosen
    at, which = np.unique(places[in_it], return_inverse=True)
    of_place = [
        np.bincount(which, values[stack[in_it]], at.size).astype(np.float64)
        for values in (samples.own, samples.others)
    ]
    of_lines, _ = shares(samples, *of_place)
    reach = max(
        samples.sure + POWER,
        0.0 if usual[chosen] >= WHOLE else (INTERVAL + POWER) / (1.0 - float(by_core[chosen])),
    )
    needed = int(np.ceil(own * min((reach * float(deviation[chosen])) ** 2, 1e6)))
    answer = Attribution(
        function=chosen,
        place=int(at[of_lines.argmax()]),
        share=float(share[chosen]),
        deviation=float(deviation[chosen]),
        usual=float(usual[chosen]),
        is_alike=is_alike,
        samples=own,
        needed=max(needed, 1),
        sure=bool(distinct[chosen] and share[chosen] >= samples.sure * deviation[chosen]),
    )
    return replace(answer, same_core=is_same_core(samples, answer))


def explained_by_core(samples: Sampled) -> float:
    """Return the part of the extra time that a core explains on which all else takes longer, too.

    NaN where that is not known, or the ranks do little else.
    """
    extra_s = samples.own_s - samples.others_s
    if not samples.others_rest_s >= (1.0 - WHOLE) * samples.others_s:
        return np.nan
    slower = samples.rest_s / samples.others_rest_s - 1.0
    return float(np.clip(slower * samples.others_s / max(extra_s, 1e-300), 0.0, 1.0))


def is_same_core(samples: Sampled, found: Attribution) -> bool:
    """Tell whether a rank is as quick as the others in what is not in the function."""
    extra_s = samples.own_s - samples.others_s
    within_s = samples.others_s * (1.0 - found.usual)
    rest_s = samples.others_rest_s + within_s
    if not rest_s >= (1.0 - WHOLE) * samples.others_s:  # little, or not known
        return False
    rest_extra_s = samples.rest_s - samples.others_rest_s
    rest_extra_s += extra_s * (1.0 - min(found.share, 1.0))
    excess = extra_s * found.share / max(samples.others_s * found.usual, 1e-300)
    return bool(rest_extra_s / rest_s < CORE * excess)


def shares(
    samples: Sampled, mine: NDArray[np.float64], theirs: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares of the extra time that parts of the samples have, and their deviations.

    Parameters
    ----------
    mine, theirs : float64 array, shape (part,)
        Samples of the rank and of the others in each.
    """
    own, others = max(int(samples.own.sum()), 1), max(int(samples.others.sum()), 1)
    if np.isfinite(samples.own_s + samples.others_s):
        extra = samples.own_s - samples.others_s
        p, q = mine / own, theirs / others
        parts = samples.own_s * p - samples.others_s * q
        # A share of all samples or of none is not known exactly either: one sample more or less.
        of_own, of_others = (
            time_s**2 * np.maximum(part * (1.0 - part), 1.0 / size) / size
            for time_s, part, size in (
                (samples.own_s, p, own),
                (samples.others_s, q, others),
            )
        )
        deviation = np.sqrt(of_own + of_others)
    else:
        extra = own - others / samples.ranks
        parts = mine - theirs / samples.ranks
        deviation = np.sqrt(mine + theirs / samples.ranks**2 + 1.0)
    if not extra > 0.0:
        nothing = np.zeros(mine.size)
        return nothing, np.full(mine.size, np.inf)
    return parts / extra, deviation / extra
