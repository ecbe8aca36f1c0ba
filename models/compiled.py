"""Compiled loops: kept on disk where that is possible and safe, else compiled in memory.

Loops that take seconds to compile are `declared` with the types of their arguments, so that each
has one specialisation and can be compiled ahead (`compile_ahead`, ``hindmost doctor --compile``).
The first loop that a command compiles is announced (`announce`), as a person waits for it.

What numba keeps are pickles: whoever can write them runs code in the process that loads them. They
lie in the user's private cache folder, or in NUMBA_CACHE_DIR, in a folder named by the digest of
the loop and of what it calls. A file that is damaged or cannot be read, and a disk that is full,
cost a compilation and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from types import CodeType, FunctionType
from typing import Any, Literal, TypeVar

from hindmost.cache import digest
from hindmost.files import cache_folder

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
ONE = Lock()
"""numba's setting of a folder is one for all threads."""


@cache
def compiled(loop: Callable[..., Any], *, division: Literal["python", "numpy"] = "python") -> Any:
    """Compile a loop for one core, once a machine where it can be kept.

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
    with suppress(OSError, RuntimeError):  # no folder can be written, or the loop has no file
        made._cache = Kept(loop)  # as numba.njit(cache=True) sets its own
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


class Kept:
    """numba's cache of a loop, made so that no state of the disk can stop a program.

    It has the methods that numba calls, and passes them on.

    Parameters
    ----------
    loop : function
    """

    def __init__(self, loop: Callable[..., Any]) -> None:
        """Choose the folder by what the loop is made of: numba looks at its own file alone."""
        from numba import __version__, config
        from numba.core.caching import FunctionCache

        place: Any = config
        open_cache: Callable[..., Any] = FunctionCache
        with ONE:
            before = place.CACHE_DIR
            parent = Path(before) if before else cache_folder("loops")
            place.CACHE_DIR = str(parent / made_of(loop, __version__))
            try:
                self._numbas = open_cache(loop)
            finally:
                place.CACHE_DIR = before
        self._any_calls = not loop.__module__.startswith(OWN)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return a compiled loop, None if there is none that can be loaded."""
        from numba.core.runtime.nrt import rtsys

        try:
            if self._any_calls:
                return self._numbas.load_overload(signature, target_context)
            # To run what was compiled needs none of the declarations with which numba compiles,
            # and which it would load now: half a second of every process.
            rtsys.initialize(target_context)
            return self._numbas._load_overload(signature, target_context)
        except Exception:  # a damaged pickle raises what it likes
            with suppress(Exception):
                self._numbas.flush()
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled loop if the disk takes it."""
        with suppress(Exception):
            self._numbas.save_overload(signature, result)

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._numbas.cache_path)


def made_of(loop: Callable[..., Any], version: str) -> str:
    """Return a digest of a loop, all it calls, the constants that these use, and numba."""
    import numpy as np  # not waited for by commands that compile nothing

    texts, left, seen = [version], [loop], set()
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
    return digest(*sorted(texts))


def bytecode(code: CodeType) -> str:
    """Return what a function does, with the functions within it."""
    within = []
    for const in code.co_consts:
        if isinstance(const, CodeType):
            within.append(bytecode(const))
        else:  # the order of a set of texts is another in each process
            within.append(repr(sorted(const, key=repr) if isinstance(const, frozenset) else const))
    return f"{code.co_code.hex()} {within} {code.co_names} {code.co_varnames} {code.co_freevars}"


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
