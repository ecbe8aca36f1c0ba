"""The command: a table from verbs to the modules that do them, each imported only when called."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

from hindmost.errors import UsageError
from hindmost.executors import Executor
from hindmost.models.compiled import announce
from hindmost.output import strict_json, warn, write_lines, write_text
from hindmost.text import choose

VERBS = {
    "attach": ("hindmost.harness.verbs.attach", "record your own program"),
    "show": ("hindmost.analysis.verbs.show", "summarise runs, their ranks or their efficiencies"),
    "report": (
        "hindmost.analysis.verbs.report",
        "write an HTML report on runs, experiments and nights",
    ),
    "check": ("hindmost.analysis.verbs.check", "check whether runs support conclusions"),
    "whatif": (
        "hindmost.analysis.verbs.whatif",
        "predict what a change saves, here or on more ranks",
    ),
    "compare": ("hindmost.analysis.verbs.compare", "compare two sets of results"),
    "scale": ("hindmost.analysis.verbs.scale", "fit scaling models to kernels and rank them"),
    "history": ("hindmost.analysis.verbs.history", "find changes in nightly results"),
    "run": ("hindmost.harness.verbs.run", "run solvers of PETSc and record every iteration"),
    "fit": ("hindmost.analysis.verbs.fit", "fit noise models to run files"),
    "plot": (
        "hindmost.analysis.verbs.plot",
        "draw figures of runs, nightly results and experiments",
    ),
    "watch": ("hindmost.analysis.verbs.watch", "follow a running solve"),
    "probe": ("hindmost.harness.verbs.probe", "measure this machine"),
    "study": ("hindmost.jobs.verbs.study", "plan, submit and collect many runs"),
    "doctor": ("hindmost.harness.verbs.doctor", "show what this machine has, and what is missing"),
}

BRANCHES = {
    ("run", "adaptive"): "hindmost.harness.verbs.run_adaptive",
    ("whatif", "--adaptive"): "hindmost.harness.verbs.predict_adaptive",
    ("study", "plan"): "hindmost.jobs.verbs.plan",
    ("study", "submit"): "hindmost.jobs.verbs.submit",
    ("study", "status"): "hindmost.jobs.verbs.status",
    ("study", "cancel"): "hindmost.jobs.verbs.cancel",
    ("study", "collect"): "hindmost.jobs.verbs.collect",
    ("study", "drive"): "hindmost.jobs.verbs.drive",  # called by the scripts of a study
}
"""Modules of verbs of two words."""

SHARED = ("whatif", "scale", "history")
"""Verbs whose work the ranks share when mpiexec starts several."""

START = """\
hindmost finds where parallel iterations lose time: on every rank, in every iteration.

  hindmost doctor                                       what this machine has, and what is missing
  mpiexec -n 4 hindmost attach --out runs -- ./app      record your program, as it is
  hindmost show runs                                    where its time goes, and who is slow
  hindmost check runs                                   whether the data support conclusions
  hindmost report runs --out report.html                all of it on one page

Results that you have already:

  hindmost scale experiment.txt                         how kernels grow
  hindmost history nightly/                             what changed, and when
  hindmost compare before/ after/                       how much faster or slower

'hindmost --help' lists all verbs, 'hindmost VERB --help' has examples of one.
"""
"""What the command says to somebody who types nothing else."""
EXAMPLES = """\
examples:
  mpiexec -n 4 hindmost attach --out runs -- ./app
  hindmost show runs
  hindmost report runs --out report.html
  mpiexec -n 2 hindmost run laplacian-1d --solver gmres --solver pgmres --repeats 3 --out runs
  hindmost fit runs

'hindmost VERB --help' describes a verb.

exit status:
  0    done, and nothing found
  1    a finding: a slowdown, unsound data, a failed run, worse growth than expected
  2    the request cannot be carried out as written
  3    a file is invalid, cannot be read or written, or does not have what the answer needs
  4    something is missing on the machine or in the environment
  70   a defect of hindmost, or not enough memory; HINDMOST_TRACEBACK=1 shows the traceback
  75   stopped in good order with work left: start it again
  130  interrupted (Ctrl-C)
  141  the reader of the output went away, as in '| head'
  143  terminated (TERM)
