"""The decks that time the kernel, named and sized as SAGE's timing decks are.

Cells and levels are those of the literature; the steps are as many as make a cycle last some
tens of milliseconds on one core, so that noise averages out within it. Heavy discs keep
the mesh moving over 200 cycles; on one rank it holds at most 2.9 cells to a base cell.
"""

from __future__ import annotations

from hindmost.harness.adaptive.decks.deck import Deck

TIMING_A = Deck(
    name="timing-a",
    summary="4,096 base cells per rank, two levels, flow only",
    start="blast-and-shock",
    columns=64,
    rows=64,
    spacing=1 / 64,
    levels=2,
    steps=500,
    cfl=0.2,
    divide=0.4,
    combine=0.1,
)
TIMING_B = Deck(
    name="timing-b",
    summary="4,096 base cells per rank, two levels, flow and heat",
    start="blast-and-shock",
    columns=64,
    rows=64,
    spacing=1 / 64,
    levels=2,
    steps=400,
    cfl=0.2,
    heat=True,
    heats=40,
    conductivity=0.001,
    divide=0.15,
    combine=0.05,
)
TIMING_C = Deck(
    name="timing-c",
    summary="80,640 base cells per rank, one level, flow and heat",
    start="blast-and-shock",
    columns=288,
    rows=280,
    spacing=1 / 288,
    levels=1,
    steps=32,
    cfl=0.5,
    heat=True,
    heats=4,
    conductivity=0.002,
    divide=0.15,
    combine=0.04,
)
