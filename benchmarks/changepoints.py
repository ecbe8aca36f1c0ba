"""Accuracy and speed of change detection, compared with other tools on the same series.

Run by ``make bench-changepoints``, in a few minutes. The series are simulated with known truth
(see ``benchmarks.synthetic.nightly``), with seeds that were not used to choose settings. Steps
in real noise are those of ``history_nightly`` and ``ablation_history``.

Apache Otava (``pip install apache-otava``) and ruptures (``pip install ruptures``) need separate
environments: name their interpreters with --otava and --ruptures, or in HINDMOST_OTAVA_PYTHON and
HINDMOST_RUPTURES_PYTHON. A missing tool is skipped with a message.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.synthetic.nightly import (
    KINDS,
    SimulatedNights,
    draw_nightly,
)
from benchmarks.synthetic.scores import Score, detection_delays, score_changes
from numpy.typing import NDArray

from hindmost.models.changepoint import detect

Series = NDArray[np.float64]
Finder = Callable[[list[Series]], tuple[list[list[int]], float]]
FIRST_SEED = 5_000_000
"""Settings were chosen on seeds below 1000, and on 300 of two kinds from 3 million on."""
DELAYS = 300
"""Series for which delays are measured: every night needs a pass."""
LONGEST_NAME = 26
DELAY_METHODS: dict[str, dict[str, Any]] = {
    "hindmost robust": {"method": "robust", "confirmations": 1},
    "report, 0.005": {"method": "report"},
    "report, 1e-4": {"method": "report", "alpha": 1e-4},
}

OTAVA = """
import json, sys, time
from otava.series import AnalysisOptions, Metric, Series
every = json.load(sys.stdin)
start = time.perf_counter()
found = []
for values in every:
    series = Series("t", None, list(range(len(values))), {"m": Metric()}, {"m": values}, {})
    found.append([int(c.index) for c in series.analyze(AnalysisOptions()).change_points["m"]])
json.dump([found, time.perf_counter() - start], sys.stdout)
"""
RUPTURES = """
import json, sys, time
import numpy as np
import ruptures
every = json.load(sys.stdin)
start = time.perf_counter()
found = []
for values in every:
    y = np.log(values)
    sigma = 1.4826 * np.median(np.abs(np.diff(y))) / np.sqrt(2.0)
    z = ((y - np.median(y)) / max(sigma, 1e-9))[:, None]
    model = ruptures.KernelCPD(kernel="rbf", min_size=3, params={"gamma": 0.5}).fit(z)
    found.append([int(c) for c in model.predict(pen=5.0)[:-1]])
json.dump([found, time.perf_counter() - start], sys.stdout)
"""


def here(**settings: Any) -> Finder:
    """Return a finder by `detect`."""

    def find(every: list[Series]) -> tuple[list[list[int]], float]:
        start = time.perf_counter()
        found = [[c.index for c in detect(values, **settings).changes] for values in every]
        return found, time.perf_counter() - start

    return find


def elsewhere(python: str, program: str) -> Finder:
    """Return a finder that runs a program in another environment; the program times itself."""

    def find(every: list[Series]) -> tuple[list[list[int]], float]:
        done = subprocess.run(
            [python, "-c", program],
            input=json.dumps([values.tolist() for values in every]),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        found, took = json.loads(done.stdout)
        return found, took

    return find


def peer_programs(otava: str, ruptures: str) -> dict[str, tuple[str, str, str]]:
    """Return the interpreter, the program and the option of the other tools by name."""
    return {
        "Apache Otava": (otava, OTAVA, "--otava"),
        "ruptures KernelCPD rbf": (ruptures, RUPTURES, "--ruptures"),
    }


def is_there(name: str, python: str, program: str, option: str) -> bool:
    """Tell whether an interpreter has a tool, and print that it is skipped where it has not."""
    try:
        elsewhere(python, program)([np.linspace(1.0, 1.1, 20)])
    except (OSError, RuntimeError) as error:
        print(f"{name} is skipped ({error}): name a Python that has it with {option}.")  # noqa: T201
        return False
    return True


def finders(otava: str, ruptures: str) -> dict[str, Finder]:
    """Return the methods by name, and print which are skipped."""
    methods = {
        "hindmost robust": here(method="robust"),
        "report, 0.005": here(method="report"),
        "report, 1e-4": here(method="report", alpha=1e-4),
    }
    for name, (python, program, option) in peer_programs(otava, ruptures).items():
        if is_there(name, python, program, option):
            methods[name] = elsewhere(python, program)
    for finder in methods.values():  # compile the loops first
        finder([np.exp(np.random.default_rng(0).normal(0.0, 0.05, 60))])
    return methods


def score(found: list[list[int]], truth: list[SimulatedNights]) -> Score:
    """Pool the scores of many series."""
    total = Score()
    for places, series in zip(found, truth, strict=True):
        total += score_changes(places, series.changes.tolist(), nights=series.values.size)
    return total


def print_table(methods: dict[str, Finder], sets: dict[str, list[SimulatedNights]]) -> None:
    """Print scores and speed of all methods on all sets."""
    for kind, truth in sets.items():
        nights = sum(series.values.size for series in truth)
        changes = sum(series.changes.size for series in truth)
        print(f"\n{kind}: {len(truth)} series, {nights} nights, {changes} changes")  # noqa: T201
        print(f"{'':{LONGEST_NAME}}precision  recall     F1  false in 1000  series/s")  # noqa: T201
        for name, find in methods.items():
            found, took = find([series.values for series in truth])
            total = score(found, truth)
            print(  # noqa: T201
                f"{name:{LONGEST_NAME}}{total.precision:9.3f}{total.recall:8.3f}{total.f1:7.3f}"
                f"{total.false_per_1000:15.2f}{len(truth) / took:10.0f}"
            )


def print_delays(truth: list[SimulatedNights]) -> None:
    """Print the delay until changes are seen, night by night."""
    print(f"\nnights until a change is seen, night by night ({len(truth)} series of shifts)")  # noqa: T201
    for name, settings in DELAY_METHODS.items():

        def find(values: Series, chosen: dict[str, Any] = settings) -> list[int]:
            return [change.index for change in detect(values, **chosen).changes]

        delays = [
            delay
            for series in truth
            for delay in detection_delays(find, series.values, series.changes.tolist())
        ]
        changes = sum(series.changes.size for series in truth)
        print(  # noqa: T201
            f"{name:{LONGEST_NAME}}median {np.median(delays):.0f}, 90th percentile "
            f"{np.percentile(delays, 90):.0f}; {len(delays)} of {changes} changes"
        )


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    own = sys.executable
    parser.add_argument("--otava", default=os.environ.get("HINDMOST_OTAVA_PYTHON", own))
    parser.add_argument("--ruptures", default=os.environ.get("HINDMOST_RUPTURES_PYTHON", own))
    parser.add_argument("--count", type=int, default=300, help="series a kind")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="the first seed")
    chosen = parser.parse_args()
    methods = finders(chosen.otava, chosen.ruptures)
    seeds = range(chosen.seed, chosen.seed + chosen.count)
    sets = {kind: [draw_nightly(kind, seed) for seed in seeds] for kind in KINDS}
    print_table(methods, sets)
    print_delays(sets["shifts"][:DELAYS])
    return 0


if __name__ == "__main__":
    sys.exit(main())
