"""Every module of the models can be imported first: no circle depends on the order of imports."""

import subprocess
import sys
from pathlib import Path

import hindmost.models

FIRST = """\
import importlib, os, sys, traceback
import numba, scipy.optimize, scipy.special, scipy.stats  # once: children inherit them

def import_first(name):
    # Python imports the packages of a module before the module. What they load needs no process of
    # its own; the rest is imported in a child that has loaded these packages only.
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
            for inside in sys.argv[1:]:
                if inside.rpartition(".")[0] != name:
                    continue
                if inside in PACKAGES or inside not in sys.modules:
                    import_first(inside)
        except BaseException:
            traceback.print_exc(limit=1)
            print(name, flush=True)
        os._exit(0)
    os.waitpid(child, 0)

PACKAGES = {name.rpartition(".")[0] for name in sys.argv[1:]}
import_first("hindmost.models")
"""


def test_every_module_can_be_imported_first() -> None:
    (folder,) = map(Path, hindmost.models.__path__)
    names = [
        ".".join(("hindmost.models", *path.relative_to(folder).with_suffix("").parts))
        for path in sorted(folder.rglob("*.py"))
    ]
    names = [name.removesuffix(".__init__") for name in names]
    assert len(names) > 50
    ran = subprocess.run(
        [sys.executable, "-c", FIRST, *names], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [], ran.stderr
