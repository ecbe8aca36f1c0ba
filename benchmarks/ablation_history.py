"""What each mechanism of change points brings: switched off alone, and all is measured again.

Run by ``make ablation DATA=FOLDER``, in some minutes. The folder has sets of nightly results, each
an archive ``NAME-nightly.tar.gz`` or a folder that ``hindmost history`` reads. Columns:

- steps of 5, 10 and 20 % put into stretches of 60 real nights: recall and precision, in %;
- false changes in 1000 nights of these stretches as they are, and permuted;
- F1 of simulated series with known changes of three kinds, in %, and false changes in 1000 nights
  of drifts, of machines that switch between two modes, of uneven noise (one third of the nights six
  times as noisy as the others) and of coarse values (0.05 s in a file with two decimals);
- the share of the confirmed changes of 20 % or more that is missing on any later night and at the
  end, in %, where one night after the other is added (not for other settings);
- processor time, in seconds.

The first row gives the figures, every other one the differences from it, with the standard error
of the paired difference over cases (over series, where they are simulated). The last table leaves a
whole set out, and says which alpha the F1 of the steps chooses on the others.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.changepoints import Series
from benchmarks.history_nightly import (
    FIRST,
    STEPS,
    Found,
    Verdict,
    counts_of,
    follow,
    stretches,
    with_step,
    without_step,
)
from benchmarks.nightly_series import read_series, some
from benchmarks.synthetic.nightly import SimulatedNights, draw_nightly
from benchmarks.synthetic.scores import score_changes
from numpy.typing import NDArray

from hindmost.models.changepoint import detect
from hindmost.models.changepoint.robust import fits, noise, segments

NIGHTS, TOLERANCE = 60, 0.05
"""Nights of a stretch, and the largest relative distance of the medians of its blocks."""
LARGEST_SET, SIMULATED, FOLLOWED, LONG = 250, 150, 10, 60
"""Most stretches of a set, simulated series of a kind, and series of a set night by night, which
have so many nights or more."""
FIRST_SEED = 11_000_000
KINDS = ("shifts", "short segments", "double outliers")
STEADY = ("uneven", "coarse")
NEVER = 10**9
ALPHAS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
Counts = NDArray[np.float64]
"""Hits, false, missed, nights; or verdicts, those ever missing, and those missing at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A variant: what is replaced where, the settings, and whether verdicts are remembered."""

    name: str
    patches: tuple[tuple[Any, str, Any], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    remembers: bool = True

    def found(self, values: Series, confirmed: Sequence[int] = ()) -> list[Any]:
        """Return the changes of a series."""
        known = confirmed if self.remembers else ()
        return list(detect(values, confirmed=known, **self.settings).changes)


ROWS = (
    Row(name="all as it is"),
    Row(
        name="no correlation",
        patches=(
            (noise, "correlation_of_steps", lambda *_: 0.0),
            (noise, "correlation_of_residuals", lambda *_: 0.0),
        ),
    ),
    Row(
        name="no local factors",
        patches=((noise, "local_factors", lambda steps, _: np.ones(steps.size + 1)),),
    ),
    Row(name="no noise of segments", patches=((noise, "PRIOR_NIGHTS", 1e12),)),
    Row(
        name="one noise for all nights",
        patches=(
            (noise, "local_factors", lambda steps, _: np.ones(steps.size + 1)),
            (noise, "PRIOR_NIGHTS", 1e12),
        ),
    ),
    Row(name="noise from steps only", patches=((segments, "PASSES", 1),)),
    Row(name="no limit by rounding", patches=((noise, "OF_UNIT", 0.0),)),
    Row(
        name="squares, not bounded",
        patches=((fits, "BOUND", 1e3), (segments, "BOUND", 30.0)),
    ),
    Row(name="no lines", patches=((segments, "SHORTEST_LINE", NEVER),)),
    Row(name="no two modes", patches=((segments, "SWITCHES", NEVER),)),
    Row(name="no wander", patches=((segments, "WANDER", 0.0),)),
    Row(name="wander 0.2", patches=((segments, "WANDER", 0.2),)),
    Row(
        name="freedom as if known",
        patches=((segments.Segment, "freedom", property(lambda each: each.nights)),),
    ),
    Row(
        name="no test",
        patches=((segments.Rules, "level_at", lambda *_: 1.0),),
    ),
    Row(name="first level of 3 nights", patches=((segments, "FIRST", segments.SHORTEST),)),
    Row(name="no memory", remembers=False),
    *(Row(name=f"alpha {alpha:g}", settings={"alpha": alpha}) for alpha in ALPHAS),
)


def read_sets(folder: Path) -> dict[str, dict[str, Series]]:
    """Return the series of every set of a folder by name: 30 nights or more."""
    sets = {}
    with tempfile.TemporaryDirectory() as place:
        for archive in sorted(folder.glob("*-nightly.tar.gz")):
            inside = Path(place) / archive.name.removesuffix("-nightly.tar.gz")
            inside.mkdir()
            with tarfile.open(archive) as opened:
                for member in opened:
                    file = opened.extractfile(member) if member.isfile() else None
                    if file is not None:  # by its last name only: a path may lead elsewhere
                        (inside / Path(member.name).name).write_bytes(file.read())
            sets[inside.name] = read_series(inside, "both", 30)
        for inner in sorted(path for path in folder.iterdir() if path.is_dir()):
            sets[inner.name] = read_series(inner, "both", 30)
    return sets


def case_of(name: str) -> str:
    """Return the cluster of a series: its machine and case."""
    return name.rpartition(", ")[0]


def tally(
    found: Callable[[Series], list[Any]], truths: Iterator[tuple[str, SimulatedNights]]
) -> dict[str, Counts]:
    """Return hits, false and missed changes and the nights, by cluster."""
    counts: dict[str, Counts] = {}
    for cluster, truth in truths:
        places = [change.index for change in found(truth.values)]
        score = score_changes(places, truth.changes.tolist(), nights=truth.values.size)
        row = np.array([score.hits, score.false, score.missed, score.nights], float)
        counts[cluster] = counts.get(cluster, np.zeros(4)) + row
    return counts


def night_by_night(row: Row, values: Series) -> list[tuple[int, list[Found]]]:
    """Return what is found on every night, with the changes confirmed so far as the memory."""
    confirmed: list[int] = []
    nightly = []
    for size in range(FIRST, values.size + 1):
        changes = row.found(values[:size], confirmed)
        confirmed = [change.index for change in changes if change.confirmed]
        nightly.append((size, [counts_of(change) for change in changes]))
    return nightly


def stays(row: Row, series: dict[str, Series]) -> dict[str, Counts]:
    """Return verdicts, those ever missing and those missing at the end, by cluster."""
    counts: dict[str, Counts] = {}
    for name, values in series.items():
        verdicts: list[Verdict] = []
        follow(night_by_night(row, values), verdicts)
        ever = sum(verdict.missing > 0 for verdict in verdicts)
        ended = sum(not verdict.present for verdict in verdicts)
        new = np.array([len(verdicts), ever, ended], float)
        counts[case_of(name)] = counts.get(case_of(name), np.zeros(3)) + new
    return counts


def recall(counts: Counts) -> float:
    """Return the share of the changes that is found, in %."""
    return float(100.0 * counts[0] / max(counts[0] + counts[2], 1.0))


def precision(counts: Counts) -> float:
    """Return the share of the findings that are changes, in %."""
    return float(100.0 * counts[0] / max(counts[0] + counts[1], 1.0))


def f1(counts: Counts) -> float:
    """Return the harmonic mean of both, in %."""
    return float(200.0 * counts[0] / max(2.0 * counts[0] + counts[1] + counts[2], 1.0))


def false(counts: Counts) -> float:
    """Return the false findings in 1000 nights."""
    return float(1000.0 * counts[1] / max(counts[3], 1.0))


def ever(counts: Counts) -> float:
    """Return the share of the verdicts that is missing on a later night, in %."""
    return float(100.0 * counts[1] / max(counts[0], 1.0))


def at_end(counts: Counts) -> float:
    """Return the share of the verdicts that is missing at the end, in %."""
    return float(100.0 * counts[2] / max(counts[0], 1.0))


COLUMNS: tuple[tuple[str, str, Callable[[Counts], float]], ...] = (
    *((f"recall {size:.0%}", f"step {size}", recall) for size in STEPS),
    *((f"precision {size:.0%}", f"step {size}", precision) for size in STEPS),
    ("as is", "as they are", false),
    ("permuted", "permuted", false),
    *((f"F1 {kind.split()[0]}", kind, f1) for kind in KINDS),
    ("drifts", "drift", false),
    ("modes", "two modes", false),
    *((kind, kind, false) for kind in STEADY),
    ("ever", "stays", ever),
    ("end", "stays", at_end),
)
"""Head, data, and figure of each column."""


def with_error(
    figure: Callable[[Counts], float], mine: dict[str, Counts], base: dict[str, Counts]
) -> tuple[float, float]:
    """Return a difference of figures, and its standard error by leaving clusters out in turn."""
    names = sorted(base)
    zero = np.zeros(next(iter(base.values())).size)
    a = np.array([mine.get(name, zero) for name in names])
    b = np.array([base[name] for name in names])
    left_out = [
        figure(x) - figure(y) for x, y in zip(a.sum(axis=0) - a, b.sum(axis=0) - b, strict=True)
    ]
    spread = np.square(np.array(left_out) - np.mean(left_out)).sum()
    many = len(names)
    error = float(np.sqrt(spread * (many - 1) / many))
    return figure(a.sum(axis=0)) - figure(b.sum(axis=0)), error


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What all rows are measured on.

    Attributes
    ----------
    parts : dict
        Set to its stretches: name and values.
    followed : dict
        Series that are read night by night.
    """

    parts: dict[str, list[tuple[str, Series]]]
    followed: dict[str, Series]

    @classmethod
    def of(cls, sets: dict[str, dict[str, Series]]) -> Data:
        """Choose stretches and series by a hash of their names."""
        parts: dict[str, list[tuple[str, Series]]] = {}
        followed: dict[str, Series] = {}
        for name, series in sets.items():
            found = stretches(series, 0, nights=NIGHTS, tolerance=TOLERANCE)
            found.sort(key=lambda part: zlib.crc32(f"sample {part[0]}".encode()))
            parts[name] = found[:LARGEST_SET]
            long = {each: values for each, values in series.items() if values.size >= LONG}
            followed |= {f"{name}: {each}": values for each, values in some(long, FOLLOWED).items()}
        return cls(parts=parts, followed=followed)

    def steps(self, size: float, sets: Sequence[str]) -> Iterator[tuple[str, SimulatedNights]]:
        """Yield the stretches of some sets with a step, and their clusters."""
        for each in sets:
            for name, values in self.parts[each]:
                yield f"{each}: {case_of(name)}", with_step(name, values, size)

    def plain(self, kind: str) -> Iterator[tuple[str, SimulatedNights]]:
        """Yield the stretches as they are, or permuted, and their clusters."""
        for each, found in self.parts.items():
            for name, values in found:
                yield f"{each}: {case_of(name)}", without_step(name, values, kind)


