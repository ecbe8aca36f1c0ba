"""Control variables of the MPI library, as it tells them itself.

MPI has an interface for tools (MPI_T) through which a library names and reads its settings. mpi4py
does not wrap it; it is called here in the library that mpi4py has loaded.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from pathlib import Path

MAPS = Path("/proc/self/maps")
LIBRARY = re.compile(r"(/\S*/libmpi(?:_abi)?\.so[.\d]*)$", re.MULTILINE)
PARAMETER = re.compile(r"^mca:[^:]*:[^:]*:param:([^:]+):value:(.*)$", re.MULTILINE)


def loaded_library(maps: str) -> str | None:
    """Return the MPI library in the text of ``/proc/self/maps``."""
    found = LIBRARY.search(maps)
    return found[1] if found else None


def read_control_variables(names: Iterable[str]) -> dict[str, int]:
    """Return those whole-number control variables that the loaded library has.

    Called after MPI_Init, as some get their value only there. Empty where no library is found.
    """
    path = loaded_library(MAPS.read_text()) if MAPS.exists() else None
    if path is None:
        return {}
    library = ctypes.CDLL(path)
    provided = ctypes.c_int()
    if library.MPI_T_init_thread(0, ctypes.byref(provided)):
        return {}
    values = {name: _read(library, name) for name in names}
    library.MPI_T_finalize()
    return {name: value for name, value in values.items() if value is not None}


def _read(library: ctypes.CDLL, name: str) -> int | None:
    index, count, handle = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    if library.MPI_T_cvar_get_index(name.encode(), ctypes.byref(index)):
        return None
    if library.MPI_T_cvar_handle_alloc(index, None, ctypes.byref(handle), ctypes.byref(count)):
        return None
    space = (ctypes.c_char * 4096)()  # an int or a size_t; more only if it is a text
    failed = library.MPI_T_cvar_read(handle, space)
    library.MPI_T_cvar_handle_free(ctypes.byref(handle))
    return None if failed else int.from_bytes(bytes(space)[:8], "little", signed=True)


def told_by_ompi_info(text: str) -> dict[str, str]:
    """Return the parameters in what ``ompi_info --all --parsable`` prints."""
    return {name: value.strip('"') for name, value in PARAMETER.findall(text)}
