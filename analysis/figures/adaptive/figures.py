"""The figures of one adaptive run, by name."""

from __future__ import annotations

from hindmost.analysis.figures.adaptive import of_adaptive
from hindmost.analysis.figures.run_figures import RunFigure

ADAPTIVE_FIGURES = (
    RunFigure(
        name="predicted",
        heading="Measured and predicted times",
        summary="adaptive runs: time of every cycle, and what was predicted before it ran",
        caption="The time of every cycle on rank 0, and what was predicted before it ran: by the "
        "time per cell so far (online), from probes alone (offline), and by the shape of a cycle "
        "times its level so far. Steps are changes of the mesh.",
        make=of_adaptive.make_predicted,
        usual=True,
    ),
    RunFigure(
        name="interference",
        heading="With a neighbour on the machine",
        summary="adaptive runs with --interfere: predictions where a neighbour ran",
        caption="A run that was disturbed on purpose, where it is shaded. The offline model goes "
        "on to say what the machine could do; online models catch up, the sooner the fewer cycles "
        "they look back on. Shape times level forgets what was before as soon as the test for "
        "interference finds the change.",
        make=of_adaptive.make_interference,
        usual=True,
    ),
    RunFigure(
        name="grind",
        heading="Time per cell against cells",
        summary="adaptive runs: time per cell against cells, and the probed curve (--machine)",
        caption="Hydro time of rank 0 per cell and step in every cycle, against the cells that the "
        "rank had, and the piecewise curve that was probed before, from which the offline model "
        "computes.",
        make=of_adaptive.make_grind,
        usual=True,
    ),
    RunFigure(
        name="checkpoints",
        heading="Accumulated time and checkpoints",
        summary="adaptive runs: accumulated time, and after which cycles to write checkpoints",
        caption="The time of the cycles so far, and after which of them each rule writes a "
        "checkpoint, from what was predicted of the next cycle.",
        make=of_adaptive.make_checkpoints,
        usual=True,
    ),
    RunFigure(
        name="cells",
        heading="Cells of the mesh",
        summary="adaptive runs: cells over cycles",
        caption="Cells of the mesh in every cycle. On several ranks, what lies between the lines "
        "is imbalance: all wait for the rank that has most.",
        make=of_adaptive.make_cells,
        usual=True,
    ),
    RunFigure(
        name="adaption",
        heading="What adaption changed",
        summary="adaptive runs: cells divided, combined and moved over cycles",
        caption="Cells that were divided and combined at the end of every cycle, and moved to "
        "another rank to balance them.",
        make=of_adaptive.make_adaption,
        usual=True,
    ),
    RunFigure(
        name="phases-over-cycles",
        heading="Where the time of every cycle went",
        summary="adaptive runs: time of every cycle of rank 0, its phases stacked",
        caption="The time of every cycle on rank 0, phase upon phase. Halo and reduction hold what "
        "the rank waited for others.",
        make=of_adaptive.make_phases_over_cycles,
        usual=True,
    ),
)
