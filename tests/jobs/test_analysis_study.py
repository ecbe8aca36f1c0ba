"""Commands of the analysis whose work ranks share are planned as any study."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindmost.cli import main

STUDY = """
schema = 1

[study]
name = "latencies"
machine = "local"

[run]
command = ["hindmost", "whatif", "runs", "--latency", "{latency}", "--json"]

[sweep]
ranks = 2
latency = ["x2", "x4"]

[machine.local]
scheduler = "local"
launcher = "mpiexec"
cores_per_node = 2
"""


def test_replays_are_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    assert main(["study", "plan", str(study)]) == 0
    printed = capsys.readouterr().out
    for latency in ("x2", "x4"):
        assert f"hindmost whatif runs --latency {latency} --json" in printed
