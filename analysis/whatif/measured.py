"""What a machine file says of the network that a run was recorded on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hindmost.errors import DataError
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.blocks import COMPLETE, RECEIVE
from hindmost.models.simulation.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredNetwork:
    """The probed times of the messages and reductions of a run.

    Attributes
    ----------
    message_s : float or None
        Of a message between neighbours; None without neighbours.
    byte_share : float or None
        Part of it that its bytes take, 0 to 1.
    reduction_s : float or None
        Of a reduction of a few numbers; None if none was probed on as many ranks.
    """

    message_s: float | None
    byte_share: float | None
    reduction_s: float | None

    @classmethod
    def of(cls, run: Run, machine: Machine) -> MeasuredNetwork:
        """Return what a machine file says of a run.

        Raises
        ------
        DataError
            The file has no network, or none between nodes for a run on several.
        """
        network = machine.network
        if network is None:
            raise DataError(
                f"The machine file of {machine.name} has no network: 'hindmost probe network' adds "
                "it."
            )
        nodes = len(set(run.hosts))
        link = network.within if nodes < 2 else network.across
        if link is None:
            raise DataError(
                f"{run.path} was recorded on {nodes} nodes, and the machine file has no times "
                "between nodes: run 'hindmost probe network' on 2 nodes."
            )
        message_s = share = None
        edges = run.edges
        if edges.source.size:
            messages = np.ones_like(edges.bytes) if edges.messages is None else edges.messages
            size = float(np.median(edges.bytes / np.maximum(messages, 1)))
            message_s, share = link.time_s(size), link.byte_share(size)
        alike = [each for each in network.allreduce if each.ranks == run.header.ranks]
        least = min(alike, key=lambda each: each.bytes, default=None)
        return cls(
            message_s=message_s,
            byte_share=share,
            reduction_s=None if least is None else least.seconds,
        )

    def costs_of(self, program: Program) -> Program:
        """Return a program with probed costs in place of those that hide behind its work."""
        costs = program.costs
        if self.message_s is not None:
            costs = costs.measured(RECEIVE, self.message_s)
        if self.reduction_s is not None:
            costs = costs.measured(COMPLETE, self.reduction_s)
        return replace(program, costs=costs)
