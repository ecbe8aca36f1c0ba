"""An experiment: measured values over parameters, gathered from the files that have them."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import IN_SECONDS, name_and_unit, unit_of
from hindmost.errors import DataError, UsageError
from hindmost.text import choose, counted, first_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelSeries:
    """One metric of one kernel; two are equal if all their contents are.

    Attributes
    ----------
    kernel : str
        Call path or name, as ``main->compute``.
    metric : str
    unit : str
        ``s`` for seconds, other units as in the file; empty if there is none.
    points : float64 array, shape (point, parameter)
        In ascending order of the first parameter, then the second and so on; each point once.
        Always above zero. Read-only.
    values : float64 array, shape (point, repetition)
        Always above zero; NaN if a point has fewer repetitions than others. Read-only.
    """

    kernel: str
    metric: str
    unit: str
    points: NDArray[np.float64]
    values: NDArray[np.float64]

    def __eq__(self, other: object) -> bool:
        """Compare names, points and values; missing repetitions are alike."""
        if not isinstance(other, KernelSeries):
            return NotImplemented
        return (
            (self.kernel, self.metric, self.unit) == (other.kernel, other.metric, other.unit)
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.values, other.values, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have none


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Everything that was read of one experiment.

    Attributes
    ----------
    source : str
        The source of the data, for messages.
    parameters : tuple of str
        Names of the columns of every series' points.
    series : tuple of KernelSeries
        At least one, in the order in which the files name them.
    warnings : tuple of str
        What was left out, merged or assumed, with the reason and the place, in sentences.
    inclusive : bool or None
        Whether the values of a call path include its callees; None if the files do not say it.
    """

    source: str
    parameters: tuple[str, ...]
    series: tuple[KernelSeries, ...]
    warnings: tuple[str, ...]
    inclusive: bool | None = None


ROOT = "<root>"
"""The kernel of values that name none."""
DEFAULT = "<default>"
"""The metric of values that name none."""


Point = tuple[float, ...]
Key = tuple[str, str]
"""A kernel and a metric."""
Rejected = tuple[Point, float, str]
"""Point in the parameters, value, and place in the file."""


