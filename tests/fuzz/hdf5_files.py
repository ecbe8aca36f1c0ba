"""Hostile files of HDF5: good ones, changed at random, with a right checksum."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.random import Generator
from tests.fuzz.values import hostile_json, hostile_text, hostile_value

from hindmost.harness.runfile.checksum import TRAILER_LENGTH, append_checksum
from hindmost.harness.runfile.schema import VARIABLES

DIMENSIONS = {variable.name: variable.dimensions for variable in VARIABLES}
DIMENSIONS |= {name: (name,) for names in list(DIMENSIONS.values()) for name in names}
DIMENSIONS |= {"host": ("rank",), "cpuset": ("rank",)}
NUMBERS = (
    *(0, 1, -1, np.nan, np.inf, -np.inf, 1e-300, 1e300, -1e-6, 1e12, 2**31 - 1, 2**62, -(2**62)),
)


def hostile_copy(path: Path, target: Path, random: Generator) -> str:
    """Write a changed copy of a file, sealed again; returns what was changed."""
    data = bytearray(path.read_bytes()[:-TRAILER_LENGTH])
    if random.random() < 0.05:
        for place in random.integers(0, len(data), random.integers(1, 8)):
            data[place] = random.integers(256)
        said = ["bytes"]
        target.write_bytes(data)
    else:
        target.write_bytes(data)
        changes = [CHANGES[random.integers(len(CHANGES))] for _ in range(random.integers(1, 4))]
        said = []
        with h5py.File(target, "r+") as file:
            for change in changes:
                with suppress(Exception):  # one that does not go with the file
                    said.append(change(file, random))
    append_checksum(target)
    return "; ".join(said)


def values_of(file: h5py.File, name: str) -> Any:
    """Return the values of a dataset; texts as Python has them."""
    data = file[name]
    return data.asstr()[()] if h5py.check_string_dtype(data.dtype) else data[()]


def put(file: h5py.File, name: str, values: Any) -> None:
    """Put values, or a link, in the place of what has a name."""
    if name in file:
        del file[name]
    if isinstance(values, np.ndarray) and values.dtype == object:
        texts = [str(each) for each in values.ravel()]
        file.create_dataset(name, data=texts, dtype=h5py.string_dtype())
    else:
        file[name] = values


def of_kind(file: h5py.File, *, texts: bool) -> list[str]:
    """Return the names of datasets of texts, or of those with numbers."""
    found = {name: file[name] for name in file if isinstance(file.get(name), h5py.Dataset)}
    return [
        name
        for name, each in found.items()
        if each.size and (h5py.check_string_dtype(each.dtype) is not None) == texts
    ]


def chosen(names: Any, random: Generator) -> str:
    listed = sorted(names)
    return str(listed[random.integers(len(listed))])


def change_attribute(file: h5py.File, random: Generator) -> str:
    name = chosen(file.attrs, random)
    value = hostile_value(random)
    if value is None:
        del file.attrs[name]
    else:
        file.attrs[name] = value
    return f"attribute {name} = {str(value)[:60]!r}"


def change_json(file: h5py.File, random: Generator) -> str:
    names = [name for name, value in file.attrs.items() if str(value).startswith("{")]
    name = chosen(names, random)
    value, said = hostile_json(json.loads(file.attrs[name]), random)
    file.attrs[name] = value if isinstance(value, str) else json.dumps(value)
    return f"{name}: {said}"


def change_values(file: h5py.File, random: Generator) -> str:
    name = chosen(of_kind(file, texts=False), random)
    values = file[name][()]
    with np.errstate(all="ignore"):
        number = np.asarray(NUMBERS[random.integers(len(NUMBERS))]).astype(values.dtype)
    place = random.integers(values.size) if random.random() < 0.5 else slice(None)
    values.ravel()[place] = number
    file[name][...] = values
    return f"{place} of {name} = {number}"


def scale_values(file: h5py.File, random: Generator) -> str:
    """Multiply times of all kinds, so that they still fit each other."""
    factor = 10.0 ** random.integers(-15, 16)
    for name in of_kind(file, texts=False):
        if file[name].dtype.kind == "f":
            with np.errstate(all="ignore"):
                file[name][...] = file[name][()] * factor
    return f"all times {factor:g}"


def change_texts(file: h5py.File, random: Generator) -> str:
    name = chosen(of_kind(file, texts=True), random)
    text = hostile_text(random)
    place = random.integers(file[name].size) if random.random() < 0.5 else slice(None)
    texts = values_of(file, name)
    texts[place] = text
    put(file, name, texts)
    return f"texts {name} = {text[:40]!r}"


def change_size(file: h5py.File, random: Generator) -> str:
    """Cut or repeat everything along a dimension, and say so in the header."""
    dimension = DIMENSIONS[chosen({each for each in file if each in DIMENSIONS}, random)][-1]
    before = len(file[dimension])
    size = int((0, 1, 2, before + 1, 3 * before)[random.integers(5)])
    whole = "every_rank" if "kept_rank" in file else "rank"
    for name in list(file):
        values = values_of(file, name)
        for axis, each in enumerate(DIMENSIONS.get(name, ())):
            if each == dimension and axis < values.ndim and (before or not size):
                values = np.take(values, np.arange(size) % max(before, 1), axis=axis)
        put(file, name, values)
    if dimension == whole:
        file.attrs["ranks"] = size
    return f"{dimension}: {before} -> {size}"


def change_kind(file: h5py.File, random: Generator) -> str:
    name = chosen(file, random)
    kind = ("f4", "f8", "i1", "i8", "u8", "S4", "c16", "?")[random.integers(8)]
    shape = file[name].shape
    if random.random() < 0.5:
        shape = tuple(int(integer) for integer in random.integers(0, 5, random.integers(0, 5)))
    put(file, name, np.zeros(shape, kind))
    return f"{name} is {kind} {shape}"


def drop(file: h5py.File, random: Generator) -> str:
    name = chosen(file, random)
    del file[name]
    return f"without {name}"


def link(file: h5py.File, random: Generator) -> str:
    name = chosen([*file, "more"], random)
    links: tuple[Any, ...] = (
        h5py.SoftLink("/duration"),
        h5py.SoftLink("/"),
        h5py.ExternalLink("/dev/zero", "/x"),
        h5py.ExternalLink("pipe", "/x"),
        np.dtype("f8"),
    )
    put(file, name, links[random.integers(len(links))])
    return f"link {name}"


def shuffle(file: h5py.File, random: Generator) -> str:
    name = chosen([each for each in file if file[each].ndim], random)
    put(file, name, random.permutation(values_of(file, name)))
    return f"{name} in another order"


CHANGES = (
    *(change_attribute, change_json, change_json, change_values, change_values, scale_values),
    *(change_texts, change_size, change_size, change_kind, drop, link, shuffle),
)
