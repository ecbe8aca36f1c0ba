"""Record what a real OpenPBS answers, for the tests that replay it.

    unshare --net --uts --mount --pid --fork --mount-proc \\
        python -m tests.jobs.pbs.server FOLDER python -m tests.jobs.pbs.record
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

from tests.jobs.pbs import server
from tests.jobs.pbs.waiting import wait
from tests.jobs.schedulers.answers import Recorder
from tests.jobs.two_nodes import HOME

from hindmost.errors import HindmostError
from hindmost.jobs.schedulers import pbs
from hindmost.jobs.schedulers.pbs import PBS
from hindmost.jobs.schedulers.scheduler import JobState

NEVER_WAS = "999999.n0"
KNOWN = frozenset(JobState) - {JobState.UNKNOWN}
QUEUED = frozenset({JobState.PENDING})


def record() -> None:
    """Make situations one after another, and keep the answers in each."""
    installed = os.environ[server.INSTALLED]
    for name in set(os.environ) - {server.INSTALLED, "PBS_CONF_FILE"}:
        del os.environ[name]  # qsub keeps the variables of who submits
    os.environ |= {"PATH": f"{installed}/bin:/usr/bin:/bin", "HOME": "/home/ada"}
    os.chdir(HOME)
    kept = Recorder(pbs, {installed: "/opt/pbs"})
    version = server.ask("qstat", "--version").strip()

    def submit(command: str, *options: str) -> str:
        script = HOME / "job.sh"
        lines = [f"#PBS {each}" for each in ("-o /dev/null", "-j oe", "-r n", *options)]
        script.write_text("\n".join(("#!/bin/bash", *lines, command, "")))
        return PBS.submit(script)

    def made(command: str, *options: str) -> str:
        return str(kept.quietly(partial(submit, command, *options)))

    both = ("-l select=2:ncpus=1", "-l place=scatter")
    kept.situation("one runs, one waits, one never was")
    one, two = (submit("exec sleep 60", *both, "-l walltime=00:10:00") for _ in range(2))
    kept.quietly(partial(wait, [one], while_in=QUEUED))
    PBS.look([one, two, NEVER_WAS])
    PBS.left_s(one)
    kept.call("qstat", "-x", "-f", "-F", "json", one, two)

    kept.situation("both are cancelled")
    PBS.cancel([NEVER_WAS, one, two])
    kept.quietly(partial(wait, [one, two]))
    PBS.look([one, two])
    PBS.cancel([one])

    limit = "-l walltime=00:00:05"
    stubborn = made("trap '' TERM; while :; do sleep 0.2; done", limit)
    failed = made("sleep 2; exit 7")
    never = made("exit 0", f"-W depend=afterok:{failed}")
    ends = {
        made("exit 0"): JobState.COMPLETED,
        failed: JobState.FAILED,
        made("exit 75"): JobState.LEFT,
        made("kill -SEGV $$"): JobState.FAILED,
        made("exit 0", "-l select=9", "-l place=scatter"): JobState.STUCK,
        made("exit 0", "-h"): JobState.STUCK,
        made("exit 0", f"-W depend=afterany:{stubborn}"): JobState.PENDING,
        never: JobState.DEPENDENCY,
        stubborn: JobState.TIME_LIMIT,
    }
    for id, state in ends.items():
        if state is JobState.PENDING:
            kept.situation(f"{id} is {state}")
            PBS.look([id])
    for id, state in ends.items():
        if state is not JobState.PENDING:
            kept.quietly(partial(wait, [id], 120.0))
            kept.situation(f"{id} is {state}")
            PBS.look([id])

    for directive in ("-q closed", "-q nowhere", "-q short -l walltime=05:00:00"):
        kept.situation(f"refused: {directive}")
        with suppress(HindmostError):
            submit("exit 0", directive)

    kept.situation("no history: one runs, one has ended")
    server.ask("qmgr", "-c", "set server job_history_enable = False")
    running, ended = made("exec sleep 60"), made("exit 0")
    kept.quietly(partial(wait, [ended], while_in=KNOWN))
    PBS.look([running, ended])
    PBS.cancel([ended])

    server.ask("qmgr", "-c", "set server job_history_enable = True")
    lost = made("exec sleep 200", "-l select=vnode=n1")
    kept.quietly(partial(wait, [lost], while_in=QUEUED))
    server.kill_mom("n1")
    kept.quietly(partial(wait, [lost], 120.0))
    kept.situation(f"{lost} is {JobState.NODE_FAILED}")
    PBS.look([lost])

    kept.situation("the server is down")
    server.stop_server()
    for action in (PBS.look, PBS.cancel):
        with suppress(HindmostError):
            action([one])
    with suppress(HindmostError):
        submit("exit 0")
    kept.write("openpbs-23.06.txt", version)


if __name__ == "__main__":
    record()
