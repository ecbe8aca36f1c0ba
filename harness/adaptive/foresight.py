"""What is foreseen of the next cycle on rank 0 while the kernel runs, and decisions based on it."""

from __future__ import annotations

from hindmost.harness.adaptive.decks import CELL_BYTES, Deck, application_of
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.predictor import CheckpointCost, Predictor
from hindmost.models.adaptive.predictors import PREDICTORS
from hindmost.models.adaptive.work import Work

SPARE_S = 1.0
"""What is kept of a time limit for the end of the run, and needed for a cycle never seen."""
FIRST_COST_S = 0.1
"""Assumed time of a checkpoint before one was written on a machine that was not probed."""


def predictor_of(
    deck: Deck,
    machine: Machine | None = None,
    *,
    ranks: int = 1,
    pulse_s: float | None = None,
    time_limit_s: float | None = None,
    mtbf_s: float | None = None,
    saves: bool = False,
) -> Predictor:
    """Return what predicts every cycle by all methods; offline on a machine that was probed.

    Parameters
    ----------
    pulse_s : float
        Of the slowest rank, just before the run.
    time_limit_s : float, optional
        From the start of the command.
    mtbf_s : float, optional
        Mean time between failures; without it checkpoints come only before a stop.
    saves : bool
        Whether checkpoints have a file.
    """
    model, cost = None, None
    if machine is not None:
        application = application_of(deck)
        model = OfflineModel(machine=machine, application=application, ranks=ranks, pulse_s=pulse_s)
        cost = CheckpointCost.of_machine(machine, CELL_BYTES) if saves else None
    return Predictor(
        *(name for name in PREDICTORS if name != "offline" or model is not None),
        model=model,
        time_limit_s=time_limit_s,
        margin_s=SPARE_S,
        mtbf_s=mtbf_s,
        checkpoint=cost,
    )


def decide(
    predictor: Predictor, work: Work, elapsed_s: float, *, stops: bool, interval: bool, saves: bool
) -> tuple[str, bool]:
    """Return why to stop for lack of time, else empty; and whether a checkpoint is due.

    Parameters
    ----------
    elapsed_s : float
        Since the start of the command.
    stops, interval, saves : bool
        Whether there is a time limit, a mean time between failures, a file for checkpoints.
    """
    first_s = FIRST_COST_S if saves else 0.0
    due = predictor.checkpoint_due(work, checkpoint_s=first_s) if interval else None
    if stops:
        left = predictor.time_left_for(
            work,
            elapsed_s=elapsed_s,
            checkpoint_s=first_s,
            before_s=due.checkpoint_s if due else 0.0,
            unknown_s=SPARE_S,
        )
        if not left:
            return left.explain(), False
    return "", bool(due)
