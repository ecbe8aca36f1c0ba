import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.errors import UnknownPatternError
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.recorder.pattern import anywhere
from hindmost.harness.runfile.bodies import BodyKind

GMRES, PGMRES = SOLVERS["gmres"].pattern, SOLVERS["pgmres"].pattern


def gmres_stream(cycles: list[int]) -> bytes:
    return b"".join(b"N" + b"ON" * bodies for bodies in cycles)


def pgmres_stream(cycles: list[int], second: bytes = b"XR") -> bytes:
    """Write what PGMRES leaves for so many iterations a cycle; fill bodies come on top."""
    return b"".join(b"NR" + second + b"XXR" * (its - 1) + b"X" for its in cycles)


def test_gmres_bodies_restarts_and_positions() -> None:
    found = GMRES.find_bodies(gmres_stream([3, 3, 1]), "gmres")
    assert found.position.tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert found.kind.tolist() == [BodyKind.REGULAR] * 7
    # N ON ON ON N ON ON ON N ON: marks 0, 7 and 14 begin cycles.
    assert found.begin.tolist() == [0, 2, 4, 7, 9, 11, 14]
    assert found.end.tolist() == [2, 4, 6, 9, 11, 13, 16]
    assert found.restart_begin.tolist() == [6, 13]
    assert found.restart_end.tolist() == [7, 14]


@pytest.mark.parametrize("second", [b"XR", b"XXR"], ids=["PETSc 3.18", "PETSc 3.26"])
def test_pgmres_fills_and_drains_in_every_cycle(second: bytes) -> None:
    found = PGMRES.find_bodies(pgmres_stream([4, 2], second), "pgmres")
    fill, regular, drain = BodyKind.FILL, BodyKind.REGULAR, BodyKind.DRAIN
    assert found.kind.tolist() == [fill, fill, *[regular] * 3, drain, fill, fill, regular, drain]
    assert found.position.tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3]
    assert found.restart_begin.size == found.restart_end.size == 1


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_bodies_tile_every_cycle(cycles: list[int]) -> None:
    for pattern, stream, extra in (
        (GMRES, gmres_stream(cycles), 0),
        (PGMRES, pgmres_stream(cycles), 2),
    ):
        found = pattern.find_bodies(stream, "any")
        assert found.end.size == sum(cycles) + extra * len(cycles)
        assert found.restart_begin.size == len(cycles) - 1
        inside = found.position[1:] > 0
        np.testing.assert_array_equal(found.begin[1:][inside], found.end[:-1][inside])
        np.testing.assert_array_equal(found.begin[1:][~inside], found.restart_end)
        np.testing.assert_array_equal(found.end[:-1][~inside], found.restart_begin)
        assert (np.bincount(found.position)[: min(cycles)] == len(cycles)).all()


@pytest.mark.parametrize(
    ("solver", "stream"),
    [
        ("gmres", b""),
        ("gmres", b"N"),
        ("gmres", b"NONO"),
        ("gmres", b"NONOON"),
        ("gmres", b"ON"),
        ("pgmres", b"NRXRXXR"),
        ("pgmres", b"NRX"[:2]),
        ("pgmres", b"NRXXXRX"),
        ("pgmres", b"NRRX"),
    ],
)
def test_a_foreign_stream_is_refused_by_name(solver: str, stream: bytes) -> None:
    with pytest.raises(UnknownPatternError, match=f"^{solver}: "):
        SOLVERS[solver].pattern.find_bodies(stream, solver)


def test_the_refusal_says_where() -> None:
    with pytest.raises(UnknownPatternError, match=r"mark 6 of 9, near 'NONONOOON'"):
        GMRES.find_bodies(b"NONONOOON", "gmres")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 200))
def test_of_a_stream_that_was_cut_the_first_bodies_are_found(
    cycles: list[int], length: int
) -> None:
    for pattern, stream in ((GMRES, gmres_stream(cycles)), (PGMRES, pgmres_stream(cycles))):
        whole = pattern.find_bodies(stream, "any")
        cut = stream[:length]
        if len(cut) < 8:  # too short for a whole body and one that may be another
            with pytest.raises(
                UnknownPatternError, match="lost before the first iteration was complete"
            ):
                pattern.find_first_bodies(cut[:2], "any")
            continue
        found = pattern.find_first_bodies(cut, "any")
        count = found.end.size
        assert 0 < count < whole.end.size or count == whole.end.size == 0
        for name in ("begin", "end", "position", "kind"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name)[:count])
        restarts = found.restart_end.size
        np.testing.assert_array_equal(found.restart_end, whole.restart_end[:restarts])


def test_a_long_foreign_stream_is_refused_in_linear_time() -> None:
    stream = gmres_stream([30] * 20_000) + b"O"
    with pytest.raises(UnknownPatternError):
        GMRES.find_bodies(stream, "gmres")


def test_contexts_see_both_ends() -> None:
    assert anywhere(b"NXN", ("^[N]",)).tolist() == [True, False, False]
    assert anywhere(b"NXX", ("[X]$",)).tolist() == [False, False, True]
    assert anywhere(b"NON", ("O[N]", "[O]N")).tolist() == [False, True, True]
