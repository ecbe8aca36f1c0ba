"""Numbers of a raw file that cannot be: each costs its own field or record, and no other.

Whatever the recorder writes, a fault of it or of the machine's clock may make one number odd. What
is then read is all the rest, with a remark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, is_dataclass
from typing import Any, TypeVar, get_origin

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.library import Flag
from hindmost.harness.runfile.contexts import NOWHERE, PYTHON
from hindmost.parsing import LARGEST, shown
from hindmost.records import RecordError, from_document, hints
from hindmost.text import counted

T = TypeVar("T")
FLAGS = sum(Flag)
"""All flags that a record may have."""
MARKS = (*range(32, 127), *range(994, 1128))
"""Instants that have a name: letters, and the marks of a loop."""
MAX_COUNT, MAX_ADDRESS = 1 << 53, 1 << 48
PLACE_NUMBERS = ("module", "offset", "function", "bytes")
"""Of a frame of a call context."""
MAX_REPAIRS = 64
"""Times of a section that are set right; where more are not in order, the clock was set back."""


def usable(kind: type[T], document: Any, odd: list[str]) -> T:
    """Make a record of the fields of a document that can be used; the others have their defaults.

    Parameters
    ----------
    kind : type
        A dataclass.
    document : object
        As a parser returns it.
    odd : list of str
        Gets a remark on each field that cannot be used.

    Raises
    ------
    RecordError
        A field without a default cannot be used.
    """
    try:
        return from_document(kind, document, ignore_unknown=True)
    except RecordError:
        if not isinstance(document, dict) or not is_dataclass(kind):
            raise
    good = {}
    for name, of_field in hints(kind).items():
        if name not in document:
            continue
        value, remark = usable_value(name, of_field, document[name])
        if remark:
            odd.append(remark)
        if value is not MISSING:
            good[name] = value
    return from_document(kind, good)


def usable_value(name: str, kind: Any, value: Any) -> tuple[Any, str]:
    """Return what can be used of a field's value, and a remark on what cannot.

    Of a mapping, the other members can.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and not -LARGEST < value < LARGEST:
        return MISSING, f"{name} is {shown(value)}"
    try:
        from_document(kind, value)
    except RecordError as error:
        if get_origin(kind) is not None and isinstance(value, dict):
            good = (
                {
                    key: one
                    for key, one in value.items()
                    if not usable_value(name, kind, {key: one})[1]
                }
                if len(value) > 1
                else {}
            )
            return good, error.below(name).problem
        return MISSING, f"{name} is {shown(value)}"
    return value, ""


def in_order(times: NDArray[np.int64]) -> tuple[NDArray[np.int64], int, int]:
    """Set times right that are not in order: each to that of its neighbour.

    Parameters
    ----------
    times : int64 array, shape (time,)

    Returns
    -------
    int64 array, shape (time,)
        The same array where all are in order.
    int
        How many were set right.
    int
        How many times are of use: fewer than there are where most of the others are not in order.
    """
    wrong = np.flatnonzero(np.diff(times) < 0)
    if not wrong.size:
        return times, 0, times.size
    right, repairs, at = times.copy(), 0, int(wrong[0])
    while at < right.size - 1:
        if right[at] <= right[at + 1]:
            later = np.flatnonzero(np.diff(right[at:]) < 0)
            if not later.size:
                break
            at += int(later[0])
        if repairs == MAX_REPAIRS:
            return times, 0, int(wrong[0]) + 1
        repairs += 1
        # Of two times one is odd: the later one if it does not fit those before, or if what follows
        # fits the earlier one.
        fits_before = at == 0 or right[at - 1] <= right[at + 1]
        fits_after = at + 2 < right.size and right[at + 2] >= right[at]
        if fits_before and not fits_after:
            right[at] = right[at + 1]
        else:
            right[at + 1] = right[at]
        at = max(at - 1, 0)
    return right, repairs, right.size


def records_in_order(
    records: NDArray[np.void], begin_ns: int, end_ns: int, odd: list[str]
) -> tuple[NDArray[np.void], int, int]:
    """Return the records of a section with times in order, and when it begins and ends.

    Parameters
    ----------
    records : array, shape (record,)
    begin_ns, end_ns : int
        When it begins and ends, as far as is known.
    odd : list of str
        Gets a remark on what was set right, or is left out.
    """
    spans = records["what"] <= 0  # else they are instants
    ends_at = np.cumsum(1 + spans)  # in the row of all times, which the begin of the section opens
    begins_at = ends_at - spans
    instants = np.empty(2 + int(np.count_nonzero(spans)) + records.size, np.int64)
    instants[0], instants[-1] = begin_ns, end_ns
    instants[begins_at] = records["begin_ns"]
    instants[ends_at[spans]] = records["end_ns"][spans]
    right, repairs, used = in_order(instants)
    if right is instants and used == instants.size:
        return records, begin_ns, end_ns
    if used < instants.size:
        kept = int(np.searchsorted(ends_at, used))
        odd.append(f"times are not in order from record {kept:,} of {records.size:,} on")
        return records[:kept], begin_ns, int(instants[ends_at[kept - 1]]) if kept else begin_ns
    odd.append(f"{counted(repairs, 'time')} not in order")
    changed = records.copy()
    changed["begin_ns"] = right[begins_at]
    changed["end_ns"][spans] = right[ends_at[spans]]
    return changed, int(right[0]), int(right[-1])


