"""A hook of PBS: records the MPI programs of jobs that ask for it (qsub -v HINDMOST=1 job.sh).

It runs before every program of a job on its nodes, and leaves all others as they are. Whatever
fails in it, the program starts without a recorder. For an administrator:

    qmgr -c "create hook hindmost event=execjob_launch"
    qmgr -c "import hook hindmost application/x-python default pbs_hook.py"

The first 'hindmost show hindmost-JOB' after the job writes the run files.
"""

import subprocess

import pbs

SCRIPT = "/opt/hindmost/always-on/attach-environment.sh"  # adapt

event = pbs.event()
try:
    if event.env.get("HINDMOST") == "1":
        name = f"hindmost-{event.job.id}"
        out = "/".join((event.env.get("PBS_O_WORKDIR", "/tmp"), name))
        words = [
            "su",
            event.job.euser,
            "-s",
            "/bin/sh",
            "-c",
            'exec "$0" "$1" "$2"',
            SCRIPT,
            out,
            name,
        ]
        answer = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
        for line in answer.stdout.splitlines():
            variable, _, value = line[len("export ") :].partition("=")
            event.env[variable] = value
except Exception as error:  # the job starts in any case
    pbs.logmsg(pbs.LOG_WARNING, f"hindmost: {error}")
event.accept()
