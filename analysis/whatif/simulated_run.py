"""Simulated solves written as run files, which every verb opens; their origin is ``simulated``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.analysis.whatif.at_scale import fitted_work
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import Outcome, program_of
from hindmost.errors import UsageError
from hindmost.harness.runfile.bodies import NO_GROUP, PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.part_file import RunName, write_whole
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.schema import SUFFIX
from hindmost.models.events import EventKind
from hindmost.models.simulation.rerun import Scenario, Timeline, prepared, timeline_of
from hindmost.models.simulation.scaleup import scaled_script

PHASE_OF = {
    EventKind.SEND: "halo",
    EventKind.RECEIVE: "halo",
    EventKind.REDUCE: "wait",
    EventKind.COMPLETE: "wait",
    EventKind.FROM_ROOT: "wait",
    EventKind.TO_ROOT: "wait",
    EventKind.IN_ORDER: "wait",
    EventKind.POST: "post",
}
HOST = "simulated-node"
KEPT = ("body", "position", "residual_norm")
"""Variables of the recorded iterations."""


def name_of_file(path: Path) -> RunName:
    """Return the name of a new run file.

    Raises
    ------
    UsageError
        It has another suffix, or exists.
    """
    if path.suffix != SUFFIX:
        raise UsageError(f"--out {path}: run files end in {SUFFIX}.")
    name = RunName(path.parent, path.stem, numbered=False)
    name.refuse_taken()
    return name


def write_outcome(found: Outcome, name: RunName) -> Path:
    """Write a replay, with the first draw of its noise, or what was simulated, as a run file."""
    run, result = found.run, found.simulated
    if result is None:
        level = Scenario(level="typical", byte_share=0.0)
        script, rows = prepared(program_of(run), found.named.change, level), np.arange(run.bodies)
        edges, hosts, cpu = run.edges, run.hosts, run.variable("cpu")
        source, target, size = edges.source, edges.target, edges.bytes
        ranks, iterations = run.header.ranks, run.header.iterations
    else:
        there = result.target.placement
        work = fitted_work(run, found.named.change.solver)
        script, rows = scaled_script(work, there, result.case, found.seed)
        (source, target), ranks = there.edges, there.ranks
        size = np.full(source.size, round(result.target.halo_bytes))
        hosts, cpu = [f"{HOST}-{node}" for node in there.node], np.zeros(ranks)
        iterations = max(round(run.header.iterations * rows.size / run.bodies), 1)
    values = {
        **{each: run.variable(each)[rows] for each in KEPT},
        "edge_source": source,
        "edge_target": target,
        "edge_bytes": size,
        "cpu": cpu,
        "host": hosts,
    }
    header = header_of(run, found.named, ranks, iterations)
    return write_timeline(name, header, timeline_of(script), values)


def header_of(run: Run, named: Named, ranks: int, iterations: int) -> Header:
    """Return the header of a simulated run: the recorded one, and what was changed."""
    header = run.header
    spec = {key: value for key, value in header.spec.items() if key != "ending"}
    spec["simulated"] = {"from": run.path.name, "ranks": header.ranks, **named.changes}
    machine = header.environment.get("machine")
    if isinstance(machine, dict):  # load and cores were those of the recording
        gone = ("load_before",) if ranks == header.ranks else ("load_before", "cores")
        machine = {key: value for key, value in machine.items() if key not in gone}
    environment = {**header.environment, **({"machine": machine} if machine else {})}
    return replace(
        header,
        environment=environment,
        ranks=ranks,
        iterations=iterations,
        origin="simulated",
        complete=True,
        spec=spec,
    )


def write_timeline(
    name: RunName, header: Header, line: Timeline, values: Mapping[str, Any]
) -> Path:
    """Write a timeline as a run file."""
    duration, block = line.end - line.start, line.script.block
    kind = np.where(block.recorded, block.kind, EventKind.NONE).astype(np.uint8)
    there = kind[:, None, :] > 0
    phases = np.zeros((*duration.shape, len(PHASES)))
    inside = np.maximum(line.inside, 0.0)
    for each, phase in PHASE_OF.items():
        here = (kind == int(each))[:, None, :]
        phases[:, :, PHASES.index(phase)] += np.where(here, inside, 0.0).sum(axis=2)
    local = PHASES.index("local")
    phases[:, :, local] = np.maximum(duration - phases.sum(axis=2), 0.0)
    begins = [rows.start for rows in block.cycles()[1:]]
    start = line.start - min(float(line.start[0].min()), 0.0)  # a rank may begin before the first
    finish = start[-1] + duration[-1] + line.script.program.after
    nothing = np.zeros(duration.shape[1])
    needed = {}
    if block.group is not None:
        receipt = (kind == EventKind.RECEIVE)[:, None, :]
        needed = {
            "event_group": np.where(receipt, NO_GROUP, block.group),
            "event_needs": np.where(receipt, block.group, NO_GROUP),
        }
    return write_whole(
        name.folder,
        header,
        {
            "duration": duration,
            "start": start,
            "phase_duration": phases,
            "restart_duration": line.start[begins] - line.end[[at - 1 for at in begins]],
            "lead_in": start[0],
            "lead_out": line.script.program.after,
            "solve_time": finish,
            "mpi_other": nothing,
            "context_switches": nothing,
            "clock_offset": nothing,
            "clock_uncertainty": nothing,
            "event_kind": kind,
            "event_work": np.where(there, np.maximum(block.work, 0.0), 0.0).astype(np.float32),
            "event_duration": inside.astype(np.float32),
            **needed,
            **values,
        },
        file_name=name,
    )
