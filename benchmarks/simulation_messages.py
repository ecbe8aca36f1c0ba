"""What messages cost on other numbers of ranks, learnt from runs on several of them.

    python -m benchmarks.simulation_messages [WORLDS]

Made worlds without noise, in which what a message takes between nodes stays or grows as a power of
the number of ranks. They are recorded on some numbers of ranks, and the time on another is
predicted as by ``hindmost whatif RUNS --ranks``. Printed are the errors of the middle and how many
intervals hold the true time.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from benchmarks.ablation import say
from benchmarks.simulation_worlds import record, true_s
from benchmarks.synthetic.worlds import World, draw_world

from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.whatif.options import changes_of
from hindmost.analysis.whatif.prediction import predict_at_scale
from hindmost.analysis.whatif.targets import Scale, Scaling

CASES = (((2, 4), 64), ((2, 4, 8), 64), ((2, 4, 8, 16), 256))
"""Ranks that are recorded, and the number that is asked for."""
GROWTHS = (0.0, 0.3)
"""Powers of the number of ranks."""
WORLDS = 8
ITERATIONS = 300


def on_ranks(world: World, ranks: int, growth: float) -> World:
    """Return the world on some ranks; between nodes a message takes as a power of their number."""
    share = 1.0 if world.weak else world.ranks / ranks
    across_s = world.across_s * (ranks / 2) ** growth
    return replace(world, ranks=ranks, work_s=world.work_s * share, across_s=across_s)


def predicted(
    seed: int, recorded: tuple[int, ...], target: int, growth: float
) -> tuple[float, bool]:
    """Return the error in logarithms of one world, and whether its interval holds the truth."""
    drawn = draw_world(np.random.default_rng(seed))
    work_s, across_s = min(drawn.work_s, 2e-4), 3.0 * drawn.across_s
    world = replace(
        drawn,
        program="loop",
        per_node=1,
        work_s=work_s,
        across_s=across_s,
        ranks=recorded[-1],
        iterations=ITERATIONS,
    )
    with TemporaryDirectory() as folder:
        for ranks in recorded:
            record(Path(folder), on_ranks(world, ranks, growth), seed, 1)
        runs = sorted(find_runs([Path(folder)]), key=lambda run: run.header.ranks)
        scale = Scale(
            ranks=(target,),
            per_node=1,
            scaling=Scaling.WEAK if world.weak else Scaling.STRONG,
            grid=world.dimensions or None,
        )
        found = predict_at_scale(runs, scale, changes_of(noise="none"))[0].prediction
    grown = replace(world, across_s=across_s * (target / 2) ** growth)
    truth_s = true_s(grown, seed, target, noise=0.0)
    return float(np.log(found.seconds / truth_s)), bool(found.low_s <= truth_s <= found.high_s)


def main() -> None:
    """Print a line for each case."""
    worlds = int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS
    for recorded, target in CASES:
        for growth in GROWTHS:
            rows = [predicted(seed, recorded, target, growth) for seed in range(worlds)]
            errors, held = (np.array(column) for column in zip(*rows, strict=True))
            size = np.abs(np.expm1(errors))
            say(
                f"{recorded} to {target} ranks, messages as p^{growth:.1f}: median error "
                f"{100 * np.median(size):.0f} %, 90th percentile "
                f"{100 * np.quantile(size, 0.9):.0f} %, "
                f"middle {100 * np.median(np.expm1(errors)):+.0f} %, "
                f"{held.sum():.0f} of {worlds} intervals hold"
            )


if __name__ == "__main__":
    main()
