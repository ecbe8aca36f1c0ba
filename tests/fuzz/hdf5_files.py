"""Hostile files of HDF5: good ones, changed at random, with a right checksum."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
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
    0,
    1,
    -1,
    np.nan,
    np.inf,
    -np.inf,
    1e-300,
    1e300,
    -1e-6,
    1e12,
    2**31 - 1,
    2**62,
    -(2**62),
)


@dataclass
class Content:
    """A file in memory: its attributes and datasets."""

    attributes: dict[str, Any]
    arrays: dict[str, Any]
    links: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> Content:
        with h5py.File(path, "r") as file:
            attributes = {name: file.attrs[name] for name in file.attrs}
            arrays = {
                name: file[name].asstr()[:]
                if h5py.check_string_dtype(file[name].dtype)
                else file[name][:]
                for name in file
            }
        return cls(attributes, arrays)

    def write(self, path: Path) -> Path:
        """Write the file as another writer might."""
        path.unlink(missing_ok=True)
        with h5py.File(path, "w") as file:
            for name, value in self.attributes.items():
                file.attrs[name] = value
            for name, values in self.arrays.items():
                if isinstance(values, np.ndarray) and values.dtype == object:
                    texts = [str(each) for each in values.ravel()]
                    file.create_dataset(name, data=texts, dtype=h5py.string_dtype())
                else:
                    file.create_dataset(name, data=values)
            for name, link in self.links.items():
                if name in file:
                    del file[name]
                file[name] = link
        append_checksum(path)
        return path


def hostile_copy(path: Path, target: Path, random: Generator) -> str:
    """Write a changed copy of a file; returns what was changed."""
    content = Content.of(path)
    if random.random() < 0.05:
        target.write_bytes(path.read_bytes())
        return torn(target, random)
    changes = [CHANGES[random.integers(len(CHANGES))] for _ in range(random.integers(1, 4))]
    said = [change(content, random) for change in changes]
    content.write(target)
    return "; ".join(said)


def chosen(names: Any, random: Generator) -> str:
    listed = sorted(names)
    return str(listed[random.integers(len(listed))])


def change_attribute(content: Content, random: Generator) -> str:
    if not content.attributes:
        return "nothing"
    name = chosen(content.attributes, random)
    value = hostile_value(random)
    if value is None:
        del content.attributes[name]
    else:
        content.attributes[name] = value
    return f"attribute {name} = {str(value)[:60]!r}"


def change_json(content: Content, random: Generator) -> str:
    names = [
        name
        for name, value in content.attributes.items()
        if isinstance(value, str) and value.startswith("{")
    ]
    if not names:
        return "nothing"
    name = chosen(names, random)
    value, said = hostile_json(json.loads(content.attributes[name]), random)
    content.attributes[name] = value if isinstance(value, str) else json.dumps(value)
    return f"{name}: {said}"


def change_values(content: Content, random: Generator) -> str:
    names = [
        name for name, values in content.arrays.items() if values.size and values.dtype != object
    ]
    name = chosen(names, random)
    values = content.arrays[name].copy()
    number = NUMBERS[random.integers(len(NUMBERS))]
    with np.errstate(all="ignore"):
        cast = np.asarray(number).astype(values.dtype)
    if random.random() < 0.5:
        values.ravel()[random.integers(values.size)] = cast
        said = "one"
    else:
        values[...] = cast
        said = "all"
    content.arrays[name] = values
    return f"{said} of {name} = {cast}"


def scale_values(content: Content, random: Generator) -> str:
    """Multiply times of all kinds, so that they still fit each other."""
    factor = 10.0 ** random.integers(-15, 16)
    for name, values in content.arrays.items():
        if values.dtype.kind == "f":
            with np.errstate(all="ignore"):
                content.arrays[name] = (values * factor).astype(values.dtype)
    return f"all times {factor:g}"


def change_texts(content: Content, random: Generator) -> str:
    names = [name for name, values in content.arrays.items() if values.dtype == object]
    name = chosen(names, random)
    texts = content.arrays[name].copy()
    text = hostile_text(random)
    if random.random() < 0.5 or not texts.size:
        texts[:] = text
    else:
        texts[random.integers(texts.size)] = text
    content.arrays[name] = texts
    return f"texts {name} = {text[:40]!r}"


def change_size(content: Content, random: Generator) -> str:
    """Cut or repeat everything along a dimension, and say so in the header."""
    dimension = chosen({each for each in content.arrays if each in DIMENSIONS}, random)
    dimension = DIMENSIONS[dimension][-1]
    if dimension not in content.arrays:
        return "nothing"
    before = len(content.arrays[dimension])
    size = int((0, 1, 2, before + 1, 3 * before)[random.integers(5)])
    for name, values in content.arrays.items():
        for axis, each in enumerate(DIMENSIONS.get(name, ())):
            if each == dimension and axis < values.ndim and (before or not size):
                places = np.arange(size) % max(before, 1)
                content.arrays[name] = np.take(content.arrays[name], places, axis=axis)
    whole = "every_rank" if "kept_rank" in content.arrays else "rank"
    if dimension == whole:
        content.attributes["ranks"] = size
    return f"{dimension}: {before} -> {size}"


def change_kind(content: Content, random: Generator) -> str:
    name = chosen(content.arrays, random)
    values = content.arrays[name]
    kind = ("f4", "f8", "i1", "i8", "u8", "S4", "c16", "?")[random.integers(8)]
    shape = values.shape
    if random.random() < 0.5:
        shape = tuple(int(each) for each in random.integers(0, 5, random.integers(0, 5)))
    content.arrays[name] = np.zeros(shape, kind)
    return f"{name} is {kind} {shape}"


def drop(content: Content, random: Generator) -> str:
    name = chosen(content.arrays, random)
    del content.arrays[name]
    return f"without {name}"


def link(content: Content, random: Generator) -> str:
    name = chosen([*content.arrays, "more"], random)
    links: tuple[Any, ...] = (
        h5py.SoftLink("/duration"),
        h5py.SoftLink("/"),
        h5py.ExternalLink("/dev/zero", "/x"),
        h5py.ExternalLink("pipe", "/x"),
        np.dtype("f8"),
    )
    content.links[name] = links[random.integers(len(links))]
    return f"link {name}"


def shuffle(content: Content, random: Generator) -> str:
    name = chosen([each for each, values in content.arrays.items() if values.ndim], random)
    content.arrays[name] = random.permutation(content.arrays[name])
    return f"{name} in another order"


def torn(path: Path, random: Generator) -> str:
    """Change bytes of the file itself, and seal it again."""
    data = bytearray(path.read_bytes()[:-TRAILER_LENGTH])
    for place in random.integers(0, len(data), random.integers(1, 8)):
        data[place] = random.integers(256)
    path.write_bytes(bytes(data))
    append_checksum(path)
    return "bytes"


CHANGES = (
    change_attribute,
    change_json,
    change_json,
    change_values,
    change_values,
    scale_values,
    change_texts,
    change_size,
    change_size,
    change_kind,
    drop,
    link,
    shuffle,
)
