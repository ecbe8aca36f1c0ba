"""The test of what models assume: that the ranks are alike, in their bodies and in their work.

Noise models fitted to run files, and their errors.

Tables of fits: models against the solve time, laws by how well they describe a run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import Group
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.read import cached, is_cached, of_how_many, reduced
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY, bodies_s, ranks_meet, solve_times
from hindmost.analysis.show.table import RIGHT, WIDE, Column, Table
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.models.laws.law import Candidate
from hindmost.models.noise.fit import MODELS, fit_models
from hindmost.models.noise.kolmogorov import compare_ranks
from hindmost.models.results import FittedResult, ModelKind
from hindmost.output import announce_work
from hindmost.registry import described
from hindmost.text import counted, seconds, signed_percent

IN_WORK = {"ranks_alike": False, "ranks_alike_in_work": True}
"""The tests by their names in JSON: whether they compare the work or the whole bodies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionTest:
    """A test of what models assume of a run, or why the run does not allow it.

    Attributes
    ----------
    name : str
    text : str
        Its result in a sentence; empty if it was refused.
    refused : str
        Why there is no result; empty if there is one.
    figures : dict
        The numbers of the result, as JSON; the keys are those of the test.
    """

    name: str
    text: str = ""
    refused: str = ""
    figures: dict[str, Any]

    JSON = "**shown"

    @property
    def shown(self) -> dict[str, Any]:
        """The sentence and the figures, or why there are none."""
        return {"refused": self.refused} if self.refused else {"text": self.text, **self.figures}


def check_assumptions(run: Run) -> tuple[AssumptionTest, ...]:
    """Return the result of every test of a run, or why it was refused."""
    if run.reduced:
        return refuse_all(reduced(run))
    try:
        return tuple(compare(name, run, work) for name, work in IN_WORK.items())
    except DataError as error:
        return refuse_all(str(error))


def refuse_all(why: str) -> tuple[AssumptionTest, ...]:
    """Return every test as refused, for one reason."""
    return tuple(AssumptionTest(name=name, refused=why, figures={}) for name in IN_WORK)


def compare(name: str, run: Run, work: bool) -> AssumptionTest:
    """Compare the ranks with each other."""
    times = some_ranks(run, work)
    every = compare_ranks(times)
    figures = {"ranks_read": times.shape[1], "all_pairs": every.to_json()}
    return AssumptionTest(name=name, text=every.explain(), figures=figures)


