"""A time-independent trace of two ranks, as SimGrid 3.32 writes it."""

from pathlib import Path

ZERO = """\
0 init
0 compute 1e6
0 bcast 10 0 0\x20
0 barrier
0 irecv 1 7 500 0
0 isend 1 7 500 0
0 compute 2000000
0 waitall 2
0 allreduce 1 1e6 0\x20
0 sendRecv 10 1 10 1 0 0
0 send 1 0 10 1
0 Ssend 1 0 10 1
0 iallreduce 1 0 0\x20
0 compute 336188
0 wait -333 -333 -4446
0 reduce 1 0 0 0\x20
0 gatherv 1 1 2 0 1 1
0 alltoallv 3 1 2 2 1 1 1 1
0 irecv 1 9 1 0
0 test 1 0 9
0 finalize
"""
ONE = """\
1 init
1 bcast 10 0 0\x20
1 barrier
1 irecv 0 7 500 0
1 isend 0 7 500 0
1 waitall 2
1 allreduce 1 0 0\x20
1 sendRecv 10 0 10 0 0 0
1 recv -333 -444 10 1
1 irecv 0 0 10 1
1 sleep 0.5
1 wait 0 1 0
1 iallreduce 1 0 0\x20
1 wait 0 0 -4446
1 reduce 1 0 0 0\x20
1 gatherv 2 0 0 0 1 1
1 alltoallv 3 1 2 4 2 2 1 1
1 send 0 9 1 0
1 finalize
"""


def written(folder: Path, *ranks: str) -> Path:
    path = folder / "trace.ti"
    inside = folder / "trace.ti_files"
    inside.mkdir(exist_ok=True)
    for number, text in enumerate(ranks):
        (inside / f"rank-{number}.txt").write_text(text)
    path.write_text("".join(f"trace.ti_files/rank-{each}.txt\n" for each in range(len(ranks))))
    return path