def simulated(kind: str) -> Iterator[tuple[str, SimulatedNights]]:
    """Yield simulated series, each a cluster of its own."""
    for seed in range(FIRST_SEED, FIRST_SEED + SIMULATED):
        steady = kind in STEADY
        yield str(seed), draw_steady(kind, seed) if steady else draw_nightly(kind, seed)


def draw_steady(kind: str, seed: int) -> SimulatedNights:
    """Draw 180 nights without a change, of one of the `STEADY` kinds."""
    noise_of_all = np.random.default_rng(seed).standard_normal(180)
    sizes = np.repeat([0.01, 0.06, 0.01], 60) if kind == "uneven" else np.full(180, 0.1)
    values = 0.05 * np.exp(sizes * noise_of_all)
    return SimulatedNights(
        kind=kind,
        values=np.round(values, 2) if kind == "coarse" else values,
        changes=np.zeros(0, np.int64),
        effects=np.zeros(0),
        outliers=np.zeros(180, np.bool_),
    )


def measure(row: Row, data: Data) -> dict[str, dict[str, Counts]]:
    """Return the counts of a row on all data."""
    with ExitStack() as stack:
        for place, name, value in row.patches:
            stack.enter_context(patch.object(place, name, value))
        counts = {
            f"step {size}": tally(row.found, data.steps(size, [*data.parts])) for size in STEPS
        }
        counts |= {kind: tally(row.found, data.plain(kind)) for kind in ("as they are", "permuted")}
        counts |= {
            kind: tally(row.found, simulated(kind))
            for kind in (*KINDS, "drift", "two modes", *STEADY)
        }
        if not row.settings:
            counts["stays"] = stays(row, data.followed)
    return counts