"""


NUMBERS = {"int": "a whole number, such as 100", "float": "a number, such as 0.5"}
"""What an option of that type takes."""
SubParsers = argparse._SubParsersAction
"""Verbs below a command; argparse has no public way to them."""


class Verb(Protocol):
    """The module of a verb; one may have a long DESCRIPTION, and name in COMMON what --help lists.

    Attributes
    ----------
    EXAMPLES : str
        The end of its help.
    """

    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's arguments."""

    def perform(self, arguments: argparse.Namespace) -> int:
        """Carry out the verb and return the exit status."""


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageErrors, so that only one of many ranks prints them.

    Attributes
    ----------
    called : str
        The verb on the command line, for messages; argparse reports unknown options without it.
    """

    called = ""

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError."""
        prog = self.called or self.prog
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            first = unknown.split()[0]
            if not first.startswith("-") and prog.startswith("hindmost attach"):
                message = f"The program comes after '--': hindmost attach [options] -- {first}"
            elif not first.startswith("-"):
                message = f"Unexpected argument '{first}'; repeat an option for each of its values"
            elif prog.startswith("hindmost run"):
                message = f"Unknown option {first}; PETSc options go after '--'"
            else:
                message = f"Unknown option {first}{self.near(first.partition('=')[0])}"
        if message.endswith(": expected one argument"):
            message += ", and what begins with '-' is read as an option (write --option=-1)"
        if found := re.search(r": invalid (int|float) value: ", message):
            message += f"; write {NUMBERS[found[1]]}"
        stop = "" if message.endswith("?") else "."
        raise UsageError(f"{message}{stop} See: {prog} --help")

    def near(self, option: str) -> str:
        """Return a guess which option of the verb a misspelt one means; empty if none is near."""
        parsers = [self, *(p for a in self._actions if isinstance(a, SubParsers)
                           for p in a.choices.values() if p.prog == self.called)]  # fmt: skip
        known = [name for parser in parsers for name in parser._option_string_actions]
        found = get_close_matches(option, known, n=1)
        return f"; did you mean {found[0]}?" if found else ""

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Return a value; an empty path, as of a variable that is not set, would be this folder."""
        if action.type is Path and not arg_string:
            raise argparse.ArgumentError(action, "it is empty; name a path, or '.' for this folder")
        return super()._get_value(action, arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices, and guess which one was meant.

        The method of argparse, whose words differ between versions of Python and guess nothing.
        """
        if action.choices is not None and value not in action.choices:
            why = f"invalid choice: {value!r}; {choose(action.choices, value)}"
            raise argparse.ArgumentError(action, why)


def show_common(parser: argparse.ArgumentParser, common: Sequence[str]) -> None:
    """Leave only the common options of a verb, and the way to the others, in its help."""
    kept = {"--help", "--help-all", *common}
    others = [
        action
        for action in parser._actions
        if action.option_strings and not kept.intersection(action.option_strings)
    ]
    for other in others:
        other.help = argparse.SUPPRESS
    for group in parser._action_groups:
        if all(action.help == argparse.SUPPRESS for action in group._group_actions):
            group.description = None
    parser._option_string_actions["--help-all"].help = f"and {len(others)} more options"


