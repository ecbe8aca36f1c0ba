"""Record a solve of a user's petsc4py program: ``hindmost.record_ksp``.

The recorder waits for the KSP to solve: recording begins with PETSc's event of the solve, where the
ranks meet, and ends with it. What the program does before and after is no part of the run.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.harness.attach.own_marks import MarksOfRecorder
from hindmost.harness.attach.raw_program import RawProgram
from hindmost.harness.attach.sections import Matched
from hindmost.harness.attach.settings import event_lines
from hindmost.harness.own_recording import Marks, OwnRecording, checked_name, load_if_possible
from hindmost.harness.petsc import scalar_spec
from hindmost.harness.rank_failures import on_all
from hindmost.harness.recorder.library import loaded
from hindmost.output import warn


class KSPRecorder(OwnRecording):
    """Records a solve of a KSP on all ranks of its communicator; use it as a context.

    Parameters
    ----------
    ksp : petsc4py.PETSc.KSP
    path : Path
        The run file; must not exist.
    name : str
        What the linear system is called; empty for the KSP's options prefix.
    parameters : dict of str to str, int, float or bool, optional
        What was varied: runs of other values are no repeats of this one.
    sample, keep, live
        See `OwnRecording`.
    activities : bool
        Whether the local work is split by PETSc event.
    """

    what = "program"

    def __init__(
        self,
        ksp: Any,
        path: Path,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        sample: int | None = None,
        keep: float = 1.0,
        live: int = False,
        *,
        activities: bool = False,
    ) -> None:
        petsc = sys.modules.get("petsc4py.PETSc")
        if petsc is None or not isinstance(ksp, petsc.KSP):
            raise UsageError(f"record_ksp needs a petsc4py.PETSc.KSP, not a {type(ksp).__name__}.")
        prefix = (ksp.getOptionsPrefix() or "").rstrip("_")
        title = checked_name("name", name or prefix or "ksp")
        super().__init__(path, title, parameters, sample, keep, live)
        self._petsc, self._ksp, self._activities = petsc, ksp, activities
        self._petsc_version = ".".join(map(str, petsc.Sys.getVersion()))

    def _meet(self) -> Any:
        """Return a communicator of the KSP's ranks; collective."""
        return self._ksp.comm.tompi4py().Dup()

    def _prepare(self, communicator: Any) -> tuple[Marks, dict[str, Any]]:
        """Set the KSP up, and say on rank 0 if MPI calls are not seen; collective."""
        why_not = on_all(communicator, load_recorder)
        reasons = [reason for reason in communicator.allgather(why_not) if reason]
        self.mpi_seen = not reasons
        if reasons and communicator.rank == 0:
            warn(
                "hindmost does not see MPI calls, so all time is unclassified; call "
                f"hindmost.listen() on every rank before importing petsc4py. {reasons[0]}"
            )
        on_all(communicator, self._stop_others)
        self._ksp.setUp()
        events = event_lines(activities=self._activities and self.mpi_seen)
        spec = {**scalar_spec(self._petsc), **({"activities": True} if self._activities else {})}
        return MarksOfRecorder(
            loaded(), self._ksp.handle, ("most 1", *events, *self._settings)
        ), spec

    def _why_nothing(self, program: RawProgram, groups: Sequence[tuple[Matched, ...]]) -> str:
        """Say why there is nothing to write."""
        if not groups:
            return "The KSP did not solve inside 'with hindmost.record_ksp(...)'"
        why = groups[0][0].parts[0].facts.reason or "reason unknown"
        return f"The solve ended before its first iteration ({why})"


def load_recorder() -> str:
    """Load the recorder, before MPI if that is still possible; return why it was not."""
    _, why_not = load_if_possible()
    loaded()
    return why_not
