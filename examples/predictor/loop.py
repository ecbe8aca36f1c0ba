"""A loop of your own that knows how long its next pass takes, and decides by it.

    python examples/predictor/loop.py [--passes 40] [--limit 2.0]

Particles are sorted again and again, and their number grows, so no pass takes as long as the one
before. The loop keeps a time limit, writes checkpoints when they are due, and
says what it saw.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from hindmost.models.adaptive import Predictor


def main() -> None:
    """Run the loop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--passes", type=int, default=40)
    parser.add_argument("--limit", type=float, default=2.0, help="seconds")
    options = parser.parse_args()

    random = np.random.default_rng(0)
    particles = random.random(50_000)
    begin = time.perf_counter()
    predictor = Predictor(time_limit_s=options.limit, mtbf_s=0.5)

    with tempfile.TemporaryDirectory() as folder:
        for k in range(options.passes):
            work = float(particles.size)
            # Once before each pass: is there time for it, and for a checkpoint after it?
            decision = predictor.time_left_for(work, elapsed_s=time.perf_counter() - begin)
            if not decision:
                print(decision.explain())
                break
            if predictor.checkpoint_due(work, checkpoint_s=1e-3):
                start = time.perf_counter()
                np.save(Path(folder) / "particles.npy", particles)
                predictor.observe_checkpoint(time.perf_counter() - start, work)
                print(f"pass {k}: checkpoint")

            forecast = predictor.predict(work)
            start = time.perf_counter()
            np.sort(particles)
            seconds = time.perf_counter() - start
            verdict = predictor.observe(seconds, work)

            print(
                f"pass {k}: {1e3 * seconds:.2f} ms, predicted {1e3 * forecast.seconds:.2f} "
                f"({1e3 * forecast.low_s:.2f} to {1e3 * forecast.high_s:.2f}): {verdict.kind}"
            )
            if k % 4 == 3:  # work changes, as adaption changes a mesh
                particles = np.concatenate([particles, random.random(particles.size // 8)])
        else:
            print(f"all {options.passes} passes done")


if __name__ == "__main__":
    main()
