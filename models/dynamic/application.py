"""What a deck makes an adaptive code do: counts, bytes and shares, the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hindmost.errors import DataError
from hindmost.models.dynamic.work import Work
from hindmost.records import RecordError, from_document, to_document


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often something happens: in a cycle, in each of its steps, in each heat iteration."""

    per_cycle: float = 0.0
    per_step: float = 0.0
    per_iteration: float = 0.0

    def of(self, steps: float, iterations: float) -> float:
        """Return how often in a cycle of so many steps and iterations."""
        return self.per_cycle + steps * self.per_step + iterations * self.per_iteration


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Gathers or scatters of so many bytes a cell.

    Attributes
    ----------
    count : Count
    bytes_per_cell : float
    directions : int or None
        How many directions of the pattern one of them serves; None for all. A gather of SAGE is of
        one direction, a halo exchange of all.
    """

    count: Count
    bytes_per_cell: float
    directions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A deck as the offline model sees it.

    Attributes
    ----------
    name : str
    exchanges : tuple of Exchange
    reductions : Count
    reduction_bytes : float
    steps, iterations, adapts_every : int, float, int
        A usual cycle: hydro steps, heat iterations, and a look at the mesh every so many cycles, 0
        for never. `OfflineModel` takes them from each `Work`; choices are made with these, and a
        first cycle, whose iterations nobody knows yet, is foreseen with them.
    solves : float
        Of heat in a usual cycle; 0 without heat, or where solves cost nothing but iterations.
    divided_share, combined_share, moved_share : float
        Of the cells of a rank, expected in an adaption.
    changed_share : float
        Of the looks at the mesh, those that change it on some rank: its cells are then connected
        anew on all.
    divide_s, combine_s : float
        For a cell that is divided or combined, beside the look at it; seconds. 0 for what the
        machine's probe found.
    balance_s : float
        Of a look at the balance without moves, seconds. 0 for what the machine's probe found.
    bytes_moved : float
        Of a cell that goes to another rank.
    bytes_kept : float
        Of a cell in a checkpoint.
    imbalance : float
        What an adaption adds to max / mean - 1 of cells a rank.
    """

    name: str
    exchanges: tuple[Exchange, ...] = ()
    reductions: Count = Count()
    reduction_bytes: float = 8.0
    steps: int = 1
    iterations: float = 0.0
    solves: float = 0.0
    adapts_every: int = 1
    divided_share: float = 0.0
    combined_share: float = 0.0
    moved_share: float = 0.0
    changed_share: float = 1.0
    divide_s: float = 0.0
    combine_s: float = 0.0
    balance_s: float = 0.0
    bytes_moved: float = 0.0
    bytes_kept: float = 0.0
    imbalance: float = 0.0

    def work(self, cells: float, ranks: int = 1, *, cycle: int = 0) -> Work:
        """Return a usual cycle with so many cells on the rank that has most."""
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
        """Return all of it as JSON, as it stands in run files."""
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
            return from_document(cls, content)
        except RecordError as error:
            raise DataError(
                f"The counts of an application are not what they should be: {error}"
            ) from None


def sage(*, real: float, integer: float, reductions: float) -> Application:
    """Return SAGE's form: T_GScomm of reals (8 B) and integers (4 B), T_allreduce.

    Parameters
    ----------
    real, integer : float
        Gathers and scatters in a cycle; some hundreds.
    reductions : float
        Allreduces in a cycle.
    """
    return Application(
        name="sage",
        exchanges=(
            Exchange(count=Count(per_cycle=real), bytes_per_cell=8.0, directions=1),
            Exchange(count=Count(per_cycle=integer), bytes_per_cell=4.0, directions=1),
        ),
        reductions=Count(per_cycle=reductions),
    )
