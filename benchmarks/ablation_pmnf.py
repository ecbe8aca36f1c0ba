"""What each mechanism of the models in normal form brings: a row for each, switched off alone.

Run by ``make ablation PART=scaling``, before the forecasts. Series are drawn with known truth, the
same for every row; a row has what changes without the mechanism, with the standard error over
series, all in percent (widths and losses: in hundredths of logarithms), bold where it is more than
two of these. Each row is a process, as some mechanisms are compiled.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from benchmarks.synthetic import scaling_grids
from benchmarks.synthetic.scaling import two_functions
from numpy.typing import NDArray

from hindmost.models.pmnf import detect_segments
from hindmost.models.pmnf.fit import fit
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import (
    FAMILIES,
    draw_terms,
    inside,
    measured,
    outside,
)
from hindmost.models.pmnf.several import fit_parameters, foretell_outermost
from hindmost.models.pmnf.several.averaging import widened
from hindmost.models.pmnf.space import ABSENT, PAPER

Values = NDArray[np.float64]
Outcomes = dict[str, list[float]]
POWERS, LINE = 2.0 ** np.arange(1, 19), np.arange(1.0, 11.0)
TEN = POWERS[:10]
SEED = 20261126
LARGEST, FLOOR = 1.5, 0.02
"""Of the error of a prediction, a difference of logarithms: as in `ablation_scaling`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A mechanism and how to switch it off.

    Attributes
    ----------
    part : str
        A name of `PARTS`.
    name : str
    at : str
        Module within `hindmost.models.pmnf`, and the attribute that is replaced.
    off : callable
        From what is there to what replaces it.
    """

    part: str
    name: str
    at: str
    off: Callable[[Any], Any]


def of_residuals(evidence: Any) -> Any:
    """Place changes where the residuals are least."""

    def found(*given: Any, **named: Any) -> Any:
        ratio, _ = evidence(*given, **named)
        return ratio, ratio.mean(axis=2)

    return found


def of_one_number(_: Any) -> Any:
    """Return the same thresholds for all points, by floor, that fit 10 points."""
    return lambda points, gamma: np.tile((15.0, 6.0), (points.size - 3, 1))


def of_single_terms(candidates: Any) -> Any:
    """Have no pairs of terms among the growths over all points."""

    def found(points: Values) -> Any:
        fine, smooth, coarse = candidates(points)
        return fine, smooth, np.ascontiguousarray(coarse[:, :1])

    return found


def never_root(choose: Any) -> Any:
    """Take root noise for multiplicative noise."""

    def found(*arguments: Values) -> Any:
        one = choose(*arguments)
        root = one is not None and one.kind is NoiseKind.ROOT
        return replace(one, kind=NoiseKind.MULTIPLICATIVE) if root else one

    return found


SEGMENTS, FITS, SEVERAL = "changes of behaviour", "one parameter", "several parameters"
NEVER = 10**9
MECHANISMS = (
    *(
        Mechanism(part=SEGMENTS, name=name, at=at, off=off)
        for name, at, off in (
            (
                "thresholds simulated for the points",
                "segments.likelihood:thresholds",
                of_one_number,
            ),
            ("parts of long stretches", "segments.likelihood:MIN_WINDOWED", lambda _: NEVER),
            (
                "noise as repetitions tell it",
                "observations:standard_errors",
                lambda told: lambda *given: (0.0, told(*given)[1]),
            ),
            ("noise that growths leave", "segments.likelihood:FREE", lambda _: NEVER),
            (
                "at most that of neighbours",
                "segments.likelihood:off_neighbours",
                lambda _: lambda *_: np.inf,
            ),
            (
                "both kinds of noise",
                "noise:Noise.gammas",
                lambda _: property(lambda self: (self.kind.gamma,)),
            ),
            (
                "steeper than any term",
                "segments.likelihood:outgrown",
                lambda _: lambda observations, own, kernels: np.zeros(kernels.size, bool),
            ),
            ("place: how sharply points fix", "segments.likelihood:evidence", of_residuals),
            ("curves that approach a bound", "evidence:KNEES", lambda _: 0),
            ("two terms are one behaviour", "evidence:candidates", of_single_terms),
            ("the floor of 5 %", "evidence:FLOORS", lambda floors: np.minimum(floors, 0.005)),
            ("the floor of 0.5 %", "evidence:FLOORS", lambda floors: np.maximum(floors, 0.05)),
        )
    ),
    *(
        Mechanism(part=FITS, name=name, at=at, off=off)
        for name, at, off in (
            ("noise: kernels together", "noise:MIN_POOLED", lambda _: NEVER),
            ("noise: repetitions", "observations:from_repetitions", lambda _: lambda _: None),
            ("noise: root, of kernels", "observations:from_kernels", never_root),
            ("lone values", "observations:LONE", lambda _: NEVER),
            ("outlying repetitions", "observations:FAR", lambda _: NEVER),
            ("intervals: pairs of terms", "fit:OF_PAIRS", lambda _: 1e-300),
            ("intervals: exponents off the space", "fit:SHARE_OF_SPACE", lambda _: 1 - 1e-9),
            ("intervals: only the constant", "fit:CHANCE", lambda _: (-1e9, 0.0)),
        )
    ),
    *(
        Mechanism(part=SEVERAL, name=name, at=at, off=off)
        for name, at, off in (
            ("other exponents", "several.search:MAX_STEPS", lambda _: 0),
            ("average over hypotheses", "predictive:MIN_SHARE", lambda _: 0.999),
            ("widened as outermost points need", "several.held_out:MIN_LEFT", lambda _: NEVER),
        )
    ),
)


def drawn_two(points: Values, first: int, noise: float) -> Values:
    """Draw 300 series of two functions, half of them outside of the search space."""
    random = np.random.default_rng([SEED, first, points.size])
    each = [two_functions(random, points, 150, first=first, family=f) for f in (inside, outside)]
    return measured(random, np.concatenate(each), noise=noise)


def drawn_one(points: Values, noise: float, kind: NoiseKind = NoiseKind.MULTIPLICATIVE) -> Values:
    """Draw 100 series of each family of one behaviour."""
    random = np.random.default_rng([SEED, points.size])
    each = [
        measured(random, draw(random, points, 100), noise=noise, kind=kind)
        for draw in FAMILIES.values()
    ]
    return np.concatenate(each)


def segments() -> Outcomes:
    """Return which series of one behaviour are taken for two, and which changes are found."""
    told = {"noise": "multiplicative"}
    found: dict[str, Any] = {}
    found["false"] = [
        detect_segments(points, drawn_one(points, noise), **told).segmented
        for points in (TEN, LINE, TEN[:6])
        for noise in (0.0, 0.15)
    ]
    found["false, 18 octaves"] = [
        detect_segments(POWERS, drawn_one(POWERS, noise), **told).segmented for noise in (0.0, 0.05)
    ]
    random = np.random.default_rng(SEED)
    truth = np.concatenate([draw(random, TEN, 100) for draw in FAMILIES.values()])[..., None]
    normal = truth * np.exp(0.3 * random.standard_normal((*truth.shape[:2], 3)))
    found["false, noise of 30 %"] = [detect_segments(TEN, normal[..., :1], **told).segmented]
    found["the same, repeated"] = [detect_segments(TEN, normal).segmented]
    alone = drawn_one(LINE, 0.1, NoiseKind.ADDITIVE)[::4]
    found["false, additive, alone"] = [
        detect_segments(LINE, each[:, 0]).segmented for each in alone[(alone > 0.0).all((1, 2))]
    ]
    steep = np.exp(random.uniform(0.005, 0.02, (150, 1)) * TEN)
    steep = np.concatenate([TEN ** random.uniform(3.2, 5.0, (150, 1)), steep])[..., None]
    steep = steep * np.exp(0.01 * random.standard_normal((300, 10, 5)))
    found["false, steep"] = [detect_segments(TEN, steep).segmented]
    for name, points, first in (("5 + 5", TEN, 5), ("2 + 8", TEN, 2), ("3 + 3", TEN[:6], 3)):
        found[f"right, {name}"] = [
            detect_segments(points, drawn_two(points, first, noise), **told).between(
                points[first - 1], points[first]
            )
            for noise in (0.05, 0.15)
        ]
    parts = [inside(random, POWERS[at : at + 6], 200) for at in (0, 6, 12)]
    three = measured(random, np.concatenate(parts, axis=1), noise=0.05)
    verdicts = detect_segments(POWERS, three, **told)
    both = [verdicts.between(POWERS[at - 1], POWERS[at]) for at in (6, 12)]
    found["both, 6 + 6 + 6"] = [both[0] & both[1]]
    return joined(found)


def one_parameter() -> Outcomes:
    """Return errors of predictions at 4 times the largest point, and their intervals."""
    found: dict[str, Any] = {}
    at, further = 4.0 * TEN[-1:], np.append(TEN, 4.0 * TEN[-1])
    for name, kind, count, repetitions in (
        ("additive", NoiseKind.ADDITIVE, 100, 1),
        ("root", NoiseKind.ROOT, 100, 1),
        ("additive, 10 kernels repeated", NoiseKind.ADDITIVE, 10, 5),
    ):
        for seed in range(300 // count):
            random = np.random.default_rng([SEED, seed])
            truth = draw_terms(random, further, count, PAPER)[0]
            values = measured(random, truth[:, :-1], noise=0.05, kind=kind, repetitions=repetitions)
            values = np.maximum(values, 1e-3 * values.mean(axis=1, keepdims=True))
            predicted = fit(TEN, values).predict(at)[:, 0]
            found.setdefault(f"loss, {name}", []).append(loss(predicted, truth[:, -1]))
    random = np.random.default_rng(SEED)
    truth = draw_terms(random, further, 300, PAPER)[0]
    for name, repetitions, outliers in (("a lone value", 1, 0.0), ("outliers", 5, 0.05)):
        values = measured(
            random, truth[:, :-1], noise=0.05, repetitions=repetitions, outliers=outliers
        )
        if not outliers:
            values[np.arange(300), random.integers(1, 9, 300)] *= 30.0
        predicted = fit(TEN, values, noise="multiplicative").predict(at)[:, 0]
        found[f"loss, {name}"] = [loss(predicted, truth[:, -1])]
    beyond = np.append(LINE, 4.0 * LINE[-1])
    for draw in FAMILIES.values():
        truth = draw(random, beyond, 100)
        values, new = (measured(random, truth, noise=0.05)[..., 0] for _ in range(2))
        models = fit(LINE, values[:, :-1], noise="multiplicative")
        low, high = models.interval(beyond[-1:])
        score_intervals(found, low[:, 0], high[:, 0], new[:, -1])
    values, new = (measured(random, np.full((300, 11), 5.0), noise=0.05)[..., 0] for _ in range(2))
    low, high = fit(LINE, values[:, :-1], noise="multiplicative").interval(beyond[-1:])
    constant: dict[str, Any] = {}
    score_intervals(constant, low[:, 0], high[:, 0], new[:, -1])
    return joined(found | {f"{name}, constants": each for name, each in constant.items()})


def several() -> Outcomes:
    """Return the same over several parameters, with how often the leading terms are right."""
    found: dict[str, Any] = {}
    axes = scaling_grids.AXES
    for points, count in (
        (scaling_grids.grid(*axes[:2]), 30),
        (scaling_grids.cross(*axes[:2]), 30),
        (scaling_grids.cross(*axes[:3]), 20),
    ):
        names = ("p", "n", "q")[: points.shape[1]]
        for number, family in enumerate(scaling_grids.FAMILIES):
            random = np.random.default_rng([SEED, number, points.shape[0]])
            drawn = scaling_grids.draw(random, family, count, parameters=len(names))
            drawn = scaling_grids.balanced(random, drawn, points)
            values = measured(random, drawn(points), noise=0.05)
            models = fit_parameters(points, values, noise="multiplicative", parameters=names)
            at = 4.0 * points.max(axis=0)[None]
            leading = [models[k].form.leading or (ABSENT,) * len(names) for k in range(count)]
            right = [each == drawn.leading(k) for k, each in enumerate(leading)]
            found.setdefault("terms right", []).append(right)
            predicted = models.predict(at)[:, 0]
            found.setdefault("loss", []).append(loss(predicted, drawn(at)[:, 0]))
            new = measured(random, drawn(at), noise=0.05)[:, 0, 0]
            score_intervals(found, *user_interval(models, at), new)
    return joined(found)


def user_interval(models: ScalingModels, at: Values) -> tuple[Values, Values]:
    """Return intervals at a target as `hindmost scale` widens them."""
    low, high = (side[:, 0] for side in models.interval(at))
    held_out = foretell_outermost(models)
    wider = held_out.wider if held_out else 1.0
    return widened(models.predict(at)[:, 0], low, high, wider)


def loss(predicted: Values, truth: Values) -> Values:
    """Return the logarithms of errors."""
    off = np.abs(np.log(np.maximum(predicted, 1e-300) / truth))
    return np.asarray(np.log(np.minimum(off, LARGEST) + FLOOR))


def score_intervals(found: dict[str, Any], low: Values, high: Values, new: Values) -> None:
    """Note which intervals hold new measurements, and how wide they are."""
    found.setdefault("held", []).append((low <= new) & (new <= high))
    ratio = np.clip(high / np.maximum(low, 1e-3 * new), 1.0001, 1e6)
    found.setdefault("width", []).append(np.log(np.log(ratio)))


def joined(found: Mapping[str, Any]) -> Outcomes:
    """Put the outcomes of each case behind each other."""
    return {name: np.concatenate(each).astype(float).tolist() for name, each in found.items()}


PARTS: dict[str, Callable[[], Outcomes]] = {
    SEGMENTS: segments,
    FITS: one_parameter,
    SEVERAL: several,
}


def main() -> None:
    """Print the tables; in a process of its own, the outcomes of a row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=tuple(PARTS))
    parser.add_argument("--without", type=int, help="number of a mechanism")
    asked = parser.parse_args()
    if asked.part is None:
        print_tables()
        return
    if asked.without is not None:
        switch_off(MECHANISMS[asked.without])
    sys.stdout.write(json.dumps(PARTS[asked.part]()))


