"""What hindmost makes of an experiment, in words.

    python examples/scaling/findings.py FILE...

and the page of the case studies, its tables anew from the shipped data:

    python examples/scaling/findings.py --page docs/records/2026-11-scaling-cases.md
"""

# ruff: noqa: T201

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from extrap_text import remarks_of

from hindmost.analysis.readers.read import read_experiment
from hindmost.errors import DataError
from hindmost.models.pmnf import fit_segments
from hindmost.models.pmnf.kernels import KernelModel

DATA = Path(__file__).parent / "data"
TABLE = re.compile(r"(<!-- from (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
"""A table of the page: what stands between these two lines is made from the file that is named."""


def found(
    path: Path, method: str = "likelihood", *, metric: str | None = None, kernel: str | None = None
) -> Iterator[tuple[str, str, KernelModel]]:
    """Yield kernel, metric and model of all that a file holds, or of what is asked for.

    The paper's rule knows no repetitions and is given their median.
    """
    experiment = read_experiment(path, metric=metric, kernel=kernel)
    parameter = experiment.parameters[0]
    for series in experiment.series:
        values = series.values
        if method == "paper":
            values = np.nanmedian(values, axis=1, keepdims=True)
        models = fit_segments(series.points[:, 0], values[None], method=method, parameter=parameter)
        yield series.kernel, series.metric, models[0]


def tell(path: Path) -> str:
    """Say of all kernels of a file where they change, and the model of each part."""
    lines = [f"{path}"]
    lines += [f"  {name}: {value}" for name, value in remarks_of(path).items()]
    try:
        for kernel, metric, model in found(path):
            lines += ["", f"{kernel}, {metric}: {model.segmentation.explain()}", *parts(model)]
    except DataError as error:  # too few points for a model; they are measured all the same
        lines.append(f"  {error}")
    return "\n".join(lines)


def parts(model: KernelModel) -> Iterator[str]:
    """Yield what is said of each part, and what to measure next."""
    for part in model.segments:
        text = part.model.expression() if part.model else f"{part.points} points, no model"
        yield f"    {part.low:g} to {part.high:g}: {text}"
    if model.segmentation.segmented:
        yield f"    one function for all would be {model.whole.expression()}"
    if model.advice():
        yield f"    {model.advice()}"


def table(path: Path) -> str:
    """Return the findings of a file as a table of the page."""
    rows = ["| kernel | by likelihood | models | by the paper's rule |", "|---|---|---|---|"]
    for one, other in zip(found(path), found(path, "paper"), strict=True):
        kernel, metric, model = one
        functions = "; ".join(line.strip() for line in [*parts(model)][: len(model.segments)])
        told = (model.segmentation.explain(), functions, other[2].segmentation.explain().strip())
        rows.append(f"| {kernel}, {metric} | " + " | ".join(told) + " |")
    heads = [f"{name}: {value}" for name, value in remarks_of(path).items()]
    return "\n".join(["", *(f"- {head}" for head in heads), "", *rows, "", ""])


def fill(page: Path) -> None:
    """Write the tables of the page anew."""
    filled = TABLE.sub(
        lambda at: at[1] + table(DATA / at[2]) + at[3],
        page.read_text(),
    )
    page.write_text(filled)


def main(words: list[str]) -> None:
    """Tell of files, or fill the page."""
    if words[:1] == ["--page"]:
        fill(Path(words[1]))
        return
    for word in words:
        print(tell(Path(word)))


if __name__ == "__main__":
    main(sys.argv[1:])
