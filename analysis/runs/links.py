"""What communication between the nodes of a run takes, from its events."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.runs.finding import SPOILS
from hindmost.analysis.runs.tallies import (
    clock_uncertainty,
    exchanges_meet_in,
    first_bodies,
    neighbours_in,
)
from hindmost.harness.runfile.reader import Run, check_values
from hindmost.harness.runfile.schema import VARIABLE
from hindmost.models.ranks.links import LinkCost, link_costs
from hindmost.text import percent, seconds


def times_of(link: LinkCost) -> str:
    """Say how long messages and reductions take; empty if that is not known."""
    known = (("message", link.message_s), ("reduction", link.reduction_s))
    said = [f"{seconds(time_s)} a {what}" for what, time_s in known if time_s]
    shortest_s = min(time_s for _, time_s in known if time_s) if said else 0.0
    if link.clock_s > SPOILS * shortest_s:
        said.append(f"to +-{seconds(link.clock_s)} of the clocks")
    return ", ".join(said)


def node_links(run: Run) -> list[LinkCost]:
    """Return the links of a run on several nodes, the largest share first; of its first events.

    Empty if it has no events of all ranks, or is on one node.
    """
    if len(set(run.hosts)) < 2 or run.reduced or not run.has("event_kind") or not run.bodies:
        return []
    block = first_bodies(run)
    for name in ("start", "duration", "event_work", "event_duration"):
        check_values(run.path, VARIABLE[name], block.variable(name))
    return link_costs(
        block.start,
        block.events,
        neighbours_in(run),
        run.hosts,
        clock_uncertainty(run),
        exchanges_meet=exchanges_meet_in(run),
    )


def link_words(links: list[LinkCost]) -> str:
    """Name the link between nodes that takes most time, and what others take; empty if none."""
    between = [link for link in links if len(link.nodes) == 2 and times_of(link)]
    if not between:
        return ""
    first = between[0]
    said = (
        f"between {first.nodes[0]} and {first.nodes[1]}: {times_of(first)} "
        f"({percent(first.share, 0)} of the ranks' time)"
    )
    rest = [("between other nodes", between[1:])]
    rest += [("within a node", [link for link in links if len(link.nodes) == 1])]
    for where, some in rest:
        times_s = [each.message_s for each in some if each.message_s is not None]
        if times_s:
            said += f"; {where}: {seconds(float(np.median(times_s)))} a message"
    return said
