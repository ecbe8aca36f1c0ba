"""A scheduler that runs scripts at once, and a launcher with a variable of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.launchers import MPIEXEC
from hindmost.jobs.schedulers.scheduler import Job, JobState, Script, fill_template


class AtOnce:
    """Runs scripts one after another."""

    name = "at-once"

    def render(self, script: Script) -> str:
        """Return the script of a machine without a scheduler, with a line of our own."""
        first, rest = fill_template("local.sh", script).split("\n", 1)
        return f"{first}\n#AT-ONCE --nodes {script.allocation.nodes}\n{rest}"

    def submit(self, path: Path) -> str:
        """Run a script to its end."""
        subprocess.run(["bash", path], check=True)
        return path.stem

    def query(self, ids: Sequence[str]) -> dict[str, Job]:
        """Say that all jobs ended."""
        return {id: Job(id=id, state=JobState.COMPLETED, reason="ended") for id in ids}

    def cancel(self, ids: Sequence[str]) -> None:
        """Do nothing: all jobs ended."""

    def left_s(self, id: str) -> float | None:
        """Say nothing: there is no limit."""
        return None


class Tagged:
    """mpiexec, with a variable that the ranks see."""

    name = "tagged"

    def prefix(
        self, machine: MachineProfile, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return mpiexec's words behind ``env``."""
        words = MPIEXEC.prefix(machine, ranks=ranks, ranks_per_node=ranks_per_node, nodes=nodes)
        return ("env", "HINDMOST_SAMPLE=tagged", *words)


AT_ONCE = AtOnce()
TAGGED = Tagged()
