"""The section ``network``: pieces of latency and time per byte, and allreduces."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.harness.probes.network import (
    NetworkTimes,
    ReductionTimes,
    measure_network,
    message_sizes,
    pairs,
    reduction_sizes,
)
from hindmost.harness.probes.sampling import QUICK, THOROUGH, Timed
from hindmost.harness.probes.sections.contract import ProbeResult, ProbeSection, ProbeSetting
from hindmost.models.adaptive.machine import AllreduceTime, Network
from hindmost.models.simulation.network import Link
from hindmost.text import bandwidth, byte_count, seconds


def check(setting: ProbeSetting) -> None:
    """Raise a UsageError if no two ranks share a node."""
    pairs(setting.nodes)


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Measure the network; collective."""
    times = measure_network(
        setting.communicator,
        QUICK if setting.quick else THOROUGH,
        seed=setting.seed,
        # Only powers of two if time is short.
        messages=message_sizes()[::2] if setting.quick else message_sizes(),
        reductions=reduction_sizes()[::3] if setting.quick else reduction_sizes(),
    )
    return described(times) if setting.communicator.rank == 0 else None


def described(times: NetworkTimes) -> ProbeResult:
    """Fit the links and report."""
    links: dict[str, Link] = {}
    samples: dict[str, object] = {}
    for pair in times.pairs:
        name = pair.sort.name
        for key, timed in ((name, pair.one_way), (f"{name}_both_ways", pair.both_ways)):
            links[key] = link(timed)
            samples[key] = {"ranks": list(pair.sort.ranks), "sizes": raw(timed)}
    samples["allreduce"] = [
        {"ranks": each.ranks, "sizes": raw(each.timed)} for each in times.reductions
    ]
    network = Network(
        within=links["within"],
        within_both_ways=links["within_both_ways"],
        across=links.get("across"),
        across_both_ways=links.get("across_both_ways"),
        allreduce=tuple(
            AllreduceTime(ranks=each.ranks, bytes=timed.size, seconds=timed.median_s)
            for each in times.reductions
            for timed in each.timed
        ),
    )
    rows = [row for key, fitted in links.items() for row in link_rows(key, fitted)]
    rows += [reduction_row(each) for each in times.reductions]
    return ProbeResult(changes={"network": network}, samples=samples, rows=tuple(rows))


def link(timed: Sequence[Timed]) -> Link:
    """Fit the pieces of a link to medians."""
    from hindmost.models.adaptive.network import fit_link

    return fit_link([each.size for each in timed], [each.median_s for each in timed])


def raw(timed: Sequence[Timed]) -> list[dict[str, object]]:
    """Return all batches for JSON."""
    return [
        {"bytes": each.size, "messages_a_batch": each.repeats, "seconds": list(each.seconds)}
        for each in timed
    ]


def link_rows(key: str, fitted: Link) -> list[tuple[str, str]]:
    """Report the pieces of a link."""
    name = key.replace("_", " ")
    if not key.endswith("both_ways"):
        name += " one way"
    return [
        (
            f"{name}, from {byte_count(piece.from_bytes)}",
            f"{seconds(piece.latency_s)} + "
            + (f"bytes / {bandwidth(1 / piece.per_byte_s)}" if piece.per_byte_s > 0 else "0"),
        )
        for piece in fitted.pieces
    ]


def reduction_row(times: ReductionTimes) -> tuple[str, str]:
    """Report the shortest and the longest allreduce."""
    first, last = times.timed[0], times.timed[-1]
    return (
        f"allreduce on {times.ranks} ranks",
        f"{seconds(first.median_s)} for {byte_count(first.size)}, "
        f"{seconds(last.median_s)} for {byte_count(last.size)}",
    )


NETWORK = ProbeSection(
    name="network",
    summary="ping-pong one way and both ways, within and across nodes; allreduce (2 ranks or more)",
    check=check,
    take=take,
)
