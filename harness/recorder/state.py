"""The running totals of the recorder in this process, readable at any time."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

PHASES = ("halo", "wait", "post", "unclassified")
"""The phases of MPI time, in the order of the C source; ``other`` fits none."""

POLLING = ("looks", "asks", "tests_")
"""How the classes of calls begin that ask and do not wait."""

HEAD = [
    ("armed", "i8"),
    ("begin_ns", "i8"),
    ("end_ns", "i8"),
    ("begin_utc_ns", "i8"),
    ("switches", "i8"),
    ("core_wait_ns", "i8"),
    ("iteration", "i8"),
    ("residual_norm", "f8"),
    ("seen", "i8"),
    ("capacity", "i8"),
    ("phase_ns", "i8", len(PHASES)),
    ("foreign_calls", "i8"),
    ("unknown_requests", "i8"),
]
"""The counters that do not depend on the number of MPI calls that are known."""


class State:
    """The counters of the recorder in this process."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.hindmost_state.restype = ctypes.c_void_p
        count = ctypes.c_int32.in_dll(library, "hindmost_call_count").value
        names = (ctypes.c_char_p * count).in_dll(library, "hindmost_call_names")
        layout = np.dtype([*HEAD, ("call_count", "i8", count), ("other_ns", "i8", count)])
        memory = (ctypes.c_char * layout.itemsize).from_address(library.hindmost_state())
        self._counters = np.ndarray((1,), layout, buffer=memoryview(memory))[0]
        self.call_names = tuple((name or b"").decode() for name in names)
        self.call_classes = classes_of_calls(library)

    def __getitem__(self, name: str) -> Any:
        """Return a copy of one counter or array of counters, as it is now."""
        return self._counters[name].copy()

    def polls(self) -> int:
        """Return how many calls asked whether a message or request was there, without waiting."""
        counts = zip(self._counters["call_count"].tolist(), self.call_classes, strict=True)
        return sum(count for count, kind in counts if kind.startswith(POLLING))


def classes_of_calls(library: ctypes.CDLL) -> tuple[str, ...]:
    """Return the class of every MPI call that is wrapped, as in the C source, in lower case."""
    count = ctypes.c_int32.in_dll(library, "hindmost_call_count").value
    numbers = (ctypes.c_int32 * count).in_dll(library, "hindmost_call_classes")
    names = (ctypes.c_char_p * (max(numbers) + 1)).in_dll(library, "hindmost_class_names")
    return tuple((names[number] or b"").decode().lower() for number in numbers)
