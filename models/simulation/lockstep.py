"""Threads of one loop that wait for each other: each counts its steps where the others see it.

numba offers no memory that threads may read while another writes it. These are the processor's own
instructions for that: what a thread wrote before it published a step is there for all that saw it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from hindmost.models.compiled import part

LINE = 8
"""Counters of two threads are that many numbers apart, in cache lines of their own."""
SPINS = 2000
"""Looks at a counter before the core is offered to other threads."""


def counters(threads: int) -> NDArray[np.int64]:
    """Return a counter for each thread, and one that is not 0 once nobody shall wait any more."""
    return np.zeros((threads + 1) * LINE, np.int64)


yield_core: Any = types.ExternalFunction("sched_yield", types.int32())


def publish_steps(typing: Any, counters: Any, at: Any, value: Any) -> Any:
    """Generate: write ``counters[at] = value`` after all that this thread wrote before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = address_of(context, builder, signature, arguments)
        builder.store_atomic(arguments[2], address, "release", 8)
        return context.get_dummy_value()

    return types.void(counters, types.int64, types.int64), generate


def published_steps(typing: Any, counters: Any, at: Any) -> Any:
    """Generate: return ``counters[at]``, before this thread reads anything else."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = address_of(context, builder, signature, arguments)
        return builder.load_atomic(address, "acquire", 8)

    return types.int64(counters, types.int64), generate


def address_of(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
    """Return the address of an element of a contiguous array."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return cgutils.gep(builder, array.data, arguments[1])  # type: ignore[no-untyped-call]


publish: Any = intrinsic(publish_steps)
published: Any = intrinsic(published_steps)


@part
def wait_for_all(counters: NDArray[np.int64], threads: int, step: int) -> None:
    """Return when every thread has published a step, or all shall stop."""
    for thread in range(threads):
        spins = 0
        while published(counters, thread * LINE) < step:
            spins += 1
            if spins > SPINS:
                if published(counters, threads * LINE):
                    return
                yield_core()
