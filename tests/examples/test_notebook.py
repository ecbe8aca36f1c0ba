import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT

NOTEBOOK = ROOT / "examples/notebook/run.ipynb"


def code_cells() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_the_cells_run(
    run_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "before").mkdir()
    shutil.copy(run_file, tmp_path / "before")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    known: dict[str, Any] = {}
    for cell in code_cells():
        source = "".join(cell["source"])
        if not source.startswith("!"):
            exec(compile(source, str(NOTEBOOK), "exec"), known)
    said = capsys.readouterr().out
    slowest = int(known["run"].phase("local").sum(axis=0).argmax())
    assert said.startswith(f"Rank {slowest} works ")


def test_it_was_executed_without_errors() -> None:
    for cell in code_cells():
        assert cell["execution_count"]
        assert {output["output_type"] for output in cell["outputs"]} <= {
            "stream",
            "execute_result",
            "display_data",
        }
        assert all(output.get("name") != "stderr" for output in cell["outputs"])
