"""Scaling models of drawn data sets of known truth, beside Extra-P: terms, intervals, speed.

Run by ``make bench-scaling``. Speed is per CPU-second, results included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.extrap import MAX_SETS, Peer, add_peer, some
from benchmarks.synthetic.scaling import two_functions
from numpy.typing import NDArray

from hindmost.models.pmnf import detect_segments, fit_segments
from hindmost.models.pmnf.fit import fit
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.search import ABSENT, penalties, search
from hindmost.models.pmnf.segments.one_behaviour import (
    FAMILIES,
    draw_terms,
    draw_two_terms,
    inside,
    measured,
)
from hindmost.models.pmnf.space import EXTRAP, PAPER, SearchSpace, columns

LEVELS = (0.0, 0.02, 0.05, 0.10, 0.15)
GRIDS = {"1..10": np.arange(1.0, 11.0), "2..1024": 2.0 ** np.arange(1, 11)}
KINDS = (NoiseKind.MULTIPLICATIVE, NoiseKind.ADDITIVE)
HELD = ("inside", "outside", "saturating", "speedup", "efficiency")
SEEN = 3.0
"""A term is to be seen where it adds that many times the noise to the first value."""


def main() -> None:
    """Print all tables."""
    options = argparse.ArgumentParser(description="scaling models against known truth")
    options.add_argument("--sets", type=int, default=4000, help="data sets of each kind")
    options.add_argument("--seed", type=int, default=20261122)
    add_peer(options)
    asked = options.parse_args()
    random = np.random.default_rng(asked.seed)
    peer = Peer(python=asked.extrap)
    criteria(random, asked.sets)
    leading_terms(random, asked.sets, peer)
    coverage(random, asked.sets // 4)
    speed(random, peer)
    whole_process(random)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def percent(flags: NDArray[np.bool_]) -> str:
    """Write a share."""
    return f"{100.0 * float(flags.mean()):.1f}"


def criteria(random: np.random.Generator, sets: int) -> None:
    """Print what other criteria than hindmost's would choose."""
    say("Criteria: constants given a term; one term: exact, given a second; two terms: leading one")
    say("right, second one given, in %; paper's space, 10 points, 5 % multiplicative noise")
    ways = len(PAPER.exponents) + sum(power < 0 for power, _ in PAPER.exponents)
    free = np.arange(3) + 2
    size = 10 - free - 1
    akaike = 2.0 * free + 2.0 * free * (free + 1) / size
    choices = {
        "hindmost": penalties(10, ways),
        "corrected Akaike": akaike,
        "Bayes": free * np.log(10.0),
        "Akaike": 2.0 * free,
    }
    for name, points in GRIDS.items():
        one, term = draw_terms(random, points, sets, PAPER)
        two, pair = draw_two_terms(random, points, sets)
        truths = (np.full((sets, 10), 5.0), one, two)
        sampled = [measured(random, truth, noise=0.05)[..., 0] for truth in truths]
        for word, price in choices.items():
            found = [
                search(
                    values,
                    np.ones_like(values),
                    columns(PAPER.exponents, points),
                    gamma=1.0,
                    penalties=price,
                ).terms[:, 0, :, 0]
                for values in sampled
            ]
            exact = (found[1].max(axis=1) == term + 1) & (found[1].min(axis=1) == ABSENT)
            second = [each.min(axis=1) != ABSENT for each in found]
            leading = found[2].max(axis=1) == pair.max(axis=0) + 1
            say(
                f"  x = {name:8} {word:17} {percent(found[0].max(axis=1) != ABSENT):>5}   "
                f"{percent(exact):>5} {percent(second[1]):>5}   "
                f"{percent(leading):>5} {percent(second[2]):>5}"
            )


def leading_terms(random: np.random.Generator, sets: int, peer: Peer) -> None:
    """Print how often the leading term of a constant and one term is exact."""
    say("Leading term exact, in %; in brackets, of the sets where it can be seen")
    for (name, points), space, kind in product(GRIDS.items(), (PAPER, EXTRAP), KINDS):
        words = []
        for level in LEVELS:
            truth, term = draw_terms(random, points, sets, space)
            values = measured(random, truth, noise=level, kind=kind)
            models = fit(points, values, space=space.name, noise=str(kind))
            hit = models.hypotheses.terms[:, 0].max(axis=(1, 2)) == term + 1
            seen = np.ptp(truth, axis=1) > SEEN * level * truth[:, 0]
            word = f"{100 * level:.0f} %: {percent(hit)} ({percent(hit[seen])})"
            answer = peer(points, values[some(sets)], segmented=False)
            if answer:
                word += f" Extra-P {percent(peer_hits(answer, space, term[some(sets)]))}"
            words.append(word)
        say(f"  x = {name:8} {space.name:7} {kind:15} " + "   ".join(words))


