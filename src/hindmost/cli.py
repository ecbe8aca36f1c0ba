"""The command: a table from verbs to the modules that do them, each imported only when called."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol, cast

from hindmost.errors import UsageError

VERBS = {
    "run": ("hindmost.harness.verbs.run", "run solvers on ranks and record every iteration"),
    "probe": ("hindmost.harness.verbs.probe", "measure what this machine can do"),
    "show": ("hindmost.analysis.verbs.show", "say what is in run files"),
    "ranks": ("hindmost.analysis.verbs.ranks", "say who is hindmost, and which ranks stand out"),
    "watch": ("hindmost.analysis.verbs.watch", "show a run while it goes on"),
    "check": ("hindmost.analysis.verbs.check", "say whether runs are good enough to conclude from"),
    "efficiency": (
        "hindmost.analysis.verbs.efficiency",
        "say how much of the ranks' time is work",
    ),
    "fit": ("hindmost.analysis.verbs.fit", "hold models of the noise against the solve time"),
    "predict": ("hindmost.analysis.verbs.predict", "say how long a later solve will take"),
    "scale": ("hindmost.analysis.verbs.scale", "model how kernels grow, and rank them"),
    "history": ("hindmost.analysis.verbs.history", "say what changed in nightly results"),
    "compare": ("hindmost.analysis.verbs.compare", "say how much faster one result is"),
    "plot": ("hindmost.analysis.verbs.plot", "draw run files"),
    "report": ("hindmost.analysis.verbs.report", "write one HTML page on run files"),
    "plan": ("hindmost.jobs.verbs.plan", "say what a study comes to on a machine"),
    "submit": ("hindmost.jobs.verbs.submit", "submit a study to a machine, or to this one"),
    "status": ("hindmost.jobs.verbs.status", "say how a study stands, and what to do next"),
    "resume": ("hindmost.jobs.verbs.resume", "submit what is left of a study"),
    "cancel": ("hindmost.jobs.verbs.cancel", "cancel the jobs of a study"),
    "collect": ("hindmost.jobs.verbs.collect", "put the run files of a study into one folder"),
    "drive": ("hindmost.jobs.verbs.drive", "do the runs of an allocation; scripts call it"),
    "doctor": ("hindmost.harness.verbs.doctor", "say what this machine has and what it lacks"),
}

BRANCHES = {
    ("run", "adaptive"): "hindmost.harness.verbs.run_adaptive",
    ("run", "collectives"): "hindmost.harness.verbs.run_collectives",
    ("predict", "adaptive"): "hindmost.harness.verbs.predict_adaptive",
}
"""Verbs whose next word makes them another: the module for both words."""

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost run laplacian-1d --unknowns 100000 --solver gmres --solver pgmres \\
                            --iterations 2000 --repeats 3 --warmup 1 --out runs
  hindmost show runs/*.h5
  hindmost fit runs/*.h5
  hindmost report runs/*.h5 --out runs/report.html

'hindmost VERB --help' says more of each. Exit status: 0 done, 1 a finding, 2 usage, 3 bad data,
4 the environment lacks something, 75 work is left, 130 interrupted.
"""


class Verb(Protocol):
    """What the module of a verb has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's arguments."""

    def perform(self, arguments: argparse.Namespace) -> int:
        """Do it and return the exit status."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are hindmost's, so that on many ranks only one speaks."""

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError."""
        if message.startswith("unrecognized arguments"):
            message += "; PETSc options go after '--', and a repeated choice needs its word again"
        raise UsageError(f"{message} (see: {self.prog} --help)")


class Help(argparse.RawDescriptionHelpFormatter):
    """The help of the command: argparse forgets that verbs stand further in than options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = max(map(len, VERBS)) + 2 * self._indent_increment


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    words = list(sys.argv[1:] if words is None else words)
    words, petsc_options = split_petsc_options(words)
    parser = Parser(
        prog="hindmost",
        description="Measures and models where parallel iterations lose time.",
        epilog=EXAMPLES,
        formatter_class=Help,
    )
    parser.add_argument("--version", action="store_true", help="say which version this is")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    chosen = next((word for word in words if not word.startswith("-")), "")
    verb = None
    for name, (module, summary) in VERBS.items():
        sub = verbs.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == chosen:
            after = words.index(name) + 1
            branch = (name, *words[after : after + 1])
            if branch in BRANCHES:
                module = BRANCHES[branch]
                sub.prog += f" {words.pop(after)}"
            verb = load(module)
            verb.add_arguments(sub)
    arguments = parser.parse_args(words)
    if arguments.version:
        from hindmost import __version__

        print(f"hindmost {__version__}")  # noqa: T201
        return 0
    if verb is None:
        parser.print_help()
        return 2
    if petsc_options and arguments.verb != "run":
        raise UsageError("'--' and what follows are PETSc options, which only 'run' takes.")
    arguments.petsc_options = tuple(petsc_options)
    return verb.perform(arguments)


def load(module: str) -> Verb:
    """Import the module of a verb."""
    return cast(Verb, importlib.import_module(module))


def split_petsc_options(words: list[str]) -> tuple[list[str], list[str]]:
    """Split a command line at ``--``."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]
