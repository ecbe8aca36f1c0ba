"""Scripts of all schedulers: names, quoting, and the lines around the driver."""

from __future__ import annotations

import re
import shlex
import sys
import unicodedata
from importlib.resources import files
from string import Template

from hindmost.errors import UsageError
from hindmost.jobs.schedulers.scheduler import Script
from hindmost.text import counted

OUTPUT = "output"
"""Folder of a study for the output of scripts; it must exist before a job starts."""

SEVERAL = {
    "#SBATCH": re.compile(r"(?:^|\s)(?:--arr?a?y?(?:[=\s]|$)|-a(?:[\s\d=]|$))|hetjob|packjob"),
    "#PBS": re.compile(r"(?:^|\s)-J\s*\d"),
    "#": re.compile(r"(?!)"),
}
"""Directives of job arrays and heterogeneous jobs, by the prefix of directives."""


def line(value: str, what: str) -> str:
    """Return a text that must fit on one line, unchanged.

    Raises
    ------
    UsageError
        It has a line break or another control character, after which a new line would begin.
    """
    for character in value:
        if character != "\t" and unicodedata.category(character) in ("Cc", "Zl", "Zp"):
            raise UsageError(
                f"{what} has the control character {character!r} in {value!r}, but a value must "
                "fit on one line of a script. Write several lines as several values."
            )
    return value


def quoted(value: str, what: str) -> str:
    """Quote a value as one word of a shell."""
    return shlex.quote(line(value, what))


def directives(script: Script, prefix: str, *own: str) -> str:
    """Return the directives of a script: hindmost's, then those of the machine, verbatim.

    Parameters
    ----------
    prefix : str
        ``#SBATCH`` or ``#PBS``.
    own : str
        Hindmost's; empty ones are left out.
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
                f"The directive {each!r} of machine '{machine.name}' turns a script into several "
                "jobs, which would all do the same runs. Remove it; [pack] distributes runs over "
                "several jobs."
            )
    return "\n".join(f"{prefix} {each}" for each in (*own, *theirs) if each)


def fill_template(name: str, script: Script, **values: str) -> str:
    """Return a script from its template in ``templates/``.

    Parameters
    ----------
    name : str
        File name of the template.
    values : str
        Values of this scheduler only, quoted for the script.
    """
    machine, allocation = script.machine, script.allocation
    runs = len(allocation.runs)
    text = files("hindmost.jobs.schedulers").joinpath("templates", name).read_text("utf-8")
    return Template(text).substitute(
        study=line(script.study, "The name of the study"),
        runs=counted(runs, "run"),
        nodes=counted(allocation.nodes, "node"),
        setup="\n".join(_setup(script)),
        python=quoted(machine.python or sys.executable, f"python of machine '{machine.name}'"),
        folder=quoted(str(script.folder), "The folder of the study"),
        allocation=quoted(allocation.id, "The id of an allocation"),
        **values,
    )


def _setup(script: Script) -> list[str]:
    """Return the machine's setup lines, then its variables, which override them."""
    machine = script.machine
    lines = [line(each, f"A line of setup of machine '{machine.name}'") for each in machine.setup]
    # One thread per rank: more would share its core.
    for name, value in {"OMP_NUM_THREADS": "1", **machine.environment}.items():
        lines.append(f"export {name}={quoted(value, f'{name} of machine {machine.name!r}')}")
    return lines
