"""Experiments as Extra-P 4 saves them, written by hand."""

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
        for value in values:
            stream = io.BytesIO()
            np.save(stream, np.array(value))
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
