"""Two verbs that answer one question print the same number."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.report.first_screens import ITERATIONS, RANKS, of_work, page_of

from hindmost.cli import main
from hindmost.harness.runfile.contents import Header
from hindmost.text import seconds

Work = NDArray[np.float64]


def unequal(work: Work) -> Work:
    work[:, 1] *= 1.5
    return work


def detoured(work: Work) -> Work:
    work.flat[np.random.default_rng(1).choice(work.size, 60, replace=False)] += 1.5e-4
    return work


def both(work: Work) -> Work:
    return unequal(detoured(work))


def drifting(work: Work) -> Work:
    return work * np.linspace(1.0, 1.3, ITERATIONS)[:, None]


def json_of(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["runs"][0]
    return found


@pytest.mark.parametrize("latency_s", [1e-6, 4e-5])
@pytest.mark.parametrize("change", [np.copy, unequal, detoured, both, drifting])
def test_whatif_and_report_save_the_same(
    change: Any,
    latency_s: float,
    tmp_path: Path,
    own: Header,
    alike: Work,
    capsys: pytest.CaptureFixture[str],
) -> None:
    work = change(alike)
    html = page_of(tmp_path, own, of_work(work, latency_s))
    capsys.readouterr()
    runs = str(tmp_path / "runs")
    found = json_of(capsys, "whatif", runs)
    gains = {each["change"]: each for each in found["gains"]}
    assert set(gains) == {"no noise", "equal work", "an ideal network"}
    # Two ways to ask what no noise would save; equal work is asked for rank by rank.
    ratio = work.sum(axis=0) / work.sum(axis=0).mean()
    speed = [f"--speed=rank {rank}: x{ratio[rank]:.12g}" for rank in range(RANKS)]
    for name, words in {"no noise": ["--noise", "none"], "equal work": speed}.items():
        asked = json_of(capsys, "whatif", runs, *words)
        assert asked["predicted_s"] == pytest.approx(gains[name]["predicted_s"], rel=1e-6)
        assert asked["interval_s"] == pytest.approx(gains[name]["interval_s"], rel=1e-6)
    # No network leaves what the slowest rank works.
    ideal_s = gains["an ideal network"]["predicted_s"]
    assert ideal_s == pytest.approx(work.max(axis=1).sum(), rel=0.01)
    replays = unescape(html.split("replayed with")[1].split("</table>")[0])
    for name, each in gains.items():
        row = replays.split(f"<td>{name}</td>")[-1] if f"<td>{name}</td>" in replays else replays
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
        assert seconds(each["predicted_s"]) in cells
        assert f"{seconds(each['interval_s'][0])} to {seconds(each['interval_s'][1])}" in cells
