"""How well `hindmost scale` predicts the largest measured points, left out, of real experiments.

    python -m benchmarks.scaling_real [FILE or FOLDER]

Files, by default in the folder that HINDMOST_EVALUATION_DATA names, are described in `real_series`.
The largest point of each series is left out, then the two largest, and the last one is predicted.
Prints by group the error in percent of the measured value, median / 90th percentile, of `hindmost
scale`, of the models that it explains kernels with, and of power laws through the last 2 and 3
points; by how much the mean logarithm of the error differs from that of the power law of 2
(hundredths, about percent, with its standard error over programs); on how many series `scale` is
nearer; and what 90 % intervals contain. All programs count alike in each of these.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.real_series import (
    EVERYTHING,
    RealSeries,
    clustered,
    data_files,
    loss,
    program_of,
    read_series,
    shares_of,
    sizes,
)

from hindmost.analysis.readers.experiment import Experiment, KernelSeries
from hindmost.analysis.scaling.study import study_scaling

METHODS = ("hindmost", "its models", "power law of 2", "power law of 3")
MIN_KNOWN = 5
"""Points of a series that are left to learn from."""
NOTHING = -20.0
"""Logarithm of a prediction that is not above 0, over the measured value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Predictions of a value that was left out.

    Attributes
    ----------
    group, program : str
    errors : tuple of float
        Predicted less measured logarithm, in the order of `METHODS`.
    within : bool
        Whether the interval contains the measured value.
    """

    group: str
    program: str
    errors: tuple[float, ...]
    within: bool


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, help="measured experiments")
    series = read_series(data_files(parser.parse_args().file))
    for dropped in (1, 2):
        print_table(list(predict_left_out(series, dropped)), dropped)


def predict_left_out(series: list[RealSeries], dropped: int) -> Iterator[Prediction]:
    """Yield the last values of all series, predicted from all points but the last ones.

    Series of an experiment with the same target are modelled together.
    """
    groups: dict[tuple[str, float], list[RealSeries]] = defaultdict(list)
    for each in series:
        if each.points.size >= MIN_KNOWN + dropped:
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
                one = members[int(standing.series.kernel)]
                measured = float(one.medians[-1])
                predicted = [standing.predicted, float(standing.kernel.evaluate(at)[0])]
                predicted += [power_law(one, dropped, count) for count in (2, 3)]
                yield Prediction(
                    group=one.group,
                    program=program_of(name),
                    errors=tuple(
                        float(np.log(each / measured)) if each > 0.0 else NOTHING
                        for each in predicted
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


def print_table(predictions: list[Prediction], dropped: int) -> None:
    """Print what each method reaches as Markdown."""
    errors = np.array([prediction.errors for prediction in predictions])
    programs = np.array([prediction.program for prediction in predictions])
    groups = np.array([prediction.group for prediction in predictions])
    within = np.array([prediction.within for prediction in predictions])
    left_out = "the largest point" if dropped == 1 else f"the {dropped} largest points"
    lines = [
        f"Without {left_out}; error in percent, median / 90th percentile.",
        "",
        f"| series (programs) | {' | '.join(METHODS)} | less than power law of 2 | nearer | in |",
        "|---" * (len(METHODS) + 4) + "|",
    ]
    nearer = np.abs(errors[:, 0]) < np.abs(errors[:, 2]) * (1.0 - 1e-9)
    less = 100.0 * (loss(errors[:, 0]) - loss(errors[:, 2]))
    for group in [*np.unique(groups).tolist(), EVERYTHING]:
        some = (groups == group) | (group == EVERYTHING)
        own, share = programs[some], shares_of(programs[some])
        cells = [sizes(column, own) for column in errors[some].T]
        change, error = clustered(less[some], own)
        cells.append(f"{change:+.1f} ± {error:.1f}")
        cells += [f"{100.0 * (each[some] @ share):.0f} %" for each in (nearer, within)]
        about = f"{group}: {some.sum()} ({np.unique(own).size})"
        lines.append(f"| {about} | {' | '.join(cells)} |")
    sys.stdout.write("\n".join([*lines, "", ""]))


if __name__ == "__main__":
    main()
