"""What a study file says, checked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hindmost.jobs.plan.plan import Value
from hindmost.jobs.study.expression import Condition
from hindmost.jobs.study.machine import Machine


class Order(StrEnum):
    """The order of runs."""

    RANDOM_BLOCKS = "random-blocks"
    """Every block holds each configuration once, shuffled: drift hits all alike."""
    AS_WRITTEN = "as-written"


class PackBy(StrEnum):
    """What runs of one allocation have in common, where it is not a list of names."""

    RANKS = "ranks"
    ALL = "all"
    NONE = "none"
    """Every run has an allocation of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One key of the sweep.

    Attributes
    ----------
    name : str
    settings : tuple of dict of str to Value
        What each of its values sets: the name itself, or several at once. All set the same names.
    """

    name: str
    settings: tuple[dict[str, Value], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it sets."""
        return tuple(self.settings[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """How runs are put into allocations.

    Attributes
    ----------
    by : PackBy or tuple of str
        Names of the sweep whose values the runs of an allocation share.
    runs : int
        The most runs of an allocation; 0 for any number.
    """

    by: PackBy | tuple[str, ...] = PackBy.RANKS
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long things may take.

    Attributes
    ----------
    job_s : float
        The longest walltime of an allocation.
    run_s : float
        After which a run is stopped.
    stop_before_s : float
        No run is begun that could end later than this before the allocation's end.
    max_retries : int
    """

    job_s: float
    run_s: float
    stop_before_s: float
    max_retries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study.

    Attributes
    ----------
    name : str
    file : str
        Path of its file as it was given, for messages.
    sha256 : str
        Of the file, and of what was set instead on the command line.
    seed : int
        Of the order.
    repeats : int
    order : Order
    command, options : tuple of str
        Words with ``{names}``; options go after ``--``.
    sweep : tuple of Axis
    exclude, only : tuple of Condition
        A configuration is left out if any of the first holds, or any of the second does not.
    pack : Pack
    limits : Limits
    collect : str
        Line of a shell that makes results of the collected run files.
    machines : dict of str to Machine
        Those of the study and of the user, and this one as ``local``.
    only_machine : str
        The one that the study chooses, else the only one that was written down; this one where
        none was, empty where several were.
    replacements : tuple of str
        What was set instead on the command line, as ``ranks=1,2``.
    """

    name: str
    file: str
    sha256: str
    seed: int
    repeats: int
    order: Order
    command: tuple[str, ...]
    options: tuple[str, ...]
    sweep: tuple[Axis, ...]
    exclude: tuple[Condition, ...]
    only: tuple[Condition, ...]
    pack: Pack
    limits: Limits
    collect: str
    machines: dict[str, Machine]
    only_machine: str
    replacements: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the sweep sets."""
        return tuple(name for axis in self.sweep for name in axis.names)
