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
from hindmost.analysis.runs.finding import Finding, folded
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import of_path, parts_of
from hindmost.analysis.whatif.targets import NetworkBasis, network_of
from hindmost.errors import DataError, UsageError
from hindmost.executors import Executor, ThisProcess
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.message_walk import message_costs, walk_messages
from hindmost.models.simulation.messages import MessageProgram
from hindmost.models.simulation.network import nodes_of
from hindmost.models.simulation.rerun import ReplayedSolve
from hindmost.text import byte_count, counted, percent, seconds, signed_percent

EAGER_BYTES = 1 << 16
"""The largest message that leaves before its receiver has come, if nothing else is said."""
APPLICABLE = ("latency", "bandwidth", "speed")
"""Changes that need no more than messages and work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaying:
    """How traces are replayed.

    Attributes
    ----------
    machine : Machine
    network : NetworkBasis
    flops_per_s : float or None
        Of the ranks, for formats that count work.
    eager_bytes : int
        The largest message that leaves before its receiver has come.
    """

    machine: Machine
    network: NetworkBasis
    flops_per_s: float | None
    eager_bytes: int = EAGER_BYTES

    @classmethod
    def on(cls, machine: Machine | None, flops_per_s: float | None) -> Replaying:
        """Return how traces are replayed on a machine.

        Raises
        ------
        UsageError
            There is no machine, or an amount that cannot be.
        DataError
            Its network is not known.
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
        return cls(machine=machine, network=network_of(machine, ()), flops_per_s=flops_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReplay:
    """A trace with a change.

    Attributes
    ----------
    path : Path
    format : TraceFormat
    program : MessageProgram
    how : Replaying
    named : Named
    before, after : ReplayedSolve
        Without the change, and with it.
    """

    path: Path
    format: TraceFormat
    program: MessageProgram
    how: Replaying
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

    def assumptions(self) -> list[str]:
        """Return what the simulation assumes."""
        return [
            *self.format.assumes,
            self.how.network.basis,
            f"Messages of up to {byte_count(self.how.eager_bytes)} leave before their receivers "
            "have come, larger ones when both have. They do not contend for links.",
            "Allreduces go by recursive doubling, other collectives along trees or by "
            "doubling, in which each step of ranks on several nodes costs a message between nodes.",
            "Work takes as long as traced on every machine; nothing of it is noise.",
        ]

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
    how: Replaying,
    executor: Executor | None = None,
) -> list[TraceReplay]:
    """Replay a trace with each of some changes; the executor does the replays.

    Raises
    ------
    DataError
        The trace cannot be read, or ranks wait for each other in a circle.
    UsageError
        A change of a rank that it does not have, or a missing rate.
    """
    program = format.read(path, how.flops_per_s)
    asked = [Change(), *(each.change for each in changes)]
    before, *after = (executor or ThisProcess()).map(partial(walked, program, how), asked)
    return [
        TraceReplay(
            path=path,
            format=format,
            program=program,
            how=how,
            named=named,
            before=before,
            after=each,
        )
        for named, each in zip(changes, after, strict=True)
    ]


def walked(program: MessageProgram, how: Replaying, change: Change) -> ReplayedSolve:
    """Walk through a program with a change."""
    network = how.network.network.changed(change.latency, change.more_latency_s, change.bandwidth)
    node = nodes_of(program.ranks, how.machine.ranks_per_node)
    costs = message_costs(program, network, node, how.eager_bytes)
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
        f"{first.how.machine.name} without a change. The trace has no times to compare with."
    ]
    if len(found) == 1 and first.named.words:
        after = seconds(first.after.total_s)
        lines.append(f"With {first.named.title}: simulated {after} ({first.change}).")
    if len(found) == 1 and first.after.total_s > 0.0 and first.before.total_s > 0.0:
        lines += parts_of(first.named, first.before, first.after)
    return folded(lines)
