"""Traces of messages replayed on a machine, with changes, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hindmost.analysis.readers.format import TraceFormat
from hindmost.analysis.readers.read import recognise
from hindmost.analysis.readers.registry import TRACE_FORMATS
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.show.phrases import folded
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import of_path, parts_of
from hindmost.analysis.whatif.targets import network_of
from hindmost.errors import DataError, UsageError
from hindmost.executors import Executor, ThisProcess
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.message_walk import message_costs, walk_messages
from hindmost.models.simulation.messages import MessageProgram
from hindmost.models.simulation.network import NodeNetwork, Nodes, nodes_of
from hindmost.models.simulation.rerun import ReplayedSolve
from hindmost.text import byte_count, counted, percent, seconds, signed_percent

EAGER_BYTES = 1 << 16
"""The largest message that leaves before its receiver has come, if nothing else is said."""
APPLICABLE = ("latency", "bandwidth", "speed")
"""Changes that need no more than messages and work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReplay:
    """A trace with a change.

    Attributes
    ----------
    path : Path
    program : MessageProgram
    machine : Machine
    assumptions : list of str
        In sentences.
    named : Named
    before, after : ReplayedSolve
        Without the change, and with it.
    """

    path: Path
    program: MessageProgram
    machine: Machine
    assumptions: list[str]
    named: Named
    before: ReplayedSolve
    after: ReplayedSolve

    JSON = (
        "file=path recorded_s=nothing replayed_s=before.total_s predicted_s=after.total_s "
        "interval_s=nothing changes=named.changes critical_path=after.path.largest "
        "recorded_critical_path=before.path.largest assumptions findings"
    )

    @property
    def change(self) -> str:
        """How much longer it takes, in words."""
        if self.before.total_s <= 0.0:
            return "-"
        return signed_percent(self.after.total_s / self.before.total_s - 1.0)

    @property
    def nothing(self) -> None:
        """Stands for the recorded time and the interval, which a trace lacks."""

    @property
    def findings(self) -> list[Finding]:
        """None: a trace is not checked."""
        return []


def traces_among(paths: Sequence[Path]) -> list[tuple[Path, TraceFormat]]:
    """Return the named files that are traces.

    Raises
    ------
    UsageError
        Some are, and others are not.
    """
    found, others = [], []
    for path in paths:
        format = None
        if path.is_file():
            with suppress(DataError):  # what reads run files says why
                format = recognise(path, TRACE_FORMATS)
        if format is None:
            others.append(path)
        else:
            found.append((path, format))
    if found and others:
        raise UsageError(
            f"{found[0][0]} is a trace and {others[0]} is none: replay traces and runs apart."
        )
    return found


def refuse_others(changes: Sequence[Named]) -> None:
    """Raise a UsageError for changes that need the iterations of a recorded run."""
    words = {word for each in changes for word, _ in each.words}
    if others := sorted(words.difference(APPLICABLE)):
        named = ", ".join(f"--{word.replace(' ', '-')}" for word in others)
        raise UsageError(
            f"A trace does not have what {named} needs: recorded iterations. Traces are replayed "
            f"with {', '.join(f'--{word}' for word in APPLICABLE)} only."
        )


def replay_trace(
    path: Path,
    format: TraceFormat,
    changes: Sequence[Named],
    machine: Machine | None,
    flops_per_s: float | None = None,
    executor: Executor | None = None,
    eager_bytes: int = EAGER_BYTES,
) -> list[TraceReplay]:
    """Replay a trace on a machine with each of some changes; the executor does the replays.

    Parameters
    ----------
    flops_per_s : float, optional
        Of the ranks, for formats that count work.
    eager_bytes : int
        The largest message that leaves before its receiver has come.

    Raises
    ------
    DataError
        The trace cannot be read, the network is not known, or ranks wait for each other in a
        circle.
    UsageError
        There is no machine, a change of a rank that the trace does not have, or a missing rate.
    """
    if machine is None:
        raise UsageError(
            "A trace has no times of messages: give --machine, with a file of 'hindmost probe "
            "network'."
        )
    if flops_per_s is not None and not 1.0 <= flops_per_s <= 1e18:
        raise UsageError(
            f"--flops-per-second {flops_per_s:g}: a rank does 1 to 1e18 of them, such as 1e9."
        )
    network = network_of(machine, ())
    program = format.read(path, flops_per_s)
    node = nodes_of(program.ranks, machine.ranks_per_node)
    one = partial(walked, program, network.network, node, eager_bytes)
    asked = [Change(), *(each.change for each in changes)]
    before, *after = (executor or ThisProcess()).map(one, asked)
    assumptions = [
        *format.assumes,
        network.basis,
        f"Messages of up to {byte_count(eager_bytes)} leave before their receivers have come, "
        "larger ones when both have. They do not contend for links.",
        "Allreduces go by recursive doubling, other collectives along trees or by "
        "doubling, in which each step of ranks on several nodes costs a message between nodes.",
        "Work takes as long as traced on every machine; nothing of it is noise.",
    ]
    return [
        TraceReplay(
            path=path,
            program=program,
            machine=machine,
            assumptions=assumptions,
            named=named,
            before=before,
            after=each,
        )
        for named, each in zip(changes, after, strict=True)
    ]


def walked(
    program: MessageProgram, network: NodeNetwork, node: Nodes, eager_bytes: int, change: Change
) -> ReplayedSolve:
    """Walk through a program with a change."""
    network = network.changed(change.latency, change.more_latency_s, change.bandwidth)
    costs = message_costs(program, network, node, eager_bytes)
    found = walk_messages(program, costs, change.slowness(program.ranks))
    return ReplayedSolve(total_s=found.total_s, iterating_s=found.total_s, path=found.path)


def trace_table(found: Sequence[TraceReplay]) -> Table:
    """Return a table of one trace with several changes."""
    return Table(
        columns=(
            Column("with", LEFT),
            Column("simulated", RIGHT),
            Column("change", RIGHT),
            Column("network", RIGHT),
        ),
        rows=[
            (
                each.named.title,
                seconds(each.after.total_s),
                each.change,
                percent(of_path(each.after)["network"]) if each.after.total_s > 0.0 else "-",
            )
            for each in found
        ],
        notes=("network: share of the critical path.",),
    )


def trace_lines(found: Sequence[TraceReplay]) -> list[str]:
    """Return what is said of a trace with one change or several, before their table."""
    first = found[0]
    parts = ", ".join(
        (
            counted(first.program.ranks, "rank"),
            counted(first.program.source.size, "message"),
            counted(len(first.program.collectives), "collective"),
        )
    )
    lines = [
        f"{first.path.name}: {parts}; simulated {seconds(first.before.total_s)} on "
        f"{first.machine.name} without a change. The trace has no times to compare with."
    ]
    if len(found) == 1 and first.named.words:
        after = seconds(first.after.total_s)
        lines.append(f"With {first.named.title}: simulated {after} ({first.change}).")
    if len(found) == 1 and first.after.total_s > 0.0 and first.before.total_s > 0.0:
        lines += parts_of(first.named, first.before, first.after)
    return folded(lines)
