"""What a study comes to on a machine: runs with their words, in allocations."""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.jobs.study.machine import Machine

Value = str | int | float | bool
"""What a sweep may set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One run of one configuration.

    Attributes
    ----------
    id : str
        Stable: it depends on the configuration and the repeat only.
    configuration : dict of str to Value
        What the sweep set.
    block : int
        Repeat: every block holds each configuration once, shuffled by the study's seed.
    ranks, ranks_per_node, nodes : int
    command : tuple of str
        Words after the launcher's; ``{out}`` stands for the folder of the run's files.
    limit_s : float
        After which the run is stopped.
    allocation : str
        Id of the allocation that does it.
    split : bool
        The configurations of its block that share its allocation's key, or its number of ranks,
        are in several allocations: they were not compared on the same nodes.
    expected_s : float or None
        How long it will take at the quantile of an estimate; None where nothing like it was run.
    """

    id: str
    configuration: dict[str, Value]
    block: int
    ranks: int
    ranks_per_node: int
    nodes: int
    command: tuple[str, ...]
    limit_s: float
    allocation: str
    split: bool = False
    expected_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """A job of the scheduler: runs one after another on the same nodes.

    Attributes
    ----------
    id : str
    runs : tuple of str
        Ids in their order.
    nodes, ranks_per_node : int
        What is asked for: the most of any run.
    walltime_s : float
    stop_before_s : float
        No run is begun that could end later than this before the end.
    """

    id: str
    runs: tuple[str, ...]
    nodes: int
    ranks_per_node: int
    walltime_s: float
    stop_before_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All runs of a study on a machine.

    Attributes
    ----------
    study : str
        Its name.
    study_sha256 : str
        Of the study file, and of what was set instead on the command line.
    machine : Machine
    seed : int
    max_retries : int
    runs : tuple of PlannedRun
    allocations : tuple of Allocation
    collect : str
        The line of post-processing that the study names, with ``{runs}`` for the folder of the
        collected run files; may be empty.
    replacements : tuple of str
        What was set instead on the command line, as ``ranks=1,2``.
    """

    study: str
    study_sha256: str
    machine: Machine
    seed: int
    max_retries: int
    runs: tuple[PlannedRun, ...]
    allocations: tuple[Allocation, ...]
    collect: str = ""
    replacements: tuple[str, ...] = ()
