"""When no efficiency is given: it is not known well enough how ranks spent their time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hindmost.analysis.runs.finding import SPOILS
from hindmost.harness.runfile.all_ranks import unclassified_share_of_all
from hindmost.harness.runfile.bodies import WAITING
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted, percent, seconds

UNKNOWN = "unknown"
"""Instead of local, of which it is not known how much is work."""


def why_withheld(run: Run) -> str:
    """Say why no efficiency of a run is given; empty if one is."""
    differ = (run.header.spec.get("attached") or {}).get("marks_differ")
    if differ:
        return f"{differ}, so iterations of the same number may be different ones"
    if work_unknown(run):
        return work_unknown(run)
    share = float(np.max(unclassified_share_of_all(run), initial=0.0))
    if share > SPOILS:
        return (
            f"{percent(share, 0)} of a rank's time is in {unclassified_calls(run)}: it is unknown "
            "whether it waits or works there"
        )
    return ""


def work_unknown(run: Run) -> str:
    """Say why time outside of MPI may be none of work; empty if it is known.

    Calls of MPI were not seen, or threads made some, for which the recorded thread may then wait
    outside of MPI.
    """
    if mpi_unseen(run):
        return what_unseen_is(run)
    calls = calls_of_threads(run)
    return f"{calls} are in no iteration, so work and waiting cannot be separated" if calls else ""


def told_shares(run: Run, shares: Mapping[str, float]) -> dict[str, float]:
    """Return shares of phases, of which that of work has another name where it may be none."""
    name = UNKNOWN if work_unknown(run) else "local"
    return {name if phase == "local" else phase: share for phase, share in shares.items()}


def calls_of_threads(run: Run) -> str:
    """Say how many MPI calls came from other threads than the recorded one; empty if none did."""
    calls, threads = (run.header.spec.get(name) for name in ("foreign_calls", "foreign_threads"))
    if not isinstance(calls, int) or calls <= 0:
        return ""
    whose = "other threads"
    if isinstance(threads, int) and threads > 0:
        whose = counted(threads, "other thread")
    return f"{counted(calls, 'MPI call')} of {whose}{time_of_threads(run)}"


def time_of_threads(run: Run) -> str:
    """Say how long the MPI calls of other threads took, and where most; empty if not known."""
    if not run.has("context_thread_time"):
        return ""
    spent_s, contexts = run.variable("context_thread_time"), run.contexts
    most = int(spent_s.argmax())
    share = ""
    if most and contexts.chain(most).size:
        place = contexts.places[contexts.chain(most)[-1]]
        share = f", {percent(spent_s[most] / spent_s.sum(), 0)} of it in {place}"
    return f" ({seconds(float(spent_s.sum()))} in MPI over all ranks{share})"


def unclassified_calls(run: Run) -> str:
    """Name the MPI calls of no known kind, as far as the run tells; those of files as MPI-IO."""
    names = [str(each) for each in (run.header.spec.get("attached") or {}).get("unclassified", [])]
    files = names and all(name.startswith("MPI_File_") for name in names)
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
