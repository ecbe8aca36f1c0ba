"""Machines and allocations for the tests of schedulers and launchers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Allocation
from hindmost.jobs.schedulers.scheduler import Script

LOCAL = MachineProfile(
    name="laptop",
    scheduler="local",
    launcher="mpiexec",
    cores_per_node=2,
    python="/opt/hindmost/bin/python",
)

ARCHER = MachineProfile(
    name="site-a",
    scheduler="slurm",
    launcher="srun",
    cores_per_node=128,
    partition="standard",
    account="e00",
    qos="short",
    constraint="rome&ib",
    directives=("--mem=0", "--mail-type=END"),
    setup=("module load cray-python", 'source "$HOME/env/bin/activate"'),
    environment={"FI_OFI_RXM_SAR_LIMIT": "64K", "NOTE": "it's 100 % & more"},
    python="/opt/e00/env/bin/python",
)

CIRRUS = MachineProfile(
    name="site-b",
    scheduler="pbs",
    launcher="mpiexec",
    cores_per_node=36,
    partition="workq",
    account="d411",
    directives=("-m n",),
    setup=("module load mpt",),
    python="/lustre/env/bin/python",
)


def script(machine: MachineProfile, **changes: Any) -> Script:
    """Return a script on a machine; an allocation's and a script's fields may be changed."""
    nodes = 1 if machine.scheduler == "local" else 2
    allocation = Allocation(
        id="ranks-256",
        runs=tuple(f"run-{number}" for number in range(40)),
        nodes=nodes,
        ranks_per_node=machine.cores_per_node,
        walltime_s=7200.0,
        stop_before_s=600.0,
    )
    whole = Script(
        allocation=allocation,
        machine=machine,
        folder=Path("/home/ada/studies/gmres-noise"),
        study="gmres-noise",
    )
    of_script = {name: changes.pop(name) for name in ("folder", "study") if name in changes}
    return replace(whole, allocation=replace(allocation, **changes), **of_script)
