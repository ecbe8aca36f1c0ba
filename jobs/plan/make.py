"""From a study to its plan on a machine: its runs in their order, put on nodes."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from hindmost.errors import UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Allocation, Plan, PlannedRun, Value
from hindmost.jobs.core.values import fill
from hindmost.jobs.study.machines import cores_here
from hindmost.jobs.study.study import Pack, PackBy, RunOrder, Study, StudyLimits, configurations
from hindmost.text import choose, counted


def make_plan(study: Study, machine: str | None = None) -> Plan:
    """Plan a study on a machine; nothing is run.

    Parameters
    ----------
    machine : str or None
        A machine of the study or the user; None for the default of `choose_machine`.

    Raises
    ------
    UsageError
        The machine is unknown or too small.
    """
    chosen = choose_machine(study, machine)
    runs = order_runs(study, chosen)
    refuse_crowds(chosen, max(run.ranks_per_node for run in runs))
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
    swept = []
    for configuration in configurations(study):
        given = configuration.get("ranks_per_node")
        layout = layout_on(
            machine, int(configuration["ranks"]), None if given is None else int(given)
        )
        swept.append((configuration, *layout))
    stream = random.Random(study.seed)
    runs = []
    for block in range(study.repeats):
        order = list(swept)
        if study.order is RunOrder.RANDOM_BLOCKS:
            shuffle(order, stream)
        runs += [planned(study, *each, block) for each in order]
    return runs


def planned(
    study: Study, configuration: dict[str, Value], ranks_per_node: int, nodes: int, block: int
) -> PlannedRun:
    """Return a run without an allocation."""
    values: dict[str, Value] = {
        "nodes": nodes,
        "ranks_per_node": ranks_per_node,
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
        ranks=int(configuration["ranks"]),
        ranks_per_node=ranks_per_node,
        nodes=nodes,
        command=tuple(words),
        limit_s=study.limits.run_s,
        allocation="",
    )


def layout_on(
    machine: MachineProfile, ranks: int, ranks_per_node: int | None = None
) -> tuple[int, int]:
    """Return the ranks per node, and the nodes, of ranks that are distributed evenly.

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
    return each, nodes


HEAD = 24
"""Characters of the head of an id, and of a label, at most."""
_WHO = ("solver", "deck", "operation", "problem")
"""Names whose values identify a run best for a person."""
_SIZES = {"ranks": "p", "unknowns": "u"}


def run_id(configuration: Mapping[str, Value], block: int) -> str:
    """Return the id of a run, such as ``gmres-p2-u100000-r03-1a2b3c4d5e``.

    It depends on the configuration and on the repeat only: not on what else is swept, on the
    order of names, the seed or the machine.
    """
    text = json.dumps(dict(configuration), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return f"{head(configuration)}-r{block:02d}-{digest}"


def head(configuration: Mapping[str, Value]) -> str:
    """Return the part of an id that a person recognizes."""
    texts = [name for name in sorted(configuration) if isinstance(configuration[name], str)]
    named = [name for name in _WHO if name in configuration] + texts
    parts = [slug(str(configuration[named[0]]))[:HEAD]] if named else ["run"]
    parts += [
        f"{letter}{str(configuration[n])[:HEAD]}"
        for n, letter in _SIZES.items()
        if n in configuration
    ]
    return "-".join(slug(part) or "run" for part in parts)


def slug(text: str) -> str:
    """Return a text that is valid in the name of a file."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")


def shuffle(values: MutableSequence[Any], stream: random.Random) -> None:
    """Shuffle in place (Fisher and Yates).

    Python guarantees the same numbers from a seed only for `random.Random.random`; this shuffle
    gives the same order with every version.
    """
    for last in range(len(values) - 1, 0, -1):
        other = int(stream.random() * (last + 1))
        values[last], values[other] = values[other], values[last]


def pack(
    runs: Sequence[PlannedRun], by: Pack, limits: StudyLimits
) -> tuple[list[PlannedRun], list[Allocation]]:
    """Pack runs into allocations.

    Runs that share a key (say, their ranks) fill one allocation after another, block by block. A
    block's runs of one key stay together, unless they alone pass the job limit, or the most runs
    that the study allows.

    Parameters
    ----------
    runs : sequence of PlannedRun
        In their order, blocks one after another.

    Returns
    -------
    list of PlannedRun
        The same, each with its allocation.
    list of Allocation
        A walltime is the sum of the limits of its runs, and the times that are kept for the start
        and before the end.
    """
    by_key: dict[tuple[str, ...], list[PlannedRun]] = {}
    for run in runs:
        by_key.setdefault(key_of(run, by), []).append(run)
    placed: dict[str, PlannedRun] = {}
    allocations: list[Allocation] = []
    total = len(by_key)
    for key, members in sorted(by_key.items(), key=lambda item: item[1][0].ranks):
        for box in boxes(members, by, limits):
            number = len(allocations)
            name = f"a{number:03d}" + (f"-{label(key)}" if total > 1 and label(key) else "")
            allocations.append(allocation_of(name, box, limits))
            for run in box:
                placed[run.id] = replace(run, allocation=name)
    return [placed[run.id] for run in runs], allocations


def boxes(members: Sequence[PlannedRun], by: Pack, limits: StudyLimits) -> list[list[PlannedRun]]:
    """Fill allocations with the runs of one key."""
    room_s = limits.job_s - limits.stop_before_s
    most = by.runs or len(members)
    filled: list[list[PlannedRun]] = [[]]

    def fits(runs: Sequence[PlannedRun]) -> bool:
        both = [*filled[-1], *runs]
        return len(both) <= most and sum(run.limit_s for run in both) <= room_s

    for _, group in groupby(members, key=lambda run: run.block):
        block = list(group)
        if not fits(block) and filled[-1]:
            filled.append([])
        for part in [block] if fits(block) else [[run] for run in block]:
            if not fits(part) and filled[-1]:
                filled.append([])
            filled[-1] += part
    return filled


def key_of(run: PlannedRun, by: Pack) -> tuple[str, ...]:
    """Return the key that the runs of an allocation share."""
    if isinstance(by.by, tuple):
        return tuple(str(run.configuration[name]) for name in by.by)
    return {
        PackBy.RANKS: (f"p{run.ranks}",),
        PackBy.ALL: (),
        PackBy.NONE: (run.id,),
    }[by.by]


def label(key: tuple[str, ...]) -> str:
    """Write a key so that it can be in the name of a job."""
    return slug("-".join(key))[:HEAD].strip("-.")


def allocation_of(name: str, runs: Sequence[PlannedRun], limits: StudyLimits) -> Allocation:
    """Return a filled allocation."""
    # Schedulers count walltime in minutes.
    # A job needs a minute to start its first run (modules, imports, a slow file system).
    minutes = math.ceil((60.0 + sum(run.limit_s for run in runs) + limits.stop_before_s) / 60.0)
    return Allocation(
        id=name,
        runs=tuple(run.id for run in runs),
        nodes=max(run.nodes for run in runs),
        ranks_per_node=max(run.ranks_per_node for run in runs),
        walltime_s=min(60.0 * minutes, limits.job_s),
        stop_before_s=limits.stop_before_s,
    )
