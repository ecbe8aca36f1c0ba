"""Scripts that complete the command in bash and zsh, from the parsers of its verbs.

Verbs are completed first, then the options of the verb and the choices of an option; else files.
zsh uses the script of bash through its ``bashcompinit``.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

SHELLS = ("bash", "zsh")

SCRIPT = """\
{head}
_hindmost() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local verb=${{COMP_WORDS[1]}} options= choices=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W {verbs} -- "$current"))
        return
    fi
    case $verb in
{options}
    esac
    case $verb:$previous in
{choices}
    esac
    if [ -n "$choices" ]; then
        COMPREPLY=($(compgen -W "$choices" -- "$current"))
    elif [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    fi
}}
complete -o default -o bashdefault -F _hindmost hindmost
"""
HEADS = {
    "bash": "# Completion of hindmost in bash: source this file, or put it into\n"
    "# ~/.local/share/bash-completion/completions/hindmost",
    "zsh": "# Completion of hindmost in zsh: source this file after compinit.\n"
    "autoload -U +X bashcompinit && bashcompinit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbWords:
    """The words that a verb knows.

    Attributes
    ----------
    options : tuple of str
        Such as ``--out``, in the order of its help.
    choices : dict of str to tuple of str
        What an option allows, where that is a list.
    """

    options: tuple[str, ...]
    choices: dict[str, tuple[str, ...]]

    @classmethod
    def of_parser(cls, parser: argparse.ArgumentParser) -> VerbWords:
        """Return the words of a parser."""
        options: list[str] = []
        choices: dict[str, tuple[str, ...]] = {}
        for action in parser._actions:
            if action.help == argparse.SUPPRESS:
                continue
            options += action.option_strings
            if action.choices is not None:
                allowed = tuple(map(str, action.choices))
                choices.update(dict.fromkeys(action.option_strings, allowed))
        return cls(options=tuple(options), choices=choices)


def completion_script(shell: str, words: Mapping[str, VerbWords]) -> str:
    """Return the script for a shell.

    Parameters
    ----------
    shell : str
        One of `SHELLS`.
    words : dict of str to VerbWords
        By verb.
    """
    options = (
        f"        {verb}) options={shlex.quote(' '.join(each.options))} ;;"
        for verb, each in words.items()
    )
    choices = (
        f"        {verb}:{option}) choices={shlex.quote(' '.join(allowed))} ;;"
        for verb, each in words.items()
        for option, allowed in each.choices.items()
    )
    return SCRIPT.format(
        head=HEADS[shell],
        verbs=shlex.quote(" ".join(words)),
        options="\n".join(options),
        choices="\n".join(choices),
    )
