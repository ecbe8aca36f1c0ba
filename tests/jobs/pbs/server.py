"""A real OpenPBS of two nodes, around a command that talks to it.

    unshare --net --uts --mount --pid --fork --mount-proc \\
        python -m tests.jobs.pbs.server FOLDER COMMAND...

FOLDER is an installed OpenPBS. Node n0 has the server, its scheduler and a MoM, node n1 a MoM.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.jobs import two_nodes
from tests.jobs.two_nodes import ADDRESSES, HOME, CommandError

INSTALLED = "HINDMOST_TEST_PBS"
"""The variable that names the installed OpenPBS, inside."""
START_LIMIT_S = 60.0

SETTINGS = (
    "create node n1",
    *(f"set node {name} resources_available.ncpus = 1" for name in ADDRESSES),
    "set server job_history_enable = True",
    "set server acl_roots = root@*",
    "set server flatuid = True",
    "set server scheduler_iteration = 2",
    "set server node_fail_requeue = 5",
    "create queue closed queue_type = Execution, enabled = False, started = True",
    "create queue short queue_type = Execution, enabled = True, started = True",
    "set queue short resources_max.walltime = 00:10:00",
    "create queue theirs queue_type = Execution, enabled = True, started = True",
    "set queue theirs acl_user_enable = True, acl_users = daemon",
)


def environment(node: str = "n0") -> dict[str, str]:
    """Return the environment of commands on a node."""
    path = f"{os.environ[INSTALLED]}/bin:{os.environ['PATH']}"
    return {**os.environ, "PBS_CONF_FILE": str(HOME / f"{node}.conf"), "PATH": path}


def ask(*words: str | Path, on: str = "n0") -> str:
    """Run a command of OpenPBS or of its administrator, and return what it printed."""
    return two_nodes.run(*words, on=on, environment=environment(on))


def answers() -> bool:
    """Tell whether the server answers."""
    try:
        return "Active" in ask("qstat", "-B")
    except CommandError:
        return False


def free_nodes() -> int:
    """Return how many nodes could take a job."""
    return ask("pbsnodes", "-a").count("state = free")


def start_daemon(name: str, *, on: str = "n0") -> None:
    """Start the server, its scheduler, its router of messages (comm) or a node's MoM."""
    bound = ("taskset", "--cpu-list", two_nodes.core(on)) if name == "mom" else ()
    ask(*bound, Path(os.environ[INSTALLED]) / "sbin" / f"pbs_{name}", on=on)


def start_server() -> None:
    """Start the server, and wait for its answer."""
    start_daemon("server")
    wait_for("the server", answers)


def stop_server() -> None:
    """Stop the server, with jobs going on, and wait until it does not answer."""
    ask("qterm", "-t", "quick")
    wait_for("the server's end", lambda: not answers())


def kill_mom(node: str) -> None:
    """Let a node's MoM die with all that it started, without a word."""
    mom = int((HOME / node / "mom_priv" / "mom.lock").read_text())
    for pid in (*descendants(mom), mom):
        with suppress(ProcessLookupError):  # some end by themselves just now
            os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that these have."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [*descendants(child), child]
    return found


def wait_for(what: str, ready: Callable[[], bool]) -> None:
    """Wait until something is ready; else say what the logs say."""
    end = time.monotonic() + START_LIMIT_S
    while not ready():
        if time.monotonic() > end:
            logs = [
                f"{log}: {line}"
                for log in sorted(HOME.glob("n*/*_logs/*"))
                for line in log.read_text().splitlines()[-5:]
            ]
            raise CommandError("\n".join((f"Waiting for {what}, in vain.", *logs)))
        time.sleep(0.1)


PROFILES = (".bash_profile", ".bash_login", ".profile")
"""What the login shell of a job reads, which may do anything on the machine of a test."""


def begin() -> None:
    """Make the two nodes, and start OpenPBS on them."""
    two_nodes.begin()
    for profile in (Path.home() / name for name in PROFILES):
        if profile.exists():
            two_nodes.run("mount", "--bind", "/dev/null", profile)
    folder = Path(os.environ[INSTALLED])
    for name in ADDRESSES:
        first = int(name == "n0")
        (HOME / f"{name}.conf").write_text(
            f"PBS_EXEC={folder}\nPBS_HOME={HOME / name}\nPBS_SERVER=n0\nPBS_START_SERVER={first}\n"
            f"PBS_START_SCHED={first}\nPBS_START_COMM={first}\nPBS_START_MOM=1\n"
        )
        ask(folder / "libexec" / "pbs_habitat", on=name)
        with (HOME / name / "mom_priv" / "config").open("a") as config:
            config.write("$usecp *:/ /\n")  # both nodes see the same files
        with (HOME / name / "pbs_environment").open("a") as variables:
            variables.write(f"PBS_CONF_FILE={HOME / name}.conf\n")  # for commands in jobs
    for daemon in ("comm", "mom", "sched"):
        start_daemon(daemon)
    start_server()
    start_daemon("mom", on="n1")
    for setting in SETTINGS:
        ask("qmgr", "-c", setting)
    wait_for("the nodes", lambda: free_nodes() == len(ADDRESSES))


def main(folder: str, command: list[str]) -> int:
    """Start OpenPBS, run a command that finds it, and return the command's exit status."""
    os.environ[INSTALLED] = str(Path(folder).resolve())
    try:
        begin()
    except CommandError as error:
        sys.stderr.write(f"OpenPBS does not start: {error}\n")
        return 1
    return subprocess.run(command, env=environment(), check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
