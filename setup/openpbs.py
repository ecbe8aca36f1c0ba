"""An OpenPBS for tests, which start a server of their own: installed, or built from sources."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from choice import SetupError
from environment import ROOT, Environment
from progress import run, say
from system import install_packages

HERE = ROOT / "build" / "openpbs"
"""The installed OpenPBS that tests use, or a link to it."""

PACKAGES = (
    *("gcc", "g++", "make", "autoconf", "automake", "libtool", "swig", "perl", "python3-dev"),
    *(
        "postgresql",
        "postgresql-contrib",
        "postgresql-server-dev-all",
        "libhwloc-dev",
        "libx11-dev",
    ),
    *("libxt-dev", "libxext-dev", "libxft-dev", "libedit-dev", "libical-dev", "libncurses-dev"),
    *("tcl-dev", "tk-dev", "libexpat1-dev", "libssl-dev", "libcjson-dev", "iproute2", "util-linux"),
)


def prepare(environment: Environment) -> None:
    """Take the OpenPBS of the folder ``$OPENPBS``, or build it from the sources there.

    Raises
    ------
    SetupError
        The folder has neither, or a step of the build failed.
    """
    given = Path(os.environ.get("OPENPBS", "")).expanduser().resolve()
    if (given / "sbin" / "pbs_server").exists():
        HERE.parent.mkdir(exist_ok=True)
        if given != HERE.resolve():
            if HERE.is_dir() and not HERE.is_symlink():
                shutil.rmtree(HERE)
            HERE.unlink(missing_ok=True)
            HERE.symlink_to(given)
        return
    if not (given / "configure.ac").exists():
        raise SetupError(
            f"{given} has neither sbin/pbs_server, as an installed OpenPBS, nor configure.ac, as "
            "its sources: get them from https://github.com/openpbs/openpbs, and name their folder."
        )
    install_packages(environment, PACKAGES, expected="a minute")
    environment.step("openpbs", lambda: build(environment, given), str(given))


def build(environment: Environment, sources: Path) -> None:
    """Build OpenPBS, and install it into `HERE`."""
    work = HERE.with_name("openpbs-sources")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(sources, work, symlinks=True)
    log = environment.path.with_name(f"{environment.stack}-openpbs.log")
    for words in (
        ("./autogen.sh",),
        ("./configure", f"--prefix={HERE}"),
        ("make", f"-j{len(os.sched_getaffinity(0))}"),
        ("make", "install"),
    ):
        run(words, what=f"OpenPBS: {' '.join(words)}", log=log, cwd=work)
    # Without these bits no client can say who it is.
    for name in ("pbs_iff", "pbs_rcp"):
        (HERE / "sbin" / name).chmod(0o4755)
    shutil.rmtree(work)
    say(f"OpenPBS is in {HERE}")
