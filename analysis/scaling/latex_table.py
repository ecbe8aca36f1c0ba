"""Models as a LaTeX table."""

from __future__ import annotations

import re

from hindmost.analysis.scaling.kernel import KernelScaling
from hindmost.analysis.scaling.study import ScalingStudy
from hindmost.models.pmnf.expression import LATEX
from hindmost.models.pmnf.model import ScalingModel
from hindmost.printable import one_line

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{sign: f"\\{sign}" for sign in "&%$#_"},
}


def latex_table(study: ScalingStudy, *, top: int | None = None) -> str:
    """Write the models of a study as a table.

    Segmented kernels have a row a segment.

    Parameters
    ----------
    top : int, optional
        Kernels of each metric; all by default.
    """
    several = len(study.metrics) > 1
    ranges = " & points" if len(study.target.parameters) == 1 else ""
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{'l' if several else ''}{'l' if ranges else ''}lrr}}",
        "\\toprule",
        f"kernel{' & metric' if several else ''}{ranges} & model & SMAPE, \\% & $\\bar R^2$ \\\\",
        "\\midrule",
    ]
    for metric in study.metrics:
        for kernel in metric.kernels(metric.order[:top]):
            lines += [
                " & ".join(cells) + r" \\"
                for cells in _rows(kernel, several=several, ranges=bool(ranges))
            ]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"])


def _rows(kernel: KernelScaling, *, several: bool, ranges: bool) -> list[list[str]]:
    """Return the cells of a kernel, a row a segment."""
    head = [f"{{{escaped(kernel.series.kernel)}}}"]  # a name like [x] is not an option of a row
    if several:
        head.append(escaped(kernel.series.metric))
    if not ranges and kernel.joint is None:
        return [[*head, *_cells(kernel.whole)]]
    if kernel.joint:
        name, sides = in_formula(kernel.joint.parameter), kernel.joint.sides
        middle = 0.5 * (kernel.joint.low + kernel.joint.high)
        rows = [_cells(side) for side in sides]
        for cells, sign in zip(rows, ("\\le", ">"), strict=True):
            cells[0] += f", ${name} {sign} {middle:.12g}$"
        return [[*head, *rows[0]], [*[""] * len(head), *rows[1]]]
    rows = []
    for segment in kernel.segments:
        place = f"${segment.low:.12g}$ to ${segment.high:.12g}$"
        cells = _cells(segment.model) if segment.model else ["too few points", "", ""]
        rows.append([*head, place, *cells])
        head = [""] * len(head)
    return rows


def _cells(model: ScalingModel) -> list[str]:
    form = model.form
    names = [in_formula(name) for name in model.parameters]
    text = LATEX.model(form.constant, form.coefficients, form.terms, names)
    fits = " (does not fit)" if model.misfit else ""
    return [f"${text}${fits}", f"{model.smape:.2f}", f"{model.adjusted_r2:.4f}"]


def in_formula(name: str) -> str:
    """Write a parameter: one letter as it is, a word upright."""
    if re.fullmatch(r"[A-Za-z]", name):
        return name
    return f"\\mathrm{{{escaped(name)}}}".replace("-", "{-}")


def escaped(text: str) -> str:
    """Write text so that LaTeX prints it as it is."""
    return "".join(SPECIAL.get(letter, letter) for letter in one_line(text))
