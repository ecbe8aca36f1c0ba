"""A probe and its section of the machine file: measurement, storage and display."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSetting:
    """The settings of probes.

    Attributes
    ----------
    communicator : MPI.Intracomm
        All ranks; used by the probes only.
    nodes : tuple of int
        The node of every rank, by its lowest rank.
    quick : bool
        Measure for a few seconds only, with coarse results.
    """

    communicator: Any
    nodes: tuple[int, ...]
    quick: bool

    @property
    def repeats(self) -> int:
        """How often each size is measured."""
        return 2 if self.quick else 5

    @property
    def ranks_here(self) -> int:
        """Ranks on the first node."""
        return self.nodes.count(self.nodes[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """The result of a probe.

    Attributes
    ----------
    changes : mapping
        Fields of `Machine` and their values.
    samples : mapping
        Raw values for JSON.
    rows : tuple of (str, str)
        Printed rows: a name, and a value with its unit.
    warnings : tuple of str
    """

    changes: Mapping[str, Any]
    samples: Mapping[str, Any]
    rows: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSection:
    """A probe with its name.

    Attributes
    ----------
    name, summary : str
    check : function of ProbeSetting
        Raises a HindmostError that says why the probe cannot run here.
    take : function of ProbeSetting
        Collective; returns the outcome on rank 0, None elsewhere.
    """

    name: str
    summary: str
    take: Callable[[ProbeSetting], ProbeResult | None]
    check: Callable[[ProbeSetting], None] = field(default=lambda setting: None)
