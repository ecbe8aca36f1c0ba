"""The machines of the paper as far as it describes them: table 2, QSnet-1."""

from hindmost.models.adaptive.machine import Machine, Network
from hindmost.models.simulation.network import Link, Piece


def qsnet(small_us: float, middle: tuple[float, float], large: tuple[float, float]) -> Network:
    """Return a network of table 2: latencies in microseconds, times per byte in nanoseconds.

    The table is uni-directional, between nodes. The paper's model uses bi-directional values that
    it does not print; those of the table are used in their place.
    """
    link = Link(
        pieces=(
            Piece(from_bytes=0, latency_s=1e-6 * small_us, per_byte_s=0.0),
            Piece(from_bytes=33, latency_s=1e-6 * middle[0], per_byte_s=1e-9 * middle[1]),
            Piece(from_bytes=512, latency_s=1e-6 * large[0], per_byte_s=1e-9 * large[1]),
        )
    )
    return Network(within=link, within_both_ways=link, across=link, across_both_ways=link)


ALPHASERVER_ES40 = Machine(
    name="AlphaServer ES40, QSnet-1",
    ranks_per_node=4,
    network=qsnet(5.6, (5.9, 18.7), (8.1, 5.0)),
)
"""64 nodes of four 833 MHz processors; its grind curve is a figure, not a table."""

ITANIUM_2 = Machine(
    name="Itanium-2, QSnet-1",
    ranks_per_node=2,
    network=qsnet(5.0, (7.6, 8.9), (11.0, 4.6)),
)
"""32 nodes of two 1.3 GHz processors; its grind curve is a figure, not a table."""
