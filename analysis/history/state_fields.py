"""Fields of a state file, each checked for what it may be: people edit such files."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError

FIRST_TIME, LAST_TIME = -62135596800.0, 253402300799.0
"""Seconds since 1970 of the first and the last day that a date can be written for."""
LONGEST = 60
"""Characters of what was found that are told."""
NUMBERS = {int, float}


class Fields:
    """A record of a state file; every field is asked for by its name, and checked.

    Parameters
    ----------
    record : Any
        What the file has there.
    path : Path
        Of the file.
    place : str
        Of the record in the file, as ``series[3]``; empty for the whole.
    needed : collection of str
        The fields that it has.
    allowed : collection of str
        Those that it may have beside.

    Raises
    ------
    DamagedFileError
        It is no object, or has other fields.
    """

    __slots__ = ("path", "place", "record")

    def __init__(
        self,
        record: Any,
        path: Path,
        place: str,
        needed: Collection[str],
        allowed: Collection[str] = (),
    ) -> None:
        self.record, self.path, self.place = record, path, place
        if type(record) is not dict:
            raise damaged(path, place or "the whole", record, "an object")
        for key in needed:
            if key not in record:
                raise damaged_file(path, f"{self.named(key)} is missing")
        for key in record:
            if key not in needed and key not in allowed:
                names = ", ".join([*needed, *allowed])
                raise damaged_file(path, f"{self.named(key)} is unknown; there are {names}")

    def named(self, key: str) -> str:
        """Return the full name of a field."""
        return f"{self.place}.{key}" if self.place else key

    def wrong(self, key: str, allowed: str) -> DamagedFileError:
        """Return the error of a field that is not what it may be."""
        return damaged(self.path, self.named(key), self.record[key], allowed)

    def text(self, key: str) -> str:
        """Return a field that is text."""
        value = self.record[key]
        if not is_text(value):
            raise self.wrong(key, "text")
        return str(value)

    def choice(self, key: str, choices: Collection[str | None]) -> Any:
        """Return a field that is one of a few."""
        value = self.record[key]
        if (value is not None and type(value) is not str) or value not in choices:
            raise self.wrong(key, f"one of {', '.join(json.dumps(each) for each in choices)}")
        return value

    def flag(self, key: str) -> bool:
        """Return a field that is true or false."""
        value = self.record[key]
        if type(value) is not bool:
            raise self.wrong(key, "true or false")
        return value

    def place_in(self, key: str, size: int) -> int:
        """Return a field that is the place of an observation."""
        value = self.record[key]
        if type(value) is not int or not 0 <= value < size:
            raise self.wrong(key, f"a whole number from 0 to {size - 1}, a place in its series")
        return value

    def places_in(self, key: str, size: int) -> tuple[int, int]:
        """Return a field that is a first and a last place."""
        value = self.record[key]
        if (
            type(value) is not list
            or [type(each) for each in value] != [int, int]
            or not 0 <= value[0] <= value[1] < size
        ):
            raise self.wrong(key, f"two whole numbers from 0 to {size - 1}, the smaller first")
        return value[0], value[1]

    def number(self, key: str, low: float, high: float) -> float:
        """Return a field that is a number between limits."""
        value = self.record[key]
        if type(value) not in NUMBERS or not low <= value <= high:
            raise self.wrong(key, f"a number from {low:g} to {high:g}")
        return float(value)

    def range(self, key: str, low: float) -> tuple[float, float]:
        """Return a field that is the two ends of an interval."""
        value = self.record[key]
        if (
            type(value) is not list
            or len(value) != 2
            or not {type(each) for each in value} <= NUMBERS
            or not low <= value[0] <= value[1] <= np.finfo(float).max
        ):
            raise self.wrong(key, f"two numbers from {low:g} on, the smaller first")
        return float(value[0]), float(value[1])

    def items(self, key: str) -> list[Any]:
        """Return a field that is a list."""
        value = self.record[key]
        if type(value) is not list:
            raise self.wrong(key, "a list")
        return value

    def array(self, key: str, size: int | None = None, *, gaps: bool = False) -> Any:
        """Return a field that is a list of finite numbers, as many as the observations.

        Parameters
        ----------
        key : str
        size : int, optional
            At least one, if it is missing.
        gaps : bool
            Whether null may stand for a number that is unknown; it becomes NaN.

        Returns
        -------
        float64 array, shape (observation,)
        """
        value = self.items(key)
        if len(value) != size if size is not None else not value:
            many = "at least one number" if size is None else f"{size} numbers, as are times"
            raise damaged(self.path, self.named(key), f"a list of {len(value)}", many, shown=True)
        if not set(map(type, value)) <= (NUMBERS | {type(None)} if gaps else NUMBERS):
            raise self.wrong(key, "numbers" + (" or null" if gaps else ""))
        try:
            array: NDArray[np.float64] = np.array(value, np.float64)
        except OverflowError as error:
            raise self.wrong(key, "numbers that are finite") from error
        unknown = np.isnan(array) & np.array([each is None for each in value]) if gaps else False
        self.all_of(key, array, np.isfinite(array) | unknown, "finite numbers")
        return array

    def all_of(
        self, key: str, array: NDArray[np.float64], good: NDArray[np.bool_], allowed: str
    ) -> None:
        """Refuse an array by the first number in it that is not what it may be."""
        if not good.all():
            at = int(np.argmin(good))
            raise damaged(self.path, f"{self.named(key)}[{at}]", float(array[at]), allowed)

    def texts(self, key: str) -> dict[str, str]:
        """Return a field that is an object of texts."""
        value = self.record[key]
        if type(value) is not dict or not all(map(is_text, (*value, *value.values()))):
            raise self.wrong(key, "an object of texts")
        return value


def is_text(value: Any) -> bool:
    """Tell whether a value is text that can be written: half of a surrogate pair cannot."""
    if type(value) is not str:
        return False
    return value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value)


def damaged(
    path: Path, field: str, found: Any, allowed: str, *, shown: bool = False
) -> DamagedFileError:
    """Return the error of a field that is not what it may be."""
    text = found if shown else json.dumps(found, default=str)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return damaged_file(path, f"{field} is {text}, and it should be {allowed}")


def damaged_file(path: Path, why: object) -> DamagedFileError:
    """Return the error of a state that is cut off or altered."""
    return DamagedFileError(
        f"{path} is damaged ({why}): take it from a backup, or remove it to begin "
        "anew, which loses the log of revisions."
    )
