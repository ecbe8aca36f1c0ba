"""The figures of kernels: measurements, model, its interval, and where the behaviour changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.scaling.study import KernelAtTarget
from hindmost.analysis.scaling.target import TargetScale
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.csv_file import write_csv
from hindmost.analysis.show.figure_style import FORMATS, new_figure, save
from hindmost.analysis.show.matplotlib_charts import draw
from hindmost.errors import UsageError
from hindmost.models.inference import LEVEL
from hindmost.models.pmnf.kernels import KernelModel
from hindmost.models.pmnf.model import ScalingModel
from hindmost.models.pmnf.segments.segmentation import geometric
from hindmost.text import UNITS, either, percent, unit_for

GRID = 121
"""Places at which lines and bands are computed, on each side of a change fewer."""
LOGARITHMIC_FROM = 4.0
"""Ratio of the values from which their axis may be logarithmic."""
MAX_TICKS = 7
ROOM = 0.06
"""Share of the y axis that is left free above and below."""
LONGEST_TITLE = 60
HEIGHT_INCHES = 3.0
WIDTH = "half"
LONGEST_NAME = 80
FORETOLD = "foretold"
"""The series of what is predicted beyond the points."""


def draw_kernels(
    kernels: Sequence[KernelAtTarget], target: TargetScale, out: Path
) -> Iterator[Path]:
    """Draw each kernel into its own file, with its numbers in a CSV file; yield the files.

    Parameters
    ----------
    out : path
        A file, which the first kernel gets and the others with a number behind its name, or a
        folder, in which files are named after the kernels.

    Raises
    ------
    UsageError
        A suffix that is not a format of figures, or a path that cannot be written.
    MissingError
        matplotlib is not installed.
    """
    for kernel, file in zip(kernels, files_for(kernels, out), strict=True):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"--figure {file.parent} cannot be created: {error.strerror}."
            ) from error
        chart = scaling_chart(kernel, target)
        with new_figure(HEIGHT_INCHES, WIDTH) as (canvas, axes):
            draw(chart, axes)
            yield save(canvas, file)
        yield write_csv(file.with_suffix(".csv"), chart.columns())


def files_for(kernels: Sequence[KernelAtTarget], out: Path) -> list[Path]:
    """Return the file of each kernel.

    Raises
    ------
    UsageError
        A suffix that is not a format of figures.
    """
    if out.suffix and not out.is_dir():
        if out.suffix[1:] not in FORMATS:
            raise UsageError(
                f"--figure {out}: write a file ending in {either(FORMATS)}, or a folder."
            )
        rest = [
            out.with_name(f"{out.stem}-{number + 1}{out.suffix}")
            for number in range(1, len(kernels))
        ]
        return [out, *rest]
    used: dict[str, int] = {}
    files = []
    for series in (kernel.series for kernel in kernels):
        text = f"{series.kernel}-{series.metric}"
        name = re.sub(r"[^\w.]+", "-", text, flags=re.ASCII).strip("-.")[-LONGEST_NAME:]
        used[name] = used.get(name, 0) + 1
        again = f"-{used[name]}" if used[name] > 1 else ""
        files.append(out / f"{name or 'kernel'}{again}.{FORMATS[0]}")
    return files


def scaling_chart(standing: KernelAtTarget, target: TargetScale) -> Chart:
    """Make the chart of a kernel over the parameter that drives it, up to the target.

    The interval of the model ends where that of what is foretold begins.

    All other parameters stay at their largest measured value; only measurements there are drawn.
    """
    kernel = standing.kernel
    axis = driver(kernel, target)
    if kernel.changes and kernel.axis != axis:  # a change at another parameter lies behind
        last = kernel.segments[-1]
        kernel = replace(
            kernel,
            whole=last.model or kernel.whole,
            segmentation=replace(kernel.segmentation, changes=()),
            segments=(last,),
        )
    series = standing.series
    beside, parameters = np.delete(series.points, axis, 1), np.delete(target.parameters, axis)
    others = np.delete(target.largest, axis)
    here = (beside == others).all(axis=1)
    if not here.any():
        others = beside[-1]
        here = (beside == others).all(axis=1)
    measured, values = series.points[here, axis], series.values[here]
    there = np.isfinite(values)
    x = np.broadcast_to(measured[:, None], values.shape)[there]
    y = values[there]
    end = max(target.at[axis], float(measured[-1]))
    logarithmic = measured.size > 2 and geometric(measured)
    factor, unit = 1.0, series.unit
    if unit == UNITS[0].sign:
        chosen = unit_for(y)
        factor, unit = chosen.per_second, chosen.sign

    stretches = _grids(kernel, float(measured[0]), end, logarithmic=logarithmic)
    x_model = _broken(stretches)
    asked = [
        np.insert(np.tile(others, (stretch.size, 1)), axis, stretch, axis=1)
        for stretch in stretches
    ]
    models = [segment.model for segment in kernel.segments]
    nothing = [np.full(stretch.size, np.nan) for stretch in stretches]
    predicted = [
        model.predict(at) if model else none
        for model, at, none in zip(models, asked, nothing, strict=True)
    ]
    sides = [
        _model_interval(kernel, model, at, said) if model else (none, none)
        for model, at, said, none in zip(models, asked, predicted, nothing, strict=True)
    ]
    low = np.maximum(_broken([side[0] for side in sides]), 0.0)
    high = _broken([side[1] for side in sides])
    shown = np.concatenate([y, *predicted])
    shown = shown[np.isfinite(shown)]
    # From the last point to what is foretold at the target: low, predicted, high.
    ahead, path = np.array([measured[-1], end]), np.empty((3, 0))
    if standing.weights:
        beyond = x_model > measured[-1]
        low[beyond], high[beyond] = np.nan, np.nan
        said = np.array([standing.low, standing.predicted, standing.high])
        path = np.stack([np.full(3, np.nanmedian(values[-1])), said], axis=1)
        shown = np.concatenate([shown, path[1]])
    y_logarithmic = logarithmic and float(shown.min()) * LOGARITHMIC_FROM <= float(shown.max())
    y_logarithmic &= bool(shown.min() > 0.0)
    limits = _limits(
        shown, np.append(low, path[0]), np.append(high, path[2]), logarithmic=y_logarithmic
    )
    parts = [
        Series(
            name=_interval_name(values),
            look="band",
            x=x_model,
            y=factor * high,
            base=factor * low,
        )
    ]
    for number, change in enumerate(kernel.changes):
        parts.append(
            Series(
                name=change_name(number),
                look="band",
                x=np.array([change.low, change.high]),
                y=np.full(2, factor * limits[1]),
                base=np.full(2, factor * limits[0]),
            )
        )
    parts.append(
        Series(
            name=_model_name(kernel, models), look="line", x=x_model, y=factor * _broken(predicted)
        )
    )
    if kernel.changes:
        whole = kernel.whole.predict(np.concatenate(asked))
        parts.append(
            Series(
                name=f"one function: {kernel.whole.expression()}",
                look="line",
                x=np.concatenate(stretches),
                y=factor * whole,
            )
        )
    if path.size:
        parts.append(
            Series(
                name=f"{FORETOLD}, {percent(LEVEL, 0)}",
                look="band",
                x=ahead,
                y=factor * path[2],
                base=factor * path[0],
            )
        )
        parts.append(Series(name=FORETOLD, look="line", x=ahead, y=factor * path[1]))
    parts.append(Series(name="measured", look="points", x=x, y=factor * y))
    fixed = zip(parameters, others, strict=True)
    return Chart(
        title=series.kernel[-LONGEST_TITLE:],
        x=Quantity(target.parameters[axis]),
        y=Quantity(series.metric, unit),
        series=tuple(parts),
        y_limits=(factor * limits[0], factor * limits[1]),
        note=", ".join(f"{name} = {value:.12g}" for name, value in fixed),
        marks={"": float(measured[0]), "extrapolated": float(measured[-1])}
        if end > measured[-1]
        else {},
        logarithmic=(logarithmic, y_logarithmic),
        x_ticks=_ticks(measured, end) if logarithmic else (),
        legend_below=True,
    )


def change_name(number: int) -> str:
    """Name a change of behaviour in the legend."""
    return f"change {number + 1}" if number else "change"


def _model_interval(
    kernel: KernelModel,
    model: ScalingModel,
    at: NDArray[np.float64],
    predicted: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the interval of a segment's model, as wide beyond the points as `scale` says."""
    low, high = model.interval(at, level=LEVEL)
    return kernel.held_out.widen(at, predicted, low, high) if kernel.held_out else (low, high)


