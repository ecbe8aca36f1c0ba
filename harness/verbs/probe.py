"""``hindmost probe``: what a machine can do, measured and kept in a machine file."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hindmost.errors import HindmostError
from hindmost.harness import mpi
from hindmost.harness.launch import assigned_rank, check_size, crowding_warnings
from hindmost.harness.probes.checkpoint import CHECKPOINT
from hindmost.harness.probes.grind import GRIND
from hindmost.harness.probes.network import NETWORK
from hindmost.harness.probes.noise import NOISE
from hindmost.harness.probes.section import ProbeResult, ProbeSection, ProbeSetting
from hindmost.harness.rank_failures import end_alone, on_root, perform_together, reporter
from hindmost.harness.runfile.machine_file import (
    IDENTITY,
    check_place,
    check_same_machine,
    read_document,
    updated,
    write_document,
)
from hindmost.harness.runfile.provenance import (
    environment,
    load_of_host,
    mpi_library,
    scheduler,
)
from hindmost.harness.turns import nodes_of
from hindmost.harness.verbs.doctor import QUIET_LOAD
from hindmost.models.adaptive.machine import Machine
from hindmost.output import write_json, write_lines
from hindmost.registry import Registry
from hindmost.text import counted

SECTIONS: Registry[ProbeSection] = Registry("probe", (NOISE, NETWORK, GRIND, CHECKPOINT))
"""The probes, in the order of ``all``; each fills a section of the machine file."""
ALL = "all"

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost probe all --out machine.json
  mpiexec -n 2 hindmost probe network --out machine.json
  hindmost probe noise --quick
  cd /scratch/me && hindmost probe checkpoint --out ~/machine.json

Start as many ranks as a run will have per node; for the network between nodes, ranks on two nodes.
An existing machine file keeps the sections that are not measured again.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    summaries = "; ".join(f"{section.name}: {section.summary}" for section in SECTIONS)
    parser.description = f"Measure a machine for the models of run time. {summaries}."
    parser.add_argument("probe", choices=(*SECTIONS.names, ALL), help="what to measure")
    parser.add_argument("--out", type=Path, help="machine file to write or to update")
    parser.add_argument("--json", action="store_true", help="print JSON, without raw samples")
    parser.add_argument(
        "--quick", action="store_true", help="take a few seconds in all, for a first look"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Measure; on a failure all ranks end, with one message."""
    mine = assigned_rank()
    try:
        communicator = mpi.start()
        check_size(communicator.size, mpi_library(), mine)
    except HindmostError as error:
        return end_alone(mine.rank, error)
    return perform_together(communicator, lambda: probe_together(arguments, communicator))


def probe_together(arguments: argparse.Namespace, communicator: Any) -> int:
    """Measure on ranks that have met; collective."""
    report = reporter(communicator.rank)
    # Of their own: a rank that fails meets the others where no probe waits.
    probes = communicator.Dup()
    setting = ProbeSetting(
        communicator=probes,
        nodes=tuple(nodes_of(probes)),
        quick=arguments.quick,
    )
    document = on_root(probes, lambda: file_to_update(arguments))
    chosen = possible(arguments.probe, setting, report)
    for warning in (*crowding_warnings(probes), *load_warnings()):
        report(f"warning: {warning}")
    hosts = probes.gather((platform.node(), os.sched_getaffinity(0)))
    load, begun, outcomes = load_of_host(), datetime.now(UTC), {}
    for section in chosen:
        report(f"{section.name} ...")
        outcome = section.take(setting)
        if outcome is not None:
            outcomes[section.name] = outcome
    if hosts is not None:
        here = platform.node()
        cores = set().union(*(cores for host, cores in hosts if host == here))
        machine = Machine(name=here, ranks_per_node=max(len(cores), 1))
        provenance = {
            "date": begun.isoformat(timespec="seconds"),
            "load_before": load,
            "load_after": load_of_host(),
            "ranks": probes.size,
            "ranks_per_node": setting.ranks_here,
            "hosts": sorted({host for host, _ in hosts}),
            "mpi_library": mpi_library(),
            "quick": setting.quick,
            "environment": environment("", probes.size),
            "scheduler": scheduler(),
        }
        new = updated(document, machine, outcomes, provenance)
        if arguments.out is not None:
            write_document(arguments.out, new)
        for outcome in outcomes.values():
            for warning in outcome.warnings:
                report(f"warning: {warning}")
        print_probes(arguments, new, outcomes, probes.size)
    probes.Barrier()
    return 0


def file_to_update(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the file that is there, after a look whether it can be updated."""
    if arguments.out is None:
        return None
    check_place(arguments.out)
    document = read_document(arguments.out)
    if document is not None:
        here = environment("", 1)["machine"]
        check_same_machine(arguments.out, document, {key: here[key] for key in IDENTITY})
    return document


def possible(name: str, setting: ProbeSetting, report: Callable[[str], None]) -> list[ProbeSection]:
    """Return the probes that were asked for; of all, those that can be had here."""
    if name != ALL:
        SECTIONS[name].check(setting)
        return [SECTIONS[name]]
    chosen = []
    for section in SECTIONS:
        try:
            section.check(setting)
        except HindmostError as error:
            report(f"warning: skipping {section.name}: {error}")
        else:
            chosen.append(section)
    return chosen


def load_warnings() -> list[str]:
    """Say that something else is running here."""
    load, cores = load_of_host(), os.cpu_count() or 1
    if load <= QUIET_LOAD * cores:
        return []
    return [
        f"load {load:.2f} on {counted(cores, 'core')} before the first probe: something else is "
        "running and disturbs the measurement"
    ]


def print_probes(
    arguments: argparse.Namespace,
    new: dict[str, Any],
    outcomes: dict[str, ProbeResult],
    ranks: int,
) -> None:
    """Print what was found, and where it is kept."""
    if arguments.json:
        told = {key: value for key, value in new.items() if key != "samples"}
        write_json(probes=list(outcomes), machine=told)
        return
    for name, outcome in outcomes.items():
        write_lines(f"{name} ({counted(ranks, 'rank')})")
        width = max(len(label) for label, _ in outcome.rows)
        for label, value in outcome.rows:
            write_lines(f"  {label:{width}}  {value}")
    if arguments.out is not None:
        write_lines(str(arguments.out))
