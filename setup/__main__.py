"""Set hindmost up: ``python3 setup [--stack auto|site|system|source] [--extras plot,dev]``.

Chooses a stack of MPI and PETSc, makes an environment for it in ``.venvs/STACK``, lets ``.venv``
stand for that, and installs hindmost there. What is done already is not done again, so that an
interrupted set-up goes on where it was.
"""

from __future__ import annotations

import argparse
import sys

if sys.version_info < (3, 11):  # noqa: UP036  # before anything that an older Python cannot read
    sys.exit(f"hindmost needs Python 3.11 or later; this is {sys.version.split()[0]}")

import blas
import openpbs
import ownsite
import source
import system
from choice import SetupError, choose
from environment import Environment, established, install_hindmost, prepare_docs
from progress import say
from wheel import make_wheel

PREPARE = {"site": ownsite.prepare, "system": system.prepare, "source": source.prepare}
PROGRAMS = {"system": system.install_programs, "source": source.install_programs}


def main() -> int:
    parser = argparse.ArgumentParser(prog="setup", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--stack", default="auto", help="auto, site, system or source")
    parser.add_argument("--extras", default="plot", help="what else to install: plot, dev")
    parser.add_argument(
        "--slurm",
        choices=("no", "if-possible", "accounts"),
        default="no",
        help="a Slurm for tests: no, if-possible, or with all that keeps accounts",
    )
    parser.add_argument(
        "--openpbs", metavar="FOLDER", help="an OpenPBS for tests: installed there, or its sources"
    )
    parser.add_argument(
        "--programs", action="store_true", help="programs of others that tests record"
    )
    parser.add_argument(
        "--blas", action="store_true", help="the reference BLAS and OpenBLAS, for make test-blas"
    )
    parser.add_argument(
        "--docs", action="store_true", help="only what builds the documentation, in .venvs/docs"
    )
    parser.add_argument(
        "--wheel", action="store_true", help="only a wheel and an sdist, in dist/, installed once"
    )
    arguments = parser.parse_args()
    try:
        if arguments.docs:
            prepare_docs()
            return 0
        if arguments.wheel:
            make_wheel()
            return 0
        choice = choose(arguments.stack or "auto", established())
        say(f"{choice.stack} stack: {choice.why}")
        environment = Environment(stack=choice.stack)
        PREPARE[choice.stack](environment)
        environment.make_current()
        install_hindmost(environment, arguments.extras)
        if "dev" in arguments.extras.split(","):
            system.prepare_tests(environment)
        system.prepare_slurm(environment, arguments.slurm)
        if arguments.openpbs:
            openpbs.prepare(environment, arguments.openpbs)
        if arguments.blas:
            blas.prepare(environment)
        if arguments.programs:
            if choice.stack not in PROGRAMS:
                raise SetupError(
                    "Programs to record come with the system and the source stack: "
                    "make test-programs STACK=system"
                )
            PROGRAMS[choice.stack](environment)
    except SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        print("\nset-up: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
