"""The provenance of a run: machine, software, scheduler, repository."""

from __future__ import annotations

import math
import os
import platform
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from hindmost.harness.launch import assigned_rank
from hindmost.harness.runfile.attributes import Json
from hindmost.harness.runfile.contents import Header
from hindmost.harness.stack import current_stack
from hindmost.processes import CPU, stat_fields

PACKAGES = ("hindmost", "numpy", "h5py", "mpi4py", "petsc4py")
SCHEDULER_VARIABLES = (
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_CLUSTER_NAME",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_STEP_ID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPU_BIND",
    "SLURM_CPU_BIND_TYPE",
    "SLURM_DISTRIBUTION",
    "SLURM_MEM_PER_NODE",
    "SLURM_MPI_TYPE",
    "SLURM_HINT",
    "PBS_JOBID",
    "PBS_JOBNAME",
    "PBS_QUEUE",
    "PBS_NODEFILE",
    "PBS_NUM_NODES",
    "PBS_NUM_PPN",
    "PBS_ARRAY_INDEX",
    # Set by the driver of a study: its run and its job.
    "HINDMOST_STUDY",
    "HINDMOST_STUDY_SHA256",
    "HINDMOST_SCRIPT_SHA256",
    "HINDMOST_RUN_ID",
    "HINDMOST_CONFIGURATION",
    "HINDMOST_BLOCK",
    "HINDMOST_ATTEMPT",
    "HINDMOST_ALLOCATION",
    "HINDMOST_JOB_ID",
    "HINDMOST_NODES",
)
"""Variables of the batch system to record: a fixed list, because others may contain credentials."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PROGRESS_VARIABLES = (
    "MPIR_CVAR_ASYNC_PROGRESS",
    "MPICH_NEMESIS_ASYNC_PROGRESS",
    "I_MPI_ASYNC_PROGRESS",
)
OPTION_VARIABLES = ("PETSC_OPTIONS",)
"""Options that reach a program without its command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """The provenance of runs, determined once before the first."""

    environment: Json
    scheduler: Json
    git: Json

    def header(
        self,
        *,
        workload: str,
        solver: str,
        ranks: int,
        iterations: int,
        began: datetime,
        spec: Json,
        restart: int = 0,
        synchronisation: Literal["blocking", "pipelined"] = "blocking",
        lag: int = 0,
        complete: bool = True,
        records_lost: int = 0,
        petsc_options: Json | None = None,
    ) -> Header:
        """Return the header of a run measured in this process; see `Header`."""
        return Header(
            workload=workload,
            solver=solver,
            ranks=ranks,
            iterations=iterations,
            restart=restart,
            synchronisation=synchronisation,
            lag=lag,
            complete=complete,
            records_lost=records_lost,
            origin="measured",
            t0_utc=began.isoformat(timespec="microseconds"),
            mpi_library=mpi_library(),
            spec=spec,
            environment=self.environment,
            petsc_options=petsc_options or {},
            scheduler=self.scheduler,
            git=self.git,
        )


def origins(petsc_version: str, ranks: int, folder: Path) -> Origins:
    """Determine the provenance of runs, on one rank."""
    return Origins(
        environment=environment(petsc_version, ranks), scheduler=scheduler(), git=git(folder)
    )


def environment(petsc_version: str, ranks: int) -> Json:
    """Describe machine and software, as seen by this rank.

    Unknown values are null, never guessed.
    """
    return {
        "machine": {
            "host": platform.node(),
            "architecture": platform.machine(),
            "kernel": platform.release(),
            "cpu_model": cpu_model(),
            "cores": os.cpu_count(),
            "smt_active": read_text("/sys/devices/system/cpu/smt/active"),
            "governor": read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            "clock_source": read_text(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource"
            ),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "load_before": load_of_host(),
        },
        "python": platform.python_version(),
        "packages": {name: installed(name) for name in PACKAGES},
        "petsc": petsc_version,
        "stack": current_stack().name,
        "launcher": assigned_rank().launcher or None,
        "variables": {
            name: os.environ[name]
            for name in (*THREAD_VARIABLES, *PROGRESS_VARIABLES, *OPTION_VARIABLES)
            if name in os.environ
        },
        "ranks": ranks,
        "command": sys.argv,
    }


def cpu_model() -> str | None:
    """Return the processor's name."""
    for line in (read_text("/proc/cpuinfo") or "").splitlines():
        if line.startswith(("model name", "Model")):
            return line.split(":", 1)[1].strip()
    return platform.processor() or None


def read_text(path: str) -> str | None:
    """Return the text of a system file, None if it does not exist."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def installed(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        module = sys.modules.get(package)
        return getattr(module, "__version__", None)


def scheduler() -> dict[str, str]:
    """Return what the batch system says about this job."""
    return {name: os.environ[name] for name in SCHEDULER_VARIABLES if name in os.environ}


def git(folder: Path) -> Json:
    """Return commit and state of the repository that contains a folder; empty if none does."""
    commit = ask_git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    return {
        "commit": commit,
        "dirty": bool(ask_git(folder, "status", "--porcelain", "--untracked-files=no")),
    }


def ask_git(folder: Path, *question: str) -> str | None:
    """Return git's output; None if it fails."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *question],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def mpi_library() -> str:
    """Return the version text of the MPI library on one line; empty without MPI."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None:
        return ""
    return " ".join(mpi.Get_library_version().replace("\0", "").split())


def load_of_host() -> float:
    """Return the host's load: the mean number of runnable tasks in the last minute."""
    return os.getloadavg()[0]


def involuntary_switches() -> int:
    """Return the involuntary context switches of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def core_wait_s() -> float:
    """Return how long this thread was ready to run and had no core, so far, in seconds.

    NaN where the kernel does not tell.
    """
    try:
        on_core, waited, _ = Path("/proc/thread-self/schedstat").read_text().split()
    except (OSError, ValueError):
        return math.nan
    return int(waited) * 1e-9 if int(on_core) else math.nan  # who does not count writes zeros


def others_cpu_s() -> float:
    """Return the processor time of this process so far without that of this thread, in seconds."""
    return (time.process_time_ns() - time.thread_time_ns()) * 1e-9


def thread_count() -> int:
    """Return how many threads this process has; 0 where the system does not say."""
    try:
        return max(Path("/proc/self/task").stat().st_nlink - 2, 0)
    except OSError:
        return 0


def cpuset() -> str:
    """Return the cores that this process may use, as in ``0-3,8``."""
    cores = sorted(os.sched_getaffinity(0))
    starts = [core for core in cores if core - 1 not in cores]
    ends = [core for core in cores if core + 1 not in cores]
    return ",".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in zip(starts, ends, strict=True)
    )


def current_cpu() -> int:
    """Return the core that this rank runs on now, -1 if the system does not say."""
    try:
        return int(stat_fields()[CPU])
    except (OSError, IndexError):
        return -1
