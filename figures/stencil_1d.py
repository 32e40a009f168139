#!/usr/bin/env python3
"""Figures 4, 6 and 8 of the Legion paper ("Scalable collectives for distributed asynchronous many-task runtimes"),
redrawn with apps/stencil_1d on a simulated machine: docs/figures/stencil_1d.svg, and the numbers as stencil_1d.md.

Needs nothing but Python and the built programs. The machine is simulated: every run gives the same files.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from common import (BANDWIDTH, GAP, JITTER, LATENCY, MACHINE, OVERHEAD, PAPER_RATIOS, POINT, SIMULATED, SIZES, TASK, Fit,
                    Spread, arguments_of, fitted_curve, formula, law, measured_curve, predicted, run_program, table, write)
from svg import BLUE, GREEN, ORANGE, Curve, Panel, chart

METHODS = ("native", "tasks", "aggregate")
COLOURS = {"native": BLUE, "tasks": GREEN, "aggregate": ORANGE}


def measure(programs: Path, method: str, nodes: int, seed: int) -> dict:
    fabric = f"sim:{nodes},{SIMULATED},task={TASK},jitter={JITTER},seed={seed}"
    command = [str(programs / "stencil_1d"), "--method", method, "--point-cost", POINT, "--json"]
    # The serial run is the same for all seeds.
    found = run_program(command if seed == 1 else command + ["--no-verify"], fabric)
    if not found["nodes_agree"] or not found.get("agrees_with_serial", True):
        sys.exit(f"{method} at {nodes} nodes, seed {seed}: the sums are wrong")
    return found


def spread(runs: list[dict], part: str) -> Spread:
    return Spread(*(1e6 * value for value in (
        min(run[f"{part}_seconds_min"] for run in runs),
        sum(run[f"{part}_seconds_mean"] for run in runs) / len(runs),
        max(run[f"{part}_seconds_max"] for run in runs))))


@dataclass
class Results:
    iteration: dict[str, dict[int, Spread]]
    collective: dict[str, dict[int, Spread]]
    predicted: dict[int, float]
    fits: dict[str, Fit]
    collective_fits: dict[str, Fit]


def fits_of(measured: dict[str, dict[int, Spread]]) -> dict[str, Fit]:
    return {method: Fit.of([law(method, nodes) for nodes in SIZES], [measured[method][nodes].mean for nodes in SIZES])
            for method in METHODS}


def gather(programs: Path, seeds: int) -> Results:
    wanted = [(method, nodes, seed) for nodes in reversed(SIZES) for method in METHODS for seed in range(1, seeds + 1)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(wanted, pool.map(lambda each: measure(programs, *each), wanted)))
    runs = {(m, n): [found[m, n, seed] for seed in range(1, seeds + 1)] for m in METHODS for n in SIZES}
    iteration = {m: {n: spread(runs[m, n], "iteration") for n in SIZES} for m in METHODS}
    collective = {m: {n: spread(runs[m, n], "collective") for n in SIZES} for m in METHODS}
    return Results(iteration, collective, {n: predicted(programs, "four_way_doubling", n, 8) for n in SIZES}, fits_of(iteration), fits_of(collective))


def measured_and_fitted(method: str, results: Results) -> list[Curve]:
    measured = measured_curve(f"{method}: mean, minimum and maximum", results.iteration[method], COLOURS[method])
    measured.marks_only = True
    return [measured, fitted_curve(method, results.fits[method], COLOURS[method])]


def draw(results: Results, seeds: int) -> str:
    predicted = Curve("LogGP prediction for two doublings a round", [(n, results.predicted[n]) for n in SIZES], "#7b8794",
                      dashed=True, marker="none")
    collective = [measured_curve("tasks: the paper's construction", results.collective["tasks"], GREEN),
                  measured_curve("native: the executor", results.collective["native"], BLUE), predicted]
    scalable = []
    for method in ("tasks", "native"):
        scalable += measured_and_fitted(method, results)
    aggregate = measured_and_fitted("aggregate", results)
    all_three = [measured_curve(method, results.iteration[method], COLOURS[method]) for method in reversed(METHODS)]
    return chart(
        "stencil_1d: why collectives must scale",
        [f"1,000 points a shard, one shard a node, 20 iterations of which the last 15 count, {seeds} seeds. Virtual time on "
         "a simulated machine: "
         f"L {LATENCY}, o {OVERHEAD}, g {GAP},",
         f"{BANDWIDTH}, jitter up to {JITTER}, task launch {TASK}, {POINT} a point. Points are means, bars reach from the "
         "least to the greatest of all shards and iterations."],
        [Panel("The collective alone (the paper's Fig. 4)", collective, "microseconds"),
         Panel("One iteration, scalable collectives (Fig. 6)", scalable, "microseconds"),
         Panel("One iteration, many-to-one-to-many (Fig. 8)", aggregate, "microseconds", x_logarithmic=False),
         Panel("One iteration, all three, both axes logarithmic", all_three, "microseconds", y_logarithmic=True)])


def spread_table(measured: dict[str, dict[int, Spread]], extra: dict[int, float] | None = None) -> str:
    head = ["nodes"] + [f"{method}" for method in METHODS] + (["LogGP"] if extra else [])
    rows = []
    for n in SIZES:
        cells = [f"{s.mean:.2f} ({s.minimum:.2f} to {s.maximum:.2f})" for s in (measured[m][n] for m in METHODS)]
        rows.append([str(n)] + cells + ([f"{extra[n]:.2f}"] if extra else []))
    return table(head, rows)


def ratio_table(results: Results) -> str:
    rows = []
    for n, paper in PAPER_RATIOS.items():
        mean = {method: results.iteration[method][n].mean for method in METHODS}
        rows.append([str(n), f"{mean['aggregate'] / mean['tasks']:.2f}", f"{mean['aggregate'] / mean['native']:.2f}",
                     f"about {paper}"])
    return table(["nodes", "aggregate / tasks", "aggregate / native", "the paper, on Titan with Legion"], rows)


def fit_table(results: Results) -> str:
    rows = []
    for name, fits in (("one iteration", results.fits), ("collective alone", results.collective_fits)):
        rows += [[f"{name}, {m}", formula(m, fits[m]), f"{fits[m].r_squared:.5f}"] for m in METHODS]
    return table(["mean of", "least squares", "R²"], rows)


def document(results: Results, seeds: int) -> str:
    machine = table(["assumed", "value"], [list(each) for each in MACHINE])
    return f"""# Why collectives must scale: stencil_1d

