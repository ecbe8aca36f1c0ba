"""Values that no reader expects."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

TEXTS = (
    "",
    " ",
    "x",
    "\x1b]0;title\x07\x1b[2J",
    "a\nb",
    "[red]x[/red]",
    "[/]",
    "<script>alert(1)</script>",
    "../../../etc/passwd",
    "ü" * 300,
    "long " * 20000,
    "99999-01-01T00:00:00+00:00",
    "0001-01-01T00:00:00+00:00",
    "nan",
    "{",
    "[]",
    "{}",
    "null",
    "[" * 100_000,
    "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
)
VALUES: tuple[Any, ...] = (
    *TEXTS,
    *(0, 1, -1, 2, 2**31, 2**31 - 1, 2**40, -(2**63), 1e300, -0.5, float("nan"), float("inf")),
)
NESTED: tuple[Any, ...] = (
    *("\ud800", None, True, False, [], {}, [1, 2], ["x"], [[]], [None], {"a": 1}, 10**400),
)


def hostile_text(random: Generator) -> str:
    return str(TEXTS[random.integers(len(TEXTS))])


def hostile_value(random: Generator) -> Any:
    """Return the value of an attribute; None for none."""
    more = (None, np.zeros(3), np.array([[1, 2]]), np.bytes_(b"\xff\xfe"), np.uint8(7), np.empty(0))
    at = random.integers(len(VALUES) + len(more))
    return VALUES[at] if at < len(VALUES) else more[at - len(VALUES)]


def hostile_member(random: Generator) -> Any:
    every = (*VALUES, *NESTED)
    return every[random.integers(len(every))]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything in a value of JSON."""
    if path:
        yield path
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for name, each in inner:
            yield from places(each, (*path, name))


def hostile_json(value: Any, random: Generator) -> tuple[Any, str]:
    """Change a value of JSON somewhere; returns it and what was changed."""
    every = list(places(value))
    if not every or random.random() < 0.05:
        found = hostile_member(random)
        return (found if isinstance(found, str) else json.dumps(found)), "something else"
    path = every[random.integers(len(every))]
    holder = value
    for name in path[:-1]:
        holder = holder[name]
    name, way = path[-1], random.random()
    if way < 0.2:
        del holder[name]
        return value, f"without {path}"
    if way < 0.3 and isinstance(holder, dict):
        holder[hostile_text(random)[:2000]] = holder.pop(name)
        return value, f"another name for {path}"
    if way < 0.4 and isinstance(holder, list):
        holder.extend(holder[:] * int(random.integers(1, 30)))
        return value, f"more of {path[:-1]}"
    holder[name] = hostile_member(random)
    return value, f"{path} = {str(holder[name])[:40]!r}"


def hostile_lines(text: str, random: Generator) -> tuple[str, str]:
    """Change a text somewhere; returns it and what was changed."""
    lines = text.split("\n")
    at = int(random.integers(len(lines)))
    way = int(random.integers(7))
    if way == 0:
        del lines[at]
    elif way == 1:
        lines[at : at + 1] = [lines[at]] * int(random.integers(2, 200))
    elif way == 2:
        lines[at] = hostile_text(random)
    elif way == 3:
        words = lines[at].split(" ")
        words[random.integers(len(words))] = str(hostile_member(random))[:200_000]
        lines[at] = " ".join(words)
    elif way == 4:
        place = int(random.integers(len(lines[at]) + 1))
        lines[at] = lines[at][:place] + chr(int(random.integers(1, 300))) + lines[at][place:]
    elif way == 5:
        digits = [place for place, each in enumerate(lines[at]) if each.isdigit()]
        if digits:
            place = digits[random.integers(len(digits))]
            number = ("-1", "0", "1e999", "nan", "9" * 30, "9" * 5000)[random.integers(6)]
            lines[at] = lines[at][:place] + number + lines[at][place + 1 :]
    else:
        lines = lines[:at]
    return "\n".join(lines), f"line {at + 1}, way {way}"