def print_choice(data: Data) -> None:
    """Print which alpha each set's others choose, and the F1 of steps on that set."""
    score: dict[tuple[str, float], Counts] = {}
    for part in data.parts:
        for alpha in ALPHAS:
            found = Row(name="", settings={"alpha": alpha}).found
            tallies = [tally(found, data.steps(size, [part])) for size in STEPS]
            score[part, alpha] = np.sum([row for one in tallies for row in one.values()], axis=0)
    heads = "".join(f"{alpha:>9g}" for alpha in ALPHAS)
    print(f"\nF1 of the steps by alpha, %{'':17}{heads}   chosen on the others: here")  # noqa: T201
    for each in data.parts if len(data.parts) > 1 else ():
        others = [name for name in data.parts if name != each]
        totals = {
            alpha: f1(np.sum([score[name, alpha] for name in others], axis=0)) for alpha in ALPHAS
        }
        chosen = max(ALPHAS, key=totals.__getitem__)
        cells = "".join(f"{f1(score[each, alpha]):9.1f}" for alpha in ALPHAS)
        print(f"{f'{each} ({len(data.parts[each])} stretches)':44}{cells}   {chosen:g}")  # noqa: T201


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", nargs="?", type=Path, help="folder of sets of nightly results")
    parser.add_argument("--rows", nargs="+", default=[], help="only rows whose names begin so")
    chosen = parser.parse_args()
    if chosen.data is None:
        print("Skipped: name a folder of sets of nightly results (DATA=FOLDER).")  # noqa: T201
        return 0
    data = Data.of(read_sets(chosen.data))
    detect(np.exp(np.random.default_rng(0).normal(0.0, 0.05, 60)))  # compile the loops first
    base: dict[str, dict[str, Counts]] = {}
    print(f"{'':26}" + "".join(f"{head:>15}" for head, _, _ in COLUMNS) + f"{'s':>8}")  # noqa: T201
    for row in ROWS:
        if base and chosen.rows and not row.name.startswith(tuple(chosen.rows)):
            continue
        begin = time.process_time()
        counts = measure(row, data)
        took = time.process_time() - begin
        cells = []
        for _, source, figure in COLUMNS:
            if source not in counts:
                cells.append(f"{'':15}")
            elif base:
                difference, error = with_error(figure, counts[source], base[source])
                cells.append(f"{f'{difference:+.2f} ± {error:.2f}':>15}")
            else:
                cells.append(f"{figure(np.sum(list(counts[source].values()), axis=0)):15.2f}")
        base = base or counts
        print(f"{row.name:26}{''.join(cells)}{took:8.0f}", flush=True)  # noqa: T201
    print_choice(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
