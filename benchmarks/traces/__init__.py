"""Traces of SimGrid's SMPI, replayed message by message: truth for the simulator of solves."""
