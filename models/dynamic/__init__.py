"""Run-time prediction of an adaptive code: machine, work, predictors, and what they decide.

`Predictor` predicts any loop, `Panel` compares several predictors, and `choose` selects a
configuration before a run. `OfflineModel` computes the time of a cycle from machine, application
and pattern.
"""

from hindmost.models.dynamic.application import Application, Count, Exchange
from hindmost.models.dynamic.checkpoint_rule import CheckpointCost
from hindmost.models.dynamic.choose import Choice, choose
from hindmost.models.dynamic.cycle_verdict import CycleKind, CycleVerdict
from hindmost.models.dynamic.machine import Machine
from hindmost.models.dynamic.offline import OfflineModel, PhaseTimes
from hindmost.models.dynamic.panel import Panel
from hindmost.models.dynamic.predictor import Predictor
from hindmost.models.dynamic.predictors import PREDICTORS
from hindmost.models.dynamic.work import PHASES, Spent, Work

__all__ = [
    "PHASES",
    "PREDICTORS",
    "Application",
    "CheckpointCost",
    "Choice",
    "Count",
    "CycleKind",
    "CycleVerdict",
    "Exchange",
    "Machine",
    "OfflineModel",
    "Panel",
    "PhaseTimes",
    "Predictor",
    "Spent",
    "Work",
    "choose",
]
