"""The attributes of a run file: texts, numbers, and JSON with members of known kinds.

Members that are not read may be anything; files of later versions have more of them.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any
from unicodedata import category

from hindmost.parsing import (
    AMOUNT,
    COUNT,
    FLAG,
    LIST,
    NUMBER,
    OBJECT,
    SOME,
    TEXT,
    Entries,
    Kind,
    Maybe,
    Members,
    Values,
    parse_json,
    shown,
)

MOST_NAME = 1000
"""Characters of a name."""
UNWRITABLE = ("Cc", "Cs")
"""Unicode categories not allowed in names: control characters and surrogates."""
MOST_TEXT = 10_000
"""Characters of any other text."""
MOST_RANKS = 1 << 31
MOST_COUNT = 1 << 53
"""Integers up to this are exact as float64."""
YEARS = (1970, 9998)

DURATION = Kind(
    "a number from 0 on", lambda value: type(value) in (int, float) and 0.0 <= value <= math.inf
)
"""May be infinite: the shortest body of a run without bodies."""
ANY = Kind("anything", lambda value: True)

SPEC = Members(
    {
        "unknowns": Maybe(AMOUNT),
        "repeat": COUNT,
        "petsc_options": Entries(TEXT),
        "between": TEXT,
        "injected": TEXT,
        "failure": Maybe(TEXT),
        "stopped": Maybe(TEXT),
        "deck": TEXT,
        "choices": Maybe(Members({"petsc_options": Entries(TEXT)})),
        "application": Maybe(OBJECT),
        "base": Entries(SOME, length=2),
        "first_cycle": COUNT,
        "machine": Maybe(TEXT),
        "interfere": Maybe(Members({"spans": Entries(LIST)})),
        "orders": Maybe(OBJECT),
        "speed_s": Maybe(AMOUNT),
        "pulse_s": Maybe(AMOUNT),
        "foresight_s": Maybe(AMOUNT),
        "pulses_s": Maybe(AMOUNT),
        "checkpoints": Entries(
            Members({"cycle": COUNT, "seconds": AMOUNT, "bytes": AMOUNT}, required=True)
        ),
        "attached": Maybe(
            Members(
                {
                    "name": TEXT,
                    "execution": TEXT,
                    "prefix": TEXT,
                    "program": Entries(TEXT),
                    "solves": COUNT,
                    "seconds": AMOUNT,
                    "finished": FLAG,
                    "iterate_at": Members({"call": TEXT, "calls": COUNT}, required=True),
                    "marks_differ": TEXT,
                    "period": Members(
                        {
                            "periods": COUNT,
                            "alike": AMOUNT,
                            "share": AMOUNT,
                            "others": Entries(TEXT),
                        },
                        required=True,
                    ),
                    "without_iterations": COUNT,
                    "solves_skipped": COUNT,
                    "reasons": Values(COUNT),
                    "snes_steps": Entries(COUNT, length=2),
                    "time_steps": Entries(COUNT, length=2),
                    "program_s": AMOUNT,
                    "of_ranks": COUNT,
                    "aborted": NUMBER,
                    "pipelined": Entries(TEXT),
                    "inner": Entries(
                        Members(
                            {"prefix": TEXT, "type": TEXT, "count": COUNT, "seconds": AMOUNT},
                            required=True,
                        )
                    ),
                }
            )
        ),
        "verdicts": Entries(Members({"cycle": COUNT, "kind": TEXT, "words": TEXT}, required=True)),
    }
)
ENVIRONMENT = Members(
    {
        "machine": Members(
            {
                "host": Maybe(TEXT),
                "cores": Maybe(SOME),
                "load_before": Maybe(AMOUNT),
                "cpu_model": Maybe(TEXT),
            }
        ),
        "petsc": Maybe(TEXT),
    }
)
GIT = Members({"commit": Maybe(TEXT), "dirty": Maybe(FLAG)})
OBJECTS: dict[str, Kind] = {
    "spec": SPEC,
    "environment": ENVIRONMENT,
    "petsc_options": Values(ANY),
    "scheduler": Values(Maybe(TEXT)),
    "git": GIT,
}
"""The members of attributes that are JSON."""
SUMMARY = Members(
    {
        "body_s": Members(
            dict.fromkeys(("minimum", "median", "quantile_99", "maximum"), DURATION), required=True
        ),
        "phase_s": Values(NUMBER),
        "balance_s": DURATION,
    },
    required=True,
)
COUNTED = Members(dict.fromkeys(("instructions", "cycles"), AMOUNT))
"""Counters in the summary, if the file has them."""


def read_object(name: str, text: Any, kind: Kind) -> dict[str, Any]:
    """Parse an attribute of JSON and check its members.

    Raises
    ------
    ValueError
        Invalid; the message names the path of the member.
    """
    if not isinstance(text, str):
        raise ValueError(f"the attribute '{name}' is {shown(text)}; it should be JSON")
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ValueError(f"the attribute '{name}' is not JSON: {error}") from None
    OBJECT.check(value, name)
    kind.check(value, name)
    found: dict[str, Any] = value
    return found


def read_summary(text: Any, phases: tuple[str, ...]) -> dict[str, Any]:
    """Read the totals of a run; raises like `read_object`.

    Parameters
    ----------
    phases : tuple of str
        The phases of the file, which the summary must contain.
    """
    summary = read_object("summary", text, SUMMARY)
    COUNTED.check(summary.get("counted", {}), "summary.counted")
    if set(summary["phase_s"]) != set(phases):
        raise ValueError(
            f"summary.phase_s has {shown(list(summary['phase_s']))}; the file has the phases "
            f"{shown(list(phases))}"
        )
    return summary


def check_value(name: str, value: Any) -> None:
    """Raise a ValueError if an attribute that is text or a number is invalid."""
    if isinstance(value, str) and len(value) > MOST_TEXT:
        raise ValueError(
            f"'{name}' has {len(value)} characters; it should have {MOST_TEXT} at most"
        )
    if name in ("workload", "solver"):
        check_length(name, value)
    if name == "ranks" and not 1 <= value <= MOST_RANKS:
        raise ValueError(f"'ranks' is {value}; it should be from 1 to {MOST_RANKS}")
    if name in ("iterations", "restart", "lag", "records_lost") and not 0 <= value <= MOST_COUNT:
        raise ValueError(f"'{name}' is {value}; it should be from 0 to {MOST_COUNT}")
    if name == "t0_utc":
        check_time(value)


def check_length(what: str, name: str) -> None:
    """Raise a ValueError if a name is empty or too long for a run file."""
    if not 0 < len(name) <= MOST_NAME:
        raise ValueError(f"'{what}' has {len(name)} characters; it should have 1 to {MOST_NAME}")


def check_new_name(what: str, name: object) -> None:
    """Raise a ValueError if a given name is not allowed in a run file.

    Parameters
    ----------
    what : str
        What the name is for.
    """
    TEXT.check(name, what)
    text = str(name)
    check_length(what, text)
    for letter in text:
        if category(letter) in UNWRITABLE:
            raise ValueError(f"'{what}' has the character {letter!r}; use printable ones only")


def check_time(text: str) -> None:
    """Raise a ValueError if a text is not a valid time of a run."""
    try:
        year = datetime.fromisoformat(text).year
    except ValueError:
        year = 0
    if not YEARS[0] <= year <= YEARS[1]:
        raise ValueError(
            f"'t0_utc' is {text[:40]!r}; it should be a time as 2026-01-02T03:04:05+00:00"
        )
