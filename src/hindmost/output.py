"""The only place that writes to stdout and stderr; a test forbids it everywhere else.

Text from files arrives here as part of a line. Terminal escapes, control characters, marks that
reverse the direction of writing and bytes that are not UTF-8 are escaped, and a line end inside a
line does not start another one.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import time
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import MethodType
from typing import Any, NamedTuple

from hindmost.printable import one_line, printable
from hindmost.text import with_unit

INDENT = "    "
QUIETLY_S = 2.0
"""Work that is expected to take longer is announced."""
BAR = 30
"""Characters of its bar."""
ABOUT = (("min", 60.0), ("s", 1.0))
"""Units of what it is expected to take."""
SCALARS = (str, int, float, bool, type(None))
"""Types of JSON."""


def open_streams() -> None:
    """Make stdout and stderr safe to use, even if they are closed.

    Output to a closed stdout is reported as that to a full disk is.
    """
    sys.stdout = sys.stdout or Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def write_lines(*lines: str, flush: bool = False) -> None:
    """Write lines to stdout; every argument is one line.

    Parameters
    ----------
    flush : bool
        Write them at once, for output that a person or a program waits for.
    """
    sys.stdout.write("".join(f"{one_line(line)}\n" for line in lines))
    if flush:
        sys.stdout.flush()


def write_text(text: str) -> None:
    """Write text of several lines to stdout, such as a script; it ends with a line end."""
    sys.stdout.write(printable(text if text.endswith("\n") else f"{text}\n"))


def write_json(indent: int | None = 2, /, **keys: Any) -> None:
    """Write a JSON document to stdout: its version, and the keys."""
    sys.stdout.write(f"{strict_json({'version': 1, **keys}, indent)}\n")


def strict_json(value: Any, indent: int | None = None) -> str:
    """Return JSON that any program reads and any terminal shows: ASCII, and null for NaN."""
    value = plain(value)
    try:
        text = json.dumps(value, indent=indent, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), indent=indent, allow_nan=False)
    return text.replace("\x7f", "\\u007f")


class JsonKey(NamedTuple):
    """A key of the JSON of a class, and what it is.

    Attributes
    ----------
    key : str
        Empty if the keys of the value stand in place of it.
    path : tuple of str
        Attributes, properties and methods without arguments, from the outside in.
    nullable : bool
        Whether an empty value is null.
    """

    key: str
    path: tuple[str, ...]
    nullable: bool


@cache
def json_keys(kind: Any) -> tuple[JsonKey, ...]:
    """Return the keys of the JSON of a class; none of one that has no named parts.

    A class says in `JSON` which they are, else they are the fields of a dataclass. The words of
    `JSON` are ``ranks`` (an attribute), ``file=run.path`` (another name), ``withheld?`` (null if it
    is empty) and ``**scores`` (the keys of that attribute)::

        JSON = "file=run.path ranks **scores withheld?"
    """
    if not isinstance(words := getattr(kind, "JSON", None), str):
        names = [field.name for field in fields(kind)] if is_dataclass(kind) else []
        return tuple(JsonKey(name, (name,), False) for name in names)
    found = []
    for word in words.split():
        key, _, path = word.rstrip("?").rpartition("=")
        merged = path.startswith("**")
        parts = tuple(path.removeprefix("**").split("."))
        found.append(JsonKey("" if merged else key or path, parts, word.endswith("?")))
    return tuple(found)


def plain(value: Any) -> Any:
    """Return records, arrays and what contains them as dictionaries, lists and scalars.

    What is `msgspec.UNSET` is left out.
    """
    if type(value) in SCALARS:
        return value
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    import msgspec  # not for a command that prints no JSON

    kind: Any = type(value)
    keys = json_keys(kind)
    if not keys:
        return msgspec.to_builtins(
            value, enc_hook=lambda each: each.tolist() if hasattr(each, "tolist") else str(each)
        )
    found: dict[str, Any] = {}
    for key, path, nullable in keys:
        each = value
        for name in path:
            each = None if each is None else getattr(each, name)
            each = each() if isinstance(each, MethodType) else each
        if key and each is not msgspec.UNSET:
            found[key] = (plain(each) or None) if nullable else plain(each)
        elif not key:
            found |= plain(each) or {}
    return found


def _finite(value: Any) -> Any:
    """Return a document with None in place of the numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


def write_bytes(data: bytes) -> None:
    """Write data for another program to stdout, such as a mail."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def warn(message: str) -> None:
    """Write a message to stderr, after the name of the program; further lines are indented."""
    warn_lines(f"hindmost: {message}")


def warn_lines(*messages: str) -> None:
    """Write messages to stderr; lines after the first of a message are indented.

    A message that cannot be written stops nothing.
    """
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write("".join(f"{_indented(message)}\n" for message in messages))
        sys.stderr.flush()


def announce_work(what: str, expected_s: float) -> None:
    """Say on stderr what a command does, if nothing else is printed for some seconds.

    Parameters
    ----------
    what : str
        Such as ``Fitting noise models to 4 runs``.
    expected_s : float
        Processor time, from counts and rates that were measured on one core.
    """
    if expected_s > QUIETLY_S:
        about = with_unit(float(f"{expected_s:.1g}"), ABOUT, "")
        warn(f"{what}; this takes about {about} ...")


class ProgressLine:
    """How far work has come, on a line of stderr that is written again and again; use as a context.

    Only a person sees it, at a terminal, and only where the work takes some seconds.

    Parameters
    ----------
    name : str
        What is worked on.
    seen : bool
        Whether this process is the one that shows it.
    """

    def __init__(self, name: str, *, seen: bool = True) -> None:
        self._name = name
        self._seen = seen and sys.stderr.isatty()
        self._next_s = time.monotonic() + QUIETLY_S
        self._shown = False

    def __enter__(self) -> ProgressLine:
        """Return the line itself."""
        return self

    def show(self, what: str, share: float) -> None:
        """Show what is done, and how much of it, from 0 to 1."""
        if not self._seen or (now := time.monotonic()) < self._next_s:
            return
        self._next_s, self._shown = now + 0.2, True
        done = int(share * BAR)
        end = f" [{'#' * done}{'.' * (BAR - done)}] {100 * share:3.0f} %"
        room = shutil.get_terminal_size().columns - len(end) - 1
        self._write(f"\r{one_line(f'hindmost: {self._name}: {what}')[: max(room, 0)]}{end}\x1b[K")

    def clear(self) -> None:
        """Take the line away, before something else is written."""
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def __exit__(self, *raised: object) -> None:
        """Take the line away."""
        self.clear()

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _indented(message: str) -> str:
    """Return a message whose further lines cannot be mistaken for messages."""
    first, *others = message.split("\n")
    more = (other if other.startswith(INDENT) or not other else INDENT + other for other in others)
    return "\n".join(one_line(each) for each in (first, *more))


def is_terminal() -> bool:
    """Tell whether a person reads stdout."""
    return sys.stdout.isatty()


def drop_output() -> None:
    """Detach from stdout after a failure, so that the end of the process does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
