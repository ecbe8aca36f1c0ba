"""The driver inside allocations of a real Slurm: ends of ranks, its deadline, crowded nodes."""

import os
import re
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.jobs.slurm.cluster import Cluster

from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Cause
from hindmost.jobs.schedulers.slurm import SLURM
from hindmost.jobs.state import LIVE, RunState, StudyState, state_of

LIMIT_S = 60.0
CORES = len(os.sched_getaffinity(0))
SOURCE = Path(__file__).parents[3] / "src"


def study(
    command: str, *, ranks: int, how: str = '"x"', partition: str = "", more: str = ""
) -> str:
    """Return a study of a command of bash, whose run is told how in its first word."""
    return f"""\
schema = 1
[study]
name = "ends"
[run]
command = ["bash", "-c", '''{command}''', "{{out}}", "{{how}}"]
[sweep]
ranks = {ranks}
how = [{how}]
[limits]
job = "12m"
run = "50s"
stop_before = "30s"
max_retries = 1
[machine.site]
scheduler = "slurm"
launcher = "srun"
launch_args = ["--mpi=pmi2"]
cores_per_node = {CORES}
nodes = 2
partition = "{partition}"
setup = ["export PYTHONPATH='{SOURCE}'"]
{more}
"""


@pytest.fixture
def here(slurm: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder from which studies are submitted to a real Slurm."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def ended(folder: Path) -> tuple[StudyFolder, StudyState]:
    """Wait until no job of a study does anything."""
    found = StudyFolder.open(folder)
    end = time.monotonic() + LIMIT_S
    while any(
        map((state := state_of(found, SLURM)).counts.get, (RunState.RUNNING, RunState.WAITING))
    ):
        assert time.monotonic() < end, state
        time.sleep(0.1)
    return found, state


@pytest.mark.skipif(CORES < 2, reason="two ranks on a node need two cores")
def test_ranks_that_srun_ended_after_one_had_failed_were_not_stopped(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = "test $SLURM_PROCID = 0 && $1; exec sleep 30"
    text = study(fails, ranks=2, how='"exit 2", "kill -SEGV $$"').replace("$1", "eval $1")
    (here / "study.toml").write_text(text)
    assert main(["study", "submit", "study.toml"]) == 0
    folder, state = ended(here / "ends")
    assert state.exit_status == 1, folder.records()
    causes = {
        str(folder.planned[run].configuration["how"]): [
            outcome.cause for outcome in record.outcomes
        ]
        for run, record in folder.records().items()
    }
    assert causes == {"exit 2": [Cause.FAILED], "kill -SEGV $$": [Cause.CRASHED] * 2}
    assert main(["study", "status", "ends"]) == 1
    said = capsys.readouterr().out
    assert re.search(r"crashed: srun: error: n\d: task 0: Segmentation fault", said)
    assert re.search(r"failed: srun: error: n\d: task 0: Exited with exit code 2", said)
    assert main(["study", "submit", "ends"]) == 1
    assert len(folder.jobs()) == 1


def test_ranks_that_slurm_ended_with_the_job_were_stopped(here: Path) -> None:
    sleeps = 'touch "$0"/../begun; exec sleep 50'
    (here / "study.toml").write_text(study(sleeps, ranks=1))
    assert main(["study", "submit", "study.toml"]) == 0
    end = time.monotonic() + LIMIT_S
    while not any((here / "ends" / "runs").glob("*/.part-run/begun")):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert main(["study", "cancel", "ends"]) == 0
    folder = ended(here / "ends")[0]
    end = time.monotonic() + LIMIT_S
    while not (outcomes := next(iter(folder.records().values())).outcomes):
        assert time.monotonic() < end  # the job is told to have ended before its driver has
        time.sleep(0.05)
    assert [outcome.cause for outcome in outcomes] == [Cause.STOPPED]


def test_a_refused_script_and_the_end_of_an_edited_one(here: Path) -> None:
    path, script = here / "study.toml", here / "ends" / "scripts" / "a000.sh"
    touch = 'touch "$0"/x.txt'
    path.write_text(study(touch, ranks=1, partition="gpu"))
    with pytest.raises(UsageError, match=r"[Ii]nvalid partition.*'hindmost study submit'"):
        main(["study", "submit", "study.toml"])
    shutil.rmtree(here / "ends")
    path.write_text(study(touch, ranks=1, partition="debug").replace("50s", "1m40s"))
    assert main(["study", "submit", "study.toml"]) == 0
    folder, state = ended(here / "ends")
    assert state.exit_status == 0
    job = folder.jobs()[-1].job
    while SLURM.query([job])[job].state in LIVE:  # its run is done before Slurm has ended it
        time.sleep(0.1)
    # Nobody tells the driver that the script has less time than the plan, but Slurm.
    (run,) = folder.planned
    (folder.run(run) / "x.txt").unlink()
    edit(script, re.findall(r"--time=\S+", script.read_text())[0], "--time=00:01:00")
    assert main(["study", "submit", "ends"]) == 0
    state = ended(here / "ends")[1]
    log = (folder.allocation("a000") / "driver.log").read_text()
    first_s, left_s = map(int, re.findall(r"(\d+) s left", log))
    assert first_s > 120
    assert 30 < left_s <= 60
    assert state.exit_status == 75, log
    assert "may not end in time" in log


def edit(script: Path, old: str, new: str) -> None:
    """Edit a script as a person does."""
    assert old in script.read_text()
    script.write_text(script.read_text().replace(old, new))


def test_more_ranks_than_cores_are_started(here: Path) -> None:
    ranks = 2 * CORES + 1
    writes = 'echo $SLURM_NODEID > "$0"/$SLURM_PROCID.txt'
    (here / "study.toml").write_text(study(writes, ranks=ranks, more="oversubscribe = true"))
    assert main(["study", "submit", "study.toml"]) == 0
    folder, state = ended(here / "ends")
    assert state.exit_status == 0, (state, folder.records())
    (run,) = folder.planned
    nodes = Counter(file.read_text().strip() for file in folder.run(run).glob("[0-9]*.txt"))
    assert nodes == {"0": CORES + 1, "1": CORES}
