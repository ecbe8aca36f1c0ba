"""The variables of files that kept full records of some ranks only."""

from __future__ import annotations

from hindmost.harness.runfile.variable import Variable

OF_ALL_BODIES = (
    *(
        Variable(
            name=f"all_{name}",
            dimensions=("iteration",),
            type="f8",
            units="s",
            long_name=long_name,
            optional=True,
        )
        for name, long_name in (
            ("least", "time of a body on the rank where it is shortest, of all ranks"),
            ("most", "time of a body on the rank where it is longest, of all ranks"),
            ("mean", "time of a body, the mean of all ranks"),
            ("deviation", "time of a body, the standard deviation of all ranks"),
            ("work_most", "own work in a body on the rank that has most, of all ranks"),
            ("wait_least", "time without own work on the rank that has least, of all ranks"),
        )
    ),
    *(
        Variable(
            name=f"all_bin_{name}",
            dimensions=("duration_bin",),
            type=type_,
            units=units,
            long_name=long_name,
            optional=True,
        )
        for name, type_, units, long_name in (
            (
                "count",
                "i8",
                "1",
                "bodies of all ranks in a bin, by their time; none of the prologue",
            ),
            ("mean", "f8", "s", "mean time of the bodies in the bin"),
            ("deviation", "f8", "s", "standard deviation of the time of the bodies in the bin"),
        )
    ),
)
"""The bodies of all ranks, for models."""
ALL_EVENTS = tuple(
    Variable(
        name=f"all_event_{name}",
        dimensions=dimensions,
        type="f8",
        units="s",
        long_name=long_name,
        optional=True,
    )
    for name, dimensions, long_name in (
        ("segment", ("iteration", "event"), "most own work of any rank before an event"),
        ("rest", ("iteration",), "most own work of any rank after the last event of a body"),
        (
            "stretch",
            ("iteration", "event"),
            "most own work of any rank since the blocking reduction before this one; else 0",
        ),
        ("tail", ("iteration",), "most own work of any rank from the last reduction of a cycle"),
        ("duration_least", ("iteration", "event"), "least time of any rank in an event"),
    )
)
"""The events of all ranks, where all have the same."""
OF_ALL_EVENTS = frozenset(variable.name for variable in ALL_EVENTS)

REDUCED = (
    Variable(
        name="kept_rank",
        dimensions=("rank",),
        type="i4",
        units="1",
        long_name="rank of the column, in files with columns of some ranks only",
        optional=True,
    ),
    Variable(
        name="profile_phase",
        dimensions=("interval", "every_rank", "phase"),
        type="f4",
        units="s",
        long_name="time of a phase in the bodies that begin in an interval, of every rank",
        optional=True,
    ),
    Variable(
        name="interval_bodies",
        dimensions=("interval",),
        type="i4",
        units="1",
        long_name="number of consecutive bodies in an interval of the profile",
        optional=True,
    ),
    *(
        Variable(
            name=name,
            dimensions=("every_rank",),
            type=type_,
            units=units,
            long_name=long_name,
            optional=True,
        )
        for name, type_, units, long_name in (
            (
                "every_solve_time",
                "f8",
                "s",
                "time from the barrier before the solve to its end, of every rank",
            ),
            (
                "every_last",
                "i8",
                "1",
                "bodies in which the rank was the last of all, by own work and slow transfers",
            ),
            ("every_waited", "f8", "s", "excess time of the rank in bodies in which it was last"),
            ("every_charged", "f8", "s", "wait time of others in bodies that the rank ended last"),
            ("every_lost", "f8", "s", "time saved if the rank were as fast as the second slowest"),
            ("every_transfer", "f8", "s", "time of the rank in slow halo transfers"),
            (
                "every_transfer_charged",
                "f8",
                "s",
                "wait time of the others due to its slow transfers",
            ),
            ("every_deviation", "f8", "s", "standard deviation of the own work of bodies"),
            ("every_longest", "f8", "s", "largest own work in one body"),
            ("every_longest_body", "i8", "1", "number of the body with the largest own work"),
            ("every_drift", "f8", "1", "relative change of own work from first to last body"),
        )
    ),
    *(
        Variable(
            name=name,
            dimensions=(dimension,),
            type=type_,
            units=units,
            long_name=long_name,
            optional=True,
        )
        for name, dimension, type_, units, long_name in (
            (
                "interval_start",
                "interval",
                "f8",
                "s",
                "time at which the first rank begins the interval, on the common clock",
            ),
            (
                "interval_run_time",
                "interval",
                "f8",
                "s",
                "run time of the restart cycles that begin in the interval, over all ranks",
            ),
            (
                "work_bin_from",
                "bin",
                "f8",
                "s",
                "lower edge of a bin of the own work of bodies; the last bin is open",
            ),
            (
                "work_bin_count",
                "bin",
                "i8",
                "1",
                "number of bodies of all ranks whose own work lies in the bin",
            ),
        )
    ),
    *(
        Variable(
            name=name,
            dimensions=dimensions,
            type=type_,
            units=units,
            long_name=long_name,
            optional=True,
        )
        for name, dimensions, type_, units, long_name in (
            (
                "profile_count",
                ("interval", "every_rank", "count"),
                "i8",
                "1",
                "counts in the cycles of an interval, of every rank",
            ),
            ("count_total", ("iteration", "count"), "i8", "1", "counts in a cycle, of all ranks"),
            (
                "count_most",
                ("iteration", "count"),
                "i8",
                "1",
                "largest count of a rank in a cycle",
            ),
            (
                "phase_least",
                ("iteration", "phase"),
                "f4",
                "s",
                "least time of a phase over the ranks",
            ),
        )
    ),
    *OF_ALL_BODIES,
    *ALL_EVENTS,
)
"""The data of all ranks in such a file, and the totals of cycles of adaptive runs."""
