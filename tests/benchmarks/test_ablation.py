"""Each mechanism that an ablation switches off is still where it is said to be."""

from importlib import import_module
from pathlib import Path

import benchmarks
import pytest
from benchmarks.ablation import Mechanism

PARTS = sorted(path.stem for path in Path(benchmarks.__path__[0]).glob("ablation_*.py"))
LISTED = [
    each
    for part in PARTS
    for value in vars(import_module(f"benchmarks.{part}")).values()
    if isinstance(value, tuple)
    for each in value
    if isinstance(each, Mechanism)
]


@pytest.mark.parametrize("mechanism", LISTED, ids=lambda each: each.name)
def test_what_is_switched_off_is_there(mechanism: Mechanism) -> None:
    assert all(hasattr(where, name) for where, name, _ in mechanism.patches)
