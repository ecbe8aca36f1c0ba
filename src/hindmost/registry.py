"""Things that are declared where they are written and found by their name.

A registry with a group is open to other packages: their entry points of that group join it. They
are looked up when a name is asked for that is not built in, or when all names are listed, and a
plugin is imported when its name is asked for. What is built in keeps its name; of two plugins of
one name the first that Python finds counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, Protocol, TypeVar

from hindmost.errors import MissingError, UsageError
from hindmost.printable import one_line
from hindmost.text import choose

GROUPS = tuple(
    f"hindmost.{each}"
    for each in ("problems", "solvers", "readers", "models", "schedulers", "launchers")
)
"""The groups of entry points that other packages may add to; see docs/plugins.md."""


class Named(Protocol):
    """Anything that a registry can hold."""

    @property
    def name(self) -> str:
        """The name on the command line and in run files."""


T = TypeVar("T", bound=Named)


def described(plugin: EntryPoint) -> str:
    """Return what a plugin is and whose, with the version of its package, for a message."""
    return f"{plugin.group} {plugin.name!r} of {package_of(plugin)}"


def package_of(plugin: EntryPoint) -> str:
    """Return the distribution that declares a plugin, with its version."""
    return f"{plugin.dist.name} {plugin.dist.version}" if plugin.dist else "an unknown package"


class Registry(Generic[T]):
    """Named things of one sort.

    Parameters
    ----------
    sort : str
        What they are called in messages.
    members : iterable
        What is built in.
    group : str
        Of the entry points that may add to it; empty for a closed registry.
    kind : type
        What an entry point has to give: a class, or a protocol that can be checked.
    shared : type, optional
        What other registries of the same group have: these leave it alone.
    """

    def __init__(
        self,
        sort: str,
        members: Iterable[T],
        *,
        group: str = "",
        kind: Any = object,
        shared: type | None = None,
    ) -> None:
        self.sort = sort
        self.group = group
        self._kind, self._shared = kind, shared
        self._members = {member.name: member for member in members}
        self._loaded: dict[str, T | None] = {}
        self._complaints: dict[str, str] = {}

    def __getitem__(self, name: str) -> T:
        """Return the member of that name.

        Raises
        ------
        UsageError
            There is none; the message lists the choices.
        MissingError
            It is a plugin's that cannot be used; the message names the package.
        """
        if name in self._members:
            return self._members[name]
        found = self._load(self.plugins[name]) if name in self.plugins else None
        if found is None:
            message = f"Unknown {self.sort} '{name}'; {choose(self.names, name)}."
            raise UsageError(" ".join([message, *self._complaints.values()]))
        return found

    def __contains__(self, name: str) -> bool:
        """Tell whether there is a member of that name, which a plugin may fail to give."""
        return name in self._members or name in self.names

    def __iter__(self) -> Iterator[T]:
        """Iterate over what is built in, then over the plugins that can be used."""
        yield from self._members.values()
        for plugin in self.plugins.values():
            try:
                found = self._load(plugin)
            except MissingError:
                continue
            if found is not None:
                yield found

    @property
    def built_in(self) -> tuple[T, ...]:
        """The members that hindmost has itself, in the order of their declaration."""
        return tuple(self._members.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members; those of plugins without importing these, where it can be."""
        if self._shared is not None:
            return tuple(each.name for each in self)
        return (*self._members, *self.plugins)

    @cached_property
    def plugins(self) -> dict[str, EntryPoint]:
        """The entry points that may be asked for, by name."""
        found = entry_points(group=self.group) if self.group else ()
        plugins = {each.name: each for each in reversed(tuple(found))}
        return {name: plugin for name, plugin in plugins.items() if name not in self._members}

    @property
    def complaints(self) -> dict[str, str]:
        """Why plugins that were met cannot be used, by what they are and whose."""
        return dict(self._complaints)

    def _load(self, plugin: EntryPoint) -> T | None:
        """Import a plugin; None if it is for another registry of the group."""
        name = plugin.name
        if described(plugin) in self._complaints:
            raise MissingError(self._complaints[described(plugin)])
        if name not in self._loaded:
            try:
                thing: Any = plugin.load()
            except (Exception, SystemExit) as error:
                reason = one_line(" ".join(str(error).split())[:200])
                raise self._complain(
                    plugin, f"it cannot be imported ({type(error).__name__}: {reason})"
                ) from error
            ours = isinstance(thing, self._kind) and not isinstance(thing, type)
            if not ours and not (self._shared and isinstance(thing, self._shared)):
                wanted = getattr(self._kind, "__name__", "object")
                raise self._complain(plugin, f"it gives a {type(thing).__name__}, not a {wanted}")
            if thing.name != name:
                raise self._complain(plugin, f"what it gives is called {thing.name!r}")
            self._loaded[name] = thing if ours else None
        return self._loaded[name]

    def _complain(self, plugin: EntryPoint, why: str) -> MissingError:
        """Keep, and return, the reason why a plugin cannot be used."""
        package, name = package_of(plugin).split()[0], described(plugin)
        message = f"The plugin {name} cannot be used: {why}. Update {package}, or uninstall it."
        self._complaints[name] = message
        return MissingError(message)
