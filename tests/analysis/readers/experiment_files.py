"""One experiment written in every format that can be written by hand."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.readers.experiment import Experiment, KernelSeries

Point = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Repetitions by kernel, metric and point; every series has every point."""

    parameters: tuple[str, ...]
    points: tuple[Point, ...]
    values: dict[tuple[str, str], list[list[float]]]

    def series(self) -> tuple[KernelSeries, ...]:
        """Return what a reader should make of it."""
        order = sorted(range(len(self.points)), key=self.points.__getitem__)
        made = []
        for (kernel, metric), values in self.values.items():
            table = np.full((len(order), max(map(len, values))), np.nan)
            for row, at in enumerate(order):
                table[row, : len(values[at])] = values[at]
            points = np.array([self.points[at] for at in order], np.float64)
            made.append(
                KernelSeries(kernel=kernel, metric=metric, unit="", points=points, values=table)
            )
        return tuple(made)


def text(written: Written) -> str:
    lines = ["# an experiment", "PARAMETER " + " ".join(written.parameters)]
    for point in written.points:
        lines.append("POINTS ( " + " ".join(map(repr, point)) + " )")
    for (kernel, metric), values in written.values.items():
        lines += ["", f"REGION {kernel}", f"METRIC {metric}"]
        lines += ["DATA " + " ".join(map(repr, value)) for value in values]
    return "\n".join(lines) + "\n"


def json_document(written: Written) -> str:
    measurements: dict[str, dict[str, list[dict[str, object]]]] = {}
    for (kernel, metric), values in written.values.items():
        measurements.setdefault(kernel, {})[metric] = [
            {"point": list(point), "values": each}
            for point, each in zip(written.points, values, strict=True)
        ]
    return json.dumps({"parameters": list(written.parameters), "measurements": measurements})


def older_json(written: Written) -> str:
    kernels = list(dict.fromkeys(kernel for kernel, _ in written.values))
    metrics = list(dict.fromkeys(metric for _, metric in written.values))
    document = {
        "callpaths": [{"id": at, "name": name} for at, name in enumerate(kernels, 1)],
        "metrics": [{"id": at, "name": name} for at, name in enumerate(metrics, 1)],
        "parameters": [{"id": at, "name": name} for at, name in enumerate(written.parameters, 1)],
        "coordinates": [
            {
                "id": at,
                "parameter_value_pairs": [
                    {"parameter_id": column, "parameter_value": value}
                    for column, value in reversed(list(enumerate(point, 1)))
                ],
            }
            for at, point in enumerate(written.points, 1)
        ],
        "measurements": [
            {
                "callpath_id": kernels.index(kernel) + 1,
                "metric_id": metrics.index(metric) + 1,
                "coordinate_id": at,
                "value": value,
            }
            for (kernel, metric), values in written.values.items()
            for at, each in enumerate(values, 1)
            for value in each
        ],
    }
    return json.dumps(document, indent=2)


def json_lines(written: Written) -> str:
    return "".join(
        json.dumps(
            {
                "params": dict(zip(written.parameters, point, strict=True)),
                "callpath": kernel,
                "metric": metric,
                "value": value,
            }
        )
        + "\n"
        for (kernel, metric), values in written.values.items()
        for point, each in zip(written.points, values, strict=True)
        for value in each
    )


def long_table(written: Written) -> str:
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow([*written.parameters, "kernel", "metric", "value"])
    for (kernel, metric), values in written.values.items():
        for point, each in zip(written.points, values, strict=True):
            for value in each:
                rows.writerow([*map(repr, point), kernel, metric, repr(value)])
    return out.getvalue()


WRITERS: dict[str, tuple[str, Callable[[Written], str]]] = {
    "text": ("text", text),
    "json": ("json", json_document),
    "older json": ("json", older_json),
    "json-lines": ("json-lines", json_lines),
    "csv": ("csv", long_table),
}
"""The name of the format, and what writes it."""

SMALL = Written(
    parameters=("p", "n"),
    points=((4.0, 10.0), (2.0, 10.0), (8.0, 10.0)),
    values={
        ("main", "time"): [[4.0, 4.1], [2.0], [8.0, 8.1]],
        ("main->compute", "time"): [[40.0], [20.0], [80.0]],
    },
)


def assert_sound(experiment: Experiment) -> None:
    """Check what every experiment promises."""
    assert experiment.series
    for series in experiment.series:
        points, values = series.points, series.values
        assert points.dtype == values.dtype == np.float64
        assert points.shape == (len(values), len(experiment.parameters))
        assert np.isfinite(points).all()
        assert (points > 0).all()
        rows = [tuple(point) for point in points]
        assert rows == sorted(set(rows))
        there = np.isfinite(values)
        assert there.any(axis=1).all()
        assert there.any(axis=0).all()
        assert (values[there] > 0).all()
        assert not np.isinf(values).any()
