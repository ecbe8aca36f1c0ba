"""From a study to its plan on a machine: its runs in their order, put on nodes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from hindmost.errors import DataError, UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.placeholders import fill_word
from hindmost.jobs.core.plan import Plan, PlannedRun, Value
from hindmost.jobs.plan.identity import run_id, shuffle
from hindmost.jobs.plan.packing import pack
from hindmost.jobs.study.machines import cores_here
from hindmost.jobs.study.study import RunOrder, Study
from hindmost.jobs.study.sweep import configurations
from hindmost.text import choose, counted

Expectation = Callable[[PlannedRun], float | None]
"""Expected seconds of a run; None if unknown."""


def make_plan(
    study: Study, machine: str | None = None, *, expectation: Expectation | None = None
) -> Plan:
    """Plan a study on a machine; nothing is run.

    Parameters
    ----------
    machine : str or None
        A machine of the study or the user; None for the default of `choose_machine`.
    expectation : callable or None
        Estimates run times; without it, every run gets its limit.

    Raises
    ------
    UsageError
        The machine is unknown or too small.
    """
    chosen = choose_machine(study, machine)
    runs = order_runs(study, chosen)
    refuse_crowds(chosen, max(run.ranks_per_node for run in runs))
    if len({run.id for run in runs}) < len(runs):
        raise DataError(f"{study.file}: [sweep] gives the same configuration twice.")
    if expectation is not None:
        runs = [replace(run, expected_s=expectation(run)) for run in runs]
    placed, allocations = pack(runs, study.pack, study.limits)
    return Plan(
        study=study.name,
        study_sha256=study.sha256,
        machine=chosen,
        seed=study.seed,
        max_retries=study.limits.max_retries,
        runs=tuple(placed),
        allocations=tuple(allocations),
        collect=study.collect,
        replacements=study.replacements,
    )


def refuse_crowds(machine: MachineProfile, ranks: int) -> None:
    """Refuse more ranks than cores on this machine: ranks would take turns."""
    if machine.scheduler == "local" and not machine.oversubscribe and ranks > cores_here():
        raise UsageError(
            f"{ranks} ranks on '{machine.name}': this machine has "
            f"{counted(cores_here(), 'usable core')} (hardware threads are not counted), "
            "regardless of cores_per_node. Choose fewer ranks, or set "
            f"machine.{machine.name}.oversubscribe = true."
        )


def choose_machine(study: Study, name: str | None) -> MachineProfile:
    """Return the named machine; without a name, that of the study, or the only one."""
    if name is None and not study.only_machine:
        raise UsageError(
            f"{study.file} may run on several machines; {choose(study.machines)} with --machine, "
            "or set machine in its [study]."
        )
    name = name or study.only_machine
    if name not in study.machines:
        raise UsageError(f"--machine {name}: {choose(study.machines, name)}.")
    return study.machines[name]


def order_runs(study: Study, machine: MachineProfile) -> list[PlannedRun]:
    """Return all runs in order: blocks, each with every configuration once."""
    swept = [(each, layout_of(each, machine)) for each in configurations(study)]
    stream = random.Random(study.seed)
    runs = []
    for block in range(study.repeats):
        order = list(swept)
        if study.order is RunOrder.RANDOM_BLOCKS:
            shuffle(order, stream)
        runs += [planned(study, each, size, block) for each, size in order]
    return runs


def layout_of(configuration: dict[str, Value], machine: MachineProfile) -> RankLayout:
    """Distribute the ranks of a configuration over nodes."""
    each = configuration.get("ranks_per_node")
    return layout_on(machine, int(configuration["ranks"]), None if each is None else int(each))


def planned(
    study: Study, configuration: dict[str, Value], size: RankLayout, block: int
) -> PlannedRun:
    """Return a run without an allocation."""
    values: dict[str, Value] = {
        "nodes": size.nodes,
        "ranks_per_node": size.ranks_per_node,
        **configuration,
        "repeat": block,
    }
    words = [fill_word(word, values) for word in study.command]
    if study.options:
        words += ["--", *(fill_word(word, values) for word in study.options)]
    return PlannedRun(
        id=run_id(configuration, block),
        configuration=configuration,
        block=block,
        ranks=size.ranks,
        ranks_per_node=size.ranks_per_node,
        nodes=size.nodes,
        command=tuple(words),
        limit_s=study.limits.run_s,
        allocation="",
    )


@dataclass(frozen=True, slots=True)
class RankLayout:
    """Ranks distributed over nodes as evenly as possible."""

    ranks: int
    ranks_per_node: int
    nodes: int


def layout_on(machine: MachineProfile, ranks: int, ranks_per_node: int | None = None) -> RankLayout:
    """Distribute ranks over the nodes of a machine.

    Parameters
    ----------
    ranks_per_node : int or None
        None for the fewest nodes with one rank per core, and equally many ranks on each, or one
        less on the last.

    Raises
    ------
    UsageError
        There are more ranks on a node than cores, or more nodes than the machine has.
    """
    most = machine.nodes
    each = ranks_per_node or machine.cores_per_node
    nodes = -(-ranks // each)
    if most is not None and nodes > most and machine.oversubscribe and ranks_per_node is None:
        nodes = most
    if ranks_per_node is None:
        each = -(-ranks // nodes)
    each = min(each, ranks)
    if each > machine.cores_per_node and not machine.oversubscribe:
        raise UsageError(
            f"{each} ranks on a node of '{machine.name}', which has {machine.cores_per_node} "
            f"cores: choose fewer ranks_per_node, or set machine.{machine.name}.oversubscribe = "
            "true."
        )
    if most is not None and nodes > most:
        cores = counted(machine.cores_per_node, "core")
        raise UsageError(
            f"{ranks} ranks need {nodes} nodes of '{machine.name}' ({cores} each), and an "
            f"allocation has at most {most}: choose fewer ranks (--set ranks=..., or sweep.only), "
            f"another machine, or set machine.{machine.name}.oversubscribe = true."
        )
    return RankLayout(ranks, each, nodes)
