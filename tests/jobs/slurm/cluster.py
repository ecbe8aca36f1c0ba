"""A real Slurm of two nodes on this machine: munge, slurmctld and two slurmd of the distribution.

No systemd; a key, a folder and ports of its own, so that several stand beside each other.
"""

import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.jobs import two_nodes
from tests.jobs.slurm import daemons
from tests.jobs.slurm.configuration import CGROUP_CONF, slurm_conf, slurmdbd_conf

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "munged")
ACCOUNT_PROGRAMS = ("slurmdbd", "mariadbd", "mariadb", "mariadb-install-db", "sacctmgr")

START_LIMIT_S = 30.0


class CannotStartError(Exception):
    """Slurm does not come up; the message has the ends of its logs."""


def lacking(programs: tuple[str, ...] = PROGRAMS) -> list[str]:
    """Return the programs that are not installed."""
    return [name for name in programs if shutil.which(name, path=daemons.PATH) is None]


class Cluster:
    """A private Slurm, from its making to ``stop``.

    Parameters
    ----------
    nodes : int
    accounts : bool
        Whether slurmdbd and MariaDB keep accounts.
    cgroups : bool
        Whether jobs are held to their memory by cgroups of version 1; one node only.
    min_job_age_s : int
        How long an ended job stays in memory.
    hosts : bool
        Whether the nodes are those of `tests.jobs.two_nodes`, with a network between them.

    Raises
    ------
    CannotStartError
    """

    def __init__(
        self,
        *,
        nodes: int = 2,
        accounts: bool = False,
        cgroups: bool = False,
        min_job_age_s: int = 600,
        hosts: bool = False,
    ) -> None:
        daemons.stop_orphans()
        daemons.ROOT.mkdir(exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(dir=daemons.ROOT))
        (self.folder / "owner").write_text(f"{os.getpid()} {daemons.start_of(os.getpid())}")
        self.environment = daemons.environment(self.folder)
        self._guard = daemons.guard(self.folder)
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self.ports = free_ports(3 + nodes)
        # A node's cgroup has its name, and all Slurms of this machine share them.
        self._hosts = hosts
        prefix = f"n{self.ports[0]}-" if cgroups else "n"
        self.nodes = [f"{prefix}{node}" for node in range(nodes)]
        for name in ("log", "state", "munge", *(f"spool/{node}" for node in self.nodes)):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "slurm.conf").write_text(
            slurm_conf(
                self.folder,
                self.ports,
                nodes=self.nodes,
                accounts=accounts,
                cgroups=cgroups,
                min_job_age_s=min_job_age_s,
                addresses=two_nodes.ADDRESSES if hosts else {},
            )
        )
        if cgroups:
            (self.folder / "cgroup.conf").write_text(CGROUP_CONF)
        try:
            self._start(accounts)
        except (CannotStartError, OSError, subprocess.SubprocessError) as error:
            told = f"{error}\n{self._logs()}"
            self.stop()
            raise CannotStartError(told) from None

    def _start(self, accounts: bool) -> None:
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        socket_ = self.folder / "munge.socket"
        own = {"socket": socket_, "key-file": key, "pid-file": self.folder / "munged.pid"}
        own |= {"seed-file": self.folder / "munge" / "seed"}
        self._spawn(
            "munged", "--foreground", "--force", *(f"--{name}={path}" for name, path in own.items())
        )
        self._wait("munge", socket_.exists)
        if accounts:
            self._start_accounts()
        self.start_controller()
        for node in self.nodes:
            self.start_node(node)
        self._wait("the nodes", lambda: self.idle_nodes() == len(self.nodes))

    def _start_accounts(self) -> None:
        data, socket_ = self.folder / "db", self.folder / "db.socket"
        user = "root" if os.geteuid() == 0 else os.environ.get("USER", "")
        made = ("--no-defaults", f"--user={user}", f"--datadir={data}")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(
            [
                "mariadb-install-db",
                *made,
                "--auth-root-authentication-method=socket",
                "--skip-test-db",
            ],
            check=True,
            env=self.environment,
            **quiet,  # type: ignore[call-overload]
        )
        self._spawn(
            "mariadbd",
            *made,
            f"--socket={socket_}",
            "--bind-address=127.0.0.1",
            f"--port={self.ports[2]}",
            "--innodb-buffer-pool-size=64M",
            "--innodb-lock-wait-timeout=900",
        )
        self._wait("MariaDB", socket_.exists)
        words = "create database slurm_acct_db;" + "".join(
            f"create user slurm@'{host}' identified by 'only-here';"
            f"grant all on slurm_acct_db.* to slurm@'{host}';"
            for host in ("127.0.0.1", "localhost")
        )
        subprocess.run(
            ["mariadb", "--no-defaults", f"--socket={socket_}", "-e", words],
            check=True,
            env=self.environment,
            **quiet,  # type: ignore[call-overload]
        )
        conf = self.folder / "slurmdbd.conf"
        conf.touch(mode=0o600)
        conf.write_text(slurmdbd_conf(self.folder, self.ports))
        self._spawn("slurmdbd", "-D")
        self._wait("slurmdbd", lambda: self.call("sacctmgr", "-n", "show", "cluster")[0] == 0)
        self.call("sacctmgr", "-i", "add", "cluster", "hindmost")

    def _spawn(self, *words: str, name: str = "") -> None:
        self._started[name or words[0]] = daemons.spawn(self.folder, *words)

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + START_LIMIT_S
        while not ready():
            ended = [name for name, each in self._started.items() if each.poll() is not None]
            if ended or time.monotonic() > end:
                why = f"{', '.join(ended)} ended" if ended else f"not within {START_LIMIT_S:g} s"
                raise CannotStartError(f"Waiting for {what}: {why}.")
            time.sleep(0.05)

    def _logs(self) -> str:
        told = []
        for log in sorted((self.folder / "log").glob("*")):
            told += [f"{log.name}: {line}" for line in log.read_text().splitlines()[-5:]]
        return "\n".join(told)

    def start_node(self, name: str) -> None:
        """Start the slurmd of a node."""
        there: tuple[str, ...] = ()
        if self._hosts:
            there = (*two_nodes.enter(name), "taskset", "--cpu-list", two_nodes.core(name))
        self._spawn(*there, "slurmd", "-D", "-N", name, name=name)

    def start_controller(self) -> None:
        """Start slurmctld, and wait for its answer."""
        self._spawn("slurmctld", "-D")
        self._wait("slurmctld", lambda: self.call("sinfo")[0] == 0)

    def kill(self, name: str) -> None:
        """Let slurmctld or slurmdbd die, without a word."""
        daemon = self._started.pop(name)
        daemon.kill()
        daemon.wait()

    def kill_node(self, name: str) -> None:
        """Let a node die: its slurmd and all that runs there, without a word."""
        self.kill(name)
        for pid, _ in daemons.processes(self.folder):
            with suppress(OSError):
                marks = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                # What slurmstepd starts knows its node; slurmstepd itself has it as an argument.
                title = Path(f"/proc/{pid}/cmdline").read_bytes()
                if f"SLURMD_NODENAME={name}".encode() in marks or title.startswith(b"slurmstepd"):
                    os.kill(pid, 9)

    def idle_nodes(self) -> int:
        """Return how many nodes could take a job."""
        states = self.call("sinfo", "--noheader", "--Node", "--format=%T")[1].split()
        return states.count("idle")

    def call(self, *words: str) -> tuple[int, str]:
        """Run a command of Slurm and return its exit status and what it printed."""
        try:
            done = subprocess.run(
                words,
                capture_output=True,
                text=True,
                check=False,
                timeout=20,
                env=self.environment,
            )
        except subprocess.TimeoutExpired:
            return -1, ""
        return done.returncode, done.stdout + done.stderr

    def stop(self) -> None:
        """End all of it, and remove its folder."""
        daemons.stop(self.folder)
        for each in (*self._started.values(), self._guard):
            if each.stdin is not None:
                each.stdin.close()
            each.wait(timeout=10)
        for node in self.nodes:
            for group in Path("/sys/fs/cgroup").glob(f"*/slurm_{node}"):
                for inner in sorted((*group.glob("**/"), group), reverse=True):
                    with suppress(OSError):
                        inner.rmdir()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens at, below those that the kernel gives out."""
    found: list[int] = []
    while len(found) < count:
        port = random.randint(15000, 31000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
    return found
