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
        long_name="which rank of the run the column is of, where not every rank has one",
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
        long_name="bodies of an interval of the profile, one after the other",
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
            ("every_waited", "f8", "s", "what the last rank took longer in all bodies"),
            ("every_charged", "f8", "s", "what the others waited in bodies in which it was last"),
            ("every_lost", "f8", "s", "what bodies would be shorter, were it as quick as the next"),
            ("every_transfer", "f8", "s", "what slow transfers of halos took the rank"),
            (
                "every_transfer_charged",
                "f8",
                "s",
                "what the others waited because of its slow transfers",
            ),
            ("every_deviation", "f8", "s", "standard deviation of the own work of bodies"),
            ("every_longest", "f8", "s", "the most own work in one body"),
            ("every_longest_body", "i8", "1", "which body that was"),
            ("every_drift", "f8", "1", "change of the own work from first to last body, relative"),
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
                "when the first rank begins the interval, on the common clock",
            ),
            (
                "interval_run_time",
                "interval",
                "f8",
                "s",
                "of the restart cycles that begin in the interval, over all ranks",
            ),
            (
                "work_bin_from",
                "bin",
                "f8",
                "s",
                "where a bin of the own work of bodies begins; the last has no end",
            ),
            (
                "work_bin_count",
                "bin",
                "i8",
                "1",
                "bodies of all ranks whose own work lies in the bin",
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
                "what is counted in the cycles of an interval, of every rank",
            ),
            ("count_total", ("iteration", "count"), "i8", "1", "the same in a cycle, of all ranks"),
            (
                "count_most",
                ("iteration", "count"),
                "i8",
                "1",
                "the same, of the rank that has most",
            ),
            (
                "phase_least",
                ("iteration", "phase"),
                "f4",
                "s",
                "time of a phase on the rank that spent least in it",
            ),
        )
    ),
    *OF_ALL_BODIES,
    *ALL_EVENTS,
)
"""What is of every rank in such a file; of adaptive runs also what its cycles come to."""
