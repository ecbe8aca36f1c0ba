"""How ranks are started inside an allocation."""

from __future__ import annotations

from typing import Protocol

from hindmost.jobs.study.machine import Machine


class Launcher(Protocol):
    """Words before a command that start it on ranks."""

    @property
    def name(self) -> str:
        """The name in study files."""

    def words(
        self, machine: Machine, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words that start so many ranks, bound to cores, so many on each node."""

    def warnings(self, machine: Machine) -> tuple[str, ...]:
        """Say what of the MPI of this environment will likely not start in this way."""
