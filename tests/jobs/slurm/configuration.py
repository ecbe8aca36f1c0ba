"""The files that a private Slurm reads."""

import os
import pwd
import socket
from collections.abc import Mapping
from pathlib import Path

LOCAL = "127.0.0.1"


def slurm_conf(
    folder: Path,
    ports: list[int],
    *,
    nodes: list[str],
    accounts: bool,
    cgroups: bool,
    min_job_age_s: int,
    addresses: Mapping[str, str],
) -> str:
    """Return slurm.conf: two processors and 1000 MB a node, jobs of at most an hour.

    Nodes with addresses are hosts, with one processor each, which their slurmd is bound to.
    """
    host = socket.gethostname().split(".")[0]
    user = pwd.getpwuid(os.geteuid()).pw_name
    cpus = 1 if addresses else len(os.sched_getaffinity(0))
    lines = [
        "ClusterName=hindmost",
        f"SlurmctldHost={host}({addresses.get(host, LOCAL)})",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        "AuthType=auth/munge",
        f"AuthInfo=socket={folder}/munge.socket",
        "CredType=cred/munge",
        f"SlurmctldPort={ports[0]}",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd.%n.pid",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        f"SlurmdLogFile={folder}/log/slurmd.%n.log",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool/%n",
        "MpiDefault=none",  # as on most sites: what is started must say how
        "SelectType=select/cons_tres",
        "SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0",
        "SlurmdParameters=config_overrides",
        "ReturnToService=2",
        "SlurmctldTimeout=30",
        "SlurmdTimeout=10",
        "InactiveLimit=0",
        "KillWait=3",
        "OverTimeLimit=0",
        f"MinJobAge={min_job_age_s}",
        "JobAcctGatherFrequency=2",
        "JobCompType=jobcomp/none",
        "PartitionName=debug Nodes=ALL Default=YES MaxTime=60 DefaultTime=5 State=UP",
    ]
    if cgroups:
        lines += [
            "ProctrackType=proctrack/cgroup",
            "TaskPlugin=task/affinity,task/cgroup",
            "JobAcctGatherType=jobacct_gather/cgroup",
            "SelectTypeParameters=CR_Core_Memory",
            "DefMemPerCPU=200",
        ]
    else:
        lines += [
            "ProctrackType=proctrack/linuxproc",
            f"TaskPlugin=task/{'none' if addresses else 'affinity'}",
            "JobAcctGatherType=jobacct_gather/linux",
            "SelectTypeParameters=CR_Core",
        ]
    if accounts:
        lines += [
            "AccountingStorageType=accounting_storage/slurmdbd",
            "AccountingStorageEnforce=associations",
            "AccountingStorageHost=127.0.0.1",
            f"AccountingStoragePort={ports[1]}",
            f"AccountingStoragePass={folder}/munge.socket",
        ]
    lines += [
        f"NodeName={node} NodeHostname={node if addresses else host} "
        f"NodeAddr={addresses.get(node, LOCAL)} Port={port} "
        f"CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 "
        "RealMemory=1000 State=UNKNOWN"
        for node, port in zip(nodes, ports[3:], strict=True)
    ]
    return "\n".join(lines) + "\n"


def slurmdbd_conf(folder: Path, ports: list[int]) -> str:
    """Return slurmdbd.conf, for a MariaDB that only this machine reaches."""
    lines = [
        "AuthType=auth/munge",
        f"AuthInfo=socket={folder}/munge.socket",
        f"DbdHost={socket.gethostname().split('.')[0]}",
        "DbdAddr=127.0.0.1",
        f"DbdPort={ports[1]}",
        f"SlurmUser={pwd.getpwuid(os.geteuid()).pw_name}",
        f"LogFile={folder}/log/slurmdbd.log",
        f"PidFile={folder}/slurmdbd.pid",
        "StorageType=accounting_storage/mysql",
        "StorageHost=127.0.0.1",
        f"StoragePort={ports[2]}",
        "StorageUser=slurm",
        "StoragePass=only-here",
        "StorageLoc=slurm_acct_db",
    ]
    return "\n".join(lines) + "\n"


CGROUP_CONF = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainCores=yes
ConstrainRAMSpace=yes
"""
