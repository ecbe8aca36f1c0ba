"""Records to and from documents: what comes back, and what errors name."""

import json
import math
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from hindmost.errors import DataError
from hindmost.parsing import parse_json, parse_toml
from hindmost.records import (
    RecordError,
    from_document,
    to_document,
    to_toml,
)  # fmt: skip


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    ranks: Count
    seconds: Seconds = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    name: Annotated[str, Meta(min_length=1, description="text that is not empty")]
    colour: Colour = Colour.RED
    inner: Inner | None = None
    inners: tuple[Inner, ...] = ()
    pair: tuple[int, float] = (0, 0.0)
    values: dict[str, str | int | float | bool] = field(default_factory=dict)
    by_rank: dict[str, Count] = field(default_factory=dict)
    by: Colour | tuple[str, ...] = ()
    solver: Literal["gmres", "cg"] = "cg"
    share: Annotated[float, Meta(ge=0, le=1)] = 0.0
    maybe: Seconds | None = None
    anything: Any = None

    def __post_init__(self) -> None:
        if self.share > 0.5 and self.maybe is None:
            raise RecordError("give maybe with it", "share", found=self.share)


FULL = Outer(
    name="x",
    colour=Colour.BLUE,
    inner=Inner(ranks=2),
    inners=(Inner(ranks=1, seconds=0.5), Inner(ranks=3)),
    pair=(1, 2.0),
    values={"a": 1, "b": 2.5, "c": True, "d": "text"},
    by=("a", "b"),
    maybe=3.0,
)


def test_a_record_comes_back_from_json() -> None:
    document = to_document(FULL)
    assert document["by"] == ["a", "b"]
    assert from_document(Outer, parse_json(json.dumps(document))) == FULL


def test_what_is_not_named_has_its_default_and_integers_become_floats() -> None:
    found = from_document(Outer, {"name": "x", "pair": [1, 2], "maybe": None})
    assert found == Outer(name="x", pair=(1, 2.0))
    assert type(found.pair[1]) is float


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, 'name is ""; allowed: text that is not empty.'),
        ({"nmae": 1}, "nmae is unknown; did you mean name or maybe? choose name, colour, "),
        ({"colour": "rde"}, 'colour is "rde"; did you mean red? choose red or blue.'),
        ({"colour": ["red"]}, 'colour is ["red"]; choose red or blue.'),
        ({"inner": 3}, "inner is 3; allowed: an object."),
        ({"inner": {}}, "inner.ranks is missing; allowed: a whole number of at least 1."),
        ({"inner": {"ranks": True}}, "inner.ranks is true; allowed: a whole number of at least 1."),
        ({"inner": {"ranks": 1.0}}, "inner.ranks is 1.0; allowed: a whole number"),
        ({"inners": {}}, "inners is {}; allowed: a list."),
        ({"inners": [{"ranks": 1}, {"ranks": 0}]}, "inners[1].ranks is 0; allowed: a whole"),
        ({"inners": [{"ranks": 1, "second": 1}]}, "inners[0].second is unknown; did you mean sec"),
        ({"pair": [1]}, "pair is [1]; allowed: a list of 2 entries."),
        ({"pair": [1, "b"]}, 'pair[1] is "b"; allowed: a finite number.'),
        ({"values": {"a": None}}, "values.a is null; allowed: text or a whole number or a finite"),
        ({"values": {"a": math.inf}}, "values.a is Infinity; allowed: text or a whole"),
        ({"by_rank": {"a": 1, "b": 0}}, "by_rank.b is 0; allowed: a whole number of at least 1."),
        ({"share": 0.75}, "share is 0.75; give maybe with it."),
        ({"by": 1}, 'by is 1; choose red or blue.'),
        ({"by": ["a", 1]}, "by[1] is 1; allowed: text."),
        ({"solver": "gmers"}, 'solver is "gmers"; did you mean gmres? choose gmres or cg.'),
        ({"share": 1.5}, "share is 1.5; allowed: a finite number from 0 to 1."),
        ({"share": math.nan}, "share is NaN; allowed: a finite number from 0 to 1."),
        ({"share": 10**400}, "share is 1000000000000000000000000000000000000...; allowed: a fin"),
        ({"share": 10**5000}, "share is int; allowed: a finite number"),
        ({"maybe": 0}, "maybe is 0; allowed: a finite number above 0."),
        ({"name": "a\x1b[2J\n" * 9, "share": "\x1b]"}, 'share is "\\u001b]"; allowed: '),
    ],
)  # fmt: skip
def test_errors_name_the_path_the_value_and_the_rule(changes: Any, message: str) -> None:
    with pytest.raises(RecordError) as caught:
        from_document(Outer, {"name": "x", **changes})
    assert str(caught.value).startswith(message)
    with pytest.raises(RecordError) as caught:
        from_document(Outer, {"name": "x", **changes}, "runs", 3)
    assert str(caught.value).startswith(f"runs[3].{message}")
    assert isinstance(caught.value, DataError)


@pytest.mark.parametrize("value", [None, 3, [], "text", True])
def test_the_whole_is_an_object(value: Any) -> None:
    with pytest.raises(RecordError, match=r"^the whole is .*; allowed: an object\.$"):
        from_document(Outer, value)


def test_keys_of_others_may_be_left_alone_at_the_top_only() -> None:
    document = {"ranks": 1, "host": "n0"}
    assert from_document(Inner, document, ignore_unknown=True) == Inner(ranks=1)
    with pytest.raises(RecordError, match=r"^inner\.host is unknown"):
        from_document(Outer, {"name": "x", "inner": document}, ignore_unknown=True)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '[{"b": {"c": 1, "d": 2, "c": 1}}]'])
def test_a_key_that_comes_twice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r'the key "[ac]" comes twice'):
        parse_json(text)


def test_deep_documents_are_refused() -> None:
    with pytest.raises(ValueError, match=r"nested too deep|Expecting"):
        parse_json("[" * 100_000)
    deep: list[Any] = []
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(RecordError, match="nested too deep"):
        from_document(Outer, {"name": "x", "anything": deep})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    text: str
    number: float
    count: int
    flag: bool
    words: tuple[str, ...] = ()


@given(st.builds(
    Plain,
    text=st.text(st.characters(exclude_categories=["Cs"])),
    number=st.floats(-1e18, 1e18),
    count=st.integers(-(2**62), 2**62),
    flag=st.booleans(),
    words=st.lists(st.text(st.characters(exclude_categories=["Cs"]))).map(tuple),
))  # fmt: skip
def test_toml_reads_back_whatever_the_text(record: Plain) -> None:
    assert from_document(Plain, parse_toml(to_toml(record))) == record
    assert tomllib.loads(to_toml(record)) == json.loads(json.dumps(to_document(record)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(
        ["name", "colour", "inner", "inners", "pair", "values", "by_rank", "by", "ranks", "x"]
    ), inner),
)  # fmt: skip


@given(JSON)
def test_any_document_is_a_record_or_a_record_error(document: Any) -> None:
    with suppress(RecordError):
        found = from_document(Outer, document)
        assert from_document(Outer, to_document(found)) == found
