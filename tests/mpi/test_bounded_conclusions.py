"""The same conclusions from all calls of a program and from those that its budget keeps."""

import re
from pathlib import Path

import pytest
from benchmarks.bounded_records import Conclusions, compiled, recorded

from hindmost.cli import main

pytestmark = pytest.mark.mpi
STEPS, MEMORY = 9000, "1MiB"


def test_conclusions_from_a_budget_are_those_from_all_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = compiled(tmp_path)
    for kind, named in (("constant", "rank 1 between pass"), ("every", "rank 1 every 50th")):
        words = ("rooted", kind, "1", "0.02", str(STEPS), "3")
        memory = {"all": "", "bounded": MEMORY}
        whole, bounded = (
            recorded(program, tmp_path / f"{kind}-{name}", words, memory=each)
            for name, each in memory.items()
        )
        assert bounded.run.header.spec["attached"]["summed"]["unit"] > 1
        assert named in str(Conclusions.of(whole))
        assert Conclusions.of(whole).agrees(Conclusions.of(bounded))
        if kind == "constant":
            assert main(["show", str(whole.run.path)]) == 0
            said = " ".join(capsys.readouterr().out.split())
            assert "Rank 1 is the straggler" in said
            assert re.search(r"of its extra work lies between \w+ in \w+ \(.*\) and \w+ in", said)
