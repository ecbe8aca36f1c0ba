"""What qsub checks before it asks a server, from its manual (qsub.1B): says nothing of the server.

Its options, the values of those that we use, and where directives may stand. A script that passes
can still be refused by a site.
"""

from __future__ import annotations

import getopt
import re
import shlex

OPTIONS = "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:"

VALUES = {
    "-A": r"\S.*",
    "-j": r"oe|eo|n",
    "-J": r"\d+-\d+(:\d+)?(%\d+)?",
    "-k": r"n|d?[oe]{1,2}",
    "-m": r"n|j?[abe]{1,3}",
    "-N": r"[A-Za-z0-9][A-Za-z0-9+\-_.]{0,229}",
    "-o": r"([\w.-]+:)?[ -~]+",
    "-p": r"[+-]?\d{1,4}",
    "-q": r"[A-Za-z][\w.-]*(@[\w.-]+)?|@[\w.-]+",
    "-r": r"[yn]",
    "-S": r"/[ -~]+(@[\w.-]+)?(,/[ -~]+@[\w.-]+)*",
}

_CHUNK = r"(\d+(:[A-Za-z]\w*=[^:+\s]+)*|[A-Za-z]\w*=[^:+\s]+(:[A-Za-z]\w*=[^:+\s]+)*)"
_PLACE = r"free|pack|scatter|vscatter|excl|exclhost|shared|group=[A-Za-z]\w*"

RESOURCES = {
    "select": rf"{_CHUNK}(\+{_CHUNK})*",
    "place": rf"({_PLACE})(:({_PLACE}))*",
    "walltime": r"\d+|(\d+:)?\d{1,2}:\d{2}(\.\d+)?",
    "nodes": r"\S+",
}


def complaints(text: str) -> list[str]:
    """Return what qsub would say against a script: empty if nothing."""
    found: list[str] = []
    options: list[tuple[str, str]] = []
    commands = False
    for number, line in enumerate(text.splitlines(), 1):
        if number == 1 and not line.startswith("#!"):
            found.append("1: no interpreter")
        if line.startswith("#PBS"):
            if commands:
                found.append(f"{number}: a directive after the first command is not read")
            try:
                given, rest = getopt.getopt(shlex.split(line[4:]), OPTIONS)
            except (getopt.GetoptError, ValueError) as error:
                found.append(f"{number}: {error}")
                continue
            found += [f"{number}: stray word '{word}'" for word in rest]
            options += given
        elif line.strip() and not line.lstrip().startswith("#"):
            commands = True
    return found + _values(options)


def _values(options: list[tuple[str, str]]) -> list[str]:
    found, resources = [], []
    for option, value in options:
        if option in VALUES and not re.fullmatch(VALUES[option], value):
            found.append(f"illegal {option} value '{value}'")
        if option == "-l":
            for each in value.split(","):
                name, _, asked = each.partition("=")
                resources.append(name)
                if name in RESOURCES and not re.fullmatch(RESOURCES[name], asked):
                    found.append(f"illegal -l {name} value '{asked}'")
    if {"select", "nodes"} <= set(resources) or {"select", "ncpus"} <= set(resources):
        found.append("select cannot stand beside nodes or ncpus")
    if "place" in resources and "select" not in resources:
        found.append("place needs select")
    return found
