"""The figures of one run, by name."""

from __future__ import annotations

from functools import partial

from hindmost.analysis.ranks import figures as of_ranks
from hindmost.analysis.runs.figures import one_run
from hindmost.analysis.runs.figures.run_figure import RunFigure
from hindmost.analysis.runs.figures.sampled import make_flame, make_threads, make_time_left

RUN_FIGURES = (
    RunFigure(
        name="map",
        heading="Iteration times by iteration and rank",
        summary="times by iteration and rank as colours (--position: one place)",
        caption="Iteration times of each rank in time order, as colours. A stripe along time is a "
        "rank that is always slower, a column an iteration that was slow on all ranks, a speck a "
        "detour.",
        make=one_run.make_map,
        default=True,
        by_rank=True,
        of_ranks=True,
    ),
    RunFigure(
        name="work",
        heading="Work by iteration and rank",
        summary="the same without waiting: which rank caused the delay",
        caption="Iterations of each rank in time order, without waiting. A stripe along time is a "
        "rank with more work, a bright cell on one rank only a detour, for which the others "
        "waited. Arrows at the right mark ranks that stand out.",
        make=partial(one_run.make_map, of_work=True),
        default=True,
        by_rank=True,
        of_ranks=True,
    ),
    RunFigure(
        name="growth",
        heading="Work over the iterations",
        summary="work of the rank on which it grows most (or --rank), beside the others",
        caption="Work of an iteration, without waiting, in successive windows: of single ranks, "
        "and of all others from the least to the most. Of each window the quickest tenth is drawn, "
        "which disturbances change least.",
        make=one_run.make_growth,
    ),
    RunFigure(
        name="histogram",
        heading="Distribution of iteration times",
        summary="histogram of all iterations with the laws fitted to them",
        caption="Times of all iterations on all ranks.",
        make=one_run.make_histogram,
        default=True,
    ),
    RunFigure(
        name="ranks",
        heading="Single ranks",
        summary="histograms of single ranks, chosen with --rank",
        caption="Iteration times of single ranks; by default those with least, median and most "
        "work.",
        make=one_run.make_rank_histograms,
    ),
    RunFigure(
        name="iteration",
        heading="One iteration on every rank",
        summary="time of one iteration on every rank, chosen with --iteration",
        caption="One iteration on every rank, with and without waiting. Dotted lines mark the "
        "first rank of each host.",
        make=one_run.make_time_per_rank,
    ),
    RunFigure(
        name="uniform",
        heading="One iteration over ranks",
        summary="one iteration (--iteration) over ranks, with its uniform law",
        caption="One iteration on all ranks, with the uniform law from its fastest to its slowest "
        "rank that the non-stationary model assumes.",
        make=one_run.make_uniform,
    ),
    RunFigure(
        name="fastest",
        heading="The fastest rank of an iteration",
        summary="histogram of a_k, the fastest rank of every iteration, with its law",
        caption="The time of the fastest rank of each iteration, a_k of the non-stationary model, "
        "with the Johnson SU law from which simulations draw it.",
        make=one_run.make_fastest,
    ),
    RunFigure(
        name="span",
        heading="From the fastest rank to the slowest",
        summary="histogram of s_k, from fastest to slowest rank, with its law",
        caption="The difference between the slowest and the fastest rank of each iteration, s_k of "
        "the non-stationary model, with the Johnson SU law from which simulations draw it.",
        make=one_run.make_span,
    ),
    RunFigure(
        name="cycle",
        heading="Iteration times through the restart cycle",
        summary="time of an iteration against its place in the restart cycle",
        caption="The time of iterations at each place of the restart cycle, with and without "
        "waiting.",
        make=one_run.make_cycle,
        default=True,
    ),
    RunFigure(
        name="places",
        heading="Iterations at places of the restart cycle",
        summary="histograms of iterations at four places of the restart cycle",
        caption="Iterations at four places of the restart cycle. Where the machine is idle, each "
        "place has a peak of its own, and one law for all iterations does not fit.",
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
        name="code",
        heading="Where in the code, by rank",
        summary="stacked shares of work and waiting between calls of MPI, for each rank (attach)",
        caption="Shares of the time of each rank between two calls of MPI, with the waiting in the "
        "call at the end. Where one part is larger on one rank, its extra work lies there.",
        make=one_run.make_code,
        of_ranks=True,
    ),
    RunFigure(
        name="flame",
        heading="Functions of the slowest rank's extra work",
        summary="functions of the straggler against those of the others (attach --sample)",
        caption="Processor time between the two calls of MPI where the straggler has most extra "
        "work, by function: those that call others are below them. Red functions take longer on "
        "it than on the others, blue ones less long; grey ones do not differ more than by chance.",
        make=make_flame,
    ),
    RunFigure(
        name="threads",
        heading="Threads in an iteration",
        summary="threads of a rank in an iteration: work, waiting (attach --sample)",
        caption="The mean iteration of a rank: processor time of its threads between calls of MPI, "
        "from samples. Where a lane is empty, the thread has no core or sleeps.",
        make=make_threads,
    ),
    RunFigure(
        name="activities",
        heading="Distribution of local work by activity",
        summary="local work of an iteration by activity (run --activities)",
        caption="The local work of iterations, split by PETSc event: each activity without events "
        "nested in it and without MPI. Activities that take no time are left out.",
        make=one_run.make_activities,
    ),
    RunFigure(
        name="hindmost",
        heading="Slowest ranks (stragglers)",
        summary="how often each rank is last, and the share of wait time it causes",
        caption="How often each rank is the last of an iteration, and which share of the wait time "
        "of all ranks it causes. If the ranks are alike, both are one over the number of ranks.",
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
        summary="phases of each iteration of one rank, chosen with --rank",
        caption="The iterations of one rank in time order, with their phases stacked.",
        make=of_ranks.make_timeline,
    ),
    RunFigure(
        name="profile",
        heading="Working ranks over the solve",
        summary="time profile: the share of ranks at work at each moment of the solve",
        caption="The share of ranks that work, neither waiting nor between iterations, on the "
        "common clock of all ranks.",
        make=of_ranks.of_report(of_ranks.profile_chart),
    ),
    RunFigure(
        name="activity-profile",
        heading="What the ranks do over the solve",
        summary="activity stack: the share of ranks in each phase over the solve",
        caption="The share of ranks in each phase at each moment of the solve, on the common clock "
        "of all ranks. Where event times were recorded, waiting stands where it happened; else "
        "the phases of an iteration are spread evenly over it. Gaps are time between iterations.",
        make=of_ranks.make_activity_profile,
    ),
    RunFigure(
        name="body-profile",
        heading="Working ranks over an iteration",
        summary="all iterations superimposed: slopes hint at imbalance",
        caption="All iterations superimposed, each from the start on the first rank to the end on "
        "the last one. A gradual rise hints at slow communication, a gradual fall at load "
        "imbalance (Lee 2009).",
        make=of_ranks.of_report(of_ranks.body_profile_chart),
    ),
    RunFigure(
        name="own-work",
        heading="Distribution of work",
        summary="histogram of iterations without waiting, of all ranks",
        caption="Iteration times without waiting, of all ranks, in bins that grow with the time; "
        "values beyond them are counted.",
        make=of_ranks.of_report(of_ranks.own_work_chart),
    ),
    RunFigure(
        name="efficiency",
        heading="Efficiencies over the solve",
        summary="parallel efficiency and its factors in windows of iterations",
        caption="Parallel efficiency in windows of iterations, and its factors. Load balance falls "
        "if the same ranks have more work in a whole window, serialisation if different ranks have "
        "in turn, transfer if messages take time or ranks lose their core during them.",
        make=one_run.make_efficiencies,
    ),
    RunFigure(
        name="time-left",
        heading="The time until the limit",
        summary="iterations until the limit of 'attach --stop-before', and their bound",
        caption="Iterations of the slowest rank until the limit of the job. The band reaches from "
        "the median of the last iterations to what the next one may take, as known at that time.",
        make=make_time_left,
    ),
)


def figure_named(name: str) -> RunFigure:
    """Return a figure of a run by its name."""
    return next(figure for figure in RUN_FIGURES if figure.name == name)
