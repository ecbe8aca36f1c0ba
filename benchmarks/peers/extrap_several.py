"""Extra-P's multi-parameter models of experiments from stdin; needs the package extrap only.

Reads ``{"points", "values", "at"}``, shapes (point, parameter), (kernel, point), (parameter,), and
writes ``{"leading", "predicted", "seconds"}``: per kernel and parameter the largest exponents, the
value at the target, and the CPU time of all models together.
"""

import json
import sys
import time
import warnings
from typing import Any

from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.entities.metric import Metric
from extrap.modelers.multi_parameter.multi_parameter_modeler import MultiParameterModeler


def leading(function: Any, parameters: int) -> list[list[str]]:
    """Return per parameter the largest (power, power of the logarithm), as text."""
    found = [(0, 0)] * parameters
    for term in function.compound_terms:
        for parameter, factors in term.parameter_term_pairs:
            pair = [0, 0]
            for factor in factors.simple_terms:
                pair[factor.term_type == "logarithm"] += factor.exponent
            found[parameter] = max(found[parameter], tuple(pair))
    return [[str(power), str(logarithm)] for power, logarithm in found]


def main() -> None:
    """Model what stdin has."""
    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    points = [Coordinate(*point) for point in task["points"]]
    where, what = Callpath("kernel"), Metric("time")
    result: dict[str, Any] = {"leading": [], "predicted": []}
    modeler = MultiParameterModeler()
    modeler.create_model(
        [Measurement(p, where, what, [v]) for p, v in zip(points, task["values"][0], strict=True)]
    )
    began = time.process_time()
    for values in task["values"]:
        measured = [
            Measurement(point, where, what, [value])
            for point, value in zip(points, values, strict=True)
        ]
        function = modeler.create_model(measured).hypothesis.function
        result["leading"].append(leading(function, len(task["at"])))
        result["predicted"].append(float(function.evaluate(task["at"])))
    result["seconds"] = time.process_time() - began
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