Written by `figures/stencil_1d.py` (`make figures`). All times are virtual, of a simulated machine, in microseconds; the
same in every run.

![Times of the collective and of an iteration at 16 to 512 nodes](stencil_1d.svg)

The application of the Legion paper, sections II-D and III: 1,000 points a shard, one shard on each node, 20 iterations of
which the first 5 do not count, {seeds} runs with different seeds. Every sum is that of a serial run, bit for bit.

## The machine

A network of the kind of Titan's, with one processor on each node.

{machine}
## One iteration: mean (minimum to maximum)

{spread_table(results.iteration)}
## The collective alone, from a shard's derivative to its next iteration

{spread_table(results.collective, results.predicted)}
*LogGP* is `stretto simulate four_way_doubling --bytes 8` on the same network, without jitter. Jitter makes shards wait for
the slowest, so that the measured mean lies above it.

## Fits over {len(SIZES)} sizes

{fit_table(results)}
## How much slower is many-to-one-to-many?

{ratio_table(results)}
The shape is the paper's: one grows with the logarithm of the number of nodes, the other with their number. The factor is
not. There, launching a task costs Legion's mapper far more than a message costs the network, and the task on the first node
pays that for every shard in every iteration. Here it pays {OVERHEAD} of overhead for each message to and from a shard, and a
launch costs {TASK} on the node that runs the task. `tasks` pays for three messages and two launches in each round (*ready*,
the read, its answer), `native` for one message and none.
"""


def main() -> None:
    arguments = arguments_of(__doc__, ("stencil_1d", "stretto"), seeds=True)
    results = gather(arguments.programs, arguments.seeds)
    print(fit_table(results))
    print(ratio_table(results))
    write(arguments.output, "stencil_1d", draw(results, arguments.seeds), document(results, arguments.seeds))


if __name__ == "__main__":
    main()
