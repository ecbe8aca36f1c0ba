"""Decks: what they allow, how they scale, and their text."""

import tomllib
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from tests.harness.adaptive.meshes import uniform

from hindmost.documents import parse_document
from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.decks import DECKS, Deck, deck_of, find_deck, parse_base

LEAST = """\
name = "mine"
summary = "a tube of my own"
# as it comes

columns = 10
rows = 4
spacing = 0.1
levels = 1
steps = 5
"""


def parse_deck(text: str, source: str) -> Deck:
    return deck_of(parse_document(text, source))


@pytest.mark.parametrize("name", DECKS.names)
def test_a_deck_survives_its_text(name: str) -> None:
    deck = DECKS[name]
    text = deck.to_toml()
    assert set(tomllib.loads(text)) == {field.name for field in fields(Deck)}
    assert parse_deck(text, "text") == deck


def test_fields_that_are_not_named_are_filled_in(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(LEAST + "divide = 1\n", encoding="utf-8")
    deck = find_deck(str(file))
    assert (deck.columns, deck.spacing, deck.heat, deck.gamma) == (10, 0.1, False, 1.4)
    assert isinstance(deck.divide, float)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 5", "step = 5", r"mine: step is unknown; did you mean steps.*name, .*st"),
        ("steps = 5", "steps = 0", r"mine: steps is 0; allowed: a whole number from 1 to"),
        ('"mine"', '"my deck/1"', r'mine: name is "my deck/1"; allowed: letters, digits'),
        ("= 0.1", "= nan", r"mine: spacing is NaN; allowed: a finite number above 0"),
        ("levels = 1", "levels = 11", r"mine: levels is 11; allowed: a whole number from"),
        ("rows = 4", "rows = 40000", r"rows is 40000; allowed: a whole number from 1 to 32768"),
        ("levels = 1", "levels = 1\ncfl = 1.5", r"mine: cfl is 1.5; allowed: a finite number"),
        ("levels = 1", "levels = 1\ngamma = 1", r"gamma is 1; allowed: a finite number above 1"),
        ("levels = 1", "levels = 1\nheat = true", r"conductivity is 0.0; .*above 0, with heat"),
        ("levels = 1", "levels = 1\ncombine = 0.2", r"combine is 0.2; allowed: a number below div"),
        ("levels = 1", "levels = 1\nbuffer = -1", r"buffer is -1; allowed: a whole number from 0"),
        ("levels = 1", "levels = 1\ngrowth = 0.5", r"growth is 0.5; allowed: a finite number of"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_key(old: str, new: str, message: str) -> None:
    assert old in LEAST
    with pytest.raises(DataError, match=message):
        parse_deck(LEAST.replace(old, new), "mine")


def test_a_name_or_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'timing-d'; choose timing-a, .*name a TOML file"):
        find_deck("timing-d")
    with pytest.raises(UsageError, match=r"none\.toml: cannot be read \(No such file"):
        find_deck(str(tmp_path / "none.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"binary\.toml:1: not UTF-8"):
        find_deck(str(tmp_path / "binary.toml"))


@pytest.mark.parametrize(
    ("name", "ranks", "base"),
    [
        ("timing-a", 1, (64, 64)),
        ("timing-a", 2, (128, 64)),
        ("timing-a", 4, (128, 128)),
        ("timing-a", 6, (192, 128)),
        ("timing-a", 7, (448, 64)),
        ("timing-c", 2, (288, 560)),
    ],
)
def test_shares_are_put_together_nearly_square(
    name: str, ranks: int, base: tuple[int, int]
) -> None:
    deck = DECKS[name]
    assert deck.base(ranks) == base
    assert deck.most_cells(base) == 3.5 * ranks * deck.columns * deck.rows


def test_a_base_mesh_that_is_fixed() -> None:
    assert parse_base("512x256") == (512, 256)
    for text in ("512", "0x3", "3x-1", "axb", "1x2x3", "²x3"):
        with pytest.raises(UsageError, match="give two sizes, as 512x256"):
            parse_base(text)


def test_the_state_is_told_by_place_whatever_the_level() -> None:
    deck = DECKS["timing-a"]
    coarse, fine = (
        deck.state((64, 64), *(np.array([n], kind) for n, kind in zip(cell, kinds, strict=True)))
        for kinds in [(np.int32, np.int32, np.int8)]
        for cell in [(36, 26, 0), (36 * 4 + 1, 26 * 4 + 2, 2)]
    )
    assert (coarse == fine).all()  # both in the hot disc
    assert coarse[0, 3] > 100


def test_the_shock_of_the_timing_decks_is_one_shock() -> None:
    deck = DECKS["timing-a"]
    mesh = uniform(64, 64)
    rho, mx, _, energy = deck.state((64, 64), mesh.i, mesh.j, mesh.level)[0]
    u, speed = mx / rho, 2 * np.sqrt(1.4)  # Mach 2
    p = 0.4 * (energy - 0.5 * mx * u)
    assert (rho, p) == pytest.approx((8 / 3, 4.5))
    # Rankine and Hugoniot: what goes into the shock comes out of it.
    assert rho * (u - speed) == pytest.approx(-speed)
    assert p + rho * (u - speed) ** 2 == pytest.approx(1.0 + speed**2)
    assert (energy + p) * (u - speed) + speed * p == pytest.approx((2.5 + 1.0) * -speed + speed)
