"""Compiled loops: kept on disk where that is possible and safe, else compiled in memory.

Loops that take seconds to compile are `declared` with the types of their arguments, so that each
has one specialisation and can be compiled ahead (`compile_ahead`, ``hindmost doctor --compile``).
The first loop that a command compiles is announced (`announce`), as a person waits for it.

What numba keeps are pickles: whoever can write them runs code in the process that loads them. They
are loaded only if those who can write them could as well change the source, and only if neither the
loop nor what it calls has changed. A file that is damaged or cannot be read, and a disk that is
full, cost a compilation and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from glob import escape
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Literal, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


Types = str | Callable[[], tuple[Any, ...]]

OWN = "hindmost."
"""Modules whose loops call nothing but arithmetic, mathematics and each other."""
LOOPS: dict[str, Any] = {}
"""What was compiled or loaded so far, by module and name."""
DECLARED: dict[str, Declared] = {}
"""The loops of all modules imported so far that are declared with their types."""
ANNOUNCE: list[Callable[[], None]] = []
"""What is called before the first loop is compiled; see `announce`."""


@cache
def compiled(loop: Callable[..., Any], *, division: Literal["python", "numpy"] = "python") -> Any:
    """Compile a loop for one core, once a machine where numba finds a place to keep it.

    The compiled loop releases the interpreter's lock, so that threads may run it side by side.

    Parameters
    ----------
    loop : function
        Of arrays and numbers only.
    division : str
        "python": a division by zero raises ZeroDivisionError. "numpy": it gives an infinity or NaN,
        and without the test loops that divide can use vectors.
    """
    import numba  # half a second, which commands that compile nothing do not wait for

    listen()
    # Nothing calls these loops from C; a wrapper for that takes a tenth of the compilation.
    options: dict[str, Any] = {"nogil": True, "error_model": division, "no_cfunc_wrapper": True}
    made = numba.njit(**options)(loop)
    with suppress(RuntimeError):  # neither the package's folder nor the user's cache can be written
        made._cache = optional_cache()(loop)  # as numba.njit(cache=True) sets its own
    LOOPS[f"{loop.__module__}.{loop.__qualname__}"] = made
    return made


class Declared:
    """A loop whose types are known: compiled when it is first called, or ahead.

    Parameters
    ----------
    loop : function
    types : str or callable
        Of its arguments, as numba writes a signature: ``(f8[:,::1], i8)``; or what returns
        examples. Arguments of other types are compiled for as well, but later and without need:
        make them contiguous.
    division : str
        See `compiled`.
    """

    def __init__(
        self, loop: Callable[..., Any], types: Types, division: Literal["python", "numpy"]
    ) -> None:
        self.loop, self.types, self.division = loop, types, division
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled loop."""
        return self.compile()(*arguments)

    def compile(self) -> Any:
        """Compile the loop for its types, or load it; return what numba made of it."""
        if self._made is None:
            made = compiled(self.loop, division=self.division)
            made.compile(self.signature())
            self._made = made
        return self._made

    def signature(self) -> Any:
        """Return the declared types as numba has them."""
        from numba import typeof

        kind: Callable[[Any], Any] = typeof

        if isinstance(self.types, str):
            return self.types
        return tuple(kind(argument) for argument in self.types())


def declared(
    types: Types, *, division: Literal["python", "numpy"] = "python"
) -> Callable[[Callable[..., Any]], Declared]:
    """Declare a loop with the types of its arguments, as a decorator; see `Declared`."""

    def declare(loop: Callable[..., Any]) -> Declared:
        made = Declared(loop, types, division)
        DECLARED[f"{loop.__module__}.{loop.__qualname__}"] = made
        return made

    return declare


def compile_ahead() -> list[str]:
    """Compile all declared loops of the modules imported so far; return their names."""
    for loop in DECLARED.values():
        loop.compile()
    return list(DECLARED)


def announce(tell: Callable[[], None]) -> None:
    """Let a command say that it compiles: `tell` is called once, when that begins.

    Loops that are loaded from disk announce nothing.
    """
    ANNOUNCE[:] = [tell]


@cache
def listen() -> None:
    """Have what `announce` was given called when numba begins to compile."""
    from numba.core.event import Listener, register

    class First(Listener):
        """Called for parts of a loop as well."""

        def on_start(self, event: Any) -> None:
            while ANNOUNCE:
                ANNOUNCE.pop()()

        def on_end(self, event: Any) -> None:
            pass

    add: Callable[..., Any] = register
    add("numba:compile", First())


