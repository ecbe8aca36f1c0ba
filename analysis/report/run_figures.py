"""The figures of one run, by name."""

from __future__ import annotations

from hindmost.analysis.ranks import activity_profile
from hindmost.analysis.ranks import figures as of_ranks
from hindmost.analysis.runs.figures import one_run
from hindmost.analysis.runs.figures.run_figure import RunFigure

RUN_FIGURES = (
    RunFigure(
        name="map",
        heading="Body times by iteration and rank",
        summary="(iteration, rank) colour map of bodies, by place (--position)",
        caption="Body times of each rank in time order, as colours. A stripe along time is a rank "
        "that is always slower, a column a body that was slow on all ranks, a speck a detour. For "
        "a restarted solver, the map shows the bodies at one place of the restart cycle, which all "
        "do the same work.",
        make=one_run.make_map,
        default=True,
        by_rank=True,
        of_ranks=True,
    ),
    RunFigure(
        name="work",
        heading="Work by iteration and rank",
        summary="the same without waiting: which rank caused the delay",
        caption="The same bodies without waiting time. A column that is slow in the map of bodies, "
        "but here on one rank only, was slow because of that rank.",
        make=one_run.make_work_map,
        default=True,
        by_rank=True,
        of_ranks=True,
    ),
    RunFigure(
        name="histogram",
        heading="Distribution of body times",
        summary="histogram of all bodies with the laws fitted to them",
        caption="Body times over all ranks and iterations, with the Johnson SU law that the "
        "stationary model assumes and a normal law for comparison. For a pipelined solver, bodies "
        "that only fill the pipeline (prologue) are left out; those that drain it (epilogue) make "
        "a peak at the left.",
        make=one_run.make_histogram,
        default=True,
    ),
    RunFigure(
        name="ranks",
        heading="Single ranks",
        summary="histograms of single ranks, chosen with --rank",
        caption="Body times of single ranks; by default those with least, median and most work.",
        make=one_run.make_rank_histograms,
    ),
    RunFigure(
        name="iteration",
        heading="One body on every rank",
        summary="time of one body on every rank, chosen with --iteration",
        caption="One body on every rank, with and without waiting. Dotted lines mark the first "
        "rank of each host.",
        make=one_run.make_time_per_rank,
    ),
    RunFigure(
        name="uniform",
        heading="One body over ranks",
        summary="histogram of one body (--iteration) over ranks, with its uniform law",
        caption="One body on all ranks, with the uniform law from its fastest to its slowest rank "
        "that the non-stationary model assumes.",
        make=one_run.make_uniform,
    ),
    RunFigure(
        name="fastest",
        heading="The fastest rank of a body",
        summary="histogram of a_k, the fastest rank of every body, with its law",
        caption="The time of the fastest rank of each body, a_k of the non-stationary model, with "
        "the Johnson SU law from which simulations draw it.",
        make=one_run.make_fastest,
    ),
    RunFigure(
        name="span",
        heading="From the fastest rank to the slowest",
        summary="histogram of s_k, from fastest to slowest rank, with its law",
        caption="The difference between the slowest and the fastest rank of each body, s_k of the "
        "non-stationary model, with the Johnson SU law from which simulations draw it.",
        make=one_run.make_span,
    ),
    RunFigure(
        name="cycle",
        heading="Body times through the restart cycle",
        summary="time of a body against its place in the restart cycle",
        caption="The time of bodies at each place of the restart cycle, with and without waiting.",
        make=one_run.make_cycle,
        default=True,
    ),
    RunFigure(
        name="places",
        heading="Bodies at places of the restart cycle",
        summary="histograms of bodies at four places of the restart cycle",
        caption="Bodies at four places of the restart cycle. Where the machine is quiet, each "
        "place has a peak of its own, and one law for all bodies does not fit.",
        make=one_run.make_places,
    ),
    RunFigure(
        name="phases",
        heading="Phases by rank",
        summary="stacked shares of the phases in the time of every rank",
        caption="Shares of the phases in the time of each rank. If one rank waits clearly less "
        "and works more than all others, they wait for it (load imbalance); waiting may also be "
        "slow transfer.",
        make=one_run.make_phases,
        default=True,
        of_ranks=True,
    ),
    RunFigure(
        name="phases-over-time",
        heading="Phases over the solve",
        summary="shares of the phases over the course of the solve, all ranks together",
        caption="Shares of the phases in the time of all ranks, over the course of the solve.",
        make=one_run.make_phases_over_time,
    ),
    RunFigure(
        name="activities",
        heading="Distribution of local work by activity",
        summary="histograms of the local work of a body, by activity (run --activities)",
        caption="The local work of bodies, split by PETSc event: each activity without events "
        "nested in it and without MPI. Activities that take no time are left out.",
        make=one_run.make_activities,
    ),
    RunFigure(
        name="activity-shares",
        heading="Local work by activity over the solve",
        summary="shares of the local work by activity over the course of the solve",
        caption="The local work of all ranks over the course of the solve, split by PETSc event.",
        make=one_run.make_activities_over_time,
    ),
    RunFigure(
        name="hindmost",
        heading="Slowest ranks (stragglers)",
        summary="how often each rank is last, and the share of wait time it causes",
        caption="How often each rank is the last of a body, and which share of the wait time of "
        "all ranks it causes. If the ranks are alike, both are one over the number of ranks.",
        make=of_ranks.of_report(of_ranks.hindmost_chart),
    ),
    RunFigure(
        name="outliers",
        heading="Outlier ranks",
        summary="phases of the outlier ranks, compared with the mean of all ranks",
        caption="Shares of the phases: mean of all ranks, ranks that come first by some criterion, "
        "and ranks that are typical of a group.",
        make=of_ranks.of_report(of_ranks.outlier_chart),
    ),
    RunFigure(
        name="timeline",
        heading="The timeline of a rank",
        summary="phases of each body of one rank, chosen with --rank",
        caption="The bodies of one rank in time order, with their phases stacked.",
        make=of_ranks.make_timeline,
    ),
    RunFigure(
        name="profile",
        heading="Working ranks over the solve",
        summary="time profile: the share of ranks at work at each moment of the solve",
        caption="The share of ranks that work, neither waiting nor between bodies, on the common "
        "clock of all ranks.",
        make=of_ranks.of_report(of_ranks.profile_chart),
    ),
    RunFigure(
        name="activity-profile",
        heading="What the ranks do over the solve",
        summary="activity stack: the share of ranks in each phase over the solve",
        caption="The share of ranks in each phase at each moment of the solve, on the common clock "
        "of all ranks. Where event times were recorded, waiting stands where it happened; else "
        "the phases of a body are spread evenly over it. Gaps are time between bodies.",
        make=activity_profile.make_activity_profile,
    ),
    RunFigure(
        name="body-profile",
        heading="Working ranks over a body",
        summary="the same with all bodies superimposed: slopes hint at load imbalance",
        caption="All bodies superimposed, each from the start on the first rank to the end on the "
        "last one. A gradual rise hints at slow communication, a gradual fall at load imbalance "
        "(Lee 2009).",
        make=of_ranks.of_report(of_ranks.body_profile_chart),
    ),
    RunFigure(
        name="own-work",
        heading="Distribution of work",
        summary="histogram of bodies without waiting, of all ranks",
        caption="Body times without waiting, of all ranks, in bins that grow with the time; values "
        "beyond them are counted.",
        make=of_ranks.of_report(of_ranks.own_work_chart),
    ),
    RunFigure(
        name="efficiency",
        heading="Efficiencies over the solve",
        summary="parallel efficiency and its factors in windows of bodies",
        caption="Parallel efficiency in windows of bodies, and its factors. Load balance falls if "
        "the same ranks have more work in a whole window, serialisation if different ranks have "
        "in turn, transfer if messages take time or ranks lose their core during them.",
        make=one_run.make_efficiencies,
    ),
    RunFigure(
        name="efficiency-cycle",
        heading="Efficiencies through the restart cycle",
        summary="the same by place in the restart cycle",
        caption="The same for all bodies at each place of the restart cycle.",
        make=one_run.make_efficiencies_in_cycle,
    ),
)


def figure_named(name: str) -> RunFigure:
    """Return a figure of a run by its name."""
    return next(figure for figure in RUN_FIGURES if figure.name == name)
