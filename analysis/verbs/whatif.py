"""``hindmost whatif``: what recorded solves would take with a change."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import UNSET

from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.finding import OF_MODELS, cautions, of_file
from hindmost.analysis.runs.read import find_runs, fittable_runs
from hindmost.analysis.runs.run_facts import facts_of
from hindmost.analysis.runs.straggler import culprit_of
from hindmost.analysis.show.facts import UnequalWork
from hindmost.analysis.show.phrases import folded, text
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.whatif.advice import Advice, Compared, advise
from hindmost.analysis.whatif.at_scale import name_of_file, write_outcome
from hindmost.analysis.whatif.balance import balance_lines, read_balance, rebalance
from hindmost.analysis.whatif.baseline import baseline_table, known_to_paper
from hindmost.analysis.whatif.gains import Remedies, RunOutcome, gain_lines, pooled, remedies_of
from hindmost.analysis.whatif.options import LAWS, NOT_INJECTED, Named, changes_of
from hindmost.analysis.whatif.prediction import (
    SolvePrediction,
    predict_at_scale,
    predict_solves,
    predictions_table,
)
from hindmost.analysis.whatif.targets import Scale, Scaling, read_ranks, scalable
from hindmost.analysis.whatif.within import forecasts, read_within
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.objects import Strategy
from hindmost.models.simulation.partner import RECIPES
from hindmost.output import warn, write_json, write_lines

DESCRIPTION = """\
Without a change: what equal work, no noise, an ideal network or a pipelined solver would save, and
how long the next run takes. With changes: the time of the solve with each of them, from all
repeats, with a 90 % interval. With --ranks: on other numbers of ranks. With --against: whether a
pipelined solver pays off. Ranks do their recorded work again, and wait for each other anew.
"""
EXAMPLES = f"""\
examples:
  hindmost whatif runs/
  hindmost whatif runs/ --latency 1,2,4,+5us
  hindmost whatif runs/ --noise none
  hindmost whatif runs/ --noise {LAWS["fixed"]} --json
  hindmost whatif runs/ --iterations 20000 --speed 'rank 1: x0.8'
  hindmost whatif runs/ --ranks 512
  hindmost whatif runs/ --ranks 64..4096 --ranks-per-node 64 --scaling weak --solver pipecg
  hindmost whatif cg-runs/ --against pipecg-runs/ --latency +5us,+50us,+500us
  hindmost whatif adaptive/ --balance greedy,refine,none
  hindmost whatif runs/ --within 2h --mtbf 24h

To run the adaptive kernel within a time budget, see: hindmost whatif --adaptive --help
docs/whatif.md says how to read a result, docs/replay.md what is assumed and what intervals cover.
"""


COMMON = (
    "--latency",
    "--speed",
    "--noise",
    "--ranks",
    "--solver",
    "--iterations",
    "--against",
    "--json",
)
"""What --help lists; --help-all has the others."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--latency",
        metavar="LIST",
        help="factors of the latency (x2), or times to add to every message (+5us)",
    )
    parser.add_argument(
        "--bandwidth",
        metavar="LIST",
        help="factors of the bandwidth between neighbours; needs --machine",
    )
    parser.add_argument(
        "--machine",
        type=Path,
        metavar="FILE",
        help="machine file of the recording machine ('hindmost probe network'): how messages "
        "divide into latency and bytes; with --ranks, its noise ('hindmost probe noise') is in "
        "place of the recorded one",
    )
    parser.add_argument(
        "--noise",
        metavar="LAW",
        help=f"none; x2: a factor of the recorded noise; {NOT_INJECTED}: without the noise of "
        f"'run --inject'; or a law of detours to add: {', '.join(LAWS.values())}. With --ranks, a "
        "law is in place of the recorded noise",
    )
    parser.add_argument(
        "--progress",
        choices=("none", "async"),
        default="async",
        help="whether non-blocking reductions progress while ranks work (default: %(default)s)",
    )
    parser.add_argument(
        "--speed",
        action="append",
        default=[],
        metavar="SPEED",
        help="factor of the speed of all ranks (x1.2) or of one ('rank 3: x0.8'); repeatable for "
        "other ranks",
    )
    parser.add_argument(
        "--solver",
        metavar="NAME",
        help="the pipelined partner of a blocking solver, or the reverse: "
        + ", ".join(f"{name} from {each.partner}" for name, each in RECIPES.items()),
    )
    parser.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help="iterations of the solve (default: as recorded)",
    )
    parser.add_argument(
        "--pipeline-depth",
        metavar="LIST",
        help="reductions in flight, for pipelined solvers (recorded: 1)",
    )
    parser.add_argument(
        "--ranks",
        metavar="LIST",
        help="simulate on other numbers of ranks: 512, 64,512 or 64..4096, which doubles",
    )
    parser.add_argument(
        "--ranks-per-node",
        type=int,
        metavar="K",
        help="of the machine to scale to (default: that of --machine, else the cores of the "
        "recording machine)",
    )
    parser.add_argument(
        "--scaling",
        type=Scaling,
        choices=list(Scaling),
        help="how the work of a rank changes: it stays (weak) or is divided (strong). Default: as "
        "runs on several numbers of ranks say, else strong",
    )
    parser.add_argument(
        "--grid",
        type=int,
        choices=(1, 2, 3),
        help="dimensions of the grid of ranks that exchange halos (default: what the recorded "
        "neighbours suggest)",
    )
    parser.add_argument(
        "--against",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="runs of a pipelined solver: tell whether it pays off against the blocking one",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the simulated solve as a run file, for one run and one change",
    )
    parser.add_argument(
        "--balance",
        metavar="LIST",
        help=f"maps of the blocks of adaptive runs to ranks: {', '.join(Strategy)}",
    )
    parser.add_argument(
        "--within", metavar="TIME", help="how many iterations fit into a job of this time, as 2h"
    )
    parser.add_argument(
        "--mtbf",
        metavar="TIME",
        help="mean time between failures, as 24h: with --within, how often to write checkpoints",
    )
    parser.add_argument(
        "--checkpoint-takes",
        metavar="TIME",
        help="time of a checkpoint (default: what an attached program's checkpoints took)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry per replay")


