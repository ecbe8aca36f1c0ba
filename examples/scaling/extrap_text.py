"""Measurements written in Extra-P's text format, which Extra-P itself reads as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

Values = Mapping[tuple[str, str], Sequence[Sequence[float]]]
"""From (kernel, metric) to the repetitions at each point."""


def write_text(
    path: Path, *, parameter: str, points: Sequence[int], values: Values, remarks: Sequence[str]
) -> None:
    """Write one experiment over one parameter.

    Parameters
    ----------
    path : Path
        Overwritten; its folder is made if there is none.
    parameter : str
    points : sequence of int
        Of the parameter.
    values : mapping
        From (kernel, metric) to the repetitions at each point.
    remarks : sequence of str
        Comments at the head of the file: machine, program, truth.
    """
    lines = [f"# {remark}" for remark in remarks]
    lines += [f"PARAMETER {parameter}", "POINTS " + " ".join(str(point) for point in points)]
    for (kernel, metric), repetitions in values.items():
        lines += ["", f"REGION {kernel}", f"METRIC {metric}"]
        lines += ["DATA " + " ".join(f"{value:.5g}" for value in each) for each in repetitions]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def remarks_of(path: Path) -> dict[str, str]:
    """Return the comments ``# name: value`` at the head of a file."""
    lines = (line[1:].partition(":") for line in path.read_text().splitlines() if line[:1] == "#")
    return {name.strip(): value.strip() for name, colon, value in lines if colon}
