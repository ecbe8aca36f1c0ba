"""Record what a real Slurm answers, for the tests that replay it.

    unshare --net --uts --mount --pid --fork --mount-proc \\
        python -m tests.jobs.two_nodes python -m tests.jobs.slurm.record
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial

from tests.jobs.schedulers.answers import Recorder
from tests.jobs.slurm.cluster import Cluster
from tests.jobs.slurm.waiting import wait
from tests.jobs.two_nodes import HOME

from hindmost.errors import HindmostError
from hindmost.jobs.schedulers import slurm
from hindmost.jobs.schedulers.scheduler import JobState
from hindmost.jobs.schedulers.slurm import SLURM

NEVER_WAS = "999999"
QUEUED = frozenset({JobState.PENDING})
FORGOTTEN_S = 150.0


def record(kept: Recorder, cluster: Cluster, *, accounts: bool) -> None:
    """Make situations one after another, and keep the answers in each."""

    def submit(command: str, *options: str) -> str:
        script = HOME / "job.sh"
        lines = [f"#SBATCH {each}" for each in ("--output=/dev/null", *options)]
        script.write_text("\n".join(("#!/bin/bash", *lines, command, "")))
        return SLURM.submit(script)

    def made(command: str, *options: str) -> str:
        return str(kept.quietly(partial(submit, command, *options)))

    def forgotten(ids: list[str]) -> None:
        end = time.monotonic() + FORGOTTEN_S
        known = ("squeue", "--noheader", "--states=all", "--format=%i")
        while not set(ids).isdisjoint(cluster.call(*known)[1].split()):
            assert time.monotonic() < end, "Slurm does not forget"
            time.sleep(1)

    kept.situation("one runs, one waits, one never was")
    both = ("--nodes=2", "--exclusive", "--time=10")
    one, two = (submit("exec sleep 60", *both) for _ in range(2))
    kept.quietly(partial(wait, [one], while_in=QUEUED))
    SLURM.look([one, two, NEVER_WAS])
    SLURM.look([NEVER_WAS])
    SLURM.left_s(one)

    kept.situation("both are cancelled")
    SLURM.cancel([NEVER_WAS, one, two])
    kept.quietly(partial(wait, [one, two]))
    SLURM.look([one, two])
    SLURM.cancel([one])

    blocks, failed = made("exec sleep 300"), made("exit 7")
    never = f"--dependency=afterok:{failed}"
    hopeless = made("exit 0", never)
    ends = {
        made("exit 0", f"--dependency=afterany:{blocks}"): JobState.PENDING,
        made("exit 0"): JobState.COMPLETED,
        failed: JobState.FAILED,
        made("exit 75"): JobState.LEFT,
        made("kill -SEGV $$"): JobState.FAILED,
        made("exit 0", "--nodes=9"): JobState.STUCK,
        made("exit 0", "--hold"): JobState.STUCK,
        hopeless: JobState.DEPENDENCY,
        made("exit 0", never, "--kill-on-invalid-dep=yes"): JobState.DEPENDENCY,
    }
    kept.quietly(partial(wait, [id for id in ends if ends[id] is not JobState.PENDING]))
    # One more, now that the job before it has failed: accounting has another reason.
    ends[made("exit 0", never, "--kill-on-invalid-dep=yes")] = JobState.DEPENDENCY
    kept.quietly(partial(wait, [id for id in ends if ends[id] is not JobState.PENDING]))
    for id, state in ends.items():
        kept.situation(f"{id} is {state}")
        SLURM.look([id])

    refused = ["--partition=gpu", *(["--account=nobody"] if accounts else [])]
    for option in refused:
        kept.situation(f"refused: {option}")
        with suppress(HindmostError):
            submit("exit 0", option)

    gone = [id for id in ends if ends[id] not in (JobState.PENDING, JobState.STUCK)]
    gone.remove(hopeless)
    forgotten(gone)
    kept.situation("forgotten by squeue")
    SLURM.look([blocks, *gone, NEVER_WAS])
    SLURM.look(gone[:1])
    if accounts:
        kept.situation("forgotten by squeue, and slurmdbd is down")
        cluster.kill("slurmdbd")
        SLURM.look([blocks, *gone])

    kept.situation("the controller is down")
    cluster.kill("slurmctld")
    for action in (SLURM.look, SLURM.cancel):
        with suppress(HindmostError):
            action([blocks])
    with suppress(HindmostError):
        submit("exit 0")


if __name__ == "__main__":
    for with_accounts, file in ((False, "slurm-22.05.txt"), (True, "slurm-22.05-accounts.txt")):
        made = Cluster(accounts=with_accounts, min_job_age_s=2)
        try:
            os.environ["SLURM_CONF"] = str(made.folder / "slurm.conf")
            keeps = Recorder(slurm, {str(made.folder): "/var/spool/slurm"})
            record(keeps, made, accounts=with_accounts)
            keeps.write(file, made.call("squeue", "--version")[1].strip())
        finally:
            made.stop()