def scale_from(arguments: argparse.Namespace, machine: Machine | None) -> Scale | None:
    """Return where solves are scaled to; None if they stay on their ranks.

    Raises
    ------
    UsageError
        Options of a scale without one, or values that cannot be read.
    """
    if arguments.ranks is None:
        needs = "needs --ranks: it says how a solve is scaled."
        refuse_options(arguments, ("ranks_per_node", "scaling", "grid"), needs)
        return None
    per_node = arguments.ranks_per_node
    if per_node is None and machine is not None:
        per_node = machine.ranks_per_node
    if per_node is not None and per_node < 1:
        raise UsageError(f"--ranks-per-node {per_node}: give 1 or more.")
    return Scale(
        ranks=read_ranks(arguments.ranks),
        per_node=per_node,
        scaling=arguments.scaling,
        grid=arguments.grid,
    )


def perform(arguments: argparse.Namespace) -> int:
    """Replay and print."""
    changes = changes_of(
        latency=arguments.latency,
        bandwidth=arguments.bandwidth,
        noise=arguments.noise,
        speed=arguments.speed,
        pipeline_depth=arguments.pipeline_depth,
        iterations=arguments.iterations,
        solver=arguments.solver,
        progress=arguments.progress == "async",
    )
    if arguments.within is not None:
        return perform_within(arguments, changes)
    needs = "needs --within: it is about a job of that time."
    refuse_options(arguments, ("mtbf", "checkpoint_takes"), needs)
    if arguments.balance is not None:
        alone = "and --balance are answered apart: omit one."
        refuse_options(arguments, ("ranks", "out", "against"), alone)
        if changes[0].words:
            raise UsageError(f"--{changes[0].words[0][0].replace(' ', '-')} {alone}")
        return perform_balance(arguments.file, arguments.balance, arguments.json)
    machine = None if arguments.machine is None else read_machine(arguments.machine)
    scale = scale_from(arguments, machine)
    name = None if arguments.out is None else name_of_file(arguments.out)
    runs = fittable_runs(find_runs(arguments.file, complete=True))
    if arguments.against is not None:
        refuse_options(arguments, ("out",), "writes one simulated solve: omit --against.")
        against = fittable_runs(find_runs(arguments.against, complete=True))
        advice = advise(runs, against, changes, machine, scale, arguments.executor)
        return print_advice(advice, arguments.json)
    if scale is not None:
        changes = with_recorded_solver(changes)
    answers: list[list[SolvePrediction]] = []
    refused: list[DataError | UsageError] = []
    kinds = [list(run.runs) for run in group_runs(runs)] if scale is None else scalable(runs)
    for alike in kinds:
        try:
            if scale is not None:
                found = predict_at_scale(alike, scale, changes, machine, arguments.executor)
            else:
                (group,) = group_runs(alike)
                found = predict_solves(group, changes, machine, arguments.executor)
            answers.append(found)
        except (DataError, UsageError) as why:
            refused.append(why)
    if not answers:
        raise refused[0]
    if name is not None:
        solves = [one for found in answers for each in found for one in each.found]
        if len(solves) != 1:
            raise UsageError(
                f"--out writes one simulated solve, and these are {len(solves)}: give one run, one "
                "change and one number of ranks."
            )
        write_outcome(solves[0], name)
    for error in refused:
        warn(str(error))
    gains = [gains_of(found) for found in answers]
    if arguments.json:
        write_json(
            runs=[
                outcome
                for found, gained in zip(answers, gains, strict=True)
                for outcome in outcomes_of(found, gained)
            ],
            predictions=[each for found in answers for each in found],
        )
        return 0
    for number, (found, gained) in enumerate(zip(answers, gains, strict=True)):
        write_lines(*([""] if number else []), found[0].group.title)
        print_answer(found, gained)
    return 0


def with_recorded_solver(changes: Sequence[Named]) -> list[Named]:
    """Return every change of the solver after the same one without it."""
    found = {}
    for change in changes:
        words = tuple(word for word in change.words if word[0] != "solver")
        found[words] = Named(change=replace(change.change, solver=None), words=words)
        found[change.words] = change
    return list(found.values())


