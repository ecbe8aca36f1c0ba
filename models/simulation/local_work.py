"""The local work of a recorded solve as laws, from which ranks that were not recorded are drawn.

A body (iteration) is divided into segments: the own work before each of its events and after the
last. The time of a segment is a typical one, the median of all bodies at the same place in the
restart cycle with the same events, a lasting difference of its rank (its imbalance), and a
deviation from both. Deviations of a segment follow one law (`hindmost.models.laws.tailed`). They
are drawn from correlated standard normal scores: that of
segment s of body k on rank p is::

    z = sqrt(a) R_p + sqrt(1 - a) (sqrt(b) N_ks + sqrt(1 - b) O_pks)

with R a draw of each rank, N one shared by the ranks of a node and O one of each rank's own. N and
O are first-order autoregressive over bodies, and the segments of a body share a part of them.

Every block of ranks has streams of its own, drawn body by body. So a rank draws the same in every
simulation with the same seed, on whatever number of ranks, bodies and machines: differences between
two simulations are due to what was changed (common random numbers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.tailed import TailedLaw, fit_together
from hindmost.models.simulation.blocks import FEWEST, OWN_TIME, RESOLUTION_S
from hindmost.models.simulation.injected import alike
from hindmost.models.simulation.network import Nodes
from hindmost.models.simulation.program import Program

Times = NDArray[np.float64]

DRAWN = 1 << 20
"""Values that are drawn for a simulation, if that is at least a restart cycle."""
FEW_RANKS = 8
"""Recorded ranks below which how ranks differ is not known well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWork:
    """Local work as laws.

    Attributes
    ----------
    program : Program
    node : int array, shape (rank,)
        Node of every recorded rank.
    typical : float64 array, shape (iteration, segment), seconds
        Undisturbed work, the mean over ranks.
    level : float64 array, shape (rank, segment), seconds
        By how much the undisturbed work of a rank is above it all the time.
    deviation : float64 array, shape (iteration, rank, segment), seconds
        Recorded work less both.
    laws : tuple of TailedLaw
        Of the deviations of each segment.
    dependence : Dependence
    """

    program: Program
    node: Nodes
    typical: Times
    level: Times
    deviation: Times
    laws: tuple[TailedLaw, ...]
    dependence: Dependence

    @property
    def body_s(self) -> float:
        """Undisturbed work of a body, the mean over bodies, in seconds."""
        return float(self.typical.sum(axis=1).mean())

    @property
    def quartiles(self) -> tuple[float, float]:
        """Lower and upper quartile of the work at its places, over the typical work."""
        deviating_s = np.zeros(2)
        for rows in alike(self.program):
            ends = np.quantile(self.deviation[rows], (0.25, 0.75), axis=(0, 1))
            deviating_s += rows.size * ends.sum(axis=1)
        total_s = float(self.typical.sum())
        lower, upper = (1.0 + deviating_s / total_s).tolist() if total_s > 0.0 else (1.0, 1.0)
        return float(lower), float(upper)

    @property
    def least(self) -> float:
        """The work of the quickest hundredth of the bodies, over the typical work."""
        quick_s = float(np.quantile(self.deviation.sum(axis=2), 0.01))
        return float(np.clip(1.0 + quick_s / max(self.body_s, RESOLUTION_S), 0.0, 1.0))

    @property
    def apart_s(self) -> float:
        """By how much ranks may differ all the time: a standard deviation, in seconds a body.

        The upper end of what the recorded ranks allow, if their differences are normal: few ranks
        leave much open, but what cores ordinarily differ by, or these ranks do. 0 for one.
        """
        from scipy import special  # not waited for by commands that fit nothing

        levels_s = self.level.sum(axis=1)
        if levels_s.size < 2:
            return 0.0
        free, sd_s = levels_s.size - 1, float(levels_s.std(ddof=1))
        upper_s = float(sd_s * np.sqrt(free / special.chdtri(free, 1.0 - 0.1)))
        # Equal cores may differ by 5 % all the time; few ranks alone would allow any difference.
        return min(upper_s, max(sd_s, 0.05 * self.body_s))

    @property
    def samples(self) -> int:
        """Recorded bodies of all ranks."""
        return int(self.deviation.shape[0] * self.deviation.shape[1])

    @property
    def tail_index(self) -> float:
        """That of the tail of all segments; minus infinity if they have none."""
        return max((law.tail.xi for law in self.laws if law.tail is not None), default=-np.inf)

    def redrawn(self, random: np.random.Generator) -> tuple[TailedLaw, ...]:
        """Return the laws of a sample of stretches of the solve, drawn with replacement."""
        bodies, ranks, segments = self.deviation.shape
        # Shorter blocks would lose the correlation.
        length = max(bodies // 40, 1)
        count = max(min(bodies // length, DRAWN // (length * ranks * segments)), 1)
        first = random.integers(0, bodies - length + 1, count)
        rows = (first[:, None] + np.arange(length)).ravel()
        sample = self.deviation[rows]
        columns = [sample[:, :, segment] for segment in range(segments)]
        return tuple(fit_together(columns, self.laws))


def fit_local_work(program: Program, node: Nodes) -> LocalWork:
    """Fit laws to the local work of a recorded solve.

    Parameters
    ----------
    program : Program
    node : int array, shape (rank,)
        Node of every rank, any numbers.

    Raises
    ------
    DataError
        Too few bodies.
    """
    if program.bodies < FEWEST:
        raise DataError(
            f"{program.bodies} iterations are too few to fit laws of local work to: record at "
            f"least {FEWEST}."
        )
    # An event that cost a rank less than usual leaves less than nothing for the segment after it.
    work = np.maximum(segments_of(program), 0.0)
    typical = np.median(work, axis=1)
    for rows in alike(program):
        typical[rows] = np.median(work[rows], axis=0).mean(axis=0)
    level = np.median(work - typical[:, None, :], axis=0)
    deviation = work - typical[:, None, :] - level
    deviation[np.abs(deviation) < RESOLUTION_S] = 0.0
    return LocalWork(
        program=program,
        node=np.unique(node, return_inverse=True)[1].astype(np.intp),
        typical=typical,
        level=level,
        deviation=deviation,
        # All have one tail.
        laws=tuple(fit_together([deviation[:, :, each] for each in range(deviation.shape[2])])),
        dependence=dependence_of(deviation, np.asarray(node), program.block.cycle_begins),
    )


def segments_of(program: Program) -> Times:
    """Return the own work of all segments: float64, shape (iteration, rank, segment), seconds.

    How long an event keeps a rank beyond its typical cost counts as work of the segment after it,
    which leaves the clocks of a walk as they are.
    """
    block = program.block
    bodies, ranks, events = block.work.shape
    work = np.zeros((bodies, ranks, events + 1))
    own = OWN_TIME[block.kind][:, None, :]
    work[:, :, :-1] = block.work + np.where(own, block.duration, 0.0)
    work[:, :, 1:] += program.stays(program.costs.median_s)
    work[:, :, -1] += block.rest
    # What follows the last event of a body is one segment, the last.
    ended = ~block.recorded[:, None, :]
    work[:, :, -1] += np.where(ended, work[:, :, :-1], 0.0).sum(axis=2)
    work[:, :, :-1] = np.where(ended, 0.0, work[:, :, :-1])
    return work


def dependence_of(
    deviation: Times, node: NDArray[np.integer[Any]], cycle_begins: NDArray[np.bool_]
) -> Dependence:
    """Return how deviations depend on each other, from their normal scores.

    Segments count by their variance, without the hundredth that deviates most.
    """
    bodies, ranks, segments = deviation.shape
    score = np.stack([normal_scores(deviation[:, :, each]) for each in range(segments)], axis=2)
    low, high = np.quantile(deviation, (0.005, 0.995), axis=(0, 1))
    weight = np.clip(deviation, low, high).var(axis=(0, 1))
    weight[score.var(axis=(0, 1)) < 0.5] = 0.0  # mostly equal values say nothing of dependence
    if not weight.sum() > 0.0:
        return Dependence()
    weight /= weight.sum()
    mean = score.mean(axis=0)
    score -= mean
    variance = score.var(axis=(0, 1)) + 1e-12
    follows = ~cycle_begins[1:]
    along = (score[1:] * score[:-1])[follows].mean(axis=(0, 1)) if follows.any() else 0.0
    time = shared(float(np.sum(weight * along / variance)))
    # The mean of n correlated scores has the variance v (1 + rho) / (1 - rho) / n.
    persistent = 0.0
    if ranks > 1:
        by_chance = variance * (1.0 + time) / (1.0 - time) / bodies
        between = mean.var(axis=0, ddof=1)
        part = np.maximum(between - by_chance, 0.0) / (np.maximum(between, 1e-12) + variance)
        persistent = shared(float(np.sum(weight * part)))
    return Dependence(
        persistent=persistent,
        node=shared(common_on_node(score, node, weight, variance)),
        time=time,
        segments=shared(common_in_body(score, weight, variance)),
    )


def common_on_node(
    score: Times, node: NDArray[np.integer[Any]], weight: Times, variance: Times
) -> float:
    """Return the correlation of two ranks of a node in a segment; 0 if all are alone."""
    pairs, total = 0, np.zeros(score.shape[2])
    for each in np.unique(node):
        ours = score[:, node == each]
        count = ours.shape[1]
        total += (ours.sum(axis=1) ** 2 - (ours**2).sum(axis=1)).mean(axis=0)
        pairs += count * (count - 1)
    return float(np.sum(weight * total / pairs / variance)) if pairs else 0.0


def common_in_body(score: Times, weight: Times, variance: Times) -> float:
    """Return the correlation of two segments of a body, weighted by both."""
    unit = score * np.sqrt(weight / variance)
    summed = float((unit.sum(axis=2) ** 2).mean()) - float((unit**2).sum(axis=2).mean())
    pairs = float(np.sqrt(weight).sum() ** 2 - weight.sum())
    return summed / pairs if pairs > 1e-9 else 0.0


def normal_scores(values: Times) -> Times:
    """Return the standard normal quantiles of the ranks of values; equal values share theirs."""
    from scipy import special  # not waited for by commands that fit nothing

    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    middle = last - 0.5 * count
    scores: Times = special.ndtri(middle / values.size)[place.reshape(values.shape)]
    return scores


def shared(value: float) -> float:
    """Return a share or correlation within what is used."""
    return float(np.clip(value, 0.0, 0.95))


Draws = NDArray[np.float64]

BLOCK = 64
"""Ranks, or nodes, that share a stream."""
OF_RANK, OF_NODE, OF_OWN, OF_DETOURS = range(4)
"""Streams of a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """How the scores of ranks depend on each other; shares and correlations from 0 to 1.

    Attributes
    ----------
    persistent : float
        Share of the variance that a rank keeps for the whole solve (a).
    node : float
        Share of the rest that the ranks of a node have in common (b).
    time : float
        Correlation of a body with the next one.
    segments : float
        Correlation of the segments of a body.
    """

    persistent: float = 0.0
    node: float = 0.0
    time: float = 0.0
    segments: float = 0.0


def scores(
    dependence: Dependence,
    node: NDArray[np.intp],
    bodies: int,
    segments: int,
    seed: tuple[int, ...],
) -> Draws:
    """Draw scores.

    Parameters
    ----------
    node : int array, shape (rank,)
        Node of each rank, from 0.
    bodies, segments : int
    seed : tuple of int

    Returns
    -------
    float64 array, shape (iteration, rank, segment)
    """
    ranks = node.size
    drawn = series(dependence, ranks, bodies, segments, (*seed, OF_OWN))
    if dependence.node > 0.0:
        shared = series(dependence, int(node.max()) + 1, bodies, segments, (*seed, OF_NODE))
        drawn *= np.sqrt(1.0 - dependence.node)
        drawn += np.sqrt(dependence.node) * shared[:, node]
    if dependence.persistent > 0.0:
        drawn *= np.sqrt(1.0 - dependence.persistent)
        kept = in_blocks(ranks, 1, 1, (*seed, OF_RANK))[0]
        drawn += np.sqrt(dependence.persistent) * kept
    return drawn


def series(
    dependence: Dependence, count: int, bodies: int, segments: int, seed: tuple[int, ...]
) -> Draws:
    """Draw series that are correlated over bodies and segments: (iteration, count, segment)."""
    drawn = in_blocks(count, bodies, segments + 1, seed)
    before, fresh = dependence.time, np.sqrt(1.0 - dependence.time**2)
    if before > 0.0:
        for body in range(1, bodies):
            drawn[body] *= fresh
            drawn[body] += before * drawn[body - 1]
    common, own = np.sqrt(dependence.segments), np.sqrt(1.0 - dependence.segments)
    return np.asarray(common * drawn[:, :, :1] + own * drawn[:, :, 1:])


def in_blocks(count: int, bodies: int, width: int, seed: tuple[int, ...]) -> Draws:
    """Draw independent normals, block by block: (iteration, count, width)."""
    drawn = np.empty((bodies, count, width))
    for block, first in enumerate(range(0, count, BLOCK)):
        part = slice(first, min(first + BLOCK, count))
        normal = generator((*seed, block)).standard_normal((bodies, BLOCK, width))
        drawn[:, part] = normal[:, : part.stop - first]
    return drawn


def generator(seed: tuple[int, ...]) -> np.random.Generator:
    """Return the generator of a stream."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