def driver(kernel: KernelModel, target: TargetScale) -> int:
    """Return the parameter over which a kernel grows most, from its least value to the target."""
    if len(target.parameters) < 2:
        return 0
    ends = np.tile(target.largest, (2, len(target.parameters), 1))
    for axis, least in enumerate(kernel.whole.points.min(axis=0)):
        ends[:, axis, axis] = least, max(target.at[axis], target.largest[axis])
    first, last = (np.maximum(kernel.evaluate(end), np.finfo(float).tiny) for end in ends)
    return int(np.abs(np.log(last / first)).argmax())


def kernels_chart(charts: Sequence[Chart], names: Sequence[str], *, at: float) -> Chart:
    """Make one chart of several kernels over the same parameter.

    Each has a line from its first point to the target, the model up to the last point and what is
    predicted beyond it. The first kernel has its interval and its changes as well.

    Parameters
    ----------
    charts : sequence of Chart
        Of `scaling_chart`, the most important first.
    names : sequence of str
        Of the kernels, in the legend.
    at : float
        The target.
    """
    first = charts[0]
    per_second = {unit.sign: unit.per_second for unit in UNITS}
    bands = [each for each in first.series if each.look == "band"]
    parts: list[Series] = []
    for chart, name in zip(charts, names, strict=True):
        factor = per_second.get(first.y.unit, 1.0) / per_second.get(chart.y.unit, 1.0)
        points = next(each for each in chart.series if each.look == "points")
        model, *others = (each for each in chart.series if each.look == "line")
        x, y = model.x, model.y
        for other in others:
            if other.name == FORETOLD:
                known = ~(x > points.x.max())
                x, y = np.append(x[known], other.x), np.append(y[known], other.y)
        parts.append(Series(name=name, look="line", x=x, y=factor * y))
        parts.append(replace(points, name=name, y=factor * points.y))
    values = np.concatenate([part.y for part in parts])
    values = values[np.isfinite(values)]
    logarithmic = first.logarithmic[0] and bool(values.min() > 0.0)
    low = np.concatenate([band.base for band in bands if band.base is not None])
    limits = _limits(
        values, low, np.concatenate([band.y for band in bands]), logarithmic=logarithmic
    )
    bands = [
        replace(band, y=np.full(2, limits[1]), base=np.full(2, limits[0]))
        if band.name in map(change_name, range(len(bands)))
        else replace(band, name=f"{percent(LEVEL, 0)} interval")
        for band in bands
    ]
    return replace(
        first,
        title="; ".join(chart.title for chart in charts),
        series=(*bands, *parts),
        y_limits=limits,
        marks={**first.marks, "target": at},
        logarithmic=(first.logarithmic[0], logarithmic),
    )


