"""An installed OpenPBS for tests, which start a server of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

from choice import SetupError
from environment import ROOT

HERE = ROOT / "build" / "openpbs"
"""A link to the OpenPBS that tests use, or the installation itself."""


def prepare(folder: str) -> None:
    """Take the OpenPBS of a folder.

    Raises
    ------
    SetupError
        The folder has none.
    """
    given = Path(folder).expanduser().resolve()
    if not (given / "sbin" / "pbs_server").exists():
        raise SetupError(
            f"{given} has no sbin/pbs_server, as an installed OpenPBS has: build one from "
            f"https://github.com/openpbs/openpbs with --prefix={HERE}, and name that folder."
        )
    HERE.parent.mkdir(exist_ok=True)
    if given != HERE.resolve():
        if HERE.is_dir() and not HERE.is_symlink():
            shutil.rmtree(HERE)
        HERE.unlink(missing_ok=True)
        HERE.symlink_to(given)
