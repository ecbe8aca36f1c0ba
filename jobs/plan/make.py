"""From a study to its plan on a machine."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from hindmost.errors import DataError, UsageError
from hindmost.jobs.plan.identity import run_id, shuffle
from hindmost.jobs.plan.packing import pack
from hindmost.jobs.plan.plan import Plan, PlannedRun, Value
from hindmost.jobs.plan.sizes import Size, size_on
from hindmost.jobs.study.document import choices
from hindmost.jobs.study.machine import Machine
from hindmost.jobs.study.machines import cores_here
from hindmost.jobs.study.study import Order, Study
from hindmost.jobs.study.sweep import configurations
from hindmost.jobs.study.words import fill

Expectation = Callable[[PlannedRun], float | None]
"""Seconds that a run is expected to take; None where that is not known."""


def make_plan(
    study: Study, machine: str | None = None, *, expectation: Expectation | None = None
) -> Plan:
    """Plan a study on a machine; nothing is done.

    Parameters
    ----------
    machine : str or None
        Name of one of the study's or the user's; None for `choose_machine`'s.
    expectation : callable or None
        Of how long runs will take; without it, every run is given its limit.

    Raises
    ------
    UsageError
        The machine is not known, or too small.
    """
    chosen = choose_machine(study, machine)
    runs = order_runs(study, chosen)
    refuse_crowds(chosen, max(run.ranks_per_node for run in runs))
    if len({run.id for run in runs}) < len(runs):
        raise DataError(f"{study.file}: two configurations are the same; look at [sweep].")
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


def refuse_crowds(machine: Machine, ranks: int) -> None:
    """Refuse more ranks on this machine than it has cores: they would take turns."""
    if machine.scheduler == "local" and not machine.oversubscribe and ranks > cores_here():
        raise UsageError(
            f"{ranks} ranks on '{machine.name}', which is this machine: of its cores "
            f"{cores_here()} may be used (threads of a core count once), whatever cores_per_node "
            f"says. Choose fewer ranks, or set machine.{machine.name}.oversubscribe = true."
        )


def choose_machine(study: Study, name: str | None) -> Machine:
    """Return the machine of that name; without one, the study's, or the only one there is."""
    if name is None and not study.only_machine:
        raise UsageError(
            f"{study.file} may run on several machines: choose with --machine, or with machine in "
            f"its [study], from: {', '.join(study.machines)}."
        )
    name = name or study.only_machine
    if name not in study.machines:
        raise UsageError(f"--machine {name}: {choices(name, study.machines)}.")
    return study.machines[name]


def order_runs(study: Study, machine: Machine) -> list[PlannedRun]:
    """Return all runs in their order: blocks that hold each configuration once."""
    swept = [(each, size_of(each, machine)) for each in configurations(study)]
    stream = random.Random(study.seed)
    runs = []
    for block in range(study.repeats):
        order = list(swept)
        if study.order is Order.RANDOM_BLOCKS:
            shuffle(order, stream)
        runs += [planned(study, each, size, block) for each, size in order]
    return runs


def size_of(configuration: dict[str, Value], machine: Machine) -> Size:
    """Put the ranks of a configuration on nodes."""
    each = configuration.get("ranks_per_node")
    return size_on(machine, int(configuration["ranks"]), None if each is None else int(each))


def planned(study: Study, configuration: dict[str, Value], size: Size, block: int) -> PlannedRun:
    """Return a run that has no allocation yet."""
    values: dict[str, Value] = {
        "nodes": size.nodes,
        "ranks_per_node": size.ranks_per_node,
        **configuration,
        "repeat": block,
    }
    words = [fill(word, values) for word in study.command]
    if study.options:
        words += ["--", *(fill(word, values) for word in study.options)]
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