def _interval_name(values: NDArray[np.float64]) -> str:
    """Say what lies in the interval: repetitions are one measurement, their mean."""
    name = f"{percent(LEVEL, 0)} interval"
    most = values.shape[1]
    return name if most == 1 else f"{name} of the mean of {most} repetitions"


def _ticks(measured: NDArray[np.float64], end: float) -> tuple[float, ...]:
    """Return the target and some of the measured points, evenly apart."""
    places = [*measured.tolist(), end] if end > measured[-1] else measured.tolist()
    ratio = (places[-1] / places[0]) ** (1.0 / MAX_TICKS)
    ticks = [places[-1]]
    for place in places[-2::-1]:
        if ticks[-1] / place >= ratio:
            ticks.append(place)
    return tuple(reversed(ticks))


def _grids(
    kernel: KernelModel, begin: float, end: float, *, logarithmic: bool
) -> list[NDArray[np.float64]]:
    """Return where each segment's model is drawn; neighbours meet in the middle of a change."""
    spread = np.geomspace if logarithmic else np.linspace
    borders = [change.middle for change in kernel.changes]
    ends = [begin, *borders, end]
    count = max(GRID // (len(ends) - 1), 2)
    return [np.asarray(spread(low, high, count)) for low, high in pairwise(ends)]


def _broken(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Put arrays behind each other, with a gap between, at which lines break."""
    pieces: list[NDArray[np.float64]] = []
    for part in parts:
        pieces += [part, np.array([np.nan])]
    return np.concatenate(pieces[:-1])


def _model_name(kernel: KernelModel, models: list[ScalingModel | None]) -> str:
    """Write the models of all segments."""
    if len(models) == 1:
        return (models[0] or kernel.whole).expression()
    parts = [
        f"{segment.low:g} to {segment.high:g}: {model.expression() if model else 'no model'}"
        for segment, model in zip(kernel.segments, models, strict=True)
    ]
    return "\n".join(parts)


def _limits(
    shown: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    logarithmic: bool,
) -> tuple[float, float]:
    """Return the ends of the y axis: all values, and the interval unless it dwarfs them."""
    bottom, top = float(shown.min()), float(shown.max())
    span = top - bottom or abs(top) or 1.0
    if logarithmic:
        ratio = top / bottom
        bottom = max(min(bottom, float(np.nanmin(low))), bottom / ratio)
        top = min(max(top, float(np.nanmax(high))), top * ratio)
        room = (top / bottom) ** ROOM
        return bottom / room, top * room
    bottom = max(min(bottom, float(np.nanmin(low))), bottom - span)
    top = min(max(top, float(np.nanmax(high))), top + span)
    room = ROOM * (top - bottom or span)
    lowest = 0.0 if 0.0 <= bottom < room + 0.25 * span else bottom - room
    return lowest, top + room
