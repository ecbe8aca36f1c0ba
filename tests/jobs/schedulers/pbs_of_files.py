"""A PBS of files for the tests: answers as the manuals of qsub, qstat and qdel say.

Exit statuses, what goes to stdout and what to stderr, ids with the server's name, the JSON of
``qstat -f -F json`` and the refusal of ``-x`` where a site keeps no history are documented; how a
server schedules is not pretended. A job is a JSON file; the tests write what becomes of it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

SERVER = "pbs-1"
UNKNOWN = 153


def qsub(words: list[str], jobs: Path) -> int:
    script = Path(words[-1])
    if "#PBS -q closed" in script.read_text():
        sys.stderr.write("qsub: Queue is not enabled\n")
        return 23
    number = 100 + len(list(jobs.glob("*.json")))
    id = f"{number}.{SERVER}"
    # What qsub shows of a job that waits.
    told = {"Job_Name": script.stem, "job_state": "Q", "substate": 10, "queue": "workq"}
    (jobs / f"{id}.json").write_text(json.dumps(told))
    sys.stdout.write(f"{id}\n")
    return 0


def qstat(words: list[str], jobs: Path) -> int:
    history = "-x" in words
    # OpenPBS 23.06.06 prints a document beside every complaint.
    found: dict[str, object] = {}
    status = 0
    # Asked for several in JSON, OpenPBS 23.06.06 answers for the first one only.
    for id in [word for word in words if word[0].isdigit()][:1]:
        file = jobs / f"{id}.json"
        told = json.loads(file.read_text()) if file.exists() else None
        if history and (jobs / "no-history").exists():
            sys.stderr.write(f"qstat: PBS is not configured to maintain job history {id}\n")
        elif told is None:
            sys.stderr.write(f"qstat: Unknown Job Id {id}\n")
            status = UNKNOWN
        elif told["job_state"] == "F" and not history:
            sys.stderr.write(f"qstat: {id} Job has finished, use -x or -H to obtain details\n")
            status = 35
        else:
            found[id] = told
    whole = {"timestamp": 1763755000, "pbs_version": "23.06.06", "pbs_server": SERVER}
    sys.stdout.write(json.dumps(whole | ({"Jobs": found} if found else {}), indent=4) + "\n")
    return status


def qdel(words: list[str], jobs: Path) -> int:
    status = 0
    for id in words:
        file = jobs / f"{id}.json"
        if not file.exists():
            sys.stderr.write(f"qdel: Unknown Job Id {id}\n")
            status = UNKNOWN
            continue
        told = json.loads(file.read_text())
        if told["job_state"] == "F":
            sys.stderr.write(f"qdel: Job has finished {id}\n")
            status = 35
            continue
        ran = {"Exit_status": 271} if told["job_state"] == "R" else {}
        comment = "Job run at Sat Nov 21 on (n0) and terminated" if ran else "terminated"
        told |= {"job_state": "F", "substate": 91, "comment": comment, **ran}
        file.write_text(json.dumps(told))
    return status


if __name__ == "__main__":
    name = Path(sys.argv[1]).name
    command = {"qsub": qsub, "qstat": qstat, "qdel": qdel}[name]
    raise SystemExit(command(sys.argv[2:], Path(os.environ["PBS_OF_FILES"])))
