"""Decks whose solutions are known: a tube, a blast, a warm spot."""

from __future__ import annotations

from hindmost.harness.adaptive.decks.deck import Deck

SOD = Deck(
    name="sod",
    summary="Sod's shock tube along x",
    start="sod",
    columns=128,
    rows=16,
    spacing=1 / 128,
    levels=2,
    steps=20,
    divide=0.05,
    combine=0.01,
)
SEDOV = Deck(
    name="sedov",
    summary="a blast in the middle of a cold gas",
    start="sedov",
    columns=64,
    rows=64,
    spacing=1 / 64,
    levels=2,
    steps=20,
    divide=0.4,
    combine=0.1,
    buffer=2,
)
GAUSSIAN = Deck(
    name="gaussian",
    summary="a warm spot that spreads in a gas at rest",
    start="gaussian",
    columns=64,
    rows=64,
    spacing=1 / 64,
    levels=1,
    steps=1,
    flow=False,
    heat=True,
    conductivity=0.02,
    divide=0.05,
    combine=0.02,
)