def known_calls(
    records: NDArray[np.void],
    contexts: NDArray[np.uint32],
    calls: int,
    phases: int,
    odd: list[str],
    *,
    injecting: bool,
) -> NDArray[np.void]:
    """Return records all of whose calls, phases and flags are known.

    Those of one that are not are those of other records of its context, or else of its call.

    Parameters
    ----------
    contexts : uint32 array, shape (record,)
        0 where they are not known.
    calls, phases : int
        How many there are.
    injecting : bool
        Whether noise was injected, whose detours are records of no call.
    """
    strange, strange_phase, strange_flags = strange_records(
        records, calls, phases, injecting=injecting
    )
    unknown = int(np.count_nonzero(strange | strange_phase | strange_flags))
    if not unknown:
        return records
    changed = records.copy()
    changed["what"][strange] = 0  # an interval of no call
    for at in np.flatnonzero(strange)[:MAX_REPAIRS].tolist():
        alike = records["what"][(contexts == contexts[at]) & ~strange & (records["what"] < 0)]
        if contexts[at] and alike.size:
            changed["what"][at] = most_common(alike)
    changed["phase"][strange_phase] = phases - 1
    changed["flags"] &= FLAGS
    for name, wrong in (("phase", strange_phase), ("flags", strange_flags)):
        for at in np.flatnonzero(wrong)[:MAX_REPAIRS].tolist():
            alike = records[name][(changed["what"] == changed["what"][at]) & ~wrong]
            if alike.size:
                changed[name][at] = most_common(alike)
    odd.append(f"{counted(unknown, 'record')} of no known call, phase or flag")
    return changed


def strange_records(
    records: NDArray[np.void], calls: int, phases: int, *, injecting: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell of each record whether its call, its phase and its flags cannot be, shape (record,)."""
    what, phase = records["what"], records["phase"]
    strange = (what < -calls) | ((what == 0) & (not injecting))
    strange |= (what > 0) & ~np.isin(what, MARKS)
    flags = records["flags"].astype(np.int64)
    return strange, (phase < 0) | (phase >= phases), (flags & ~FLAGS) != 0


def known_contexts(
    contexts: NDArray[np.uint32], what: NDArray[np.int32], count: int, odd: list[str]
) -> NDArray[np.uint32]:
    """Return contexts that are all known, shape (record,).

    One that is not is that of other records of its call, if possible after the same one.

    Parameters
    ----------
    count : int
        How many contexts there are.
    """
    strange = contexts >= count
    unknown = (contexts == 0) & (what < 0)  # there may have been no room for them
    if np.count_nonzero(unknown) <= MAX_REPAIRS:
        strange |= unknown
    if count < 2 or not strange.any():
        return contexts
    changed = np.where(strange, 0, contexts).astype(np.uint32)
    before = np.concatenate([[0], changed[:-1]])
    for at in np.flatnonzero(strange)[:MAX_REPAIRS].tolist():
        alike = (what == what[at]) & ~strange
        after_same = alike & (before == before[at])
        of = contexts[after_same if after_same.any() else alike]
        if of.size:
            changed[at] = most_common(of)
    odd.append(f"{counted(int(np.count_nonzero(strange)), 'call context')} not known")
    return changed


def usable_counts(counts: NDArray[np.int64], odd: list[str]) -> NDArray[np.int64]:
    """Return counts that can be: 0 in place of others."""
    strange = (counts < 0) | (counts > MAX_COUNT)
    if strange.any():
        odd.append(
            f"{counted(int(np.count_nonzero(strange)), 'count')} of calls that found nothing"
        )
        return np.where(strange, 0, counts)
    return counts


def usable_edges(edges: NDArray[np.void], ranks: int, odd: list[str]) -> NDArray[np.void]:
    """Return what was sent to ranks that there are, shape (edge,)."""
    good = (edges["peer"] >= 0) & (edges["peer"] < ranks)
    for name in ("messages", "bytes"):
        good &= (edges[name] >= 0) & (edges[name] <= MAX_COUNT)
    if good.all():
        return edges
    odd.append(f"{counted(int(np.count_nonzero(~good)), 'number')} of messages to a rank")
    return edges[good]


def most_common(values: NDArray[Any]) -> int:
    """Return the most common of some numbers."""
    found, counts = np.unique(values, return_counts=True)
    return int(found[np.argmax(counts)])


def odd_numbers(found: Mapping[int, Sequence[str]]) -> str:
    """Say which numbers of the ranks could not be used; empty if all could."""
    odd = {rank: remarks for rank, remarks in found.items() if remarks}
    if not odd:
        return ""
    rank, remarks = next(iter(odd.items()))
    more = f" and {counted(len(remarks) - 1, 'more remark')}" if len(remarks) > 1 else ""
    others = f", and numbers of {counted(len(odd) - 1, 'other rank')}" if len(odd) > 1 else ""
    what = f"of rank {rank}, {remarks[0]}{more}{others}"
    return f"numbers that cannot be were left out or set right: {what}"


def usable_places(
    places: dict[str, NDArray[np.int64]], modules: int, codes: int
) -> tuple[dict[str, NDArray[np.int64]], bool]:
    """Return the numbers of places, of code that no file contains where they cannot be.

    Returns
    -------
    dict of str to int64 array, shape (place,)
    bool
        Whether any cannot be.
    """
    module = places["module"]
    strange = (module < NOWHERE) | (module >= modules)
    strange |= (module == PYTHON) & (places["function"] >= codes)
    for name in PLACE_NUMBERS[1:]:
        strange |= (places[name] < 0) | ((module >= 0) & (places[name] >= MAX_ADDRESS))
    if not strange.any():
        return places, False
    return {
        name: np.where(strange, NOWHERE if name == "module" else 0, each)
        for name, each in places.items()
    }, True
