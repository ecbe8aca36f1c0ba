"""The variables of adaptive runs: what a cycle did, its mesh, and the blocks of the mesh."""

from __future__ import annotations

from hindmost.harness.runfile.variable import Variable

OF_CYCLES = (
    *(
        Variable(
            name=name,
            dimensions=("iteration", "rank"),
            type="i8",
            units=units,
            long_name=long_name,
            optional=True,
        )
        for name, units, long_name in (
            ("cells", "1", "cells that the rank owned in the cycle"),
            ("faces", "1", "faces of these cells"),
            ("ghosts", "1", "cells of other ranks that the rank received in an exchange"),
            ("messages", "1", "halo messages that the rank sent in the cycle"),
            ("bytes", "byte", "bytes of these messages"),
            ("divided", "1", "cells that were divided at the end of the cycle"),
            ("combined", "1", "cells that were combined at the end of the cycle"),
            ("moved", "1", "cells that the rank gave to others at the end of the cycle"),
            ("heat_iterations", "1", "iterations of the heat solver in the cycle"),
            ("switches", "1", "involuntary context switches in the cycle"),
        )
    ),
    *(
        Variable(
            name=name,
            dimensions=("iteration", "rank"),
            type="f4",
            units="s",
            long_name=long_name,
            optional=True,
        )
        for name, long_name in (
            ("pulse_core", "fixed computation right after the cycle, to see how fast the core is"),
            ("pulse_memory", "fixed pass over memory right after the cycle"),
        )
    ),
)
"""What a rank did in a cycle."""

OF_MESHES = (
    Variable(
        name="epoch",
        dimensions=("iteration",),
        type="i4",
        units="1",
        long_name="number of the mesh of the cycle, from 0",
        optional=True,
    ),
    Variable(
        name="predicted",
        dimensions=("iteration", "predictor"),
        type="f8",
        units="s",
        long_name="time of the cycle, predicted before it ran",
        optional=True,
    ),
    Variable(
        name="edge_epoch",
        dimensions=("edge",),
        type="i4",
        units="1",
        long_name="number of the mesh of the edge",
        optional=True,
    ),
    Variable(
        name="edge_messages",
        dimensions=("edge",),
        type="i4",
        units="1",
        long_name="messages of one exchange",
        optional=True,
    ),
    Variable(
        name="block_place",
        dimensions=("block",),
        type="i8",
        units="1",
        long_name="number of the block, row by row over the domain, in cells of the base mesh",
        optional=True,
    ),
    Variable(
        name="block_load",
        dimensions=("block",),
        type="f8",
        units="1",
        long_name="cells in a block of the mesh",
        optional=True,
    ),
    Variable(
        name="block_owner",
        dimensions=("block",),
        type="i4",
        units="1",
        long_name="rank of the block's first cell",
        optional=True,
    ),
    Variable(
        name="block_epoch",
        dimensions=("block",),
        type="i4",
        units="1",
        long_name="number of the mesh of the row",
        optional=True,
    ),
    Variable(
        name="block_edge_source",
        dimensions=("block_edge",),
        type="i8",
        units="1",
        long_name="place of the block that has the cells",
        optional=True,
    ),
    Variable(
        name="block_edge_target",
        dimensions=("block_edge",),
        type="i8",
        units="1",
        long_name="place of the block that needs the cells",
        optional=True,
    ),
    Variable(
        name="block_edge_bytes",
        dimensions=("block_edge",),
        type="i8",
        units="byte",
        long_name="bytes that a block needs of another in one exchange",
        optional=True,
    ),
    Variable(
        name="block_edge_epoch",
        dimensions=("block_edge",),
        type="i4",
        units="1",
        long_name="number of the mesh of the block edge",
        optional=True,
    ),
)
"""The mesh of a cycle, the predictions of its time, and the mesh's edges and blocks."""
