"""Tables of fits: models against the solve time, laws by how well they describe a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindmost.analysis.fits.study import FittedGroup, FittedRun
from hindmost.analysis.runs.read import of_how_many
from hindmost.analysis.show.table import RIGHT, WIDE, Column, Table
from hindmost.models.laws.law import Candidate
from hindmost.text import counted, seconds, signed_percent

LEGEND = """\
error: predicted against measured solve time. explains: computed through a mechanism that could be
wrong; identity: the solve time without the time between iterations, exact where ranks meet in
every iteration; bound: an upper limit on the expected time of the iterations, if those of all ranks
follow one law and ranks meet in every iteration. !: the run contradicts the model's assumption.
Each model is compared with the run that it was fitted to; only max-plus includes the time between
iterations."""
SUBJECTS = {
    "ranks_alike": "bodies",
    "ranks_alike_in_work": "work",
}


def models_table(fitted: FittedGroup, *, explained: bool = False) -> Table:
    """Return the table of the models of a configuration.

    Parameters
    ----------
    explained : bool
        Add what each model assumes of the median run; too long for a terminal.
    """
    times = fitted.solve_times_s
    repeated = len(times) > 1
    reduced = any(run.run.reduced for run in fitted.runs)
    assumptions = {model.name: model.explanation for model in fitted.median_run.models}
    rows: list[tuple[str, ...]] = []
    for summary in fitted.summaries():
        ends = (summary.lowest_percent, summary.highest_percent)
        span = " to ".join(signed_percent(end / 100.0) for end in ends)
        rows.append(
            (
                summary.name,
                summary.marked_kind,
                seconds(summary.predicted_s),
                signed_percent(summary.error_percent / 100.0),
                *((span,) if repeated else ()),
                *((assumptions.get(summary.name, ""),) if explained else ()),
            )
        )
    spread = f", {seconds(min(times))} to {seconds(max(times))}" if repeated else ""
    return Table(
        title=(
            f"{fitted.group.time_name} {seconds(float(np.median(times)))} "
            f"({counted(len(times), 'run')}{spread}){iterations(fitted)}",
            *dict.fromkeys(fitted.group.shortfalls),
            *dict.fromkeys(map(kept_ranks, fitted.runs) if reduced else ()),
        ),
        columns=(
            Column("model"),
            Column("kind"),
            Column("predicted", RIGHT),
            Column("error", RIGHT),
            *((Column("range over runs"),) if repeated else ()),
            *((Column("model assumption", WIDE),) if explained else ()),
        ),
        rows=rows,
    )


def kept_ranks(fitted: FittedRun) -> str:
    """Return of how many ranks a run has full records, and what is known of the others."""
    known = "; of all ranks, sums and extremes of each iteration" if fitted.models else ""
    return f"full records of {of_how_many(fitted.run)}{known}"


def laws_table(laws: Sequence[Candidate]) -> Table:
    """Return the families that describe a run best, by their squared error."""
    likeliest = max(law.log_likelihood for law in laws)
    return Table(
        columns=(
            Column("law"),
            Column("squared error", RIGHT),
            Column("nats per iteration below the best", RIGHT),
        ),
        rows=[
            (law.law.name, f"{law.squared_error:.3g}", f"{likeliest - law.log_likelihood:.4f}")
            for law in laws
        ],
    )


def iterations(fitted: FittedGroup) -> str:
    """Return the iterations of solves to a tolerance or that ended early; nothing of others."""
    group = fitted.group
    if group.time_name in ("solve time", "loop time") and not group.shortfalls:
        return ""
    done = group.iterations_done
    each = [time / count for time, count in zip(fitted.solve_times_s, done, strict=True)]
    least, most = min(done), max(done)
    return (
        f"; {least if least == most else f'{least} to {most}'} iterations, "
        f"{seconds(float(np.median(each)))} each"
    )


def assumption_lines(fitted: FittedGroup) -> list[str]:
    """Return a line for every test of assumptions that the median run allows."""
    tests = fitted.median_run.tests
    return [f"{SUBJECTS[test.name]}: {test.text}" for test in tests if test.text]


def contradictions(fitted: FittedGroup) -> list[str]:
    """Return a line for every reason why runs contradict models, which it names."""
    found: dict[str, list[str]] = {}
    for summary in fitted.summaries():
        if summary.contradicted:
            found.setdefault(summary.contradicted, []).append(summary.name)
    return [f"! {', '.join(names)}: {reason}" for reason, names in found.items()]


def refusals(fitted: FittedGroup) -> list[str]:
    """Return a line for every model that the times of some run do not allow."""
    reasons: dict[tuple[str, str], int] = {}
    for run in fitted.runs:
        for refused in run.refused.items():
            reasons[refused] = reasons.get(refused, 0) + 1
    return [
        f"{name}: not fitted to {count} of {len(fitted.runs)} runs. {reason}"
        for (name, reason), count in reasons.items()
    ]
