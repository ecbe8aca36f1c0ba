"""Places of keys and values, against a writer of TOML that notes where it writes them."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hindmost.positions import find_positions
from hindmost.rules import KeyPath

TEXT = st.text(
    st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\x7f"), max_size=5
) | st.sampled_from(["a = b", "[x]", "#", "''", '"""', "{", "}", ",", "\\", "]]", 'say "hi"'])
BARE = st.from_regex(r"[A-Za-z0-9_-]{1,5}", fullmatch=True)
SCALAR = (
    TEXT
    | st.integers(-(10**6), 10**6)
    | st.booleans()
    | st.sampled_from([1.5, 1e6, -0.25])
    | st.sampled_from(["1979-05-27 07:32:00", "07:32:00"]).map(lambda text: ("bare", text))
)
INLINE = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(BARE | TEXT, inner, max_size=3),
    max_leaves=4,
)
TABLES = st.dictionaries(
    BARE | TEXT,
    st.dictionaries(BARE | TEXT, INLINE, max_size=3)
    | st.lists(st.dictionaries(BARE, INLINE, max_size=2), min_size=1, max_size=3),
    max_size=3,
)


@dataclass
class Writer:
    """Writes TOML in many hands, and notes where each key and value begins."""

    draw: Any
    text: str = ""
    keys: dict[KeyPath, int] = field(default_factory=dict)
    values: dict[KeyPath, int] = field(default_factory=dict)

    def blank(self, *, lines: bool) -> None:
        self.text += self.draw(
            st.sampled_from(["", " ", "\t", *(["\n", " # a = [1\n", "\n\n  "] if lines else [])])
        )

    def key(self, path: KeyPath) -> None:
        name = str(path[-1])
        bare = name and all(each.isascii() and (each.isalnum() or each in "-_") for each in name)
        choices = [json.dumps(name, ensure_ascii=False)]
        if bare:
            choices.append(name)
        if "'" not in name:
            choices.append(f"'{name}'")
        self.keys.setdefault(path, len(self.text))
        self.text += self.draw(st.sampled_from(choices))

    def string(self, value: str) -> None:
        choices = [json.dumps(value, ensure_ascii=False)]
        if all(ord(each) < 0x10000 for each in value):  # TOML writes others in eight digits
            choices.append(json.dumps(value))
        if "'" not in value:
            choices += [f"'{value}'", f"'''\n{value}'''"]
        if "\\" not in value and not value.endswith('""') and '"""' not in value:
            choices.append(f'"""{value}"""')
        self.text += self.draw(st.sampled_from(choices))

    def value(self, path: KeyPath, value: Any) -> None:
        self.values[path] = len(self.text)
        if isinstance(value, dict):
            self.text += "{"
            for number, (name, each) in enumerate(value.items()):
                self.text += "," if number else ""
                self.pair((*path, name), each)
                self.blank(lines=False)
            self.text += "}"
        elif isinstance(value, list):
            self.text += "["
            self.blank(lines=True)
            for number, each in enumerate(value):
                self.value((*path, number), each)
                self.blank(lines=True)
                self.text += "," if number < len(value) - 1 or self.draw(st.booleans()) else ""
                self.blank(lines=True)
            self.text += "]"
        elif isinstance(value, tuple):
            self.text += value[1]
        elif isinstance(value, str):
            self.string(value)
        else:
            self.text += json.dumps(value)

    def pair(self, path: KeyPath, value: Any) -> None:
        self.blank(lines=False)
        dotted = isinstance(value, dict) and len(value) == 1 and self.draw(st.booleans())
        self.key(path)
        self.blank(lines=False)
        while dotted:
            self.values[path] = self.keys[path]
            ((name, value),) = value.items()
            path = (*path, name)
            self.text += "."
            self.blank(lines=False)
            self.key(path)
            self.blank(lines=False)
            dotted = isinstance(value, dict) and len(value) == 1 and self.draw(st.booleans())
        self.text += "="
        self.blank(lines=False)
        self.value(path, value)

    def table(self, path: KeyPath, table: dict[str, Any], many: int | None) -> None:
        self.text += "[" if many is None else "[["
        self.blank(lines=False)
        begin = len(self.text)
        self.key(path)
        self.values.setdefault(path, begin)
        inside = path if many is None else (*path, many)
        self.values.setdefault(inside, begin)
        self.blank(lines=False)
        self.text += "]\n" if many is None else "]] # [[no]]\n"
        for name, value in table.items():
            self.pair((*inside, name), value)
            self.blank(lines=False)
            self.text += "\n"


def paths(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    """Return the paths to everything in what `tomllib` read."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    found = {path} if path else set()
    return found.union(*(paths(each, (*path, name)) for name, each in items))


@settings(max_examples=60, deadline=None)
@given(tables=TABLES, data=st.data())
def test_every_key_and_value_is_found_where_it_was_written(
    tables: dict[str, Any], data: st.DataObject
) -> None:
    writer = Writer(data.draw)
    for name, table in tables.items():
        if isinstance(table, list):
            for number, each in enumerate(table):
                writer.table((name,), each, number)
        else:
            writer.table((name,), table, None)
    read = tomllib.loads(writer.text)
    found = find_positions(writer.text)
    assert {path: place.offset for path, place in found.values.items()} == writer.values
    assert {path: place.offset for path, place in found.keys.items()} == writer.keys
    assert set(found.values) == paths(read)
    lines = writer.text.split("\n")
    for place in found.values.values():
        rest = "\n".join([lines[place.line - 1][place.column - 1 :], *lines[place.line :]])
        assert rest == writer.text[place.offset :]


def test_lines_and_columns_by_hand() -> None:
    text = '\n[a."b.c"]\nx.y = [ 1,\n   {z = "]"}, # no\n]\n[[t]]\n[[t]]\n[t.u]\nv=2\n'
    text = text.replace("\n", "\r\n")
    found = find_positions(text)
    at = {path: (place.line, place.column) for path, place in found.values.items()}
    assert at["a", "b.c", "x", "y", 1, "z"] == (4, 9)
    assert at["t", 1, "u", "v"] == (9, 3)
    assert {path: (p.line, p.column) for path, p in found.keys.items()}["a", "b.c"] == (2, 4)


def test_quotes_at_the_end_of_a_long_string() -> None:
    text = 'a = """one "" two"""""\nb = \'\'\'x\'\'\'\'\'\nc = """\\""""\nd = 1\n'
    assert set(tomllib.loads(text)) == {"a", "b", "c", "d"}
    assert find_positions(text).values["d",].line == 4