def gains_of(found: Sequence[SolvePrediction]) -> list[Remedies]:
    """Return what changes would save each of some runs; none if a change was asked for."""
    first = found[0]
    if len(found) > 1 or first.named.words or first.places is None:
        return []
    return [remedies_of(each.run) for each in first.found]


def outcomes_of(
    found: Sequence[SolvePrediction], gained: Sequence[Remedies]
) -> Iterator[RunOutcome]:
    """Yield the outcomes of single runs."""
    for number, one in enumerate(found[0].found):
        doubts = of_file(found[0].findings, one.run.path)
        for each in found:
            yield RunOutcome(
                outcome=each.found[number],
                findings=doubts,
                culprit=culprit_of(one.run) if gained else UNSET,
                gains=gained[number].largest_first() if gained else UNSET,
                undecided=gained[number].why_undecided if gained else UNSET,
            )


def print_answer(found: Sequence[SolvePrediction], gained: Sequence[Remedies]) -> None:
    """Print what is predicted of a configuration: its sentences, its table, what is assumed."""
    first, last = found[0], found[-1]
    write_lines(*folded([first.check_line()]))
    if gained and (middle := first.middle) is not None:
        facts = facts_of(middle.run, of_file(first.findings, middle.run.path))
        culprits = [one for one in facts if isinstance(one, UnequalWork) and one.culprit]
        write_lines(*folded(map(text, culprits)))
    if gained:
        write_lines(*folded(gain_lines(pooled(gained))))
    elif not first.found and not first.named.words:
        write_lines("What a change would save is unknown: the solve cannot be replayed, see below.")
    for answer in partners(found):
        write_lines(*folded([answer]))
    if len(found) == 1:
        write_lines(*first.lines())
        asked = first.named.words or first.places is None
        if asked and known_to_paper(first.named.change):
            print_table(baseline_table(first.models()))
    else:
        if last.places is None:
            write_lines(*last.lines())
        print_table(predictions_table(found))
    write_lines(*last.notes(), *folded(cautions(last.findings, OF_MODELS)))


def partners(found: Sequence[SolvePrediction]) -> Iterator[str]:
    """Yield whether the partner of a solver pays off on other ranks, where both are predicted."""
    for each in found:
        recorded = tuple(word for word in each.named.words if word[0] != "solver")
        solver, header = each.named.change.solver, each.group.runs[0].header
        if solver is None or each.places is not None:
            continue
        (other,) = (one for one in found if one.ranks == each.ranks and one.named.words == recorded)
        names, sides = (header.solver, solver), (other, each)
        if header.synchronisation == "pipelined":
            names, sides = names[::-1], sides[::-1]
        yield Compared.of(other.named, *sides).answer(names)


def print_advice(found: Advice, as_json: bool) -> int:
    """Print whether a pipelined solver pays off."""
    if as_json:
        write_json(runs=[], advice=found)
        return 0
    for line in found.explain().splitlines():
        write_lines(*folded([line]))
    if len(found.compared) > 1:
        print_table(found.table())
    for line in found.assumptions():
        write_lines(*folded([f"Assumed: {line}"]))
    write_lines(*folded(cautions(found.findings, OF_MODELS)))
    return 0


def perform_within(arguments: argparse.Namespace, changes: Sequence[Named]) -> int:
    """Print how many iterations fit into a job."""
    alone = "and --within are answered apart: omit one."
    refuse_options(arguments, ("ranks", "out", "against", "balance"), alone)
    if changes[0].words:
        raise UsageError(f"--{changes[0].words[0][0].replace(' ', '-')} {alone}")
    within_s = read_within(arguments.within, "--within")
    mtbf_s, checkpoint_s = (
        None if text is None else read_within(text, option)
        for text, option in (
            (arguments.mtbf, "--mtbf"),
            (arguments.checkpoint_takes, "--checkpoint-takes"),
        )
    )
    runs = fittable_runs(find_runs(arguments.file, complete=True))
    found = forecasts(runs, within_s, mtbf_s, checkpoint_s)
    if arguments.json:
        write_json(runs=[], jobs=found)
        return 0
    for number, one in enumerate(found):
        write_lines(*([""] if number else []), one.title, *folded(list(one.lines())))
    return 0


def perform_balance(files: Sequence[Path], balance: str, as_json: bool) -> int:
    """Print adaptive runs with other maps of their blocks to ranks."""
    asked = read_balance(balance)
    found = [rebalance(run, asked) for run in find_runs(files, complete=True)]
    if as_json:
        write_json(runs=[replay for replays in found for replay in replays])
        return 0
    for number, replays in enumerate(found):
        write_lines(*([""] if number else []))
        for line in balance_lines(replays):
            write_lines(*folded([line]))
    return 0


def refuse_options(arguments: argparse.Namespace, options: Sequence[str], why: str) -> None:
    """Raise a UsageError for the first of some options that was given."""
    for option in options:
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} {why}")
