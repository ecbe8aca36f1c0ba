"""Run files that earlier versions wrote: kept here, and read for ever."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import hindmost
from hindmost.cli import main
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import EARLIER_PHASES, NOT_WORK, PHASES
from hindmost.harness.runfile.schema import VERSION

STORED = Path(__file__).parent / "earlier_files"
NAMES = sorted(path.name.removesuffix(".h5.gz") for path in STORED.glob("*.h5.gz"))


@pytest.fixture
def earlier(tmp_path: Path, name: str) -> Path:
    path = tmp_path / f"{name}.h5"
    path.write_bytes(gzip.decompress((STORED / f"{name}.h5.gz").read_bytes()))
    return path


def test_every_earlier_version_is_kept() -> None:
    kept = {int(name.split("-")[1]) for name in NAMES}
    assert kept == set(range(1, VERSION))


@pytest.mark.parametrize("name", NAMES)
def test_an_earlier_file_is_read(earlier: Path, name: str) -> None:
    run = hindmost.open(earlier)
    run.verify()
    assert run.header.ranks == 2
    assert run.columns == (1 if "reduced" in name else 2)
    first = EARLIER_PHASES if name < "version-3" else PHASES
    assert run.phases[: len(first)] == first
    assert (run.contexts.count > 1) == (name > "version-4")
    work = sum(run.phase(each) for each in run.phases if each not in NOT_WORK)
    np.testing.assert_allclose(run.work, work)
    assert (run.unclassified_share >= 0.0).all()
    assert (run.unclassified_share > 0.0).any() == ("loop" in name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verb", ["show", "check", "show --ranks"])
def test_verbs_take_an_earlier_file(
    earlier: Path, name: str, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if (name, verb) == ("version-2-reduced", "show --ranks"):
        with pytest.raises(DataError, match="has no 'every_charged'"):
            main([*verb.split(), str(earlier), "--json"])
        return
    assert main([*verb.split(), str(earlier), "--json"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["version"] == 1
