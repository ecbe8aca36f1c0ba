"""The predictors by name, as in run files and tables."""

from __future__ import annotations

import re
from collections.abc import Callable

from hindmost.errors import UsageError
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.online import CyclePredictor, Offline, Online
from hindmost.models.adaptive.shape_level import ShapeLevel
from hindmost.text import choose

Maker = Callable[[OfflineModel | None], CyclePredictor]


def make_offline(model: OfflineModel | None) -> CyclePredictor:
    """Return the offline predictor, which needs its model."""
    if model is None:
        raise UsageError(
            "The predictor 'offline' needs a machine: probe it with `hindmost probe` and pass the "
            "machine file, or choose another predictor."
        )
    return Offline(model)


PREDICTORS: dict[str, Maker] = {
    "online-all": lambda model: Online(),
    "online-10": lambda model: Online(10),
    "online-1": lambda model: Online(1),
    "online-since": lambda model: Online(forgets=True),
    "offline": make_offline,
    "shape-level": ShapeLevel,
}
"""The factories of predictors; ``online-N`` exists for any N. The paper's are online-all, online-1
and offline; online-since restarts its window if the machine changes."""


def make(name: str, model: OfflineModel | None = None) -> CyclePredictor:
    """Return a new predictor.

    Parameters
    ----------
    name : str
        One of `PREDICTORS`, or ``online-N`` for a window of N cycles.
    model : OfflineModel, optional
        Of a probed machine.

    Raises
    ------
    UsageError
        The name is unknown, or the predictor needs a model.
    """
    if name in PREDICTORS:
        return PREDICTORS[name](model)
    window = re.fullmatch(r"online-(\d+)", name)
    if window and int(window[1]) > 0:
        return Online(int(window[1]))
    raise UsageError(f"Unknown predictor '{name}'; {choose([*PREDICTORS, 'online-N'])}.")


def all_names(model: OfflineModel | None) -> tuple[str, ...]:
    """Return the available predictors: all, but ``offline`` only with a model."""
    return tuple(name for name in PREDICTORS if name != "offline" or model is not None)