def peer_hits(
    answer: dict[str, Any], space: SearchSpace, term: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say where Extra-P found the term."""
    wanted = [[float(part) for part in space.exponents[at]] for at in term]
    return np.array([found == want for found, want in zip(answer["terms"], wanted, strict=True)])


def coverage(random: np.random.Generator, sets: int) -> None:
    """Print how many new measurements lie in the 90 % intervals at 4 times the largest point."""
    say("\n90 % intervals at 4 times the largest point hold, in %; in brackets, median width")
    for (name, points), family, kind in product(GRIDS.items(), HELD, KINDS):
        words = []
        for level in LEVELS[1:]:
            further = np.append(points, 4.0 * points[-1])
            truth = FAMILIES[family](random, further, sets)
            known = measured(random, truth[:, :-1], noise=level, kind=kind)
            size = truth[:, :-1].mean(axis=1) if kind is NoiseKind.ADDITIVE else truth[:, -1]
            new = truth[:, -1] + size * level * random.uniform(-1.0, 1.0, sets)
            low, high = fit(points, known, noise=str(kind)).interval(further[-1:])
            held = (low[:, 0] <= new) & (new <= high[:, 0])
            width = float(np.median((high - low)[:, 0] / truth[:, -1]))
            words.append(f"{100 * level:.0f} %: {percent(held)} ({100 * width:.0f} %)")
        say(f"  x = {name:8} {family:8} {kind:15} " + "   ".join(words))


def speed(random: np.random.Generator, peer: Peer) -> None:
    """Print models and decisions per CPU-second."""
    points = GRIDS["2..1024"]
    one = measured(random, inside(random, points, 20_000), noise=0.05)
    two = measured(random, two_functions(random, points, 20_000, first=5), noise=0.05)
    say("\nPer CPU-second, of 20,000 sets of 10 points")
    tasks: list[tuple[str, Callable[[NDArray[np.float64]], Any], NDArray[np.float64], bool]] = [
        ("single-parameter models", lambda values: fit(points, values), one, False),
        ("segmentation decisions", lambda values: detect_segments(points, values), one, True),
        ("decisions, all segmented", lambda values: detect_segments(points, values), two, True),
        ("decisions and all models", lambda values: fit_segments(points, values), two, True),
    ]
    for word, task, values, segmented in tasks:
        task(values)  # compiles, and simulates the thresholds
        began = time.process_time()
        task(values)
        rate = len(values) / (time.process_time() - began)
        answer = peer(points, values[:MAX_SETS], segmented=segmented)
        beside = ""
        if answer:
            theirs = MAX_SETS / answer["cpu_s"]
            beside = f"   Extra-P {theirs:6.0f}   ratio {rate / theirs:7.0f}"
        say(f"  {word:26} {rate:9,.0f}{beside}")


def whole_process(random: np.random.Generator) -> None:
    """Print what `hindmost scale` takes on 1000 kernels, its start included."""
    points = GRIDS["2..1024"]
    values = measured(random, inside(random, points, 1000), noise=0.05, repetitions=5)
    lines = ["PARAMETER p", "POINTS " + " ".join(f"{point:g}" for point in points), "METRIC time"]
    for number, kernel in enumerate(values):
        lines.append(f"REGION kernel-{number}")
        lines += ["DATA " + " ".join(f"{value:.6g}" for value in point) for point in kernel]
    say("\nCPU-seconds of hindmost scale as a process, 1000 kernels of 10 points of 5 repetitions")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "experiment.txt"
        file.write_text("\n".join(lines) + "\n")
        command = [sys.executable, "-m", "hindmost", "scale", str(file)]
        for word, more in {"first, may compile": [], "again": [], "--json": ["--json"]}.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            say(f"  {word:26} {taken:9.2f}")


if __name__ == "__main__":
    main()