class ExperimentGathering:
    """Values by kernel, metric and point, from one file or many.

    Attributes
    ----------
    parameters : tuple of str
    remarks : Remarks
    inclusive : bool or None
        As of `Experiment`.
    """

    def __init__(self) -> None:
        self.parameters: tuple[str, ...] = ()
        self.inclusive: bool | None = None
        self.remarks = Remarks()
        self._declared_at = ""
        self._order: tuple[int, ...] | None = None
        self._values: dict[Key, dict[Point, list[float]]] = {}
        self._rejected: dict[Key, list[Rejected]] = {}
        self._named_at: dict[Point, str] = {}
        self._units: dict[str, str] = {}

    def declare(self, parameters: Sequence[str], where: str) -> None:
        """Say which parameters the points to come have, in which order.

        Raises
        ------
        DataError
            None, one twice, or others than in the file before.
        """
        names = tuple(parameters)
        if not names:
            raise DataError(f"{where}: no parameter; at least one is needed, like p.")
        for name in names:
            if not name or names.count(name) > 1:
                fault = f"parameter '{name}' appears twice" if name else "a parameter has no name"
                raise DataError(f"{where}: {fault}; every parameter needs its own name.")
        if not self.parameters:
            self.parameters, self._declared_at = names, where
        if set(names) != set(self.parameters):
            raise DataError(
                f"{where}: the parameters are {', '.join(names)}, but {', '.join(self.parameters)} "
                f"in {self._declared_at}. Read together only files with the same parameters."
            )
        in_order = names == self.parameters
        self._order = None if in_order else tuple(names.index(name) for name in self.parameters)

    def name_point(self, point: Point, where: str) -> Point:
        """Check a point and return it in the order of `parameters`."""
        if len(point) != len(self.parameters):
            raise DataError(
                f"{where}: a point of {len(point)} numbers; the parameters are "
                f"{', '.join(self.parameters)}, so a point has {len(self.parameters)}."
            )
        if self._order is not None:
            point = tuple(point[at] for at in self._order)
        if point not in self._named_at:
            for name, value in zip(self.parameters, point, strict=True):
                if not math.isfinite(value):
                    raise DataError(f"{where}: {name} = {value}; a parameter must be finite.")
            self._named_at[point] = where
        return point

    def add(
        self, key: Key, point: Point, values: Sequence[float], where: str, unit: str = ""
    ) -> None:
        """Add repetitions at a point.

        Parameters
        ----------
        key : tuple of str
            Kernel and metric.
        point : tuple of float
            In the order that was declared last.
        where : str
            File and line, or another place, for messages.
        unit : str
            Of the values; empty for that of the metric's other values. All values of a metric get
            the unit that was stated first: its kernels are compared and summed.

        Raises
        ------
        DataError
            A unit that cannot be converted into that of the metric.
        """
        point = self.name_point(point, where)
        points = self._values.get(key)
        if points is None:
            points = self._values[key] = {}
        factor = self._factor(key[1], unit_of(unit), where) if unit else 1.0
        good = list(values) if factor == 1.0 else [factor * value for value in values]
        if not all(0.0 < value < math.inf for value in good):
            rejected = self._rejected.setdefault(key, [])
            rejected += [(point, value, where) for value in good if not 0.0 < value < math.inf]
            good = [value for value in good if 0.0 < value < math.inf]
        there = points.get(point)
        if there is None:
            points[point] = good
        else:
            there += good

    def _factor(self, metric: str, unit: str, where: str) -> float:
        """Return what turns values in a unit into values in that of their metric."""
        known = self._units.setdefault(metric, unit)
        if known == unit:
            return 1.0
        per_second, known_per_second = (IN_SECONDS.get(each.lower()) for each in (unit, known))
        if per_second is None or known_per_second is None:
            raise DataError(
                f"{where}: {metric} has the unit '{unit}' here and '{known}' before. Give all "
                "values of a metric in one unit; units of time are converted."
            )
        return per_second / known_per_second

    def experiment(
        self,
        source: str,
        metrics: Sequence[str] = (),
        kernel: str | None = None,
        parameters: Sequence[str] = (),
    ) -> Experiment:
        """Return the gathered data, or the requested part.

        A varying parameter that is not requested becomes part of the kernels' names.

        Raises
        ------
        UsageError
            No such metric, kernel or parameter.
        DataError
            Nothing is left, or a parameter is not above zero.
        """
        chosen = (
            tuple(_named(parameter, self.parameters) for parameter in parameters) or self.parameters
        )
        for name in chosen:
            if name not in self.parameters or chosen.count(name) > 1:
                raise UsageError(
                    f"No parameter '{name}' in {source}, or it is named twice; "
                    f"{choose(self.parameters)}."
                )
        self._leave_out_not_positive(chosen)
        keys = self._choose(source, metrics, kernel)
        series = {key: points for key, points in self._apart(keys, chosen).items() if points}
        self._say_missing(series, chosen)
        if not series:
            said = " ".join(self.remarks.sentences())
            raise DataError(
                f"{source} contains no measurement that can be modelled. {said}".rstrip()
            )
        return Experiment(
            source=source,
            parameters=chosen,
            series=tuple(
                _series(key, self._units.get(key[1], ""), points) for key, points in series.items()
            ),
            warnings=self.remarks.sentences(),
            inclusive=self.inclusive,
        )

    def _leave_out_not_positive(self, chosen: Sequence[str]) -> None:
        """Leave out the points at which a chosen parameter is not above zero, as a size of 0."""
        columns = [self.parameters.index(name) for name in chosen]
        out = {
            point: where
            for point, where in self._named_at.items()
            if any(point[at] <= 0.0 for at in columns)
        }
        for point, where in out.items():
            name, value = next((self.parameters[at], point[at]) for at in columns if point[at] <= 0)
            fault = f"{where}: {name} = {value:.12g}; a parameter must be above zero, because"
            if len(out) == len(self._named_at):
                raise DataError(
                    f"{fault} models take its logarithm, and no point is. Shift it, or choose "
                    "another (--parameter)."
                )
            self.remarks.add(
                "points that are not above zero",
                f"{fault} models take its logarithm. The point is left out.",
            )
            del self._named_at[point]
            for points in self._values.values():
                points.pop(point, None)

    def _choose(self, source: str, metrics: Sequence[str], kernel: str | None) -> list[Key]:
        """Return the series that are asked for."""
        there = dict.fromkeys(metric for _, metric in self._values)
        metrics = [_named(metric, there) for metric in metrics]
        for metric in metrics:
            if metric not in there and there:
                raise UsageError(f"No metric '{metric}' in {source}; {choose(there)}.")
        keys = [key for key in self._values if not metrics or key[1] in metrics]
        if kernel is None:
            return keys
        named = [key for key in keys if key[0] == kernel]
        named = named or [key for key in keys if fnmatch.fnmatchcase(key[0], kernel)]
        if not named and keys:
            choices = choose(dict.fromkeys(name for name, _ in keys))
            raise UsageError(
                f"No kernel '{kernel}' in {source}; {choices}. "
                "A pattern may have * and ?, as in 'main->*'."
            )
        return named

    def _apart(self, keys: list[Key], chosen: Sequence[str]) -> dict[Key, dict[Point, list[float]]]:
        """Return series over the chosen parameters alone, without points that have no value."""
        columns = [self.parameters.index(name) for name in chosen]
        others = [
            (at, name)
            for at, name in enumerate(self.parameters)
            if name not in chosen and len({point[at] for point in self._named_at}) > 1
        ]
        whole = columns == list(range(len(self.parameters)))
        apart: dict[Key, dict[Point, list[float]]] = {}
        for key in keys:
            if key in self._rejected:
                self._say_rejected(key)
            if whole:
                apart[key] = {point: each for point, each in self._values[key].items() if each}
                continue
            for point, values in self._values[key].items():
                rest = "".join(f", {name} = {point[at]:.12g}" for at, name in others)
                inner = apart.setdefault((key[0] + rest, key[1]), {})
                if values:
                    inner.setdefault(tuple(point[at] for at in columns), []).extend(values)
        return apart

    def _say_rejected(self, key: Key) -> None:
        """Remark on the values of a series that are not measurements."""
        label = f"{key[0]} ({key[1]})"
        rejected = self._rejected[key]
        if not any(self._values[key].values()) and all(value == 0.0 for _, value, _ in rejected):
            self.remarks.add(
                "series that are zero at every point",
                f"{rejected[0][2]}: {label} is zero at every point; skipped.",
            )
            return
        for point, value, where in rejected:
            self.remarks.add(
                "values that are not measurements",
                f"{where}: {value:.12g} for {label} at {self._text(point)} is not a finite number "
                "above zero; left out.",
            )

    def _text(self, point: Point, names: Sequence[str] | None = None) -> str:
        """Write a point for a person."""
        pairs = zip(names or self.parameters, point, strict=True)
        return ", ".join(f"{name} = {value:.12g}" for name, value in pairs)

    def _say_missing(
        self, series: dict[Key, dict[Point, list[float]]], chosen: Sequence[str]
    ) -> None:
        """Remark on points that some series of a metric have and others have not."""
        everywhere: dict[str, set[Point]] = {}
        for (_, metric), points in series.items():
            everywhere.setdefault(metric, set()).update(points)
        lacking: dict[tuple[str, tuple[Point, ...]], list[str]] = {}
        for (kernel, metric), points in series.items():
            if len(points) < len(everywhere[metric]):
                missing = tuple(sorted(everywhere[metric] - points.keys()))
                lacking.setdefault((metric, missing), []).append(kernel)
        for (metric, missing), kernels in lacking.items():
            at = "; ".join(self._text(point, chosen) for point in missing[:3])
            more = f" and {counted(len(missing) - 3, 'more point')}" if len(missing) > 3 else ""
            self.remarks.add(
                "series without some of the points",
                f"No value of {metric} at {at}{more} for {first_of(kernels)}: modelled from "
                "the other points.",
            )


def _named(asked: str, names: Iterable[str]) -> str:
    """Return the name of a column that is asked for with or without its unit."""
    return asked if asked in names else name_and_unit(asked)[0]


def _series(key: Key, unit: str, points: dict[Point, list[float]]) -> KernelSeries:
    ordered = sorted(points)
    repetitions = max(map(len, points.values()))
    values = [points[point] + [math.nan] * (repetitions - len(points[point])) for point in ordered]
    arrays = np.array(ordered), np.array(values)
    for array in arrays:
        array.flags.writeable = False
    return KernelSeries(kernel=key[0], metric=key[1], unit=unit, points=arrays[0], values=arrays[1])
