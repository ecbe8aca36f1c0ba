"""A probe and its section of the machine file: how to measure, keep and show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSetting:
    """Where and how probes measure.

    Attributes
    ----------
    communicator : MPI.Intracomm
        All ranks; used by the probes only.
    nodes : tuple of int
        The node of every rank, by its lowest rank.
    quick : bool
        Take a few seconds in all, for a first look; results are coarse.
    seed : int
        For every random order.
    folder : Path
        Where the checkpoint probe writes.
    cells : tuple of int
        Cells a rank, for the grind probe.
    kernel : str
        ``MODULE:FUNCTION`` whose grind time is measured.
    """

    communicator: Any
    nodes: tuple[int, ...]
    quick: bool
    seed: int
    folder: Path
    cells: tuple[int, ...]
    kernel: str

    @property
    def ranks_here(self) -> int:
        """Ranks on the first node."""
        return self.nodes.count(self.nodes[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What a probe found.

    Attributes
    ----------
    changes : mapping
        Fields of `Machine` and their values.
    samples : mapping
        Raw values, as JSON can hold them.
    rows : tuple of (str, str)
        What is printed: a name, and a value with its unit.
    warnings : tuple of str
    """

    changes: Mapping[str, Any]
    samples: Mapping[str, Any]
    rows: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSection:
    """A probe that can be asked for by name.

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
