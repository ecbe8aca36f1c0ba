"""Run files that earlier versions wrote: kept here, and read for ever."""

import gzip
import hashlib
import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

import h5netcdf
import h5py
import netCDF4
import numpy as np
import pytest
import xarray
from tests.conftest import PREDICTORS, cycle_values, run_values

import hindmost
from hindmost.cli import main
from hindmost.errors import (
    DamagedFileError,
    DataError,
    MissingError,
    NotARunFileError,
    UnknownSchemaError,
)
from hindmost.harness.runfile import checksum
from hindmost.harness.runfile.bodies import EARLIER_PHASES, NOT_WORK, PHASES
from hindmost.harness.runfile.checksum import TRAILER_LENGTH, append_checksum
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.schema import UNLIMITED, VARIABLES, VERSION, chunk_shape
from hindmost.harness.runfile.writer import write_whole


@contextmanager
def edited(path: Path) -> Iterator[h5py.File]:
    """Change a file by hand and give it a right checksum again."""
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - TRAILER_LENGTH)
    with h5py.File(path, "r+") as changed:
        yield changed
    append_checksum(path)


def test_what_was_written_is_read(
    run_file: Path, header: Header, values: dict[str, object]
) -> None:
    run = hindmost.open(run_file)
    assert run.header == header
    assert (run.bodies, run.restarts) == (40, 3)
    for variable in VARIABLES:
        if variable.name in values:
            written = np.asarray(values[variable.name])
            np.testing.assert_allclose(run.variable(variable.name), written, rtol=1e-6)
    np.testing.assert_array_equal(run.durations, np.asarray(values["duration"]))
    assert run.durations.dtype == np.float64
    assert run.hosts == ["node-0"] * 3
    np.testing.assert_allclose(run.phase("wait") + run.work, run.durations, atol=1e-6)
    assert run.solve_time_s == np.max(np.asarray(values["solve_time"]))


