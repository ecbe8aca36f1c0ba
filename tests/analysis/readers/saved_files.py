"""Experiments as Extra-P 4 and 3 save them, written by hand."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from typing import Any

import numpy as np
from tests.analysis.readers.experiment_files import Written

VALUES, INDEX = b"Extra-P VALUES\0\0", b"Extra-P INDEX\0\0\0"


def document(written: Written, *, kept: bool = False) -> dict[str, Any]:
    """Return the document of version 4; if the values are kept, with places in `value_files`."""
    measurements: dict[str, dict[str, Any]] = {}
    number = 0
    for (kernel, metric), values in written.values.items():
        entries = measurements.setdefault(kernel, {}).setdefault(metric, [])
        for point, each in zip(written.points, values, strict=True):
            entries.append(
                {
                    "coordinate": list(point),
                    "median": float(np.median(each)),
                    "mean": float(np.mean(each)),
                    "minimum": min(each),
                    "maximum": max(each),
                    "std": float(np.std(each)),
                    "repetitions": len(each),
                    "values": [0, number] if kept else None,
                }
            )
            number += 1
    return {
        "Extra-P": "4.2.5",
        "scaling": "weak",
        "parameters": list(written.parameters),
        "measurements": measurements,
        "modelers": [{"models": {}, "$type": "ModelGenerator"}],
    }


def value_files(written: Written) -> dict[str, bytes]:
    """Return the members with all repetitions."""
    arrays, places = bytearray(VALUES), []
    for values in written.values.values():
        for each in values:
            stream = io.BytesIO()
            np.save(stream, np.array(each))
            places.append(len(arrays))
            arrays += stream.getvalue()
    index = INDEX + struct.pack(f"<Q{len(places)}Q", len(places), *places)
    return {"values/0.vals": bytes(arrays), "values/0.indx": index}


def archive(members: dict[str, bytes]) -> bytes:
    """Pack members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return stream.getvalue()


def version_4(written: Written, *, kept: bool = False) -> bytes:
    """Return a file of version 4."""
    members = value_files(written) if kept else {}
    return archive(members | {"experiment.json": json.dumps(document(written, kept=kept)).encode()})


def text(value: str) -> bytes:
    """Return a text of version 3."""
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def term(exponent: float) -> bytes:
    """Return a term of version 3."""
    simple = text("SimpleTerm") + text("polynomial") + struct.pack("<d", exponent)
    return text("CompoundTerm") + struct.pack("<dq", 2.0, 1) + simple


def version_3(written: Written, *, options: bool = True) -> bytes:
    """Return a file of version 3, with a model of the first kernel.

    Parameters
    ----------
    options : bool
        Whether generators have the options of its later versions.
    """
    parts = [b"\x01\x00", text("EXTRAP_EXPERIMENT"), text("3.0")]
    for number, name in enumerate(written.parameters):
        parts += [text("Parameter"), struct.pack("<q", number), text(name)]
    metrics = list(dict.fromkeys(metric for _, metric in written.values))
    kernels = list(dict.fromkeys(kernel for kernel, _ in written.values))
    for number, name in enumerate(metrics):
        parts += [text("Metric"), struct.pack("<q", number), text(name), text("")]
    for number, name in enumerate(kernels):
        region, caller = name.split("->")[-1], kernels.index("main") if "->" in name else -1
        parts += [text("Region"), struct.pack("<q", number), text(region), text("a.c")]
        parts += [
            struct.pack("<q", 12),
            text("Callpath"),
            struct.pack("<3q", number, number, caller),
        ]
    for number, point in enumerate(written.points):
        parts += [text("Coordinate"), struct.pack("<qq", number, len(point))]
        for name, value in reversed(list(zip(written.parameters, point, strict=True))):
            parts += [text(name), struct.pack("<d", value)]
    parts += [text("ModelComment"), struct.pack("<q", 0), text("steep")]
    later = struct.pack("<q", 5) + text("FIRST_POINTS_FOUND") + struct.pack("<qq", 0, 0)
    later = later + text("INCREASING_COST") if options else b""
    parts += [text("SingleParameterSimpleModelGenerator"), text("default")]
    parts += [text("CROSSVALIDATION_LEAVE_ONE_OUT"), struct.pack("<d", 0.0)]
    parts += [text("GENERATE_MODEL_MEAN"), later, struct.pack("<q", 1), term(2.0)]
    parts += [struct.pack("<q", 1)]
    parts += [text("MultiParameterSimpleModelGenerator"), text("several")]
    parts += [text("GENERATE_MODEL_MEDIAN"), later]
    for (kernel, metric), values in written.values.items():
        for at, each in enumerate(values):
            middle = float(np.median(each))
            parts += [text("ExperimentPoint"), struct.pack("<qq", at, len(each))]
            parts += [
                struct.pack("<9d", np.mean(each), 0, 0, 0, middle, 0, 0, min(each), max(each))
            ]
            parts += [struct.pack("<qq", metrics.index(metric), kernels.index(kernel))]
    function = text("SingleParameterFunction") + struct.pack("<dq", 1.0, 1) + term(2.0)
    product = struct.pack("<dq", 3.0, 1) + text(written.parameters[0]) + term(1.0)
    joint = text("MultiParameterFunction") + struct.pack("<dq", 1.0, 1) + product
    parts += [text("Model"), struct.pack("<qqq", 0, 0, 0), function, joint, text("Function")]
    parts += [function] * 4 + [
        struct.pack("<4d", 1, 1, 1, 1) if options else struct.pack("<3d", 1, 1, 1)
    ]
    parts += [struct.pack("<qq", 1, 0), struct.pack("<q", 1), text(written.parameters[0])]
    parts += [struct.pack("<qdd", 1, 0.0, 1.0)]
    return b"".join(parts)