def switch_off(mechanism: Mechanism) -> None:
    """Replace what a mechanism rests on, in this process."""
    module, path = mechanism.at.split(":")
    owner: Any = importlib.import_module(f"hindmost.models.pmnf.{module}")
    *way, name = path.split(".")
    for each in way:
        owner = getattr(owner, each)
    setattr(owner, name, mechanism.off(getattr(owner, name)))


def row_of(part_name: str, without: int | None = None) -> dict[str, Values]:
    """Return the outcomes of a row, from a process."""
    command = [sys.executable, "-m", "benchmarks.ablation_pmnf", "--part", part_name]
    command += [] if without is None else ["--without", str(without)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: np.array(each) for name, each in json.loads(told).items()}


def print_tables() -> None:
    """Print a table for each part."""
    for part_name in PARTS:
        whole = row_of(part_name)
        cells = [f"{100.0 * each.mean():.1f}" for each in whole.values()]
        lines = [f"| {part_name} | {' | '.join(whole)} |", "|---" * (len(whole) + 1) + "|"]
        lines.append(f"| all as it is | {' | '.join(cells)} |")
        for number, mechanism in enumerate(MECHANISMS):
            if mechanism.part == part_name:
                row = row_of(part_name, number)
                changed = [change(row[name] - each) for name, each in whole.items()]
                lines.append(f"| without {mechanism.name} | {' | '.join(changed)} |")
        sys.stdout.write("\n".join([*lines, "", ""]))
        sys.stdout.flush()


def change(less: Values) -> str:
    """Write a change with its standard error, bold if it is more than two of these."""
    mean, error = 100.0 * less.mean(), 100.0 * less.std() / np.sqrt(less.size)
    if not less.any():
        return "0"
    text = f"{mean:+.1f} ± {error:.1f}"
    return f"**{text}**" if abs(mean) > 2.0 * error else text


if __name__ == "__main__":
    main()
