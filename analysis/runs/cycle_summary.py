"""The summary of an adaptive run: what its cycles did, and how well they were predicted."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.runs.cycles import is_adaptive, read_adaptive
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.floor import mean_error_percent
from hindmost.text import percent

SHOWN = 4
"""Verdicts that are shown in words."""
WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveSummary:
    """Cycles in a few numbers.

    Attributes
    ----------
    cells : tuple of int
        Of all ranks: in the first cycle, in the last one, and at most.
    divided, combined, moved : int
        In all cycles.
    meshes : int
        Number of different meshes.
    errors_percent : dict of str to float
        Predictor -> mean absolute error, without the first cycle.
    verdicts : dict of str to int
        Kind -> cycles that stood out by it.
    words : tuple of str
        The first of them, in words.
    checkpoints : int
    neighbour : bool
        Whether one ran on purpose.
    stopped, failure : str
        Why the run ended before its last cycle; empty if it did not.
    """

    cells: tuple[int, int, int]
    divided: int
    combined: int
    moved: int
    meshes: int
    errors_percent: dict[str, float]
    verdicts: dict[str, int]
    words: tuple[str, ...]
    checkpoints: int
    neighbour: bool
    stopped: str
    failure: str

    def lines(self) -> list[str]:
        """Return the lines that ``hindmost show`` prints."""
        first, last, most = self.cells
        errors = ", ".join(
            f"{name} {percent(value / 100.0)}" for name, value in self.errors_percent.items()
        )
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.verdicts.items())
        rows = [
            ("cells", f"{first:,} at first, {last:,} at last, at most {most:,}"),
            (
                "adaption",
                f"{self.divided:,} divided, {self.combined:,} combined, {self.moved:,} moved; "
                f"{self.meshes} meshes",
            ),
            ("predicted", f"mean errors: {errors}" if errors else "nothing"),
            ("stood out", kinds or "no cycle"),
            *(("", words) for words in self.words),
        ]
        if self.neighbour:
            rows.append(("neighbour", "ran on purpose (--interfere)"))
        if self.checkpoints:
            rows.append(("checkpoints", f"{self.checkpoints} written"))
        if self.stopped:
            rows.append(("stopped", self.stopped))
        return [
            textwrap.fill(text, WIDTH, initial_indent=f"  {head:11} ", subsequent_indent=" " * 14)
            for head, text in rows
        ]


def summarise_cycles(run: Run) -> AdaptiveSummary | None:
    """Return the summary of an adaptive run; None of others."""
    if not is_adaptive(run) or not run.has("cells") or run.bodies == 0:
        return None
    read = read_adaptive(run)
    total, spec = read.total_cells, read.spec
    errors = {
        name: mean_error_percent(read.prediction(name)[1:], read.seconds[1:])
        for name in read.predictors
        if np.isfinite(read.prediction(name)[1:]).any()
    }
    kinds: dict[str, int] = {}
    for each in read.verdicts:
        kinds[each.kind] = kinds.get(each.kind, 0) + 1
    return AdaptiveSummary(
        cells=(int(total[0]), int(total[-1]), int(total.max())),
        divided=int(read.divided.sum()),
        combined=int(read.combined.sum()),
        moved=int(read.moved.sum()),
        meshes=int(np.unique(run.variable("epoch")).size) if run.has("epoch") else 0,
        errors_percent=errors,
        verdicts=kinds,
        words=tuple(f"cycle {each.cycle}: {each.words}" for each in read.verdicts[:SHOWN]),
        checkpoints=len(read.checkpoints),
        neighbour=read.disturbed_on_purpose,
        stopped=str(spec.get("stopped", "")),
        failure=str(spec.get("failure", "")),
    )
