"""Scripts write numbers in one place, and as `hindmost.text` does."""

import json
import re
from pathlib import Path

import numpy as np
from tests.analysis.browser import Browser

import hindmost.analysis
from hindmost.text import number, percent, quantity, seconds

ROOT = Path(hindmost.analysis.__file__).parent
NUMBERS = ROOT / "show" / "live" / "numbers.js"


def values() -> list[float]:
    """Return numbers of all sizes, those that end in a five, and whole ones."""
    random = np.random.default_rng(0)
    drawn = random.lognormal(0.0, 8.0, 400) * random.choice([-1.0, 1.0], 400)
    halves = [0.5, 1.5, 2.5, 0.125, 1234.5, 1235.5, 12.345, 999.5, 0.9995, 99.95, 100.5, 101.5]
    return [0.0, *halves, *drawn.tolist(), *(10.0**power for power in range(-12, 15)), 1e4, 12345.0]


def test_numbers_of_scripts_are_those_of_python(browser: Browser) -> None:
    given = values()
    written = browser.evaluate(
        f"(() => {{ {NUMBERS.read_text()} return {json.dumps(given)}.map((value) =>"
        " [numberText(value), secondsText(value), percentText(value), percentText(value, 0),"
        " quantityText(value, 'm')]); })()"
    )
    expected = [
        [number(one), seconds(one), percent(one), percent(one, 0), quantity(one, "m")]
        for one in given
    ]
    assert written == expected


def test_ticks_next_to_each_other_differ(browser: Browser) -> None:
    script = f"(() => {{ {NUMBERS.read_text()} return [0, 1, 2, 3].map((at) =>"
    for first, step in ((0.0, 0.1), (123_456.0, 1.0), (0.02, 1e-6), (3.0e5, 0.5), (1e-7, 1e-9)):
        texts = browser.evaluate(f"{script} tickText({first!r} + at * {step!r}, {step!r})); }})()")
        assert len(set(texts)) == 4
        told = [float(text.replace(",", "")) for text in texts]
        np.testing.assert_allclose(told, first + np.arange(4) * step, rtol=1e-12, atol=step / 100)


def test_no_other_script_formats_numbers() -> None:
    for path in ROOT.rglob("*.js"):
        if path.name != NUMBERS.name:
            found = re.search(
                r"\.to(Fixed|Precision|Exponential|Locale\w+|ISOString)\(", path.read_text()
            )
            assert found is None, (path, found)
