"""The matrix product across the caches."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.examples.conftest import DATA, Run

from hindmost.analysis.readers.read import read_experiment
from hindmost.models.pmnf.segments.segmentation import SegmentVerdict

Example = Callable[[str], ModuleType]
CACHES = {
    "index0": ("1", "Data", "48K", "0"),
    "index1": ("1", "Instruction", "32K", "0"),
    "index2": ("2", "Unified", "1024K", "0"),
    "index3": ("3", "Unified", "32M", "0-7"),
}


def test_caches_are_read(example: Example, tmp_path: Path) -> None:
    for index, values in CACHES.items():
        (tmp_path / index).mkdir()
        for name, value in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True):
            (tmp_path / index / name).write_text(f"{value}\n")
    caches = example("caches").read_caches(tmp_path)
    assert [cache.size_bytes for cache in caches] == [48 * 1024, 2**20, 2**25]
    assert str(caches[-1]) == "L3 32768 KiB (cores 0-7)"
    assert example("caches").read_caches(tmp_path / "none") == ()


def test_orders_grow_by_about_the_same_factor(example: Example) -> None:
    orders = np.array(example("matrix_product").orders(21))
    assert orders.size == 21
    assert (orders % 2 == 1).all()
    assert np.diff(np.log(orders)).std() < 0.02


def test_the_rows_are_those_of_the_product(example: Example) -> None:
    random = np.random.default_rng(1)
    a, b = random.random((5, 5)), random.random((5, 5))
    c = np.zeros((5, 5))
    example("matrix_product").product_rows(a, b, c, 3)
    assert np.allclose(c[:3], (a @ b)[:3])
    assert not c[3:].any()


@pytest.mark.slow
def test_the_last_cache_is_found_in_the_shipped_data(example: Example) -> None:
    ((_, _, model),) = example("findings").found(DATA / "matrix-product.txt")
    assert model.segmentation.segmented
    # Beyond the second cache, and at the latest where the third one, which others share, is full.
    last = model.segmentation.changes[-1]
    assert last.low > 2**20
    assert last.low < 2**25
    before, after = model.predict(np.array([last.low, last.high]))
    assert after > 1.3 * before


def test_the_second_cache_is_left_open_in_the_shipped_data(example: Example) -> None:
    ((_, _, model),) = example("findings").found(DATA / "matrix-product-l2.txt")
    assert model.segmentation.verdict is SegmentVerdict.OPEN
    assert "three times" in model.advice()


def test_the_program_measures(run: Run, tmp_path: Path) -> None:
    sizes = ("--sizes", "5", "--largest", "400000")
    words = ("out/small.txt", *sizes, "--repetitions", "2", "--seconds", "0.001")
    assert "matrix-product, time: 5 points are too few" in run("matrix_product.py", *words)
    (series,) = read_experiment(tmp_path / "out" / "small.txt").series
    assert series.values.shape == (5, 2)
    assert ((series.values > 1e-12) & (series.values < 1e-6)).all()
