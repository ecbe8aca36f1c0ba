"""What the scripts of all schedulers share: names, quoting, and the lines around the driver."""

from __future__ import annotations

import math
import re
import shlex
import sys
import unicodedata
from importlib.resources import files
from string import Template

from hindmost.errors import UsageError
from hindmost.jobs.schedulers.scheduler import Script

OUTPUT = "output"
"""Folder of a study for what scripts print; a scheduler wants it there before a job begins."""

SEVERAL = {
    "#SBATCH": re.compile(r"(?:^|\s)(?:--arr?a?y?(?:[=\s]|$)|-a(?:[\s\d=]|$))|hetjob|packjob"),
    "#PBS": re.compile(r"(?:^|\s)-J\s*\d"),
    "#": re.compile(r"(?!)"),
}
"""Directives that make an array, or a job of several parts, by what scripts say before them."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def line(value: str, what: str) -> str:
    """Return a text that is to stand on one line, as it is.

    Raises
    ------
    UsageError
        It has a line break or another control character: what follows would be a line of its own.
    """
    for character in value:
        if character != "\t" and unicodedata.category(character) in ("Cc", "Zl", "Zp"):
            raise UsageError(
                f"{what} has the control character {character!r} in {value!r}; a value stands on "
                "one line of a script: write several lines as several values."
            )
    return value


def quoted(value: str, what: str) -> str:
    """Return a value as one word of a shell, whatever is in it."""
    return shlex.quote(line(value, what))


def clock(seconds: float) -> str:
    """Write a time as hours, minutes and seconds, rounded up."""
    whole = math.ceil(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def directives(script: Script, prefix: str, *own: str) -> str:
    """Return lines for the head of a script: ours, then those of the machine, verbatim.

    Parameters
    ----------
    prefix : str
        ``#SBATCH`` or ``#PBS``.
    own : str
        Ours; empty ones are left out.
    """
    machine = script.machine
    theirs = [line(each, f"A directive of machine '{machine.name}'") for each in machine.directives]
    for each in theirs:
        if each.lstrip().startswith("#"):
            raise UsageError(
                f"The directive {each!r} of machine '{machine.name}' begins with '#'; write it "
                f"without '{prefix}', as on the command line."
            )
        if SEVERAL[prefix].search(each):
            raise UsageError(
                f"The directive {each!r} of machine '{machine.name}' makes several jobs of a "
                "script, and all would do the same runs; an allocation is one job. Remove it: a "
                "[pack] deals runs to several."
            )
    return "\n".join(f"{prefix} {each}" for each in (*own, *theirs) if each)


def fill_template(name: str, script: Script, **values: str) -> str:
    """Return a script from its template in ``templates/``.

    Parameters
    ----------
    name : str
        File name of the template.
    values : str
        What only this scheduler has, ready to stand in the script.
    """
    machine, allocation = script.machine, script.allocation
    runs = len(allocation.runs)
    text = files("hindmost.jobs.schedulers").joinpath("templates", name).read_text("utf-8")
    return Template(text).substitute(
        study=line(script.study, "The name of the study"),
        runs=f"{runs} run{'s' if runs != 1 else ''}",
        nodes=f"{allocation.nodes} node{'s' if allocation.nodes != 1 else ''}",
        setup="\n".join(_setup(script)),
        python=quoted(machine.python or sys.executable, f"python of machine '{machine.name}'"),
        folder=quoted(str(script.folder), "The folder of the study"),
        allocation=quoted(allocation.id, "The id of an allocation"),
        **values,
    )


def _setup(script: Script) -> list[str]:
    """Return the machine's own lines, then its variables: they have the last word."""
    machine = script.machine
    lines = [line(each, f"A line of setup of machine '{machine.name}'") for each in machine.setup]
    # One thread a rank: more would share its core.
    for name, value in {"OMP_NUM_THREADS": "1", **machine.environment}.items():
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"'{name}' in the environment of machine '{machine.name}' is no name of a "
                "variable: letters, digits and underscores, no digit first."
            )
        lines.append(f"export {name}={quoted(value, f'{name} of machine {machine.name!r}')}")
    return lines
