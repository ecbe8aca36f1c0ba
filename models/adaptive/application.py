"""The work of a deck in an adaptive code: counts, bytes and shares, the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hindmost.errors import DataError
from hindmost.models.adaptive.work import Work
from hindmost.records import RecordError, from_document, to_document


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often something happens: per cycle, per step and per heat iteration."""

    per_cycle: float = 0.0
    per_step: float = 0.0
    per_iteration: float = 0.0

    def of(self, steps: float, iterations: float) -> float:
        """Return how often it happens in a cycle with these steps and iterations."""
        return self.per_cycle + steps * self.per_step + iterations * self.per_iteration


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Gathers or scatters.

    Attributes
    ----------
    count : Count
    bytes_per_cell : float
    directions : int or None
        Directions of the pattern that one of them covers; None for all. A gather of SAGE covers
        one direction, a halo exchange all.
    """

    count: Count
    bytes_per_cell: float
    directions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A deck, as the offline model uses it.

    Attributes
    ----------
    name : str
    exchanges : tuple of Exchange
    reductions : Count
    reduction_bytes : float
    steps, iterations, adapts_every : int, float, int
        A typical cycle: hydro steps, heat iterations, and cycles between adaptions, 0 for none.
        `OfflineModel` takes them from each `Work`; `choose` uses these, and so does the prediction
        of a first cycle, whose iterations are not known yet.
    solves : float
        Heat solves in a typical cycle; 0 without heat, or if solves cost nothing but iterations.
    moved_share : float
        Expected share of the cells of a rank that move to another one, per adaption.
    bytes_moved : float
        Bytes of a cell that moves to another rank.
    bytes_kept : float
        Bytes of a cell in a checkpoint.
    imbalance : float
        Increase of max / mean - 1 of the cells per rank by an adaption.
    """

    name: str
    exchanges: tuple[Exchange, ...] = ()
    reductions: Count = Count()
    reduction_bytes: float = 8.0
    steps: int = 1
    iterations: float = 0.0
    solves: float = 0.0
    adapts_every: int = 1
    moved_share: float = 0.0
    bytes_moved: float = 0.0
    bytes_kept: float = 0.0
    imbalance: float = 0.0

    def work(self, cells: float, ranks: int = 1, *, cycle: int = 0) -> Work:
        """Return a typical cycle; ``cells`` are those of the rank with most."""
        every = self.adapts_every
        return Work(
            cells=cells,
            total=cells * ranks,
            steps=self.steps,
            iterations=self.iterations,
            solves=self.solves,
            adapts=every > 0 and (cycle + 1) % every == 0,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of run files."""
        document: dict[str, Any] = to_document(self)
        return document

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Application:
        """Return the application that JSON describes.

        Raises
        ------
        DataError
            It is not what `to_json` gives.
        """
        try:
            for key in ("exchanges", "reductions"):
                if key not in content:
                    raise RecordError("an application has its counts", key)
            return from_document(cls, content, ignore_unknown=True)
        except RecordError as error:
            raise DataError(f"The counts of an application are invalid: {error}") from None
