"""What the command says of words that it does not know."""

from __future__ import annotations

import pytest

from hindmost.cli import main
from hindmost.errors import UsageError


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("scale --median 3", "Unknown option --median. See: hindmost scale --help"),
        ("fit --best x", "Unknown option --best. See: hindmost fit --help"),
        (
            "run laplacian-1d --solver cg --out x -ksp_view",
            "Unknown option -ksp_view; PETSc options go after '--'. See: hindmost run --help",
        ),
        (
            "run diagonal --solver cg --out x --repeats 2 3",
            "Unexpected argument '3'; repeat an option for each of its values. See: hindmost run "
            "--help",
        ),
        ("fit runs -- -ksp_view", "What follows '--' is for 'run' and 'attach' only; remove it."),
    ],
)
def test_unknown_words_are_named_with_the_verb(words: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        main(words.split())
    assert str(caught.value) == said
