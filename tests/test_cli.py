"""What the command says of words that it does not know."""

import re

import pytest

from hindmost import cli
from hindmost.cli import VERBS, main, parser_of, split_petsc_options
from hindmost.errors import UsageError


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("scale --medians 3", "Unknown option --medians. See: hindmost scale --help"),
        ("fit --best x", "Unknown option --best. See: hindmost fit --help"),
        ("show --jsn x", "Unknown option --jsn; did you mean --json? See: hindmost show --help"),
        (
            "plot --format gif x",
            "argument --format: invalid choice: 'gif'; choose png, pdf or svg. See: hindmost plot "
            "--help",
        ),
        (
            "run laplacian-1d --solver cg --out x -ksp_view",
            "Unknown option -ksp_view; PETSc options go after '--'. See: hindmost run --help",
        ),
        (
            "run diagonal --solver cg --out x --repeats 2 3",
            "Unexpected argument '3'; repeat an option for each of its values. See: hindmost run "
            "--help",
        ),
        (
            "attach --out x ./app 100",
            "The program comes after '--': hindmost attach [options] -- ./app. See: hindmost "
            "attach --help",
        ),
        (
            "watch runs --web x",
            "argument --web: invalid int value: 'x'; write a whole number, such as 100. "
            "See: hindmost watch --help",
        ),
        (
            "probe nose",
            "argument probe: invalid choice: 'nose'; did you mean noise? choose noise, "
            "network, grind, checkpoint or all. See: hindmost probe --help",
        ),
        (
            "attach --out=",
            "argument --out: it is empty; name a path, or '.' for this folder. "
            "See: hindmost attach --help",
        ),
        ("fit runs -- -ksp_view", "What follows '--' is for 'run' and 'attach' only; remove it."),
    ],
)
def test_unknown_words_are_named_with_the_verb(words: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        main(words.split())
    assert str(caught.value) == said


def test_a_misspelt_verb_is_guessed() -> None:
    with pytest.raises(UsageError, match=r"invalid choice: 'shw'; did you mean show\? "):
        main(["shw"])


def test_the_command_alone_says_what_to_type_next(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(cli, "write_text", said.append)
    assert main([]) == 2
    typed = re.findall(r"^ +(?:mpiexec -n \d )?hindmost (.+?)(?:   .*)?$", said[0], re.MULTILINE)
    assert len(typed) == 8
    for line in typed:
        words, _ = split_petsc_options(line.split())
        parser, _, rest = parser_of(words)
        assert parser.parse_args(rest).verb in VERBS
