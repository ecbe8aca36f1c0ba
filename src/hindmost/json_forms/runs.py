"""The forms of summaries, findings, fits and noise of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from hindmost.analysis.fits.detours import StoredDetours
from hindmost.analysis.runs import summary
from hindmost.analysis.runs.finding import Finding
from hindmost.json_forms.finding import Interval, Text
from hindmost.models.noise.detours import DetourFamily


class Check(TypedDict):
    """What ``hindmost check --json`` prints."""

    version: int
    findings: list[Finding]


class Efficiencies(TypedDict):
    """Shares between 0 and 1, and lost seconds by cause; null where unknown."""

    ranks: int
    parallel: float
    load_balance: float
    communication: float
    serialisation: float
    transfer: float
    run_time_s: float
    mean_local_s: float
    max_local_s: float
    ideal_s: float
    lost_s: dict[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary(summary.RunSummary):
    """A run in ``hindmost show``."""

    efficiency: Efficiencies | None  # type: ignore[assignment]  # with its factors
    findings: list[Finding]


class Stretch(TypedDict):
    """Work between two calls of MPI and the time in the second, of each rank in seconds.

    Of that time, what others wait there for each rank. Of the work, what is beyond the median
    iteration, what all but one in twenty have, and the medians of the first and the last third.
    """

    after: str
    before: str
    work_s: list[float]
    wait_s: list[float]
    waited_for_s: list[float]
    beyond_s: list[float]
    quickest_s: list[float]
    begin_s: list[float]
    end_s: list[float]


class AttachedRun(TypedDict):
    """The solves of one kind, or the loop, of an attached program."""

    file: str
    solver: str
    solves: int | None
    iterations: int
    solve_time_s: float
    share: dict[str, float]
    straggler: int | None
    excess_work: float
    imbalance: float
    stretches: list[Stretch]
    text: str


class AttachedProgram(TypedDict):
    """An attached program."""

    name: str
    runs: list[AttachedRun]


class Show(TypedDict):
    """What ``hindmost show --json`` prints."""

    version: int
    programs: NotRequired[list[AttachedProgram]]
    runs: list[RunSummary]


class FittedModel(TypedDict):
    """A noise model, fitted to a run; parameters depend on the model."""

    name: str
    kind: str
    predicted_s: float
    interval_s: Interval | None
    explanation: str
    parameters: dict[str, Any]
    error_percent: float
    ranks_used: int
    contradicted: Text


class FittedRun(TypedDict):
    """A run with its models, the ranking of laws, and tests of assumptions; or its detours."""

    file: str
    workload: str
    solver: str
    ranks: int
    kept_ranks: NotRequired[int | None]
    iterations: NotRequired[int]
    bodies: NotRequired[int]
    solve_time_s: NotRequired[float]
    models: NotRequired[list[FittedModel]]
    refused: NotRequired[dict[str, str]]
    laws: NotRequired[dict[str, Any]]
    ranks_alike: NotRequired[dict[str, Any]]
    ranks_alike_in_work: NotRequired[dict[str, Any]]
    nodes: NotRequired[dict[str, Any]]
    slow_groups: NotRequired[dict[str, Any]]
    injected: NotRequired[str]
    detours: NotRequired[list[RankDetours]]
    findings: list[Finding]


class RankDetours(TypedDict):
    """The detours of a rank; the first family is that of most time."""

    rank: int
    host: str
    families: list[DetourFamily]
    iterations: int
    seconds: float
    others: float
    others_s: float
    work_s: float
    jitter_s: float
    share: float
    noise_share: float
    least_s: float
    stored: StoredDetours | None


class Fit(TypedDict):
    """What ``hindmost fit --json`` prints; with ``--detours``, the detours of the runs."""

    version: int
    probe: NotRequired[dict[str, Any]]
    runs: list[FittedRun]