class Help(argparse.RawDescriptionHelpFormatter):
    """The help of the command; argparse does not count the deeper indent of verbs."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = max(map(len, VERBS)) + 2 * self._indent_increment


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    words = list(sys.argv[1:] if words is None else words)
    words, petsc_options = split_petsc_options(words)
    parser, verb, words = parser_of(words)
    arguments = parser.parse_args(words)
    if arguments.version:
        from hindmost import __version__

        write_lines(f"hindmost {__version__}")
        return 0
    if arguments.completion:
        write_text(completion_script(arguments.completion))
        return 0
    if verb is None:
        write_text(START)
        return 2
    if arguments.verb == "doctor" and arguments.schema is not None:
        from hindmost.json_forms import FORMS, schema_of_verb

        if arguments.schema not in FORMS:
            allowed = choose(tuple(FORMS), arguments.schema)
            raise UsageError(f"'{arguments.schema}' prints no JSON; {allowed}.")
        write_text(strict_json(schema_of_verb(arguments.schema), 2))
        return 0
    if petsc_options and arguments.verb not in ("run", "attach"):
        raise UsageError("What follows '--' is for 'run' and 'attach' only; remove it.")
    arguments.petsc_options = arguments.program = tuple(petsc_options)
    if arguments.verb in SHARED:
        from hindmost.harness.launch import assigned_rank

        mine = assigned_rank()
        if mine.size > 1:
            from hindmost.harness.shared_work import perform_shared

            return perform_shared(partial(perform_with, verb, arguments), mine)
    return perform_with(verb, arguments, None)


def perform_with(verb: Verb, arguments: argparse.Namespace, executor: Executor | None) -> int:
    """Perform a verb, which may hand parts of its work to an executor; returns the exit status."""
    arguments.executor = executor
    announce(announce_compilation)
    convert_what_waits(arguments)
    return verb.perform(arguments)


def parser_of(words: Sequence[str]) -> tuple[Parser, Verb | None, list[str]]:
    """Return the parser for a command line, the module of its verb, and the words to parse.

    Only the verb in question is imported. The second word of a verb of two words, as in ``run
    adaptive``, is taken off the command line.
    """
    words = list(words)
    parser = Parser(
        prog="hindmost",
        description="Measure and model where parallel iterations lose time.",
        epilog=EXAMPLES,
        formatter_class=Help,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument(
        "--completion", choices=("bash", "zsh"), help="print a script that completes the command"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    chosen = next((word for word in words if not word.startswith("-")), "")
    verb = None
    # Only the help of the command lists all: parsers for them take longer than all else here.
    for name in VERBS.keys() & set(words[:1]) or VERBS:
        module, summary = VERBS[name]
        sub = verbs.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == chosen:
            after = words.index(name) + 1
            options = (word for word in words[after:] if word.startswith("-"))
            for branch in dict.fromkeys([*words[after : after + 1], *options]):
                if (name, branch) in BRANCHES:
                    module = BRANCHES[name, branch]
                    words.remove(branch)
                    sub.prog += f" {branch}"
            verb = load(module)
            sub.description, sub.epilog = getattr(verb, "DESCRIPTION", None), verb.EXAMPLES
            verb.add_arguments(sub)
            common: Sequence[str] = getattr(verb, "COMMON", ())
            if common:
                sub.add_argument("--help-all", action="help", help="list all options")
            if common and not set(words) & {"--help-all", "--completion"}:
                show_common(sub, common)
            parser.called = sub.prog
    return parser, verb, words


def help_of(words: Sequence[str]) -> str:
    """Return all options of a verb, as ``--help-all`` prints them; ``words`` are one or two."""
    return parser_of_verb(words).format_help()


def parser_of_verb(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a verb of one word or two, with the help of all its options."""
    parser, _, rest = parser_of([*words, "--help-all"])
    (verbs,) = (action.choices for action in parser._actions if isinstance(action, SubParsers))
    found: argparse.ArgumentParser = verbs[rest[0]]
    return found


def completion_script(shell: str) -> str:
    """Return a script that completes the command: verbs, their options and the choices of these."""
    import shtab

    whole = Parser(prog="hindmost")
    verbs: Any = whole.add_subparsers()
    for verb, (_, summary) in VERBS.items():
        parser = parser_of_verb([verb])
        verbs.add_parser(verb, parents=[parser], add_help=False, help=summary)
    script: str = shtab.complete(whole, shell)
    return script


def convert_what_waits(arguments: argparse.Namespace) -> None:
    """Convert what attached programs left in folders that a verb of the analysis is to open."""
    if not VERBS[arguments.verb][0].startswith("hindmost.analysis."):
        return
    given = getattr(arguments, "file", None)
    folders = [Path(each) for each in (given if isinstance(given, list) else [])]
    waiting = [folder for folder in folders if folder.is_dir() and any(folder.glob("*.raw"))]
    if waiting:
        conversion = importlib.import_module("hindmost.harness.attach.convert")
        for folder in waiting:
            conversion.convert_finished(folder, warn)


def announce_compilation() -> None:
    """Say why nothing happens for some seconds; of several ranks the first says it."""
    from hindmost.harness.launch import assigned_rank

    if assigned_rank().rank > 0:
        return
    warn("Compiling numerical loops, once for this installation; this takes some seconds ...")


def load(module: str) -> Verb:
    """Import the module of a verb."""
    if module.startswith("hindmost.analysis."):
        # Before numpy is loaded: on the small matrices of fits, threads of BLAS only wait for one
        # another, on all cores.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return cast(Verb, importlib.import_module(module))


def split_petsc_options(words: list[str]) -> tuple[list[str], list[str]]:
    """Split a command line at ``--``."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]
