"""When no efficiency is given: it is not known well enough how ranks spent their time."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.runs.finding import SPOILS
from hindmost.harness.runfile.all_ranks import unclassified_share_of_all
from hindmost.harness.runfile.bodies import WAITING
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted, percent


def why_withheld(run: Run) -> str:
    """Say why no efficiency of a run is given; empty if one is."""
    differ = (run.header.spec.get("attached") or {}).get("marks_differ")
    if differ:
        return f"{differ}, so iterations of the same number may be different ones"
    if mpi_unseen(run):
        return what_unseen_is(run)
    share = float(np.max(unclassified_share_of_all(run), initial=0.0))
    if share > SPOILS:
        return (
            f"{percent(share, 0)} of a rank's time is in {unclassified_calls(run)}: it is unknown "
            "whether it waits or works there"
        )
    return ""


def unclassified_calls(run: Run) -> str:
    """Name the MPI calls of no known kind, as far as the run tells; those of files as MPI-IO."""
    names = [str(each) for each in (run.header.spec.get("attached") or {}).get("unclassified", [])]
    files = names and all(each.startswith("MPI_File_") for each in names)
    kind = "MPI-IO" if files else "unclassified MPI calls"
    others = f" and {counted(len(names) - 1, 'other call')}" if len(names) > 1 else ""
    return f"{kind} ({names[0]}{others})" if names else kind


def what_unseen_is(run: Run) -> str:
    """Say how the time of unseen MPI calls was classified."""
    if run.summary["phase_s"].get("unclassified", 0.0) > 0.0:
        return "MPI calls were not seen, so work and waiting cannot be separated"
    return "MPI calls were not seen, so waiting in them counts as local work"


def mpi_unseen(run: Run) -> bool:
    """Tell whether ranks may have waited unseen: without the recorder and without marked phases.

    A loop whose program loaded MPI before the recorder may have marked its waiting itself.
    """
    if run.header.ranks == 1 or run.header.spec.get("mpi_seen", True):
        return False
    spent = run.summary["phase_s"]
    return not any(spent.get(name, 0.0) > 0.0 for name in WAITING)
