"""What a program on two nodes shows of its network and nodes, under any scheduler.

A rank on each node exchanges messages and sums with the other, so that all of them go over the
link, whose delay is the truth.
"""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.conftest import BIN, ROOT
from tests.jobs import two_nodes
from tests.jobs.two_nodes import HOME
from tests.jobs.whole_study import ask, wait

import hindmost
from hindmost.harness.runfile.reader import Run
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers.scheduler import Scheduler
from hindmost.jobs.state import RunState

OPEN_MPI = {
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_tcp_if_include": "10.77.0.0/24",
    "OMPI_MCA_oob_tcp_if_include": "10.77.0.0/24",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # the relay between the nodes needs their cores
}
DELAY_S = 0.02
"""More than what a busy machine adds to a message."""
STEPS, WORK, REPEATS = 100, 300_000, 3
THEM = ("setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups")
"""Before a command of somebody else."""
Submit = Callable[[str], object]
"""Runs lines of a script on both nodes by a scheduler, and returns when they are done."""


def attach(folder: Path, program: Path, out: str, mpiexec: str = "", steps: int = STEPS) -> str:
    """Return the lines of a script that records the program on both nodes."""
    start = f"'{Path(sys.prefix) / 'bin' / 'mpiexec'}' -n 2 --map-by ppr:1:node --bind-to none"
    command = (
        f"{start} {mpiexec} '{BIN / 'hindmost'}' attach --out {out} -- '{program}' {steps} {WORK}"
    )
    settings = {**OPEN_MPI, "PYTHONPATH": str(ROOT / "src")}
    exports = [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
    return "\n".join((f"cd {shlex.quote(str(folder))}", *exports, command))


def recorded(folder: Path, out: str) -> list[Run]:
    """Return the runs that scripts left, with a rank on either node and clocks compared."""
    runs = [hindmost.open(path) for path in sorted((folder / out).glob("*.h5"))]
    for run in runs:
        assert run.header.complete
        check_nodes(run)
    return runs


def check_nodes(run: Run) -> None:
    """Hold a run to a rank on each node, whose clocks are those of this machine."""
    assert sorted(run.hosts) == ["n0", "n1"]
    offset, uncertainty = run.variable("clock_offset"), run.variable("clock_uncertainty")
    assert uncertainty.max() > 0.0
    assert np.all(np.abs(offset) <= uncertainty)


def shown(folder: Path, out: str) -> tuple[list[dict[str, Any]], str]:
    """Return what `show` says of the runs of a folder, as JSON, and as text."""
    runs = json.loads(ask(folder, "show", out, "--json").stdout)["runs"]
    return runs, " ".join(ask(folder, "show", out).stdout.split())


def hold_to_slow_link(folder: Path, script: Callable[[str], str], submit: Submit) -> None:
    """Record without and with a delay of the link: what names it, and what `whatif` foretells."""
    for _ in range(REPEATS):  # in turns: the machine may be busy
        submit(script("quick"))
        two_nodes.delay_link(DELAY_S)
        try:
            submit(script("slow"))
        finally:
            two_nodes.delay_link(0.0)
    said, text = shown(folder, "slow")
    for run in said:
        (link,) = run["links"]
        assert link["nodes"] == ["n0", "n1"]
        assert DELAY_S < link["message_s"] < 2 * DELAY_S
        assert DELAY_S < link["reduction_s"] < 2 * DELAY_S
        # If a rank begins a way later than the other, each waits once for both ways: half is the
        # link's, half the other's lateness.
        assert link["share"] > 0.9 * DELAY_S * run["iterations"] / run["solve_time_s"]
    assert text.count("The network between n0 and n1: ") == REPEATS
    quick_s, slow_s = (
        sorted(run.solve_time_s for run in recorded(folder, out)) for out in ("quick", "slow")
    )
    longer = f"+{1e3 * DELAY_S:g}ms"
    asked = ask(folder, "whatif", "quick", "--latency", longer, "--json").stdout
    (foretold,) = json.loads(asked)["predictions"]
    low_s, high_s = foretold["interval_s"]
    seen = f"recorded {quick_s}, foretold {foretold['predicted_s']} ({low_s} to {high_s}), {slow_s}"
    sys.stdout.write(f"{seen}\n")  # with -s
    error = foretold["predicted_s"] / slow_s[REPEATS // 2] - 1.0
    assert abs(error) < 0.15 or (low_s < slow_s[-1] and slow_s[0] < high_s), seen
    change_s = foretold["predicted_s"] - quick_s[REPEATS // 2]
    assert 0.5 < change_s / (slow_s[REPEATS // 2] - quick_s[REPEATS // 2]) < 2.0, seen


def hold_to_slow_node(folder: Path, script: Callable[[str], str], submit: Submit) -> None:
    """Record with a second node that has a quarter of its speed, which is then named."""
    with two_nodes.slowed("n1", "ring"):
        submit(script("node"))
    (run,) = recorded(folder, "node")
    text = shown(folder, "node")[1]
    assert f"Rank {run.hosts.index('n1')} on n1 is the straggler" in text
    ranks = " ".join(ask(folder, "show", "node", "--ranks").stdout.split())
    (last,) = re.findall(r"node n1: last in (\d+) of \d+ iterations", ranks)
    assert int(last) > run.bodies / 2


def hold_to_study_of_somebody_else(text: str, scheduler: Scheduler, limit_s: float) -> None:
    """Submit a study of four runs as another user, whose jobs do them."""
    folder = HOME / "theirs"
    folder.mkdir()
    (folder / "study.toml").write_text(text)
    shutil.chown(folder, "daemon", "daemon")
    words = (BIN / "hindmost", "study", "submit", folder / "study.toml", "--folder", folder / "s")
    two_nodes.run(*THEM, "env", f"HOME={folder}", *words)
    study = StudyFolder.open(folder / "s")
    wait(study, scheduler, limit_s, RunState.RUNNING, RunState.WAITING)
    done = [record.done for record in study.records().values()]
    assert len([each for each in done if each is not None]) == 4, study.records()
    assert {path.owner() for path in study.path.glob("runs/*/*.h5")} == {"daemon"}
