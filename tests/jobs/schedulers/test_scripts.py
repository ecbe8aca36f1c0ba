"""Scripts: golden ones to the byte, every value quoted, none that begins a line of its own."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.jobs.scripts import ARCHER, CIRRUS, LOCAL, script

from hindmost.errors import DataError, UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.schedulers import SCHEDULERS

GOLDEN = Path(__file__).parents[1] / "golden"
MACHINES = (LOCAL, ARCHER, CIRRUS)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.scheduler)
def test_golden(machine: MachineProfile) -> None:
    rendered = SCHEDULERS[machine.scheduler].render(script(machine))
    assert rendered == (GOLDEN / f"{machine.scheduler}.sh").read_text()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.scheduler)
def test_a_shell_reads_them(machine: MachineProfile, tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text(SCHEDULERS[machine.scheduler].render(script(machine)))
    subprocess.run(["/bin/bash", "-n", path], check=True)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.scheduler)
@settings(max_examples=40, deadline=None)
@given(
    value=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"])),
)
def test_a_shell_gets_every_value_as_it_is(machine: MachineProfile, value: str) -> None:
    plain = replace(machine, python="/usr/bin/printf", environment={"VALUE": value}, setup=())
    text = SCHEDULERS[machine.scheduler].render(script(plain, id=value or "a", study="s"))
    # The driver's words as a shell cuts them, printed by the one that stands for the interpreter.
    text = text.replace("printf -P -m hindmost study drive", "printf '%s|' \"$VALUE\"")
    done = subprocess.run(["/bin/bash"], input=text.encode(), capture_output=True, check=True)
    assert done.stdout.decode() == f"{value}|{script(machine).folder}|{value or 'a'}|"


@pytest.mark.parametrize("machine", [ARCHER, CIRRUS], ids=lambda machine: machine.scheduler)
def test_directives_are_written_without_their_prefix(machine: MachineProfile) -> None:
    bad = replace(machine, directives=("#SBATCH --mem=0",))
    with pytest.raises(UsageError, match="write it without"):
        SCHEDULERS[machine.scheduler].render(script(bad))


def test_what_pbs_has_no_word_for() -> None:
    pbs = SCHEDULERS["pbs"]
    with pytest.raises(UsageError, match="printable ASCII"):
        pbs.render(script(CIRRUS, folder=Path("/home/ada/büro")))
    with pytest.raises(DataError, match=r"\{tasks\} is not known: choose nodes"):
        replace(CIRRUS, select="{nodes}:mpiprocs={tasks}")


def test_pbs_words_of_a_site() -> None:
    machine = replace(
        CIRRUS, select="{nodes}:ncpus={cores_per_node}:mpiprocs={ranks_per_node}:arch=skl"
    )
    text = SCHEDULERS["pbs"].render(script(machine, ranks_per_node=9))
    assert "#PBS -l select=2:ncpus=36:mpiprocs=9:arch=skl\n" in text


def test_times_are_rounded_up() -> None:
    text = SCHEDULERS["slurm"].render(script(ARCHER, walltime_s=360061.2, stop_before_s=0.4))
    assert "--time=100:01:02\n" in text
    assert "--signal=B:USR1@1\n" in text


@pytest.mark.parametrize("exclusive", [True, False])
def test_no_more_is_asked_for_than_a_node_has(exclusive: bool) -> None:
    crowded: dict[str, Any] = {"cores_per_node": 2, "oversubscribe": True, "exclusive": exclusive}
    slurm = SCHEDULERS["slurm"].render(script(replace(ARCHER, **crowded), ranks_per_node=3))
    assert "#SBATCH --ntasks-per-node=2\n" in slurm
    pbs = SCHEDULERS["pbs"].render(script(replace(CIRRUS, **crowded), ranks_per_node=3))
    assert "#PBS -l select=2:ncpus=2:mpiprocs=3\n" in pbs
