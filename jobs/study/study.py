"""A study: the checked contents of a study file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import CodeType
from typing import Annotated

from msgspec import Meta

from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Value
from hindmost.jobs.core.values import Line, Whole

Positive = Annotated[float, Meta(gt=0)]


class RunOrder(StrEnum):
    """The order of runs."""

    RANDOM_BLOCKS = "random-blocks"
    """Every block contains each configuration once, shuffled, so that drift affects all alike."""
    AS_WRITTEN = "as-written"


class PackBy(StrEnum):
    """What the runs of an allocation share, unless it is a list of names."""

    RANKS = "ranks"
    ALL = "all"
    NONE = "none"
    """Every run has its own allocation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One key of the sweep.

    Attributes
    ----------
    name : str
    settings : tuple of dict of str to Value
        What each value sets: the name itself, or several names. All set the same names.
    """

    name: str
    settings: tuple[dict[str, Value], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the axis sets."""
        return tuple(self.settings[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on configurations; made by `hindmost.jobs.study.sweep.parse_condition`."""

    text: str
    code: CodeType

    def holds(self, names: Mapping[str, Value]) -> bool:
        """Tell whether it holds; a ValueError if it has no answer."""
        try:
            value = eval(self.code, {"__builtins__": {}}, dict(names))  # of comparisons alone
        except TypeError:
            raise ValueError("a text and a number have no order; use == or !=") from None
        if not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither true nor false; compare it with a value")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """How runs are packed into allocations.

    Attributes
    ----------
    by : PackBy or tuple of str
        Names of the sweep whose values the runs of an allocation share.
    runs : int
        The maximum number of runs per allocation; 0 for no limit.
    """

    by: PackBy | tuple[Line, ...] = PackBy.RANKS
    runs: Whole = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLimits:
    """The limits of jobs and runs.

    Attributes
    ----------
    job_s : float
        The longest walltime of an allocation.
    run_s : float
        The time after which a run is stopped.
    stop_before_s : float
        No run starts that could end later than this before the end of the allocation.
    max_retries : int
    """

    job_s: Positive = 3600.0
    run_s: Positive = 600.0
    stop_before_s: float = 120.0
    max_retries: Annotated[int, Meta(ge=0, le=1000)] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study.

    Attributes
    ----------
    name : str
    file : str
        Path of its file as given, for messages.
    sha256 : str
        Of the file and of the replacements on the command line.
    seed : int
        Of the order.
    repeats : int
    order : RunOrder
    command, options : tuple of str
        Words with ``{names}``; options follow ``--``.
    sweep : tuple of Axis
    exclude, only : tuple of Condition
        A configuration is left out if any of the former holds, or any of the latter does not.
    pack : Pack
    limits : StudyLimits
    collect : str
        Shell line that post-processes the collected run files.
    machines : dict of str to Machine
        Machines of the study and of the user, and this one as ``local``.
    only_machine : str
        The machine that the study chooses, else the only one given; this one if none is given,
        empty if several are.
    replacements : tuple of str
        Values set on the command line, as ``ranks=1,2``.
    """

    name: str
    file: str
    sha256: str
    seed: int
    repeats: int
    order: RunOrder
    command: tuple[str, ...]
    options: tuple[str, ...]
    sweep: tuple[Axis, ...]
    exclude: tuple[Condition, ...]
    only: tuple[Condition, ...]
    pack: Pack
    limits: StudyLimits
    collect: str
    machines: dict[str, MachineProfile]
    only_machine: str
    replacements: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the sweep sets."""
        return tuple(name for axis in self.sweep for name in axis.names)
