"""The mechanisms of prediction and of the test for interference, each switched off alone.

Run by ``make ablation`` (part adaptive, ten seconds). The cycles are drawn with known truth: seven
laws, with and without an offline model that is off by a tenth, in the same draws for every row. A
row gives what changes without the mechanism, with the standard error over the draws.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from benchmarks.ablation import Mechanism, say
from benchmarks.synthetic.cycles import CycleLaw, Cycles, draw_cycles
from numpy.typing import NDArray

from hindmost.models.adaptive import interference, predictors
from hindmost.models.adaptive.interference import CycleKind, CycleVerdict
from hindmost.models.adaptive.machine import GrindPoint, Machine, Network
from hindmost.models.adaptive.offline import Application, Count, Exchange, OfflineModel
from hindmost.models.adaptive.predictor import Predictor
from hindmost.models.adaptive.work import PHASES
from hindmost.models.simulation.network import Link, Piece

QUIET = CycleLaw(adapts_every=1)
LAWS = (
    replace(QUIET, iterations=(0.0, 0.0)),
    QUIET,
    replace(QUIET, iterations=(0.0, 0.0), message_s=5e-6, noise=0.02, spikes=0.05),
    replace(QUIET, message_s=5e-6, noise=0.03, phase_noise=0.02, spikes=0.06, steps=8),
    replace(QUIET, drift=0.4, growth=4.0, wander=0.005),
    replace(QUIET, noise=0.05, phase_noise=0.03, spikes=0.1, spike=0.3),
    replace(QUIET, noise=0.03, correlation=0.8),
)
"""Flow, flow and heat; the same on two ranks; drifting, loaded, correlated."""
FIRST = 5
ONSET, END = 60, 80
SLOWDOWNS = (2.0, 1.7)
PROMPT = 2
MISSED = 3.0
"""Factor on the time of heat that the baseline misses from `ONSET` on."""
OFF = 1.1
"""Pace of the offline models: another state of load than that of their probe."""
HEAT = PHASES.index("heat")
MECHANISMS = (
    Mechanism(name="level: steps clipped", patches=((predictors, "CLIP", 1e9),)),
    Mechanism(
        name="iterations: smoothed, with a trend",
        patches=((predictors, "ITERATION_GAIN", 1.0), (predictors, "ITERATION_TREND", 0.0)),
    ),
    Mechanism(name="test: reference follows the tail", patches=((interference, "TAIL", 0.0),)),
    Mechanism(
        name="test: one cycle is no change",
        patches=((interference, "BOUND", 0.9),),
    ),
    Mechanism(
        name="test: work told from machine",
        patches=((interference, "work_behind", lambda *_: ""),),
    ),
    Mechanism(
        name="predictor starts anew at a change",
        patches=((predictors.ShapeLevel, "restart", lambda *_: None),),
    ),
)


def model_of(law: CycleLaw) -> OfflineModel:
    """Return the offline model that a law follows, but for its pace."""
    costs = {"hydro": law.hydro_s, "heat": law.heat_s, "adaption": law.adaption_s}
    way = Link(pieces=(Piece(from_bytes=0, latency_s=law.message_s or 1e-6, per_byte_s=0.0),))
    machine = Machine(
        name="drawn",
        ranks_per_node=2,
        network=Network(within=way, within_both_ways=way),
        grind=tuple(
            GrindPoint(phase=phase, ranks_per_node=1, cells=1e4, seconds_per_cell=OFF * cost)
            for phase, cost in costs.items()
        ),
    )
    application = Application(
        name="drawn",
        exchanges=(Exchange(count=Count(per_step=1, per_iteration=1), bytes_per_cell=32.0),),
        reductions=Count(per_step=0.5, per_iteration=1.0),
    )
    return OfflineModel(machine=machine, application=application, ranks=2 if law.message_s else 1)


def judged(cycles: Cycles, model: OfflineModel | None) -> tuple[Predictor, list[CycleVerdict]]:
    """Return a predictor that has seen all cycles, and what it said of them."""
    predictor = Predictor(model=model)
    verdicts = [predictor.observe(*each) for each in zip(cycles.spent, cycles.work, strict=True)]
    return predictor, verdicts


def error_percent(predictor: Predictor, truth_s: NDArray[np.float64], rows: slice) -> float:
    """Return the mean error against the times without noise."""
    off = np.abs(predictor.predicted[rows, 0] - truth_s[rows]) / truth_s[rows]
    return float(100.0 * off.mean())


def with_missed_work(cycles: Cycles) -> Cycles:
    """Return cycles whose heat takes longer from `ONSET` on than any baseline knows."""
    spent = []
    for number, each in enumerate(cycles.spent):
        phases = list(each.phases_s)
        phases[HEAT] *= MISSED if number >= ONSET else 1.0
        spent.append(replace(each, phases_s=tuple(phases), seconds=sum(phases)))
    return replace(cycles, spent=tuple(spent))


def measure(law: CycleLaw, seed: int, *, probed: bool) -> list[float]:
    """Return the values of `COLUMNS` on the draws of a seed."""
    cycles = draw_cycles(law, seed)
    predictor, verdicts = judged(cycles, model_of(law) if probed else None)
    found = [
        predictor.errors_percent(FIRST)["shape-level"],
        error_percent(predictor, cycles.denoised, slice(FIRST, None)),
        1000.0 * sum(verdict.change for verdict in verdicts) / len(verdicts),
    ]
    after = np.nan
    for factor in SLOWDOWNS:
        slowdown = np.where(np.arange(law.cycles) < ONSET, 1.0, factor)
        slow = draw_cycles(law, seed + 1, slowdown=slowdown)
        predictor, verdicts = judged(slow, model_of(law) if probed else None)
        prompt = verdicts[ONSET : ONSET + PROMPT]
        found.append(100.0 * any(each.kind is CycleKind.SLOWER for each in prompt))
        if factor == SLOWDOWNS[0]:
            after = error_percent(predictor, slow.denoised, slice(ONSET + PROMPT, END))
    heavy = replace(law, heat_s=8.0 * law.heat_s, iterations=(20.0, 20.0), spikes=0.0)
    _, verdicts = judged(
        with_missed_work(draw_cycles(heavy, seed + 2)), model_of(law) if probed else None
    )
    kinds = [verdict.kind for verdict in verdicts[ONSET:] if verdict.change]
    return [*found, after, 100.0 * (kinds == [CycleKind.WORK])]


COLUMNS = (
    "error %",
    "of truth %",
    "false/1000",
    "2.0 found %",
    "1.7 found %",
    "after %",
    "work named %",
)


def table(seeds: int) -> NDArray[np.float64]:
    """Return the values of all draws, float64 array, shape (draw, column)."""
    return np.array(
        [
            measure(law, 10 * seed, probed=probed)
            for law in LAWS
            for probed in (False, True)
            for seed in range(seeds)
        ]
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8, help="draws of each law")
    seeds = parser.parse_args().seeds
    whole = table(seeds)
    say(f"{'adaptive prediction':46}" + "".join(f"{name:>16}" for name in COLUMNS))
    say(f"{'as it is':46}" + "".join(f"{value:16.2f}" for value in whole.mean(axis=0)))
    for mechanism in MECHANISMS:
        with mechanism.off():
            change = table(seeds) - whole
        error = change.std(axis=0) / np.sqrt(len(change))
        cells = (f"{a:+8.2f} ± {b:.2f}" for a, b in zip(change.mean(axis=0), error, strict=True))
        say(f"{'without ' + mechanism.name:46}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
