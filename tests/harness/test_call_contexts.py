"""Call contexts of several ranks become one table."""

import numpy as np

from hindmost.harness.runfile.contexts import PYTHON, CallContexts, Module, PythonCode, merged

PROGRAM = Module(path="/home/a/solve", identity="beef")
LIBRARY = Module(path="/usr/lib/libfield.so", identity="4096:17")
MAIN = PythonCode(file="/home/a/run.py", function="<module>", first_line=1)


def contexts(
    modules: list[Module], places: list[tuple[int, int]], *chains: list[int]
) -> CallContexts:
    """Return a table of frames (module, offset) and of chains."""
    module, offset = np.array(places, np.int64).reshape(-1, 2).T
    return CallContexts(
        modules=tuple(modules),
        codes=(MAIN,),
        module=module.astype(np.int32),
        offset=offset,
        function=np.zeros(len(places), np.int64),
        size=np.zeros(len(places), np.int64),
        start=np.cumsum([0, 0, *map(len, chains)]),
        frames=np.array([frame for chain in chains for frame in chain], np.uint32),
    )


def places_of(table: CallContexts, context: int) -> list[tuple[str, int]]:
    """Return the frames of a context, by module."""
    return [
        (
            "python" if table.module[at] == PYTHON else table.modules[table.module[at]].path,
            int(table.offset[at]),
        )
        for at in table.chain(context)
    ]


def test_ranks_that_number_alike_contexts_differently_have_one_table() -> None:
    """The same modules in another order, elsewhere, and other chains first."""
    first = contexts([PROGRAM, LIBRARY], [(0, 10), (1, 20), (PYTHON, 7)], [0, 1], [2, 0])
    moved = Module(path="/scratch/node7/libfield.so", identity="4096:17")
    second = contexts(
        [moved, PROGRAM], [(PYTHON, 7), (1, 10), (0, 20), (1, 11)], [0, 1], [3], [1, 2]
    )
    table, numbers = merged([first, second])
    assert numbers[0].tolist() == [0, 1, 2]
    assert numbers[1].tolist() == [0, 2, 3, 1]
    assert table.count == 4
    assert places_of(table, 1) == [(PROGRAM.path, 10), (LIBRARY.path, 20)]
    assert places_of(table, 2) == [("python", 7), (PROGRAM.path, 10)]
    assert places_of(table, 3) == [(PROGRAM.path, 11)]


def test_another_build_of_a_library_is_another_module() -> None:
    """Its offsets say something else."""
    other = Module(path=LIBRARY.path, identity="4096:18")
    table, numbers = merged([contexts([LIBRARY], [(0, 5)], [0]), contexts([other], [(0, 5)], [0])])
    assert [number.tolist() for number in numbers] == [[0, 1], [0, 2]]
    assert table.modules == (LIBRARY, other)


def test_a_rank_without_contexts_has_context_0_alone() -> None:
    """So it is with files of earlier versions."""
    table, numbers = merged([CallContexts.none(), CallContexts.none()])
    assert table.count == 1
    assert table.chain(0).size == 0
    assert [number.tolist() for number in numbers] == [[0], [0]]
