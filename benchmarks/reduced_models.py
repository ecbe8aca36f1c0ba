"""Noise models of reduced runs, held against those of the complete runs.

Run by ``make bench-reduced``. Complete solves come from generators with known work, or from run
files named on the command line; the project's own choice keeps 5 % and 10 % of their ranks. Three
ways to fit models to what is left: sums and extremes of all ranks as run files of ``--keep`` have
them; the kept ranks with every rank that was not kept drawn from the exemplar of its group
(weighted by groups); and the kept ranks alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.model_input import solve_times
from hindmost.errors import DataError
from hindmost.harness.runfile.reader import open_run
from hindmost.models.laws.johnsonsu import JohnsonSU
from hindmost.models.noise.digest import Digest
from hindmost.models.noise.fit import Fit
from hindmost.models.noise.last_rank import fit_last_rank
from hindmost.models.noise.maxplus import fit_both
from hindmost.models.noise.moments import fit_bertsimas, fit_cramer, fit_mean_work
from hindmost.models.noise.nonstationary import fit_nonstationary
from hindmost.models.noise.redraw import fit_redrawn_uniform
from hindmost.models.noise.stationary import fit_stationary
from hindmost.models.noise.times import SolveTimes
from hindmost.models.ranks.selection import Selection
from hindmost.models.synthetic.populations import draw_population
from hindmost.models.synthetic.reduced import reduced_solve, solve_with_halos
from hindmost.models.synthetic.solves import draw_work, line_of_ranks, synthetic_solve

SHARES = (0.05, 0.10)
RANKS, BODIES, RESTART = 128, 1500, 30
LAW = JohnsonSU(a=-2.0, b=1.3, loc=4e-4, scale=2e-5)


def independent(seed: int) -> NDArray[np.float64]:
    """Return work of one law: float64, shape (iteration, rank), seconds."""
    return draw_work(LAW.at_normal, iterations=BODIES, ranks=RANKS, seed=seed)


def with_detours(seed: int) -> NDArray[np.float64]:
    """Return constant work of which one body in a thousand is held up by 1 ms."""
    random = np.random.default_rng(seed)
    work = 4e-4 * (1.0 + 0.01 * random.random((BODIES, RANKS)))
    return work + 1e-3 * (random.random(work.shape) < 1e-3)


def population(kind: str) -> Callable[[int], NDArray[np.float64]]:
    """Return work of ranks that differ, with a culprit."""
    return lambda seed: draw_population(kind, RANKS, seed, iterations=BODIES).work_s


WORK: dict[str, Callable[[int], NDArray[np.float64]]] = {
    "one law": independent,
    "rare detours": with_detours,
    "slow core": population("slow core"),
    "slow node": population("slow node"),
    "drifting rank": population("drifting rank"),
}


def in_three(work: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Divide work over a halo exchange and a reduction; its excess falls into one part."""
    random = np.random.default_rng(seed)
    least = work.min()
    parts: NDArray[np.float64] = np.tile(least * np.array([0.1, 0.4, 0.5]), (*work.shape, 1))
    part = random.choice(3, work.shape, p=(0.1, 0.4, 0.5))
    np.put_along_axis(
        parts, part[:, :, None],
        np.take_along_axis(parts, part[:, :, None], 2) + (work - least)[:, :, None], 2,
    )  # fmt: skip
    return parts


def cases(seed: int) -> Iterator[SolveTimes]:
    """Yield complete solves."""
    for draw in WORK.values():
        work = draw(seed)
        edges = line_of_ranks(RANKS)
        yield synthetic_solve(work, lag=0, latency_s=5e-6, restart=RESTART)
        yield solve_with_halos(
            in_three(work, seed), edges, transfer_s=1e-5, latency_s=5e-6, restart=RESTART
        )
        for lag in (1, 8):
            yield synthetic_solve(work, lag=lag, latency_s=5e-6, restart=RESTART, edges=edges)


def weighted(times: SolveTimes, chosen: Selection) -> SolveTimes:
    """Return a solve whose ranks that were not kept do what the exemplar of their group does."""
    groups = chosen.clustering
    durations, work = times.durations_in(slice(None)).copy(), times.work_in(slice(None)).copy()
    for rank in np.flatnonzero(~chosen.kept):
        alike = (groups.labels == groups.labels[rank]) & chosen.kept
        if not alike.any():
            alike = chosen.kept
        stands = np.flatnonzero(alike)[np.argmin(groups.distances[alike])]
        durations[:, rank], work[:, rank] = durations[:, stands], work[:, stands]
    return replace(times, durations=durations, work=work)


Figures = dict[str, float]
FITS: tuple[Fit, ...] = (
    fit_stationary,
    fit_nonstationary,
    fit_redrawn_uniform,
    fit_mean_work,
    fit_cramer,
    fit_bertsimas,
)
"""The others of one law are fitted to the same sample as `fit_stationary`, but take longer."""


def walked(times: SolveTimes) -> Figures:
    """Return the time of the bodies by max-plus, in seconds."""
    with suppress(DataError):
        models = fit_both(times) if times.all_ranks is None else fit_last_rank(times)[0]
        return {model.name: float(model.parameters()["bodies_s"]) for model in models}
    return {}


def fitted(times: SolveTimes) -> Figures:
    """Return what the models of whole bodies give, in seconds."""
    found = {}
    digest = Digest.of(times)
    for fit in FITS:
        with suppress(DataError):
            model = fit(times, digest)
            found[model.name] = model.predict().seconds
    return found


WAYS = ("sums and extremes of all", "exemplars weighted by groups", "kept ranks alone")


def compare(complete: list[SolveTimes]) -> None:
    """Print the table."""
    worst: dict[tuple[str, str, float], list[float]] = {}
    for times in complete:
        truth = {**walked(times), **fitted(times)}
        for share in SHARES:
            reduced, chosen = reduced_solve(times, share)
            alone = replace(reduced, all_ranks=None)
            found = (
                {**walked(reduced), **fitted(reduced)},
                fitted(weighted(times, chosen)),
                {**walked(alone), **fitted(alone)},
            )
            for way, figures in zip(WAYS, found, strict=True):
                for model, seconds in truth.items():
                    if model in figures:
                        change = 100.0 * (figures[model] / seconds - 1.0)
                        worst.setdefault((model, way, share), []).append(change)
    models = list(dict.fromkeys(model for model, _, _ in worst))
    say("model", *(f"{way}, {share:.0%}" for way in WAYS for share in SHARES), head=True)
    for model in models:
        found_by = [worst.get((model, way, share), []) for way in WAYS for share in SHARES]
        say(
            model,
            *(f"{min(all_):+.2g} to {max(all_):+.2g} %" if all_ else "-" for all_ in found_by),
        )


def say(*cells: str, head: bool = False) -> None:
    """Print a row of a table, and the line below heads."""
    print(f"| {' | '.join(cells)} |" if cells else "")  # noqa: T201
    if head:
        print("|" + "---|" * len(cells))  # noqa: T201


def main() -> None:
    """Compare synthetic solves, or the run files that were named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="*", type=Path, help="complete run files")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.file:
        compare([solve_times(open_run(path)) for path in arguments.file])
    else:
        compare(list(cases(arguments.seed)))


if __name__ == "__main__":
    main()
