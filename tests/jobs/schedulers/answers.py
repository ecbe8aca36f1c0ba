"""Answers of real schedulers: recorded with the calls that got them, replayed by the tests.

A file in ``recorded/`` has situations, and in each what was called, in its order:

    ## nobody knows it
    $ qdel 999999.n0
    ! qdel: Unknown Job Id 999999.n0
    = 153

Lines of output begin with ``>``, those of errors with ``!``, the exit status with ``=``.
"""

import shlex
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from hindmost.harness.batch_job import Answer

FOLDER = Path(__file__).with_name("recorded")
Calls = dict[str, list[tuple[str, Answer]]]
"""By situation: what was called, as one would type it, and the answer."""


def read(name: str) -> Calls:
    """Return the answers of a file."""
    found: Calls = {}
    out, err, words, situation = "", "", "", ""
    for line in (FOLDER / name).read_text().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "##":
            situation = rest
            found[situation] = []
        elif kind == "$":
            out, err, words = "", "", rest
        elif kind == ">":
            out += f"{rest}\n"
        elif kind == "!":
            err += f"{rest}\n"
        elif kind == "=":
            found[situation].append((words, Answer(status=int(rest), out=out, err=err)))
    return found


def replay(
    patch: pytest.MonkeyPatch, module: ModuleType, answers: list[tuple[str, Answer]]
) -> list[str]:
    """Let a scheduler get the answers of a situation; a call that was not recorded is an error.

    Returns the calls that it makes. The same call may have several answers, one after the other;
    the last one stays.
    """
    made: list[str] = []

    def call(*words: str, **_: float | Mapping[str, str] | None) -> Answer:
        made.append(shlex.join(words))
        there = [answer for known, answer in answers if known == made[-1]]
        assert there, f"{made[-1]} was not recorded; there is {[known for known, _ in answers]}"
        return there[min(made.count(made[-1]), len(there)) - 1]

    patch.setattr(module, "call", call)
    return made