@cache
def optional_cache() -> Any:
    """Return numba's cache of functions, made so that no state of the disk can stop a program."""
    from numba.core.caching import FunctionCache
    from numba.core.runtime.nrt import rtsys

    numbas: Any = FunctionCache

    class OptionalCache(numbas):  # type: ignore[misc]  # numba has no types
        """Loads what is whole and safe; what fails is compiled, and the cache begins anew."""

        def __init__(self, loop: Callable[..., Any]) -> None:
            """Let what the loop is made of decide whether it is kept still, not its own file."""
            super().__init__(loop)
            self._cache_file._source_stamp = (self._cache_file._source_stamp, made_of(loop))

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """Return a compiled loop, None if there is none that can be loaded."""
            try:
                if self._enabled and make_safe(self):
                    if not self._py_func.__module__.startswith(OWN):
                        return super().load_overload(sig, target_context)
                    # To run what was compiled needs none of the declarations with which numba
                    # compiles, and which it would load now: half a second of every process.
                    rtsys.initialize(target_context)
                    return self._load_overload(sig, target_context)
                self.disable()
            except Exception:  # a damaged pickle raises what it likes
                try:
                    self.flush()
                except Exception:
                    self.disable()
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            """Keep a compiled loop if the disk takes it."""
            try:
                super().save_overload(sig, data)
                close_to_others(self)
            except Exception:
                self.disable()

    return OptionalCache


def made_of(loop: Callable[..., Any]) -> str:
    """Return a digest of a loop: its text, all it calls, and the constants that these use.

    numba itself looks at the file of the loop alone, and would run what another file had before.
    """
    import numpy as np  # not waited for by commands that compile nothing

    texts, left, seen = [], [loop], set()
    while left:
        function = left.pop()
        if function in seen:
            continue
        seen.add(function)
        code = function.__code__
        texts.append(f"{function.__module__}.{function.__qualname__} {bytecode(code)}")
        for name in sorted(set(code.co_names)):
            used = function.__globals__.get(name)
            used = getattr(used, "loop", getattr(used, "py_func", used))
            if isinstance(used, FunctionType):
                left.append(used)
            elif isinstance(used, int | float | str | tuple):
                texts.append(f"{function.__module__}.{name} = {used!r}")
            elif isinstance(used, np.ndarray):
                texts.append(f"{function.__module__}.{name} = {used.tobytes().hex()}")
    return sha256("\n".join(sorted(texts)).encode()).hexdigest()


def bytecode(code: CodeType) -> str:
    """Return what a function does, with the functions within it."""
    within = []
    for each in code.co_consts:
        if isinstance(each, CodeType):
            within.append(bytecode(each))
        else:  # the order of a set of texts is another in each process
            within.append(repr(sorted(each, key=repr) if isinstance(each, frozenset) else each))
    return f"{code.co_code.hex()} {within} {code.co_names} {code.co_varnames} {code.co_freevars}"


def kept_files(kept: Any) -> list[Path]:
    """Return the files in which numba keeps a loop, without those that are just being written."""
    found = Path(kept.cache_path).glob(f"{escape(kept._impl.filename_base)}.*")
    return [path for path in found if path.suffix in (".nbi", ".nbc")]


def make_safe(kept: Any) -> bool:
    """Tell whether those who can write the cache could as well change the source.

    Folder and files must belong to this user, root or the owner of the source, and be open to
    nobody to whom the folder of the source is not open. Files that are not so are removed.
    """
    source, folder = Path(kept._py_func.__code__.co_filename), Path(kept.cache_path)
    owners = {os.geteuid(), 0, source.stat().st_uid}

    def is_safe(path: Path) -> bool:
        facts = path.lstat()
        return facts.st_uid in owners and not facts.st_mode & not_open(kept)

    close(folder, kept)
    if not is_safe(folder):
        return False
    for path in kept_files(kept):
        with suppress(FileNotFoundError):  # just now replaced
            if not is_safe(path):
                path.unlink()
    return True


def not_open(kept: Any) -> int:
    """Return the permissions to write that the folder of the source gives to nobody else."""
    source = Path(kept._py_func.__code__.co_filename)
    return 0o022 & ~source.parent.stat().st_mode


def close_to_others(kept: Any) -> None:
    """Take the permissions to write from files that were just kept, whatever the umask."""
    for path in kept_files(kept):
        with suppress(FileNotFoundError):  # just now replaced
            close(path, kept)


def close(path: Path, kept: Any) -> None:
    """Take the permissions to write from a file or folder of this user."""
    facts = path.lstat()
    if facts.st_uid == os.geteuid() and facts.st_mode & not_open(kept):
        path.chmod(facts.st_mode & 0o7777 & ~not_open(kept))


def signatures() -> dict[str, int]:
    """Return for every loop for how many types of arguments it was compiled or fetched."""
    return {name: len(loop.signatures) for name, loop in LOOPS.items()}


def part(function: Function) -> Function:
    """Mark a function that compiled loops call, as a decorator; Python may call it as well."""
    from numba.extending import register_jitable

    marked: Function = register_jitable(no_cfunc_wrapper=True)(function)
    return marked


def summing(function: Function) -> Function:
    """Mark a part whose sums may be taken in any order, and so by vector units, as a decorator.

    A division by zero in it gives an infinity or NaN.
    """
    from numba.extending import register_jitable

    marked: Function = register_jitable(
        fastmath={"reassoc", "contract"}, error_model="numpy", no_cfunc_wrapper=True
    )(function)
    return marked


def inlined(function: Function) -> Function:
    """Mark a function whose text stands in for its calls in compiled loops, as a decorator.

    Its divisions are those of the loop, and a loop that calls it may use vectors.
    """
    from numba.extending import register_jitable

    marked: Function = register_jitable(inline="always")(function)
    return marked
