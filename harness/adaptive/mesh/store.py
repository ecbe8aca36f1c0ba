"""The cells of a rank in memory that is allocated once: page faults cost a third of a cycle.

Every array exists twice: changes of the mesh read one copy and write the other.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)
GROWTH = 1.3
"""Spare memory, so that a growing mesh rarely allocates."""


def roomy(size: int) -> int:
    """Return how many rows to allocate for `size` rows."""
    return int(size * GROWTH) + 64


class Columns:
    """Level, indices and key of every cell, with spare rows.

    Attributes
    ----------
    i, j : int32 array, shape (room,)
    level : int8 array, shape (room,)
    key : int64 array, shape (room,)
    """

    def __init__(self, room: int) -> None:
        self.i = np.empty(room, np.int32)
        self.j = np.empty(room, np.int32)
        self.level = np.empty(room, np.int8)
        self.key = np.empty(room, np.int64)

    @property
    def room(self) -> int:
        """Number of allocated rows."""
        return self.key.size

    def fill_from(self, other: Columns, rows: int) -> None:
        """Copy the first rows of another."""
        self.i[:rows] = other.i[:rows]
        self.j[:rows] = other.j[:rows]
        self.level[:rows] = other.level[:rows]
        self.key[:rows] = other.key[:rows]


class Store:
    """Cells and their states, each in two alternating copies.

    Attributes
    ----------
    cells : Columns
        The current ones.
    """

    def __init__(self, rows: int) -> None:
        self.cells = Columns(roomy(rows))
        self._other = Columns(0)
        self._states: dict[int, list[NDArray[np.float64]]] = {}

    def next_cells(self, rows: int) -> Columns:
        """Return the other copy of the cells, with room for `rows` rows."""
        if self._other.room < rows:
            self._other = Columns(roomy(rows))
        return self._other

    def turn(self) -> None:
        """Make the other copy the current one."""
        self.cells, self._other = self._other, self.cells

    def widen(self, owned: int, rows: int) -> None:
        """Allocate more rows after the owned ones."""
        if self.cells.room < rows:
            wider = Columns(roomy(rows))
            wider.fill_from(self.cells, owned)
            self.cells = wider

    def next_state(self, state: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
        """Return memory for a state, not that of the given one."""
        places = self._places(state)
        at = 0 if not shares(state, places[0]) else 1
        if places[at].shape[0] < rows:
            places[at] = np.empty((roomy(rows), state.shape[1]))
        return places[at][:rows]

    def widen_state(self, state: NDArray[np.float64], owned: int, rows: int) -> NDArray[np.float64]:
        """Return a state with enough rows, copied only if necessary."""
        for place in self._places(state):
            if shares(state, place) and place.shape[0] >= rows:
                return place[:rows]
        wider = self.next_state(state, rows)
        wider[:owned] = state[:owned]
        return wider

    def _places(self, state: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        columns = state.shape[1]
        if columns not in self._states:
            self._states[columns] = [np.empty((0, columns)), np.empty((0, columns))]
        return self._states[columns]


def shares(state: NDArray[np.float64], place: NDArray[np.float64]) -> bool:
    """Tell whether a state is the beginning of a copy."""
    return state is place or state.base is place


def longer(array: NDArray[Number], size: int) -> NDArray[Number]:
    """Return an array of at least `size` entries, this one if possible; its contents are lost."""
    return array if array.size >= size else np.empty(roomy(size), array.dtype)
