"""Set hindmost up: ``python3 setup [--stack STACK] [--extras plot,dev] [PART ...]``.

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
import ownsite
import source
import system
from choice import SetupError, choose
from environment import Environment, established, install_hindmost, prepare_docs
from progress import say
from release import tag
from wheel import make_wheel

PREPARE = {"site": ownsite.prepare, "system": system.prepare, "source": source.prepare}
ONLY = {"docs": prepare_docs, "wheel": make_wheel, "tag": tag}
PARTS = {
    "slurm": "a Slurm for tests, if possible",
    "accounts": "a Slurm with all that keeps accounts",
    "programs": "programs of others that tests record",
    "blas": "the reference BLAS and OpenBLAS, for make test-blas",
    "docs": "only what builds the documentation, in .venvs/docs",
    "wheel": "only a wheel and an sdist, in dist/, installed and tried",
    "tag": "only a git tag of the version",
}
PROGRAMS = {"system": system.install_programs, "source": source.install_programs}


def main() -> int:
    parser = argparse.ArgumentParser(prog="setup", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"what else to set up: {'; '.join(f'{name}, {what}' for name, what in PARTS.items())}",
    )
    parser.add_argument("--stack", default="auto", help="auto, site, system or source")
    parser.add_argument("--extras", default="plot", help="what else to install: plot, dev")
    arguments = parser.parse_args()
    parts = set(arguments.parts)
    if unknown := sorted(parts - PARTS.keys()):
        parser.error(f"unknown part {unknown[0]}; choose from {', '.join(PARTS)}")
    try:
        if parts & ONLY.keys():
            for name in sorted(parts & ONLY.keys()):
                ONLY[name]()
            return 0
        choice = choose(arguments.stack or "auto", established())
        say(f"{choice.stack} stack: {choice.why}")
        environment = Environment(stack=choice.stack)
        PREPARE[choice.stack](environment)
        environment.make_current()
        install_hindmost(environment, arguments.extras)
        if "dev" in arguments.extras.split(","):
            system.prepare_tests(environment)
        if parts & {"slurm", "accounts"}:
            system.prepare_slurm(environment, "accounts" if "accounts" in parts else "if-possible")
        if "blas" in parts:
            blas.prepare(environment)
        if "programs" in parts:
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
