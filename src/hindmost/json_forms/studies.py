"""The forms of studies and this machine."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from hindmost.json_forms.finding import Text


class Allocation(TypedDict):
    """An allocation with its job; null without one."""

    allocation: str
    job: Text
    state: Text
    reason: Text
    nodes: Any
    live: bool
    runs: dict[str, str]


class FailedRun(TypedDict):
    """A run of a study that failed."""

    run: str
    cause: str
    status: int | None
    attempt: int
    message: str


class Status(TypedDict):
    """What ``hindmost study status --json`` prints."""

    version: int
    study: str
    machine: str
    counts: dict[str, int]
    allocations: list[Allocation]
    failures: list[FailedRun]
    remark: str
    next: str


class SubmittedJob(TypedDict):
    """A submitted job."""

    allocation: str
    job: str
    scheduler: str
    when: str


class Submit(TypedDict):
    """What ``hindmost study submit --json`` prints; with --dry-run, the scripts."""

    version: int
    study: str
    folder: str
    submitted: NotRequired[list[SubmittedJob]]
    live: NotRequired[list[str]]
    runs: NotRequired[int]
    failed: NotRequired[int]
    scripts: NotRequired[dict[str, str]]


class Look(TypedDict):
    """What was looked at, and the verdict."""

    subject: str
    verdict: str
    text: str


class Doctor(TypedDict):
    """What ``hindmost doctor --json`` prints."""

    version: int
    findings: list[Look]


class PlannedRun(TypedDict):
    """A run of a plan; ``expected_s`` from earlier runs, null without any."""

    id: str
    configuration: dict[str, Any]
    block: int
    ranks: int
    ranks_per_node: int
    nodes: int
    command: list[str]
    limit_s: float
    allocation: str
    split: bool
    expected_s: float


class PlannedAllocation(TypedDict):
    """A job, and the runs in it."""

    id: str
    runs: list[str]
    nodes: int
    ranks_per_node: int
    walltime_s: float
    stop_before_s: float


class CoreHours(TypedDict):
    """What a plan costs at most, and by earlier runs."""

    most: float
    expected: float


class Estimate(TypedDict):
    """Where expected times come from."""

    quantile: float
    earlier_runs: int
    runs_without: int
    runs_from_few: int
    left_out: list[str]


class Plan(TypedDict):
    """What ``hindmost study plan --json`` prints."""

    version: int
    study: str
    study_sha256: str
    machine: dict[str, Any]
    seed: int
    max_retries: int
    runs: list[PlannedRun]
    allocations: list[PlannedAllocation]
    collect: Any
    replacements: list[str]
    core_hours: CoreHours
    scripts: list[str]
    estimate: Estimate | None


class CollectedFile(TypedDict):
    """A run file, where it came from, and on which nodes it ran."""

    file: str
    source: str
    run: str
    configuration: dict[str, Any]
    block: int
    ranks: int
    attempt: int
    allocation: str
    job: str
    nodes: list[str]
    split: bool


class Collect(TypedDict):
    """What ``hindmost study collect --json`` prints."""

    version: int
    folder: str
    files: list[CollectedFile]
    missing: list[str]


class Cancel(TypedDict):
    """What ``hindmost study cancel --json`` prints; `left`: jobs that the scheduler still has."""

    version: int
    cancelled: list[str]
    left: list[str]


class Probe(TypedDict):
    """What ``hindmost probe --json`` prints: the machine file without samples."""

    version: int
    probes: list[str]
    machine: dict[str, Any]


class AdaptiveChoice(TypedDict):
    """An order and a threshold of refinement, with the predicted time."""

    order: str
    threshold: float
    cells: float
    base: list[int]
    seconds: float
    cycle_s: dict[str, float]
    fits: bool


class PredictAdaptive(TypedDict):
    """What ``hindmost whatif --adaptive --json`` prints."""

    version: int
    deck: str
    ranks: int
    cycles: int
    budget_s: float
    application: dict[str, Any]
    growth: float
    remarks: list[str]
    choices: list[AdaptiveChoice]
