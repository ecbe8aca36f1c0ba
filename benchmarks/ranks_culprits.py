"""How many culprits of synthetic runs are named, and how many of these a choice of ranks keeps.

Run by ``make bench-ranks``. Culprits are known from how a population was made, which no choice
sees; idle time is seen by the criterion ``waiting`` only, so least-idle ranks are scored without it
as well.
"""

from __future__ import annotations

import argparse

import numpy as np
from benchmarks.synthetic.culprits import KINDS, draw, judged
from benchmarks.synthetic.populations import CULPRITS, Population, draw_population

from hindmost.models.ranks.selection import CRITERIA, BodiesOfRanks, keep, ranks_to_keep, select

TOPS = (5, 10, 20)
PAPER = {1024: (20, 20, 10), 2048: (100, 70, 45), 4096: (100, 70, 45)}
"""Percent of the top least-idle ranks that are kept at 5 %, of Lee (2009)."""
RUNS, MORE = 100, (0.0, 0.05, 0.1, 0.2, 1.0)
"""Drawn runs of each kind, and how much more work one rank has."""
WITHOUT_WAITING = tuple(name for name in CRITERIA if name != "waiting")


def bodies_of(population: Population) -> BodiesOfRanks:
    """Return what a recorder sees of a population."""
    return BodiesOfRanks(
        parts={"compute": population.compute_s, "send": population.send_s},
        not_work={"halo": population.halo_s, "wait": population.wait_s},
        transfer=population.slow_transfer_s,
        counts={
            "messages": ("count", population.messages),
            "bytes": ("bytes", population.bytes),
        },
        ids=np.arange(len(population.hosts), dtype=np.int64),
        node_of=np.unique(population.hosts, return_inverse=True)[1].astype(np.int64),
        nodes=len(set(population.hosts)),
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=2000)
    parser.add_argument("--populations", type=int, default=5)
    parser.add_argument("--drawn", action="store_true", help="only who is named in drawn runs")
    arguments = parser.parse_args()
    print_culprits()
    if arguments.drawn:
        return
    print("| population | ranks | at 5 % | k-means alone | at 1 % | k-means alone |")  # noqa: T201
    print("|---|---|---|---|---|---|")  # noqa: T201
    idle: dict[tuple[str, int], list[list[float]]] = {}
    for kind in CULPRITS:
        for ranks in PAPER:
            shares: list[list[float]] = []
            for number in range(arguments.populations):
                population = draw_population(kind, ranks, arguments.seed + number)
                bodies = bodies_of(population)
                order = np.argsort(population.idle_s)
                row = []
                for share in (0.05, 0.01):
                    chosen, _ = keep(bodies, share)
                    plain = select(chosen.clustering, ranks_to_keep(share, ranks), {})
                    row += [
                        float(each.kept[population.culprits].mean()) for each in (chosen, plain)
                    ]
                    if share == 0.05:
                        other, _ = keep(bodies, share, criteria=WITHOUT_WAITING)
                        for name, each in (("plain", plain), ("without", other), ("all", chosen)):
                            idle.setdefault((name, ranks), []).append(
                                [float(each.kept[order[:top]].mean()) for top in TOPS]
                            )
                shares.append(row)
            mean = 100 * np.mean(shares, axis=0)
            print(f"| {kind} | {ranks} | " + " | ".join(f"{each:.0f} %" for each in mean) + " |")  # noqa: T201
    print()  # noqa: T201
    print("| ranks | choice | top 5 | top 10 | top 20 | worst population |")  # noqa: T201
    print("|---|---|---|---|---|---|")  # noqa: T201
    for ranks, paper in PAPER.items():
        cells = " | ".join(f"{each} %" for each in paper)
        print(f"| {ranks} | Lee (2009), NAMD | {cells} | |")  # noqa: T201
        for name, title in (
            ("plain", "k-means alone"),
            ("without", "all criteria but waiting"),
            ("all", "all criteria"),
        ):
            found = 100 * np.array(idle[name, ranks])
            cells = " | ".join(f"{each:.0f} %" for each in found.mean(axis=0))
            worst = ", ".join(f"{each:.0f}" for each in found.min(axis=0))
            print(f"| {ranks} | {title} | {cells} | {worst} % |")  # noqa: T201


def print_culprits() -> None:
    """Print how many of drawn runs name the rank that was given more work, or another one."""
    print()  # noqa: T201
    print(f"| {RUNS} runs a cell | {' | '.join(KINDS)} |")  # noqa: T201
    print(f"|---|{'---|' * len(KINDS)}")  # noqa: T201
    for more in MORE:
        cells = []
        for kind in KINDS:
            found = [
                (each.culprit, judged(each)) for each in (draw(kind, n, more) for n in range(RUNS))
            ]
            sure = [truth == one.rank for truth, one in found if one is not None and one.sure]
            doubted = sum(one is not None and not one.sure for _, one in found)
            right = sum(sure) if more else 0
            cells.append(f"{right} right, {len(sure) - right} false, {doubted} doubted")
        what = f"{100 * more:.0f} % more work" if more else "equal work"
        print(f"| {what} | {' | '.join(cells)} |")  # noqa: T201


if __name__ == "__main__":
    main()
