"""The forms of replays, predictions and advice."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from hindmost.analysis.runs.finding import Finding
from hindmost.json_forms.finding import Interval, Text


class OnPath(TypedDict):
    """A rank on the critical path."""

    rank: int
    work_s: NotRequired[float]
    network_s: NotRequired[float]
    other_mpi_s: NotRequired[float]
    visits: int


class ExtrapolatedFrom(TypedDict):
    """What a simulation rests on."""

    ranks: int
    iterations_of_ranks: NotRequired[int]


class Gain(TypedDict):
    """The time of a run without one cause of its time; null and a reason where it is undecided."""

    change: str
    predicted_s: float | None
    interval_s: Interval | None
    saved_s: Interval | None
    undecided: NotRequired[str]


class Replay(TypedDict):
    """A run with a change; other keys with --ranks and with --balance."""

    file: str
    recorded_s: float
    predicted_s: float
    interval_s: Interval | None
    changes: dict[str, str]
    critical_path: list[OnPath]
    assumptions: list[str]
    findings: NotRequired[list[Finding]]
    gains: NotRequired[list[Gain]]
    replayed_s: NotRequired[float]
    recorded_critical_path: NotRequired[list[OnPath]]
    ranks: NotRequired[int]
    nodes: NotRequired[int]
    origin: NotRequired[str]
    extrapolated_from: NotRequired[ExtrapolatedFrom]
    simulated_s: NotRequired[float]
    with_recorded_noise_s: NotRequired[float]
    beyond_recorded_noise: NotRequired[float]
    parts_s: NotRequired[dict[str, float]]
    check_s: NotRequired[float]
    imbalance: NotRequired[float]
    recorded_imbalance: NotRequired[float]
    bytes_factor: NotRequired[float]
    messages_factor: NotRequired[float]
    moved_cells: NotRequired[float]


class Beside(TypedDict):
    """What another model says."""

    name: str
    what: str
    predicted_s: float
    interval_s: Interval | None


class Prediction(TypedDict):
    """A configuration with a change; ``recorded_ranks`` with --ranks only."""

    files: list[str]
    workload: str
    solver: str
    ranks: int
    recorded_ranks: NotRequired[int]
    kept_ranks: NotRequired[int | None]
    iterations: int
    restart: int
    changes: dict[str, str]
    name: str
    kind: str
    predicted_s: float
    interval_s: Interval | None
    no_interval: Text
    beside: list[Beside]
    explanation: NotRequired[str]
    own_miss: NotRequired[Text]
    left_out: NotRequired[list[str]]
    findings: list[Finding]


class SolverFiles(TypedDict):
    """A solver and its files."""

    solver: str
    files: list[str]


class Ratio(TypedDict):
    """Time of the pipelined solver over that of the blocking one."""

    ratio: float
    ratio_interval: Interval
    verdict: str


class Compared(Ratio):
    """Seconds of an iteration, and the ratio of pipelined to blocking; on a number of ranks."""

    changes: dict[str, str]
    blocking_s: float
    blocking_interval_s: NotRequired[Interval]
    pipelined_s: float
    pipelined_interval_s: NotRequired[Interval]
    ranks: NotRequired[int]
    nodes: NotRequired[int]
    origin: NotRequired[str]
    extrapolated_from: NotRequired[ExtrapolatedFrom]
    with_recorded_noise: NotRequired[Ratio]


class Advice(TypedDict):
    """With --ranks, ``at_scale`` stands in place of ``recorded`` and ``changes``."""

    blocking: SolverFiles
    pipelined: SolverFiles
    answer: str
    recorded: NotRequired[Compared]
    changes: NotRequired[list[Compared]]
    at_scale: NotRequired[list[Compared]]
    iterations_ratio: float
    assumptions: list[str]
    findings: list[Finding]


class Whatif(TypedDict):
    """What ``hindmost whatif --json`` prints; ``advice`` with --against, in place of the others."""

    version: int
    runs: list[Replay]
    predictions: NotRequired[list[Prediction]]
    advice: NotRequired[Advice]
