"""The forms of efficiencies, ranks and running solves."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from hindmost.analysis.runs.finding import Finding
from hindmost.json_forms.finding import Interval, Text
from hindmost.json_forms.runs import Efficiencies, Stretch
from hindmost.models.ranks.computation import Computation


class Window(Efficiencies):
    """Bodies from the first to the last."""

    bodies: tuple[int, int]


class Node(Efficiencies):
    """The ranks of a node."""

    node: str


class Place(Efficiencies):
    """Of the restart cycle."""

    position: int


class RunEfficiencies(TypedDict):
    """A run with its efficiencies, whole and in parts."""

    file: str
    workload: str
    solver: str
    ranks: int
    bodies: int
    solve_time_s: float
    outside_s: float
    not_split: Text
    text: str
    withheld: Text
    whole: Efficiencies
    windows: list[Window]
    nodes: list[Node]
    places: list[Place]
    computation: Computation
    findings: list[Finding]


ScalingColumn = TypedDict(
    "ScalingColumn",
    {
        "ranks": int,
        "runs": int,
        "file": str,
        "unknowns": float,
        "run_time_s": float,
        "withheld": Text,
        "global": float,
        "parallel": float,
        "load_balance": float,
        "communication": float,
        "serialisation": float,
        "transfer": float,
        "computation": float,
        "instructions": float,
        "ipc": float,
        "frequency": float,
        "counted_share": float,
    },
)


class Scaling(TypedDict):
    """A kernel over numbers of ranks."""

    title: str
    kind: str
    reference_ranks: int
    columns: list[ScalingColumn]


class Efficiency(TypedDict):
    """What ``hindmost show --efficiency --json`` prints."""

    version: int
    runs: list[RunEfficiencies]
    scaling: list[Scaling]


class Extreme(TypedDict):
    """Ranks that come first by a criterion."""

    criterion: str
    unit: str
    typical: float
    ranks: list[int]
    values: list[float]
    standing_out: list[int]


class Cluster(TypedDict):
    """A group of ranks that behave alike."""

    size: int
    exemplar: int | None
    means: dict[str, float]


class RankFile(TypedDict):
    """The ranks of a file; profile and histogram only of runs."""

    file: str
    remark: Text
    ranks: int
    ranks_with_full_records: int
    too_few_to_stand_out: bool
    extrema: list[Extreme]
    clusters: list[Cluster]
    stretches: list[Stretch]
    findings: list[Finding]
    hindmost: NotRequired[dict[str, Any]]
    waiting_recorded_share: NotRequired[float]
    halo_share: NotRequired[float]
    profile: NotRequired[dict[str, Any]]
    histogram: NotRequired[dict[str, Any]]


class Ranks(TypedDict):
    """What ``hindmost show --ranks --json`` prints."""

    version: int
    files: list[RankFile]


class Watch(TypedDict):
    """What ``hindmost watch --json`` prints."""

    version: int
    head: dict[str, Any]
    solve: dict[str, Any] | None
    total: int
    remaining_s: float
    interval_s: Interval | None
    remaining_by: str
    next_interval_s: Interval | None
    predictions: list[dict[str, Any]]
    hindmost: list[dict[str, Any]]
    shares: dict[str, float] | None
    done: list[str]
    stopped: str
    end: dict[str, Any] | None
