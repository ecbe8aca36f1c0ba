"""Extra-P on data sets that another process sends: run with a Python that has `extrap`.

Reads from standard input, as JSON, ``{"points": [...], "sets": [[[repetition, ...], ...], ...],
"segmented": bool}``; writes ``{"cpu_s", "terms": [[i, j] | null], "changes": [[lo, hi] | null]}``.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from typing import Any

from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.entities.metric import Metric
from extrap.modelers.single_parameter.basic import SingleParameterModeler
from extrap.modelers.single_parameter.segmented import SegmentedModeler


def main() -> None:
    """Model every data set."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    asked = json.load(sys.stdin)
    kernel, metric = Callpath("kernel"), Metric("time")
    terms: list[list[float] | None] = []
    changes: list[list[float] | None] = []
    began = time.process_time()
    for values in asked["sets"]:
        measurements = [
            Measurement(Coordinate(point), kernel, metric, repetitions)
            for point, repetitions in zip(asked["points"], values, strict=True)
        ]
        modeler = SegmentedModeler() if asked["segmented"] else SingleParameterModeler()
        model: Any = modeler.create_model(measurements)
        if getattr(model, "changing_points", None):
            ends = [float(point.coordinate[0]) for point in model.changing_points]
            changes.append([ends[0], ends[-1]])
            terms.append(None)
        else:
            changes.append(None)
            terms.append(exponents(model.hypothesis.function))
    json.dump(
        {"cpu_s": time.process_time() - began, "terms": terms, "changes": changes}, sys.stdout
    )


def exponents(function: Any) -> list[float] | None:
    """Return (i, j) of the one term of a function; None of a constant."""
    if not function.compound_terms:
        return None
    pair = [0.0, 0.0]
    for term in function.compound_terms[0].simple_terms:
        pair[term.term_type == "logarithm"] = float(term.exponent)
    return pair


if __name__ == "__main__":
    main()
