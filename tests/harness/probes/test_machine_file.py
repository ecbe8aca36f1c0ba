import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from hindmost.errors import DataError, UnknownSchemaError, UsageError
from hindmost.harness.probes.section import ProbeResult
from hindmost.harness.runfile.machine_file import (
    check_place,
    check_same_machine,
    read_document,
    read_machine,
    updated,
    write_document,
)
from hindmost.models.adaptive.machine import Machine, SpeedPoint, SystemNoise

HERE = {"host": "büro", "cpu_model": "fast", "cores": 4}
NEW = Machine(name="büro", ranks_per_node=2)
NOISE = SystemNoise(detours_per_s=10.0, share=0.01, detour_quantiles_s=(1e-6, 2e-6, 3e-6, 4e-6))


def outcome(samples: Any = None, **changes: Any) -> ProbeResult:
    return ProbeResult(changes=changes, samples=samples or {}, rows=())


def alone(seconds: float) -> tuple[SpeedPoint, ...]:
    return (SpeedPoint(ranks_per_node=1, seconds=seconds),)


def origin(**machine: Any) -> dict[str, Any]:
    return {"date": "2026-01-02", "environment": {"machine": {**HERE, **machine}}}


def test_a_probe_replaces_its_own_section(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    first = updated(
        None, NEW,
        {"noise": outcome({"ranks": [1]}, noise=NOISE), "grind": outcome(pulse=alone(1.0))},
        origin(),
    )  # fmt: skip
    first["note"] = "of the user's own"
    write_document(path, first)
    second = updated(
        read_document(path),
        Machine(name="other", ranks_per_node=4),
        {"grind": outcome({"pulses_s": [2.0, 2.0000001234]}, pulse=alone(2.0))},
        origin(date="later"),
    )
    write_document(path, second)
    machine = read_machine(path)
    assert machine == Machine(name="büro", ranks_per_node=4, noise=NOISE, pulse=alone(2.0))
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["samples"] == {"noise": {"ranks": [1]}, "grind": {"pulses_s": [2.0, 2.0]}}
    assert content["provenance"]["noise"] == origin()
    assert content["provenance"]["grind"] == origin(date="later")
    assert content["note"] == "of the user's own"
    assert [path.name for path in tmp_path.iterdir()] == ["machine.json"]


def test_files_with_sections_of_older_versions_are_read() -> None:
    older = {**NEW.to_json(), "speed": [{"ranks_per_node": 1, "seconds": 0.01}], "memory": [3]}
    assert Machine.from_json(older) == NEW


@pytest.mark.parametrize(
    ("unlike", "word"),
    [({"host": "elsewhere"}, "elsewhere"), ({"cpu_model": "slow"}, "slow"), ({"cores": 8}, "8")],
)
def test_machines_are_not_mixed(tmp_path: Path, unlike: dict[str, Any], word: str) -> None:
    document = updated(None, NEW, {"noise": outcome(noise=NOISE)}, origin(**unlike))
    with pytest.raises(UsageError, match=f"noise.*{word}.*--out"):
        check_same_machine(tmp_path / "m.json", document, HERE)
    same = updated(None, NEW, {"noise": outcome(noise=NOISE)}, origin())
    check_same_machine(tmp_path / "m.json", same, HERE)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("not json", DataError),
        ("[]", DataError),
        ('{"schema": "another"}', DataError),
        ('{"schema": "hindmost-machine", "version": 99}', UnknownSchemaError),
        ("\udcff", DataError),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, text: str, error: type[Exception]) -> None:
    path = tmp_path / "machine.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(error, match=r"machine\.json"):
        read_document(path)


def test_no_file_yet(tmp_path: Path) -> None:
    assert read_document(tmp_path / "absent.json") is None
    with pytest.raises(DataError, match="probe all"):
        read_machine(tmp_path / "absent.json")


def test_a_full_disk_leaves_the_file_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "machine.json"
    write_document(path, NEW.to_json())
    before = path.read_bytes()

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left"):
        write_document(path, {**NEW.to_json(), "name": "other"})
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["machine.json"]


def test_places_are_looked_at_first(tmp_path: Path) -> None:
    check_place(tmp_path / "machine.json")
    for wrong in (tmp_path, tmp_path / "absent" / "machine.json"):
        with pytest.raises(UsageError, match="--out"):
            check_place(wrong)
