"""The forms of studies and this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from hindmost.harness.verbs.doctor import Diagnosis
from hindmost.jobs.collection import Collected
from hindmost.jobs.core.plan import Cost, Plan
from hindmost.jobs.folder import Submitted
from hindmost.jobs.state import StudyState
from hindmost.models.adaptive.choose import Choice
from hindmost.models.adaptive.offline import Application


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(StudyState):
    """What ``hindmost study status --json`` prints."""

    version: int
    study: str
    machine: str
    next: str


class Submit(TypedDict):
    """What ``hindmost study submit --json`` prints; with --dry-run, the scripts."""

    version: int
    study: str
    folder: str
    submitted: NotRequired[list[Submitted]]
    live: NotRequired[list[str]]
    runs: NotRequired[int]
    failed: NotRequired[int]
    scripts: NotRequired[dict[str, str]]


class Doctor(TypedDict):
    """What ``hindmost doctor --json`` prints."""

    version: int
    findings: list[Diagnosis]


class Estimate(TypedDict):
    """Where expected times come from."""

    quantile: float
    earlier_runs: int
    runs_without: int
    runs_from_few: int
    left_out: list[str]


class Collect(TypedDict):
    """What ``hindmost study collect --json`` prints."""

    version: int
    folder: str
    files: list[Collected]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveChoice(Choice):
    """A configuration, with the base mesh of all ranks."""

    base: tuple[int, int]


class PredictAdaptive(TypedDict):
    """What ``hindmost whatif --adaptive --json`` prints."""

    version: int
    deck: str
    ranks: int
    cycles: int
    budget_s: float
    application: Application
    growth: float
    remarks: list[str]
    choices: list[AdaptiveChoice]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPlan(Plan):
    """What ``hindmost study plan --json`` prints."""

    version: int
    core_hours: Cost
    scripts: list[str]
    estimate: Estimate | None