def test_files_of_older_versions_are_read(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    later = {variable.name for variable in VARIABLES if variable.group} | {"cpuset"}
    old = {name: value for name, value in values.items() if name not in later}
    run = hindmost.open(write_whole(tmp_path, header, old))
    np.testing.assert_array_equal(run.durations, np.asarray(values["duration"]))
    run.verify()
    assert not any(run.has(name) for name in later)
    assert run.texts("cpuset") == []
    with pytest.raises(DataError, match="has no 'cycles': it was not recorded"):
        run.variable("cycles")


def test_the_cycles_of_an_adaptive_run_are_read(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    cycles = cycle_values(values, ranks=3)
    path = write_whole(tmp_path, header, cycles, predictors=PREDICTORS)
    run = hindmost.open(path)
    run.verify()
    assert run.predictors == list(PREDICTORS)
    assert run.variable("predicted").shape == (40, 2)
    for name in cycles.keys() - {"host", "cpuset"}:
        np.testing.assert_allclose(run.variable(name), np.asarray(cycles[name]), rtol=1e-6)
    assert run.edges.variables().keys() >= {"edge_messages", "edge_epoch"}
    for engine in ("h5netcdf", "netcdf4"):
        with xarray.open_dataset(path, engine=engine) as dataset:
            offline = dataset["predicted"].sel(predictor="offline")
            np.testing.assert_array_equal(offline, run.variable("predicted")[:, 1])
            assert dataset["phase_cpu"].dims == ("iteration", "rank", "phase")


def test_four_readers_agree(run_file: Path, values: dict[str, object]) -> None:
    run = hindmost.open(run_file)
    numeric = [variable.name for variable in VARIABLES if variable.name in values]
    with h5py.File(run_file) as h5, netCDF4.Dataset(run_file) as nc:
        with h5netcdf.File(run_file) as pure:
            for name in numeric:
                ours = run.variable(name)
                np.testing.assert_array_equal(h5[name][...], ours)
                np.testing.assert_array_equal(np.asarray(nc[name][...]), ours)
                np.testing.assert_array_equal(pure[name][...], ours)
        assert list(nc["phase"][...]) == list(PHASES)
        assert nc.dimensions["iteration"].isunlimited()
        assert nc["duration"].dimensions == ("iteration", "rank")
        assert nc["body"].flag_meanings == "regular fill drain replacement"
    for engine in ("h5netcdf", "netcdf4"):
        with xarray.open_dataset(run_file, engine=engine) as dataset:
            assert dataset["duration"].dims == ("iteration", "rank")
            assert dataset["duration"].attrs["units"] == "s"
            assert list(dataset["phase"].values) == list(PHASES)
            assert set(dataset["host"].values) == {"node-0"}
            for name in numeric:
                np.testing.assert_array_equal(dataset[name].values, run.variable(name))
            by_phase = dataset["phase_duration"].sel(phase="local").sum()
            assert float(by_phase) == pytest.approx(run.phase("local").sum(), rel=1e-5)


def test_a_run_without_restarts_and_edges(tmp_path: Path, header: Header) -> None:
    values = run_values(iterations=5, ranks=1, restart=30, seed=0)
    path = write_whole(tmp_path, replace(header, ranks=1, iterations=5), values)
    run = hindmost.open(path)
    assert run.restarts == 0
    assert run.restart_durations.shape == (0, 1)
    assert run.edges.source.size == 0
    for engine in ("h5netcdf", "netcdf4"):
        with xarray.open_dataset(path, engine=engine) as dataset:
            assert dataset.sizes["restart"] == 0


SIZES = [(rows, ranks) for rows in (1, 5, 35, 300, 10_000) for ranks in (2, 7, 64, 1024)]


@pytest.mark.parametrize(("iterations", "ranks"), [size for size in SIZES if math.prod(size) < 4e4])
@pytest.mark.parametrize("events", [3, 29, 2000])
def test_a_file_has_little_more_than_its_data(
    iterations: int, ranks: int, events: int, tmp_path: Path, header: Header
) -> None:
    events = min(events, 1_000_000 // (iterations * ranks) + 1)
    values = run_values(iterations=iterations, ranks=ranks, restart=iterations, seed=0)
    shape = (iterations, ranks, events)
    values |= {
        "event_kind": np.ones((iterations, events), np.uint8),
        "event_work": np.ones(shape, np.float32),
        "event_duration": np.ones(shape, np.float32),
        "event_context": np.ones(shape, np.uint32),
    }
    path = write_whole(tmp_path, replace(header, ranks=ranks, iterations=iterations), values)
    with h5py.File(path) as file:
        data = sum(each.size * each.dtype.itemsize for each in file.values())
    assert path.stat().st_size < 1.5 * data + 150_000


@pytest.mark.parametrize(("iterations", "ranks"), SIZES)
def test_chunks_are_nearly_full(iterations: int, ranks: int) -> None:
    for variable, others in product(VARIABLES, (0, 1, 300, 5001)):
        dimensions = variable.dimensions
        sizes = {name: max(others, name not in UNLIMITED) for name in dimensions}
        sizes |= {"iteration": iterations, "rank": ranks, "phase": 5}
        chunk = chunk_shape(dimensions, sizes, np.dtype(variable.type).itemsize)
        each = [(sizes[name], length) for name, length in zip(dimensions, chunk, strict=True)]
        stored = math.prod(-(-size // length) * length for size, length in each)
        assert stored <= 1.25 * math.prod(size for size, _ in each), (variable.name, sizes, chunk)
        assert all(1 <= length <= max(size, 1) for size, length in each)


def test_an_existing_file_is_never_overwritten(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    first = write_whole(tmp_path, header, values)
    before = first.read_bytes()
    second = write_whole(tmp_path, header, values)
    assert [first.name, second.name] == ["laplacian-1d-gmres-p3-0.h5", "laplacian-1d-gmres-p3-1.h5"]
    assert first.read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


def test_nothing_is_left_of_a_file_that_could_not_be_finished(
    tmp_path: Path, header: Header, values: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hindmost.harness.runfile.part_file.append_checksum", full)
    with pytest.raises(DataError, match="No space left on device"):
        write_whole(tmp_path, header, values)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("contents", "error", "word"),
    [
        (b"", NotARunFileError, "not HDF5"),
        (b"time,commit\n1,2\n", NotARunFileError, "not HDF5"),
        (b"\x89HDF\r\n\x1a\n" + b"\0" * 500, DamagedFileError, "checksum"),
    ],
)
def test_foreign_files(tmp_path: Path, contents: bytes, error: type[Exception], word: str) -> None:
    path = tmp_path / "foreign.h5"
    path.write_bytes(contents)
    with pytest.raises(error, match=word):
        hindmost.open(path)


def test_a_file_of_hdf5_by_another_program(tmp_path: Path) -> None:
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["x"] = [1, 2]
    with pytest.raises(DamagedFileError, match="does not end in hindmost's checksum"):
        hindmost.open(path)
    append_checksum(path)
    with pytest.raises(NotARunFileError, match="schema"):
        hindmost.open(path)


def test_an_unfinished_file_is_recognised(run_file: Path) -> None:
    part = run_file.with_name(run_file.name + ".part")
    part.write_bytes(run_file.read_bytes()[:-TRAILER_LENGTH])
    with pytest.raises(DamagedFileError, match="unfinished"):
        hindmost.open(part)


def test_a_newer_version_is_refused_by_name(run_file: Path) -> None:
    with edited(run_file) as file:
        file.attrs["schema_version"] = 99
    with pytest.raises(UnknownSchemaError, match="version 99"):
        hindmost.open(run_file)


@pytest.mark.parametrize("name", ["duration", "phase_duration", "position", "host", "edge_bytes"])
def test_a_missing_variable_is_named(run_file: Path, name: str) -> None:
    with edited(run_file) as file:
        del file[name]
    with pytest.raises(DamagedFileError, match=name):
        hindmost.open(run_file)


def test_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(NotARunFileError, match="folder"):
        hindmost.open(tmp_path)
    with pytest.raises(DataError, match="No such file"):
        hindmost.open(tmp_path / "absent.h5")


@pytest.mark.parametrize("length", [0, 1, 1000, 1024, 5000])
def test_the_checksum_is_that_of_the_sums_of_blocks(
    tmp_path: Path, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksum, "BLOCK_BYTES", 1024)
    data = np.random.default_rng(length).bytes(length)
    path = tmp_path / "data"
    path.write_bytes(data + b"trailer")
    blocks = [data[first : first + 1024] for first in range(0, length, 1024)]
    sums = b"".join(hashlib.sha256(block).digest() for block in blocks)
    with path.open("rb") as file:
        assert checksum.digest_of(file.fileno(), length) == hashlib.sha256(sums).hexdigest()


@pytest.mark.parametrize("wrong", [np.nan, -1e-6, 0.0, np.inf])
def test_times_that_cannot_be_are_not_written(
    tmp_path: Path, header: Header, values: dict[str, object], wrong: float
) -> None:
    duration = np.array(values["duration"])
    duration[3, 1] = wrong
    with pytest.raises(DataError, match="is not above 0"):
        write_whole(tmp_path, header, {**values, "duration": duration})
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_taken_meanwhile_is_left_alone(
    tmp_path: Path, header: Header, values: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "laplacian-1d-gmres-p3-0.h5"

    def slow(path: Path) -> None:
        taken.write_text("another run")
        append_checksum(path)

    monkeypatch.setattr("hindmost.harness.runfile.part_file.append_checksum", slow)
    assert write_whole(tmp_path, header, values).name == "laplacian-1d-gmres-p3-1.h5"
    assert taken.read_text() == "another run"
    assert not list(tmp_path.glob("*.part"))


def test_the_summary_is_that_of_the_bodies(run_file: Path) -> None:
    run = hindmost.open(run_file)
    body = run.summary["body_s"]
    durations = run.durations
    assert body["minimum"] == durations.min()
    assert body["maximum"] == durations.max()
    for name, share in (("median", 0.5), ("quantile_99", 0.99)):
        exact = np.quantile(durations, share, method="inverted_cdf")
        assert body[name] == pytest.approx(exact, rel=1e-4)
    for name, spent in run.summary["phase_s"].items():
        assert spent == pytest.approx(run.phase(name).sum(), rel=1e-6)
    assert run.summary["balance_s"] < 1e-9


def test_a_run_as_a_dataset_and_as_a_frame(run_file: Path) -> None:
    run = hindmost.open(run_file)
    dataset = run.to_xarray()
    assert dataset["duration"].dims == ("iteration", "rank")
    assert dataset["duration"].attrs["units"] == "s"
    np.testing.assert_array_equal(dataset["duration"], run.durations)
    frame = run.to_pandas()
    assert list(frame.columns) == ["start", "duration", *run.phases]
    np.testing.assert_array_equal(frame["wait"].unstack("rank"), run.phase("wait"))
    np.testing.assert_array_equal(frame["start"].unstack("rank"), run.starts)
    assert list(frame.loc[7].index) == list(range(run.columns))


@pytest.mark.parametrize(
    ("lacking", "method"),
    [("h5netcdf", "to_xarray"), ("xarray", "to_xarray"), ("pandas", "to_pandas")],
)
def test_what_is_not_installed_is_named(
    run_file: Path, monkeypatch: pytest.MonkeyPatch, lacking: str, method: str
) -> None:
    run = hindmost.open(run_file)
    monkeypatch.setitem(sys.modules, lacking, None)
    with pytest.raises(
        MissingError, match=rf"need {lacking}, .*pip install 'hindmost\[notebook\]'"
    ):
        getattr(run, method)()


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
    work = sum(run.phase(phase) for phase in run.phases if phase not in NOT_WORK)
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
