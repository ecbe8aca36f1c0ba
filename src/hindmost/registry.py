"""Things that are declared where they are written and found by their name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from hindmost.errors import UsageError


class Named(Protocol):
    """Anything that a registry can hold."""

    @property
    def name(self) -> str:
        """The name on the command line and in run files."""


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """Named things of one sort.

    Parameters
    ----------
    sort : str
        What they are called in messages.
    """

    def __init__(self, sort: str, members: Iterable[T]) -> None:
        self.sort = sort
        self._members = {member.name: member for member in members}

    def __getitem__(self, name: str) -> T:
        """Return the member of that name, or raise a UsageError that lists the choices."""
        try:
            return self._members[name]
        except KeyError:
            choices = ", ".join(self._members)
            raise UsageError(f"Unknown {self.sort} '{name}'; choose from: {choices}.") from None

    def __iter__(self) -> Iterator[T]:
        """Iterate over the members in the order of their declaration."""
        return iter(self._members.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members."""
        return tuple(self._members)