def some_ranks(run: Run, work: bool) -> NDArray[np.float64]:
    """Read the bodies that laws are fitted to, or their work, of as many ranks as memory allows.

    Returns
    -------
    float64 array, shape (iteration, rank), seconds
        Of evenly spaced ranks; of all if they are few enough.
    """
    step = max(1, -(-run.bodies * run.columns // (8 * MAX_IN_MEMORY)))
    step = min(step, max(1, run.columns // 2))  # a comparison needs two
    kept = run.kind != BodyKind.FILL
    blocks = [
        (run.work_in(rows) if work else run.variable("duration", rows))[kept[rows], ::step]
        for rows in run.blocks()
    ]
    return np.concatenate(blocks)


KIND = "fit"
APART = "the iterations of the ranks differ in sum by over 1 %, as where they do not always meet"
BELOW = "the bound lies below the measured time of the iterations"
"""Why a run contradicts a model."""
FAMILIES_S, QUICK_S = 4.0, 0.5
"""Processor time of a fit to some thousand iterations, with scipy's families and without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """The options of a fit.

    Attributes
    ----------
    families : bool
        Search scipy's families for the best law.
    most_bodies : int or None
        Refuse runs of more iterations of all ranks, unless they were fitted earlier.
    """

    families: bool = False
    most_bodies: int | None = None


KNOW_WAITS = ("max-plus", "max-plus-no-halo")
"""Models of who waits for whom: the others let all ranks meet in every iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRun:
    """A run and the results of its models.

    Attributes
    ----------
    run : Run
    models : tuple of FittedResult
    refused : dict of str to str
        Models that its times do not allow, with the reason.
    laws : tuple of Candidate
        The families of laws that describe its bodies best; empty if they were skipped.
    tests : tuple of AssumptionTest
    findings : tuple of Finding
    """

    run: Run
    models: tuple[FittedResult, ...]
    refused: dict[str, str]
    laws: tuple[Candidate, ...]
    tests: tuple[AssumptionTest, ...]
    findings: tuple[Finding, ...] = ()

    JSON = (
        "file=run.path workload=run.header.workload solver=run.header.solver "
        "ranks=run.header.ranks kept_ranks iterations=run.header.iterations bodies=run.bodies "
        "solve_time_s models=judged refused laws=ranked **named_tests findings"
    )

    @property
    def solve_time_s(self) -> float:
        """The measured solve time, in seconds."""
        return self.run.solve_time_s

    def error_percent(self, model: FittedResult) -> float:
        """Return a model's error against the solve time, in percent."""
        return model.prediction.error_percent(self.solve_time_s)

    def contradicted(self, model: FittedResult) -> str:
        """Return why the run contradicts a model's assumption; empty if it does not."""
        is_bound = model.kind == ModelKind.BOUND
        if is_bound and model.prediction.seconds < float(bodies_s(self.run).max()):
            return BELOW
        if model.name not in KNOW_WAITS and not ranks_meet(self.run):
            return APART
        return ""

    @property
    def kept_ranks(self) -> int | None:
        """Ranks with full records, where not all have them."""
        return self.run.columns if self.run.reduced else None

    @property
    def judged(self) -> list[JudgedModel]:
        """The models, each with its error."""
        return [JudgedModel(fitted=self, model=model) for model in self.models]

    @property
    def ranked(self) -> dict[str, list[Candidate]]:
        """The best families by their squared error; nothing without families."""
        return {"by_squared_error": list(self.laws)} if self.laws else {}

    @property
    def named_tests(self) -> NamedTests:
        """The tests by name."""
        return {test.name: test for test in self.tests}  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedModel:
    """A model with its error against the solve time, and why the run contradicts it."""

    fitted: FittedRun
    model: FittedResult

    JSON = "**model error_percent ranks_used=fitted.run.header.ranks contradicted?"

    def error_percent(self) -> float:
        """Return the error, in percent."""
        return self.fitted.error_percent(self.model)

    def contradicted(self) -> str:
        """Return why the run contradicts the model; empty if it does not."""
        return self.fitted.contradicted(self.model)


class NamedTests(TypedDict):
    """What tests of the assumptions of models say."""

    ranks_alike: AssumptionTest
    ranks_alike_in_work: AssumptionTest


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """One model over the repeats of a configuration.

    Attributes
    ----------
    predicted_s, error_percent : float
        Medians over the runs.
    lowest_percent, highest_percent : float
        Range of the errors.
    contradicted : str
        Why some run contradicts its assumption; empty if none does.
    """

    name: str
    kind: str
    predicted_s: float
    error_percent: float
    lowest_percent: float
    highest_percent: float
    contradicted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedGroup:
    """Repeats of a configuration, their models, and findings."""

    group: Group
    runs: tuple[FittedRun, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def solve_times_s(self) -> list[float]:
        """The solve time of every run, in seconds."""
        return [fitted.solve_time_s for fitted in self.runs]

    @property
    def median_run(self) -> FittedRun:
        """The run whose solve time is the median, or the one below it."""
        order = np.argsort(self.solve_times_s)
        return self.runs[int(order[(len(order) - 1) // 2])]

    def summaries(self) -> list[ModelSummary]:
        """Return every model's error over the runs."""
        models: dict[str, list[tuple[FittedRun, FittedResult]]] = {}
        for fitted in self.runs:
            for model in fitted.models:
                models.setdefault(model.name, []).append((fitted, model))
        return [summarise(pairs) for pairs in models.values()]


def summarise(pairs: list[tuple[FittedRun, FittedResult]]) -> ModelSummary:
    """Summarise one model over runs."""
    errors = [fitted.error_percent(model) for fitted, model in pairs]
    return ModelSummary(
        name=pairs[0][1].name,
        kind=pairs[0][1].kind,
        predicted_s=float(np.median([model.prediction.seconds for _, model in pairs])),
        error_percent=float(np.median(errors)),
        lowest_percent=min(errors),
        highest_percent=max(errors),
        contradicted=next(filter(None, (run.contradicted(model) for run, model in pairs)), ""),
    )


def fit_groups(groups: Sequence[Group], options: FitOptions | None = None) -> list[FittedGroup]:
    """Fit every model to every run, on several cores if that is worthwhile.

    Results are cached next to the run files.
    """
    options = options or FitOptions()
    fit_elsewhere([run for group in groups for run in group.runs], options)
    return [
        FittedGroup(
            group=group,
            runs=tuple(fit_run(run, options) for run in group.runs),
            findings=tuple(findings_of([group])),
        )
        for group in groups
    ]


def fit_elsewhere(runs: Sequence[Run], options: FitOptions) -> None:
    """Fit the runs without cached results in several processes, which cache the results."""
    left = [run.path for run in runs if not is_cached(run, KIND, asked(options))]
    cores = len(os.sched_getaffinity(0))
    each_s = FAMILIES_S / min(cores, max(len(left), 1)) if options.families else QUICK_S
    announce_work(f"Fitting noise models to {counted(len(left), 'run')}", len(left) * each_s)
    if not options.families or len(left) < 2 or cores < 2:
        return
    with ProcessPoolExecutor(min(cores, len(left)), get_context("spawn")) as processes:
        jobs = [processes.submit(fit_file, path, options) for path in left]
        for job in jobs:
            error = job.exception()
            if error is not None and not isinstance(error, DataError):
                raise error


def fit_file(path: Path, options: FitOptions) -> None:
    """Fit a run file and cache the results; errors recur when the caller fits it."""
    fit_run(open_run(path), options)


def fit_run(run: Run, options: FitOptions) -> FittedRun:
    """Fit every model to a run, or read its cached results."""
    most = options.most_bodies
    large = most is not None and run.bodies * run.columns > most
    if large and not is_cached(run, KIND, asked(options)):
        why = f"a report fits up to {most:,} iterations of all ranks; run 'hindmost fit' for more"
        refused = {"all models": why}
        return FittedRun(run=run, models=(), refused=refused, laws=(), tests=refuse_all(why))
    return cached(run, KIND, asked(options), FittedRun, lambda: compute_fit(run, options))


def asked(options: FitOptions) -> dict[str, Any]:
    """Return all that a fit depends on beside the run: the options, and models of plugins."""
    shapes = {name: each for name, each in asdict(options).items() if name != "most_bodies"}
    plugins = sorted(map(described, MODELS.plugins.values()))
    return shapes | ({"plugins": plugins} if plugins else {})


def compute_fit(run: Run, options: FitOptions) -> FittedRun:
    """Fit every model that a run allows."""
    times = solve_times(run, some_ranks=True)
    fits = fit_models(times, families=options.families)
    return FittedRun(
        run=run,
        models=tuple(map(FittedResult.of, fits.models)),
        refused=fits.refused,
        laws=fits.laws[:10],
        tests=check_assumptions(run),
    )


LEGEND = """\
error: predicted against measured solve time. explains: computed through a mechanism that could be
wrong; identity: the solve time without the time between iterations, exact where ranks meet in
every iteration; bound: an upper limit on the expected time of the iterations, if those of all ranks
follow one law and ranks meet in every iteration. !: the run contradicts the model's assumption.
Each model is compared with the run that it was fitted to; only max-plus includes the time between
iterations."""


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
                f"{summary.kind} !" if summary.contradicted else summary.kind,
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
    return [
        f"{'work' if IN_WORK[test.name] else 'bodies'}: {test.text}" for test in tests if test.text
    ]


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
