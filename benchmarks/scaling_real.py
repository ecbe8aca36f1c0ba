"""How well scaling models foretell the largest measured points, left out, of real experiments.

    python -m benchmarks.scaling_real [FILE] [--part development|aside|all] [--json]

FILE, or scaling-real.json.gz in the folder that HINDMOST_EVALUATION_DATA names, is described in
`real_series`. Prints by group, for the largest point and for the two largest left out, the error in
percent of the measured value, median / 90th percentile: of `hindmost scale`, of the models that it
explains kernels with, and of power laws through the last 2 and 3 points; and the share of measured
values in the 90 % interval.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.real_series import (
    EVERYTHING,
    LEAST_KNOWN,
    PARTS,
    RealSeries,
    data_file,
    read_series,
)

from hindmost.analysis.readers.experiment import Experiment, KernelSeries
from hindmost.analysis.scaling.study import study_scaling

METHODS = ("hindmost", "its models", "power law of 2", "power law of 3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """A held-out value and its predictions.

    Attributes
    ----------
    group : str
    measured : float
    predicted : tuple of float
        In the order of `METHODS`.
    within : bool
        Whether the interval has the measured value.
    """

    group: str
    measured: float
    predicted: tuple[float, ...]
    within: bool

    def errors(self) -> list[float]:
        """Return the errors in percent; infinite where there is no prediction."""
        return [
            100.0 * abs(each / self.measured - 1.0) if np.isfinite(each) else np.inf
            for each in self.predicted
        ]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, help="measured experiments")
    parser.add_argument("--part", choices=PARTS, default=PARTS[0], help="default: development")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    series = read_series(data_file(asked.file), asked.part)
    document = {}
    for dropped in (1, 2):
        table = summary(list(foretell_left_out(series, dropped)))
        document[str(dropped)] = table
        if not asked.json:
            print_table(table, dropped)
    if asked.json:
        sys.stdout.write(json.dumps(document, indent=1) + "\n")


def foretell_left_out(series: list[RealSeries], dropped: int) -> Iterator[Foretold]:
    """Yield the last values of all series, predicted from all points but the last ones.

    Series of an experiment with the same target are modelled together.
    """
    groups: dict[tuple[str, float], list[RealSeries]] = defaultdict(list)
    for each in series:
        if each.points.size >= LEAST_KNOWN + dropped:
            groups[each.experiment, float(each.points[-1])].append(each)
    for (name, at), members in groups.items():
        experiment = Experiment(
            source=name,
            parameters=(members[0].parameter,),
            series=tuple(
                without_last(each, dropped, number) for number, each in enumerate(members)
            ),
            warnings=(),
        )
        study = study_scaling(experiment, at=f"{at:.12g}")
        for metric in study.metrics:
            for standing in metric.at_target(metric.order):
                one = members[int(standing.kernel.series.kernel)]
                measured = float(one.medians[-1])
                yield Foretold(
                    group=one.group,
                    measured=measured,
                    predicted=(
                        standing.predicted,
                        standing.explained,
                        *(power_law(one, dropped, count) for count in (2, 3)),
                    ),
                    within=standing.low <= measured <= standing.high,
                )


def without_last(series: RealSeries, dropped: int, number: int) -> KernelSeries:
    """Return all points of a series but the last ones; its name is its number."""
    known = series.values[:-dropped]
    values = np.full((len(known), max(map(len, known))), np.nan)
    for row, repetitions in zip(values, known, strict=True):
        row[: len(repetitions)] = repetitions
    return KernelSeries(
        kernel=str(number),
        metric=series.metric,
        unit="",
        points=series.points[:-dropped, None],
        values=values,
    )


def power_law(series: RealSeries, dropped: int, count: int) -> float:
    """Predict the last point by a power law through the last known ones."""
    known = slice(-dropped - count, -dropped)
    logarithms = np.log(series.points[known]), np.log(series.medians[known])
    slope, constant = np.polyfit(*logarithms, 1)
    return float(np.exp(constant + slope * np.log(series.points[-1])))


def summary(foretold: list[Foretold]) -> dict[str, dict[str, object]]:
    """Return the table: by group, the series and what each method reaches."""
    groups = {each: [one for one in foretold if one.group == each] for each in groups_of(foretold)}
    table: dict[str, dict[str, object]] = {}
    for group, members in {**groups, EVERYTHING: foretold}.items():
        errors = np.array([each.errors() for each in members])
        table[group] = {
            "series": len(members),
            **{
                method: [float(np.nanmedian(column)), float(np.nanpercentile(column, 90))]
                for method, column in zip(METHODS, errors.T, strict=True)
            },
            "within": 100.0 * float(np.mean([each.within for each in members])),
        }
    return table


def groups_of(foretold: list[Foretold]) -> list[str]:
    """Return the groups in alphabetical order."""
    return sorted({each.group for each in foretold})


def print_table(table: dict[str, dict[str, object]], dropped: int) -> None:
    """Print the table as Markdown."""
    left_out = "the largest point" if dropped == 1 else f"the {dropped} largest points"
    lines = [
        f"Without {left_out}; error in percent, median / 90th percentile.",
        "",
        f"| group | {' | '.join(METHODS)} | interval holds |",
        "|---" * (len(METHODS) + 2) + "|",
    ]
    for group, row in table.items():
        cells = [f"{row[method][0]:.1f} / {row[method][1]:.0f}" for method in METHODS]  # type: ignore[index]
        lines.append(f"| {group} ({row['series']}) | {' | '.join(cells)} | {row['within']:.0f} % |")
    sys.stdout.write("\n".join([*lines, "", ""]))


if __name__ == "__main__":
    main()
