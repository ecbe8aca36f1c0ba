"""The figures of a scaling study: what their files are called, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hindmost.analysis.figures.columns import write_csv
from hindmost.analysis.figures.scaling import scaling_chart
from hindmost.analysis.figures.style import FORMATS, new_figure, save
from hindmost.analysis.scaling.kernel import KernelScaling
from hindmost.analysis.scaling.target import Target
from hindmost.errors import UsageError

HEIGHT_INCHES = 3.0
WIDTH = "half"
LONGEST_NAME = 80


def draw_kernels(kernels: Sequence[KernelScaling], target: Target, out: Path) -> Iterator[Path]:
    """Draw each kernel into a file of its own, with its numbers beside; yield the files.

    Parameters
    ----------
    out : path
        A file, which the first kernel gets and the others with a number behind its name, or a
        folder, in which files are named after the kernels.

    Raises
    ------
    UsageError
        A suffix that is no format of figures, or a path that cannot be written.
    MissingError
        matplotlib is not installed.
    """
    for kernel, file in zip(kernels, files_for(kernels, out), strict=True):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--figure {file.parent} cannot be made: {error.strerror}.") from error
        chart = scaling_chart(kernel, target)
        with new_figure(HEIGHT_INCHES, WIDTH) as (canvas, axes):
            chart.draw(axes)
            yield save(canvas, file)
        yield write_csv(file.with_suffix(".csv"), chart.columns())


def files_for(kernels: Sequence[KernelScaling], out: Path) -> list[Path]:
    """Return the file of each kernel.

    Raises
    ------
    UsageError
        A suffix that is no format of figures.
    """
    if out.suffix and not out.is_dir():
        if out.suffix[1:] not in FORMATS:
            raise UsageError(
                f"--figure {out}: figures are saved as {', '.join(FORMATS)}; or name a folder."
            )
        rest = [
            out.with_name(f"{out.stem}-{number + 1}{out.suffix}")
            for number in range(1, len(kernels))
        ]
        return [out, *rest]
    used: dict[str, int] = {}
    files = []
    for kernel in kernels:
        text = f"{kernel.series.kernel}-{kernel.series.metric}"
        name = re.sub(r"[^\w.]+", "-", text, flags=re.ASCII).strip("-.")[-LONGEST_NAME:]
        used[name] = used.get(name, 0) + 1
        again = f"-{used[name]}" if used[name] > 1 else ""
        files.append(out / f"{name or 'kernel'}{again}.{FORMATS[0]}")
    return files
