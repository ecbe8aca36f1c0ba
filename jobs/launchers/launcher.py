"""Launchers: how ranks are started inside an allocation."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from hindmost.jobs.core.machine import MachineProfile


@runtime_checkable
class Launcher(Protocol):
    """Starts a command on ranks, by words placed before it."""

    @property
    def name(self) -> str:
        """The name in study files."""

    def prefix(
        self, machine: MachineProfile, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words that start ranks, bound to cores, ``ranks_per_node`` on each node."""

    def warnings(self, machine: MachineProfile) -> tuple[str, ...]:
        """Warn if this environment's MPI will probably not start with this launcher."""
